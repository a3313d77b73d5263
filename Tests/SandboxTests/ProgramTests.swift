import ChatAuthAPI
import Glibc
import Testing

@Suite struct `Sandbox program` {
    @Test(arguments: [SIGTERM, SIGINT]) func `it ends cleanly when told so`(signal: Int32) throws {
        let sandbox = try RunningSandbox()
        #expect(sandbox.tlsPort == nil)
        let idle = try Connection(port: sandbox.port)
        let waiting = try Connection(port: sandbox.port)
        waiting.send("GET", "/_sandbox/wait?count=1&timeout=600")
        _ = try sandbox.json("GET", "/_sandbox/counters")
        sandbox.program.send(signal)
        #expect(sandbox.program.wait() == 0)
        #expect(idle.receive().ending != .silent)
        #expect(throws: Connection.Failure.self) { try Connection(port: sandbox.port) }
    }

    @Test func `it takes the port that it is given, once`() throws {
        let sandbox = try RunningSandbox()
        let second = try run(RunningSandbox.path, ["--port", String(sandbox.port)])
        #expect(second.status == 1)
        #expect(second.output == "")
        sandbox.program.send(SIGTERM)
        #expect(sandbox.program.wait() == 0)
        #expect(try RunningSandbox(["--port=\(sandbox.port)"]).port == sandbox.port)
    }

    @Test func `it listens on loopback only`() throws {
        let sandbox = try RunningSandbox()
        let table = try run("/bin/cat", ["/proc/net/tcp", "/proc/net/tcp6"]).output
        let port = String(sandbox.port, radix: 16, uppercase: true)
        let suffix = ":" + String(repeating: "0", count: 4 - port.utf8.count) + port
        // The second column is the local address, the fourth the state: 0A is LISTEN.
        let listeners = table.split(separator: "\n").map { $0.split(separator: " ") }.filter {
            $0.count > 3 && $0[1].hasSuffix(suffix) && $0[3] == "0A"
        }
        #expect(listeners.map { String($0[1]) } == ["0100007F" + suffix])
    }

    @Test(arguments: [
        ["--prot", "1"], ["--port"], ["--port", "65536"], ["--port", "x"], ["--tls-port", "0"],
        ["--key", "x"],
        ["--print-ports=no"], ["stray"],
    ])
    func `a command line that makes no sense is refused`(arguments: [String]) throws {
        let result = try run(RunningSandbox.path, arguments)
        #expect(result.status == 2)
        #expect(result.output == "")
    }

    @Test func `the version is on standard output`() throws {
        let result = try run(RunningSandbox.path, ["--version"])
        #expect(result.status == 0)
        #expect(result.output == "chatauth-sandbox \(Version.text)\n")
    }

    @Test func `help is on standard output`() throws {
        let result = try run(RunningSandbox.path, ["--help"])
        #expect(result.status == 0)
        #expect(result.output.hasPrefix("usage: chatauth-sandbox"))
    }
}
