import Glibc
import Testing

/// The real program, started on free ports, with a client for its routes and its control API.
struct RunningSandbox {
    let program: Program
    let port: UInt16
    let tlsPort: UInt16?

    /// Test binary and programs lie in one directory.
    static let path: String = {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = buffer.withUnsafeMutableBytes {
            bytes in
            bytes.withMemoryRebound(to: CChar.self) { text in
                text.baseAddress.map { readlink("/proc/self/exe", $0, text.count) } ?? 0
            }
        }
        let own = String(decoding: buffer[..<max(0, count)], as: UTF8.self)
        return own.split(separator: "/").dropLast().map { "/" + $0 }.joined() + "/chatauth-sandbox"
    }()

    init(_ arguments: [String] = []) throws {
        program = try Program(Self.path, ["--print-ports"] + arguments)
        let line = program.line()
        let words = line.split(separator: " ")
        try #require(words.count == 3 && words[0] == "listening", "unexpected first line: \(line)")
        port = try #require(UInt16(words[1].dropFirst("http=".count)))
        tlsPort = UInt16(words[2].dropFirst("https=".count))
    }

    func call(
        _ method: String, _ target: String, headers: [String] = [], body: String = "", silence: Int32 = 20_000
    ) throws -> Wire {
        let connection = try Connection(port: port)
        connection.send(method, target, headers: headers, body: Array(body.utf8))
        return connection.receive(silence: silence)
    }

    /// A call whose answer is JSON and must have that status.
    func json(_ method: String, _ target: String, body: String = "", status: Int = 200) throws -> Tree {
        let wire = try call(method, target, body: body)
        try #require(wire.status == status, "\(method) \(target): \(wire.head) \(wire.bodyText)")
        return try Tree(wire.body)
    }

    /// The token answer of a backend.
    func token(_ backend: String = "support", _ query: String = "") throws -> Tree {
        try json("POST", "/backend/\(backend)/token\(query)", body: #"{"reason":"initial"}"#)
    }

    func set(_ settings: String, for backend: String = "support") throws {
        _ = try json("PUT", "/_sandbox/backend/\(backend)", body: settings)
    }

    func script(_ fault: String, for backend: String = "support") throws {
        _ = try json("POST", "/_sandbox/backend/\(backend)/faults", body: fault)
    }

    /// Scripts one fault and makes the request that meets it.
    func met(_ fault: String, silence: Int32 = 20_000) throws -> Wire {
        try script(fault)
        return try call("POST", "/backend/support/token", body: "{}", silence: silence)
    }

    func journal(_ backend: String = "support") throws -> [Tree] {
        try json("GET", "/_sandbox/journal?backend=\(backend)")["entries"]?.elements ?? []
    }

    /// Unix milliseconds of the sandbox's clock.
    func now() throws -> Int64 {
        try #require(try json("GET", "/_sandbox/clock")["now_milliseconds"]?.integer)
    }
}
