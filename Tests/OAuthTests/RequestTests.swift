import CredentialCore
import JSON
import OAuth
import Secrets
import TestSupport
import Testing

@Suite struct `Requests to an authorization server` {
    private func headers(_ request: FetchRequest) -> [String: String] {
        Dictionary(
            request.headers.map { ($0.name, text($0.value) ?? "") }, uniquingKeysWith: { "\($0), \($1)" })
    }

    private func refresh(
        _ source: OAuthSource, _ proof: ClientProof, token: String = "r"
    ) throws -> FetchRequest {
        let endpoint = try HTTPURL("https://as.example/token")
        return OAuthRequest(source: source, partition: "p").refresh(
            secret(token), at: endpoint, proof: proof, id: 7)
    }

    @Test func `a refresh spends the token and asks for no scope of its own`() throws {
        let request = try refresh(source(), .none, token: "tGzv3JOkF0XG5Qx2TlKWIA")
        #expect(
            text(request.body)
                == "grant_type=refresh_token&refresh_token=tGzv3JOkF0XG5Qx2TlKWIA&client_id=client")
        #expect(
            headers(request) == [
                "Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json",
            ])
        #expect(request.id == 7)
        #expect(request.method == .post)
        #expect(request.url.text == "https://as.example/token")
        #expect(request.caFile == "/ca.pem")
        #expect(request.proxy == "http://proxy.example:1")
        #expect(request.timeout == .seconds(3))
        #expect(request.bodyLimit == OAuthRequest.answerLimit)
        #expect(request.partition == "p")
    }

    @Test func `scope, audience and resource are sent where they are configured`() throws {
        let source = try source(
            scope: ["a:b", "c/d"], audience: "https://api.example/?a=b&c", resource: "urn:x y")
        let target =
            "scope=a%3Ab+c%2Fd&audience=https%3A%2F%2Fapi.example%2F%3Fa%3Db%26c&resource=urn%3Ax+y"
        let refreshed = try refresh(source, .none)
        #expect(
            text(refreshed.body)
                == "grant_type=refresh_token&refresh_token=r&\(target)&client_id=client")
        let endpoint = try HTTPURL("https://as.example/token")
        let request = OAuthRequest(source: source, partition: "p").clientCredentials(
            at: endpoint, proof: .form(secret("s")), id: 1)
        #expect(
            text(request.body)
                == "grant_type=client_credentials&\(target)&client_id=client&client_secret=s")
    }

    @Test func `a client proves itself in one way only`() throws {
        let source = try source()
        let grant = "grant_type=refresh_token&refresh_token=r"
        let basic = try refresh(source, .basic(secret("s")))
        #expect(text(basic.body) == grant)
        #expect(headers(basic)["Authorization"] == "Basic Y2xpZW50OnM=")
        let form = try refresh(source, .form(secret("a&b=c+d%\r\n")))
        #expect(text(form.body) == grant + "&client_id=client&client_secret=a%26b%3Dc%2Bd%25%0D%0A")
        #expect(headers(form)["Authorization"] == nil)
        let assertion = try refresh(source, .assertion(secret("h.p.s-_")))
        #expect(
            text(assertion.body)
                == grant + "&client_id=client"
                + "&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer"
                + "&client_assertion=h.p.s-_")
    }

    // What `printf | base64` prints, of both halves encoded as in a form (RFC 6749 §2.3.1).
    @Test(arguments: [
        ("a:b", "c d", "Basic YSUzQWI6Yytk"), ("é", "", "Basic JUMzJUE5Og=="),
        ("s6BhdRkqt3", "gX1fBat3bV", "Basic czZCaGRSa3F0MzpnWDFmQmF0M2JW"),
        ("a", "~+/=", "Basic YTolN0UlMkIlMkYlM0Q="),
    ])
    func `Basic encodes both halves before it joins them`(_ id: String, _ word: String, _ value: String)
        throws
    {
        let request = try refresh(source(clientID: id), .basic(secret(word)))
        #expect(headers(request)["Authorization"] == value)
    }

    @Test func `no byte of a secret can end a parameter, a line or a header`() throws {
        let bytes = Array(UInt8.min...UInt8.max)
        let all = SecretBytes(copying: bytes.span)
        let source = try source()
        let endpoint = try HTTPURL("https://as.example/token")
        let request = OAuthRequest(source: source, partition: "p").refresh(
            all, at: endpoint, proof: .basic(all), id: 1)
        let body = try #require(text(request.body))
        let parts = body.split(separator: "&").map(String.init)
        #expect(parts.count == 2)
        #expect(decoded(String(parts[parts.count - 1].dropFirst("refresh_token=".count))) == bytes)
        let header = try #require(headers(request)["Authorization"])
        #expect(header.utf8.allSatisfy { (0x20...0x7E).contains($0) })
    }

    private func decoded(_ form: String) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = Array(form.utf8)[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(0x20)
            case UInt8(ascii: "%"):
                bytes.append(UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) ?? 0)
                rest = rest.dropFirst(2)
            default: bytes.append(byte)
            }
        }
        return bytes
    }

    @Test func `introspection and revocation say what kind of token it is`() throws {
        let requests = OAuthRequest(source: try source(), partition: "p")
        let url = try HTTPURL("https://as.example/x")
        #expect(
            text(requests.introspect(secret("t"), at: url, proof: .none, id: 1).body)
                == "token=t&token_type_hint=access_token&client_id=client")
        #expect(
            text(requests.revoke(secret("t"), .refreshToken, at: url, proof: .form(secret("s")), id: 1).body)
                == "token=t&token_type_hint=refresh_token&client_id=client&client_secret=s")
        let document = requests.get(url, id: 1)
        #expect(document.method == .get)
        #expect(document.body == nil)
        #expect(headers(document) == ["Accept": "application/json"])
        #expect(document.bodyLimit == 262_144)
    }

    @Test func `an assertion is the client's word for a minute`() {
        let claims = ClientAssertion.claims(
            clientID: #"a"b"#, audience: "https://as.example/token", now: sent, identifier: "j")
        #expect(
            text(claims)
                == #"{"iss":"a\"b","sub":"a\"b","aud":"https://as.example/token","iat":1767225600,"exp":1767225660,"jti":"j"}"#
        )
    }

    @Test func `the examples of RFC 6749 come out`() throws {
        guard let directory = Vectors.directory(named: "oauth-rfc-examples"),
            let bytes = Files.bytes(at: directory + "/examples.json")
        else { return }
        var seen: [String] = []
        for example in try textMembers(bytes) {
            guard let kind = example["kind"] else { continue }
            func member(_ name: String) -> String { example[name] ?? "" }
            switch kind {
            case "client-basic":
                let request = try refresh(
                    source(clientID: member("client_id")), .basic(secret(member("client_secret"))))
                #expect(headers(request)["Authorization"] == member("authorization"))
            case "token-response":
                // Its token_type is "example": no bearer token, whose refresh token is kept all the same.
                let answer = response(200, member("body"))
                #expect(
                    failure { try TokenAnswer.read(answer, sentAt: sent, issuer: nil) }
                        == RefreshFailure(.notBearer, httpStatus: 200))
                #expect(text(TokenAnswer.successor(in: answer)) == "tGzv3JOkF0XG5Qx2TlKWIA")
            case "token-error":
                let answer = response(400, member("body"))
                #expect(
                    failure { try TokenAnswer.read(answer, sentAt: sent, issuer: nil) }
                        == RefreshFailure(.rejected, httpStatus: 400, providerCode: "invalid_request"))
            case "refresh-request-form":
                let request = try refresh(source(), .basic(secret("s")), token: "tGzv3JOkF0XG5Qx2TlKWIA")
                #expect(text(request.body) == member("form"))
            default: continue
            }
            seen.append(kind)
        }
        #expect(seen == ["client-basic", "token-response", "token-error", "refresh-request-form"])
    }

    // The texts of each case.
    private func textMembers(_ bytes: [UInt8]) throws -> [[String: String]] {
        var cases: [[String: String]] = []
        var document = JSONDocument()
        guard case .table(let root) = try DefinitionNode(document.parse(bytes.span)).value,
            case .array(let examples)? = root.first(where: { $0.key == "cases" })?.node.value
        else { return cases }
        for example in examples {
            guard case .table(let members) = example.value else { continue }
            var texts: [String: String] = [:]
            for member in members {
                if case .string(let value) = member.node.value { texts[member.key] = value }
            }
            cases.append(texts)
        }
        return cases
    }
}
