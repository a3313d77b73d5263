import Testing

/// A client of one platform's stand-in, and of its part of the control API.
struct PlatformClient {
    let sandbox: RunningSandbox
    let noun: String
    /// Sent with every call.
    let headers: [String]

    init(_ noun: String, headers: [String]) throws {
        sandbox = try RunningSandbox()
        self.noun = noun
        self.headers = headers + ["Content-Type: application/json"]
    }

    /// The control route of the instance that all tests use.
    var control: String { "/_sandbox/\(noun)/main" }

    func set(_ settings: String) throws {
        _ = try sandbox.json("PUT", control, body: settings)
    }

    /// A token that the control API makes.
    func mint(_ order: String) throws -> String {
        try #require(try sandbox.json("POST", control + "/mint", body: order)["token"]?.text)
    }

    func call(_ method: String, _ path: String, _ body: String = "", headers more: [String] = []) throws
        -> Wire
    {
        try sandbox.call(method, "/\(noun)/main\(path)", headers: headers + more, body: body)
    }

    /// A call whose answer is JSON and must have that status.
    func json(
        _ method: String, _ path: String, _ body: String = "", headers more: [String] = [], status: Int = 200
    ) throws -> Tree {
        let wire = try call(method, path, body, headers: more)
        try #require(wire.status == status, "\(method) \(path): \(wire.head) \(wire.bodyText)")
        return try Tree(wire.body)
    }

    /// What the sandbox holds against its clients.
    func violations() throws -> [String] {
        let list = try sandbox.json("GET", "/_sandbox/violations?\(noun)=main")["violations"]
        return (list?.elements ?? []).compactMap { $0["violation"]?.text }
    }

    /// Puts the sandbox's clock ahead.
    func advance(_ seconds: Int) throws {
        _ = try sandbox.json("PUT", "/_sandbox/clock", body: #"{"offset_seconds":\#(seconds)}"#)
    }
}
