import CredentialCore
import CurlTransport
import Glibc
import OriginSupport
import Secrets
import Testing
import WorkerProtocol

/// Everything that the network can do to a request, done by a real origin over real TLS.
@Suite struct `Curl transport` {
    private final class Bench {
        let origin: Origin
        let driver: Driver
        let transport: CurlTransport
        var nextID: UInt64 = 1

        init?() throws {
            guard let origin = Origin() else { return nil }
            self.origin = origin
            driver = try Driver()
            transport = try CurlTransport(loop: driver.loop, clock: driver, version: "test")
        }

        var ca: String { origin.directory + "/ca.pem" }

        /// Sends one request and waits for its outcome.
        func fetch(
            _ url: HTTPURL, method: HTTPMethod = .get,
            headers: [(name: String, value: SecretBytes)] = [], body: SecretBytes? = nil,
            caFile: String? = nil,
            proxy: String? = nil, timeout: Milliseconds = .seconds(8), bodyLimit: Int = WireLimits.body,
            partition: String = "a"
        ) throws -> Result<FetchResponse, FetchFailure> {
            var outcome: Result<FetchResponse, FetchFailure>?
            let request = FetchRequest.test(
                nextID, url, method: method, headers: headers, body: body, caFile: caFile ?? ca, proxy: proxy,
                timeout: timeout, bodyLimit: bodyLimit, partition: partition)
            nextID += 1
            transport.begin(request) { outcome = $0 }
            #expect(outcome == nil)
            #expect(try driver.turn { outcome != nil })
            return try #require(outcome)
        }

        func failure(_ port: Origin.Port, _ target: String, timeout: Milliseconds = .seconds(8)) throws
            -> FetchFailure?
        {
            try fetch(origin.url(port, target), timeout: timeout).failure
        }
    }

    @Test func `a response comes with its status, date, media type and body`() throws {
        guard let bench = try Bench() else { return }
        let response = try bench.fetch(bench.origin.url(.good, "/ok")).get()
        #expect(response.status == 200)
        #expect(response.text == #"{"token":"t"}"#)
        #expect(response.contentType == "application/json")
        #expect(response.date == WallTime(seconds: 784_111_777))
        #expect(response.retryAfter == nil)
        let binary = try bench.fetch(bench.origin.url(.good, "/binary")).get()
        let every = (0...255).map { UInt8($0) }
        #expect(binary.bytes == every)
    }

    @Test func `a request goes out as it was given and with nothing of libcurl's own but the agent`() throws {
        guard let bench = try Bench() else { return }
        let response = try bench.fetch(
            bench.origin.url(.good, "/echo"), method: .post,
            headers: [
                ("Authorization", SecretBytes("Bearer s3cret")), ("X-Empty", SecretBytes("")),
                ("Content-Type", SecretBytes("application/json")),
            ],
            body: SecretBytes(#"{"a":1}"#)
        ).get()
        let lines = response.text.split(separator: "\r\n").map { String($0) }
        #expect(
            lines == [
                "POST /echo HTTP/1.1", "Host: 127.0.0.1:\(bench.origin.port(.good))",
                "User-Agent: chatauth-fetch/test", "Accept: */*", "Authorization: Bearer s3cret", "X-Empty:",
                "Content-Type: application/json", "Content-Length: 7", #"{"a":1}"#,
            ])
        let get = try bench.fetch(bench.origin.url(.good, "/echo")).get()
        #expect(get.text.hasPrefix("GET /echo HTTP/1.1\r\n") && !get.text.contains("Content"))
        let empty = try bench.fetch(bench.origin.url(.good, "/echo"), method: .post).get()
        #expect(empty.text.contains("\r\nContent-Length: 0"))
        for method in [HTTPMethod.put, .patch] {
            let sent = try bench.fetch(
                bench.origin.url(.good, "/echo"), method: method, body: SecretBytes("{}")
            ).get()
            #expect(sent.text.hasPrefix("\(method.rawValue) /echo HTTP/1.1\r\n"))
            #expect(sent.text.hasSuffix("\r\nContent-Length: 2\r\n\r\n{}"))
        }
    }

