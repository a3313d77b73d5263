import CredentialCore
import OAuth
import Testing

@Suite struct `Metadata of an issuer` {
    private static let issuer = "https://as.example/tenant"

    private func read(_ body: String, status: Int = 200) throws -> ServerMetadata {
        try ServerMetadata.read(response(status, body), issuer: Self.issuer)
    }

    @Test(
        arguments: [
            (
                "https://as.example",
                [
                    "https://as.example/.well-known/oauth-authorization-server",
                    "https://as.example/.well-known/openid-configuration",
                ]
            ),
            (
                "https://as.example/",
                [
                    "https://as.example/.well-known/oauth-authorization-server",
                    "https://as.example/.well-known/openid-configuration",
                ]
            ),
            (
                "https://as.example:8443/a/b",
                [
                    "https://as.example:8443/.well-known/oauth-authorization-server/a/b",
                    "https://as.example:8443/a/b/.well-known/openid-configuration",
                ]
            ),
            (
                "http://127.0.0.1:9/t/",
                [
                    "http://127.0.0.1:9/.well-known/oauth-authorization-server/t",
                    "http://127.0.0.1:9/t/.well-known/openid-configuration",
                ]
            ),
            ("http://as.example", []), ("as.example", []), ("", []), (":", []), ("/", []),
        ] as [(String, [String])])
    func `the well-known path stands before the issuer's, or behind it`(_ issuer: String, _ urls: [String]) {
        #expect(ServerMetadata.locations(of: issuer).map(\.text) == urls)
    }

    @Test func `endpoints are read, and those that are not there are nil`() throws {
        let all = try read(
            #"{"issuer":"https://as.example/tenant","token_endpoint":"https://t.example/t","introspection_endpoint":"https://t.example/i","revocation_endpoint":"https://t.example/r","jwks_uri":"https://t.example/k","more":[{"x":1}]}"#
        )
        #expect(all.token.text == "https://t.example/t")
        #expect(all.introspection?.text == "https://t.example/i")
        #expect(all.revocation?.text == "https://t.example/r")
        #expect(all.keys?.text == "https://t.example/k")
        let least = try read(
            #"{"issuer":"https://as.example/tenant","token_endpoint":"https://t.example/t","jwks_uri":null}"#)
        #expect(least.introspection == nil && least.revocation == nil && least.keys == nil)
    }

    @Test(arguments: [
        #""https://as.example/tenant/""#, #""https://AS.example/tenant""#, #""https://as.example""#,
        #""https://as.example/tenant?x""#, "null", "5", #"["https://as.example/tenant"]"#,
    ])
    func `another issuer's metadata are refused, byte by byte`(_ issuer: String) {
        #expect(
            failure { try read(#"{"issuer":\#(issuer),"token_endpoint":"https://t.example/t"}"#) }
                == RefreshFailure(.issuerMismatch, httpStatus: 200))
    }

    @Test(arguments: [
        #""http://t.example/t""#, #""file:///etc/passwd""#, #""javascript:x""#, #""/t""#,
        #""https://u:p@t.example""#,
        #""https://t.example/#f""#, "5", "null", #""https://t.example/\r\n""#, #""""#,
    ])
    func `an endpoint that must not be asked is refused`(_ url: String) {
        #expect(
            failure { try read(#"{"issuer":"https://as.example/tenant","token_endpoint":\#(url)}"#) }
                == RefreshFailure(.upstreamError, httpStatus: 200))
    }

    @Test(arguments: [
        (200, "<html>"), (200, ""), (200, "[]"), (404, "{}"), (302, ""),
        (500, #"{"issuer":"https://as.example/tenant"}"#),
        (200, #"{"issuer":"https://as.example/tenant"}"#),
    ])
    func `what is no metadata is told from another issuer's`(_ status: Int, _ body: String) {
        #expect(
            failure { try read(body, status: status) } == RefreshFailure(.upstreamError, httpStatus: status))
    }

    @Test func `a document above 256 KiB is refused`() {
        let body =
            #"{"issuer":"https://as.example/tenant","token_endpoint":"https://t.example/t","x":""#
            + String(repeating: "x", count: 262_144) + #""}"#
        #expect(failure { try read(body) } == RefreshFailure(.upstreamError, httpStatus: 200))
    }

    @Test func `what is configured wins over what the issuer says`() throws {
        let metadata = try read(
            #"{"issuer":"https://as.example/tenant","token_endpoint":"https://t.example/t","revocation_endpoint":"https://t.example/r"}"#
        )
        let own = try HTTPURL("https://own.example/t")
        let both = try #require(ServerEndpoints(.init(issuer: Self.issuer, token: own), metadata))
        #expect(both.token == own)
        #expect(both.revocation?.text == "https://t.example/r")
        #expect(ServerEndpoints(.init(issuer: Self.issuer), nil) == nil)
        #expect(ServerEndpoints(.init(issuer: nil, token: own), nil)?.token == own)
        #expect(ServerEndpoints(.init(issuer: Self.issuer), metadata)?.token.text == "https://t.example/t")
    }
}
