import Glibc
import Testing

/// The same over TLS, with curl as the client that judges certificates.
@Suite struct `Sandbox over HTTPS` {
    private static let curl = "/usr/bin/curl"

    /// A scratch directory with the certificates of `scripts/make-test-ca`; removed with the last reference.
    private final class Certificates {
        let directory: String

        init() throws {
            var template = Array("/tmp/chatauth-sandbox-XXXXXX".utf8CString)
            try #require(mkdtemp(&template) != nil)
            directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let root = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
            try #require(try run(root + "/scripts/make-test-ca", [directory]).status == 0)
        }

        deinit { _ = try? run("/bin/rm", ["-rf", "--", directory]) }
    }

    private let certificates: Certificates?

    init() throws {
        let isComplete = access(Self.curl, X_OK) == 0 && access("/usr/bin/openssl", X_OK) == 0
        if !isComplete { print("SKIPPED: curl or openssl is missing") }
        certificates = isComplete ? try Certificates() : nil
    }

    /// A sandbox that shows the certificate `name`.
    private func start(_ name: String, _ certificates: Certificates) throws -> RunningSandbox {
        let base = certificates.directory + "/" + name
        return try RunningSandbox(["--certificate", base + ".pem", "--key", base + ".key"])
    }

    private func get(
        _ sandbox: RunningSandbox, _ certificates: Certificates, ca: String = "ca",
        host: String = "localhost",
        _ arguments: [String] = []
    ) throws -> (status: Int32, output: String) {
        let port = try #require(sandbox.tlsPort)
        return try run(
            Self.curl,
            ["-s", "--max-time", "20", "--noproxy", "*", "--cacert", "\(certificates.directory)/\(ca).pem"]
                + arguments
                + ["https://\(host):\(port)/backend/support/token"])
    }

    @Test(arguments: ["localhost", "127.0.0.1"]) func `a token comes over TLS`(host: String) throws {
        guard let certificates else { return }
        let sandbox = try start("server", certificates)
        let result = try get(sandbox, certificates, host: host, ["-d", "{}"])
        #expect(result.status == 0)
        #expect(try Tree(Array(result.output.utf8)).keys == ["expires_in", "token"])
        #expect(try sandbox.journal().first?["scheme"] == .text("https"))
    }

    @Test(arguments: [
        ("wrong-host", "ca"), ("expired", "ca"), ("server", "other-ca"),
    ])
    func `a certificate that proves nothing is refused by the client`(certificate: String, ca: String) throws
    {
        guard let certificates else { return }
        let sandbox = try start(certificate, certificates)
        // 60: the peer's certificate cannot be authenticated.
        #expect(try get(sandbox, certificates, ca: ca).status == 60)
        #expect(try sandbox.journal().isEmpty)
    }

    // curl: 18 partial file, 28 timed out, 47 too many redirects, 52 nothing came, 56 failure while receiving, 63 too large.
    @Test(arguments: [
        (#"{"fault":"status","status":503}"#, 0, [] as [String]),
        (#"{"fault":"delay","delay_milliseconds":100}"#, 0, []),
        (#"{"fault":"drip","bytes":20,"interval_milliseconds":5}"#, 0, []),
        (#"{"fault":"truncated"}"#, 0, []),
        (#"{"fault":"truncated","claims_whole":true}"#, 18, []),
        (#"{"fault":"hang"}"#, 28, ["--max-time", "0.3"]),
        (#"{"fault":"hang","at":"body"}"#, 28, ["--max-time", "0.3"]),
        (#"{"fault":"reset","at":"start"}"#, 56, []),
        (#"{"fault":"reset","at":"headers"}"#, 56, []),
        (#"{"fault":"reset","at":"body"}"#, 56, []),
        (#"{"fault":"huge","megabytes":3}"#, 63, ["--max-filesize", "1000000"]),
        (#"{"fault":"huge","megabytes":20,"declared":false}"#, 0, ["-o", "/dev/null"]),
        (#"{"fault":"headers","bytes":2000000}"#, 56, []),
    ])
    func `faults do over TLS what they do without`(fault: String, status: Int32, arguments: [String]) throws {
        guard let certificates else { return }
        let sandbox = try start("server", certificates)
        try sandbox.script(fault)
        #expect(try get(sandbox, certificates, arguments).status == status)
        #expect(try get(sandbox, certificates).status == 0)
        sandbox.program.send(SIGTERM)
        #expect(sandbox.program.wait() == 0)
    }

    @Test func `certificate and key must belong together`() throws {
        guard let certificates else { return }
        let base = certificates.directory
        for (certificate, key) in [
            ("server.pem", "expired.key"), ("server.key", "server.key"), ("none", "server.key"),
        ] {
            let result = try run(
                RunningSandbox.path, ["--certificate", "\(base)/\(certificate)", "--key", "\(base)/\(key)"])
            #expect(result.status == 1)
            #expect(result.output == "")
        }
    }
}