    @Test func `a certificate that proves nothing is refused, and why is told apart`() throws {
        guard let bench = try Bench() else { return }
        let other = bench.origin.directory + "/other.pem"
        #expect(
            try bench.fetch(bench.origin.url(.good, "/ok"), caFile: other).failure == .certificateUntrusted)
        #expect(try bench.failure(.host, "/ok") == .certificateWrongHost)
        #expect(try bench.failure(.expired, "/ok") == .certificateExpired)
        #expect(try bench.failure(.old, "/ok") == .tlsFailed)
        let missing = bench.origin.directory + "/none.pem"
        #expect(try bench.fetch(bench.origin.url(.good, "/ok"), caFile: missing).failure == .caFileUnreadable)
        #expect(bench.origin.requests() == "[]")
    }

    @Test func `a redirect is an answer and not an instruction`() throws {
        guard let bench = try Bench() else { return }
        let response = try bench.fetch(
            bench.origin.url(.good, "/redirect"), method: .post, body: SecretBytes("refresh_token=x")
        ).get()
        #expect(response.status == 302)
        #expect(response.text == "moved")
        #expect(bench.origin.requests() == #"["/redirect"]"#)
    }

    @Test func `what is too large is cut off while it comes`() throws {
        guard let bench = try Bench() else { return }
        #expect(try bench.failure(.good, "/huge") == .tooLarge)
        #expect(try bench.failure(.good, "/headers") == .tooLarge)
        #expect(try bench.failure(.good, "/line") == .tooLarge)
        let fits = try bench.fetch(bench.origin.url(.good, "/size/1000"), bodyLimit: 1000).get()
        #expect(fits.body.count == 1000)
        #expect(try bench.fetch(bench.origin.url(.good, "/size/1001"), bodyLimit: 1000).failure == .tooLarge)
        let largest = try bench.fetch(bench.origin.url(.good, "/size/1048576")).get()
        #expect(largest.body.count == 1 << 20)
    }

    @Test func `a connection that fails is told by how it failed`() throws {
        guard let bench = try Bench() else { return }
        #expect(try bench.failure(.good, "/drip", timeout: Milliseconds(400)) == .timeout)
        #expect(try bench.failure(.good, "/silent", timeout: Milliseconds(400)) == .timeout)
        #expect(try bench.failure(.good, "/reset") == .connectionLost)
        #expect(try bench.failure(.good, "/short") == .connectionLost)
        #expect(try bench.failure(.good, "/nothing") == .connectionLost)
        #expect(try bench.failure(.good, "/garbage") == .malformedResponse)
        #expect(try bench.failure(.good, "/status") == .malformedResponse)
        #expect(try bench.failure(.refused, "/ok") == .connectionFailed)
        let plain = try HTTPURL("https://127.0.0.1:\(bench.origin.port(.plain))/ok")
        let notTLS = try bench.fetch(plain).failure
        #expect(notTLS == .tlsFailed)
        #expect(try bench.fetch(HTTPURL("https://name.invalid/")).failure == .nameNotResolved)
    }

    @Test func `only the final answer's own header says when to come back`() throws {
        guard let bench = try Bench() else { return }
        #expect(try bench.fetch(bench.origin.url(.good, "/seconds")).get().retryAfter == .seconds(7))
        #expect(try bench.fetch(bench.origin.url(.good, "/later")).get().retryAfter == .seconds(120))
        #expect(try bench.fetch(bench.origin.url(.good, "/early")).get().retryAfter == nil)
        #expect(try bench.fetch(bench.origin.url(.good, "/trailer")).get().retryAfter == nil)
        let packed = try bench.fetch(bench.origin.url(.good, "/gzip")).get()
        #expect(packed.bytes == [0x1F, 0x8B, 8, 0])
    }

    @Test func `a partition keeps its connection and shares it with no other`() throws {
        guard let bench = try Bench() else { return }
        let url = try bench.origin.url(.good, "/connection")
        let first = try bench.fetch(url, partition: "a").get().text
        let other = try bench.fetch(url, partition: "b").get().text
        #expect(try bench.fetch(url, partition: "a").get().text == first)
        #expect(try bench.fetch(url, partition: "b").get().text == other)
        #expect(first != other)
        #expect(bench.origin.connections() == 2)
    }

    @Test func `connections of partitions that are not in use are bounded`() throws {
        guard let bench = try Bench() else { return }
        let url = try bench.origin.url(.good, "/connection")
        for number in 0..<17 { _ = try bench.fetch(url, partition: "p\(number)").get() }
        // The oldest made room for the last one, the second oldest did not have to.
        #expect(try bench.fetch(url, partition: "p1").get().text == "2")
        #expect(try bench.fetch(url, partition: "p0").get().text == "18")
    }

    @Test func `a body is not sent again on a connection that turned out to be dead`() throws {
        guard let bench = try Bench() else { return }
        _ = try bench.fetch(bench.origin.url(.good, "/connection")).get()
        let outcome = try bench.fetch(
            bench.origin.url(.good, "/nothing"), method: .post, body: SecretBytes("refresh_token=x"))
        #expect(outcome.failure == .connectionLost)
        #expect(bench.origin.requests() == #"["/connection", "/nothing"]"#)
        // Where nothing can be spent twice, libcurl does ask again: so it would have.
        _ = try bench.fetch(bench.origin.url(.good, "/connection")).get()
        #expect(try bench.failure(.good, "/nothing") == .connectionLost)
        #expect(
            bench.origin.requests()
                == #"["/connection", "/nothing", "/connection", "/nothing", "/nothing"]"#)
    }

    @Test func `proxies and passwords from the surroundings are not used`() throws {
        guard let bench = try Bench() else { return }
        let home = bench.origin.directory
        let netrc = "machine 127.0.0.1 login user password s3cret\n"
        let file = try #require(fopen(home + "/.netrc", "we"))
        fputs(netrc, file)
        fclose(file)
        let names = ["https_proxy", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"]
        for name in names { setenv(name, "http://127.0.0.1:\(bench.origin.port(.refused))", 1) }
        let previous = getenv("HOME").map { String(cString: $0) }
        setenv("HOME", home, 1)
        defer {
            for name in names { unsetenv(name) }
            if let previous { setenv("HOME", previous, 1) } else { unsetenv("HOME") }
        }
        let secure = try bench.fetch(bench.origin.url(.good, "/echo")).get()
        #expect(secure.status == 200 && !secure.text.contains("Authorization"))
        #expect(try bench.fetch(bench.origin.url(.plain, "/echo")).get().status == 200)
    }

    @Test func `a proxy that was asked for is used, and its failures are its own`() throws {
        guard let bench = try Bench() else { return }
        let url = try bench.origin.url(.good, "/ok")
        let nobody = "http://127.0.0.1:\(bench.origin.port(.refused))"
        #expect(try bench.fetch(url, proxy: nobody).failure == .proxyFailed)
        // It answers CONNECT with 404.
        let unwilling = "http://127.0.0.1:\(bench.origin.port(.plain))"
        #expect(try bench.fetch(url, proxy: unwilling).failure == .proxyFailed)
        #expect(bench.origin.requests() == #"["127.0.0.1:\#(bench.origin.port(.good))"]"#)
    }

    @Test func `a request that was given up says nothing any more`() throws {
        guard let bench = try Bench() else { return }
        var isTold = false
        let request = FetchRequest.test(
            99, try bench.origin.url(.good, "/silent"), caFile: bench.ca, timeout: Milliseconds(500))
        bench.transport.begin(request) { _ in isTold = true }
        #expect(try bench.driver.turn { bench.origin.connections() == 1 })
        bench.transport.cancel(99)
        #expect(try bench.fetch(bench.origin.url(.good, "/silent"), timeout: .seconds(1)).failure == .timeout)
        #expect(!isTold)
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let failure) = self { failure } else { nil }
    }
}
