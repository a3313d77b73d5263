import CredentialCore
import JSON
import JSONRPC
import OriginSupport
import Secrets
import Testing
import WorkerProtocol

@Suite struct `Worker wire` {
    private func read(_ params: String) throws(WireFailure) -> FetchRequest {
        let text = Array(params.utf8)
        var document = JSONDocument()
        do {
            return try FetchRequestWire.read(document.parse(text.span), id: 1)
        } catch let failure as WireFailure {
            throw failure
        } catch {
            Issue.record("not JSON: \(params)")
            throw .missing
        }
    }

    private func params(_ replaced: String = "", with member: String = "") -> String {
        let members = [
            ("url", #""url":"https://a.example/""#), ("method", #""method":"POST""#),
            ("headers", #""headers":[]"#), ("timeout_ms", #""timeout_ms":8000"#),
            ("body_limit", #""body_limit":1000"#), ("partition", #""partition":"p""#),
        ]
        var texts = members.filter { $0.0 != replaced }.map { $0.1 }
        if !member.isEmpty { texts.append(member) }
        return "{" + texts.joined(separator: ",") + "}"
    }

    @Test func `a request is read as it was written`() throws {
        let headers: [(name: String, value: SecretBytes)] = [
            ("A", SecretBytes("plain")), ("B", SecretBytes(copying: [0xFF, 0x80, 0x41].span)),
        ]
        let request = FetchRequest.test(
            5, try HTTPURL("https://a.example/x?y=1"), method: .post, headers: headers,
            body: SecretBytes(copying: [0, 1, 2, 0xFF].span), caFile: "/etc/ca.pem",
            proxy: "http://proxy.example:3128", partition: "p")
        var writer = JSONWriter()
        writer.fetch(request, id: 9, timeout: Milliseconds(1234))
        let line = writer.finish().finish()
        try line.withSpan { line in
            var document = JSONDocument()
            let root = try document.parse(line)
            guard case .request(let message) = JSONRPCMessage(root), let params = message.params else {
                Issue.record("no request")
                return
            }
            let read = try FetchRequestWire.read(params, id: 9)
            #expect(read.id == 9 && read.url == request.url && read.method == .post)
            #expect(read.headers.map { $0.name } == ["A", "B"])
            for (left, right) in zip(read.headers, headers) { #expect(left.value.isEqual(to: right.value)) }
            let body = try #require(read.body)
            #expect(body.withSpan { $0.count == 4 && $0[0] == 0 && $0[3] == 0xFF })
            #expect(read.caFile == "/etc/ca.pem" && read.proxy == "http://proxy.example:3128")
            #expect(read.timeout == Milliseconds(1234) && read.partition == "p")
        }
    }

    @Test(arguments: [
        ("url", #""url":"http://a.example/""#, WireFailure.notAllowed),
        ("url", #""url":"https://user@a.example/""#, .notAllowed),
        ("url", #""url":"file:///etc/passwd""#, .notAllowed),
        ("url", #""url":7"#, .wrongType), ("url", "", .missing),
        ("method", #""method":"HEAD""#, .notAllowed), ("method", #""method":"POST\r\nX: y""#, .outOfRange),
        ("headers", "", .missing), ("headers", #""headers":{}"#, .wrongType),
        ("headers", #""headers":[{"name":"A"}]"#, .missing),
        ("headers", #""headers":[{"name":"A B","value":""}]"#, .notAllowed),
        ("headers", #""headers":[{"name":"","value":""}]"#, .notAllowed),
        ("headers", #""headers":[{"name":"A","value":"a\r\nB: b"}]"#, .notAllowed),
        ("headers", #""headers":[{"name":"A","value":"a\u0000"}]"#, .notAllowed),
        ("headers", #""headers":[{"name":"A","value_base64url":"Cg"}]"#, .notAllowed),
        ("headers", #""headers":[{"name":"A","value":"","value_base64url":""}]"#, .wrongType),
        ("headers", #""headers":[{"name":"hOST","value":"b"}]"#, .notAllowed),
        ("headers", #""headers":[{"name":"Transfer-Encoding","value":"chunked"}]"#, .notAllowed),
        ("timeout_ms", #""timeout_ms":0"#, .outOfRange), ("timeout_ms", #""timeout_ms":1e300"#, .wrongType),
        ("timeout_ms", #""timeout_ms":120001"#, .outOfRange),
        ("body_limit", #""body_limit":-1"#, .outOfRange),
        ("body_limit", #""body_limit":1048577"#, .outOfRange),
        ("partition", "", .missing), ("", #""body_base64url":"A""#, .wrongType),
        ("", #""ca_file":"relative""#, .notAllowed), ("", #""ca_file":"/a\u0000b""#, .notAllowed),
        ("", #""proxy":"socks5://a.example""#, .notAllowed),
        ("", #""proxy":"http://user:pw@a.example""#, .notAllowed),
        ("", #""proxy":"http://a.example/x""#, .notAllowed),
        ("method", #""method":"GET","body":"x""#, .notAllowed),
    ])
    func `a request that is not allowed is refused by the worker too`(
        _ replaced: String, _ member: String, _ failure: WireFailure
    ) throws {
        _ = try read(params())
        #expect(throws: failure) { try read(params(replaced, with: member)) }
    }

    @Test func `the largest message that is allowed fits into a frame`() throws {
        let worst = SecretBytes(copying: [UInt8](repeating: UInt8(ascii: "\""), count: WireLimits.body).span)
        let binary = SecretBytes(copying: [UInt8](repeating: 0, count: WireLimits.body).span)
        let value = SecretBytes(copying: [UInt8](repeating: UInt8(ascii: "\\"), count: 1000).span)
        for body in [worst, binary] {
            var writer = JSONWriter()
            writer.fetch(
                .test(
                    1, try HTTPURL("https://a.example/"), method: .post,
                    headers: (0..<64).map { ("X-\($0)", value) }, body: body), id: .max,
                timeout: .seconds(8))
            #expect(writer.finish().count < WireLimits.frame)
        }
    }
}
