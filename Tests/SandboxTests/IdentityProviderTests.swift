import CredentialCore
import JOSE
import Secrets
import Testing

@Suite struct `Identity provider stand-in` {
    let sandbox: RunningSandbox
    private static let basic = "Authorization: Basic Y2xpZW50OnNlY3JldA=="

    init() throws { sandbox = try RunningSandbox() }

    private func configure(_ settings: String) throws {
        _ = try sandbox.json("PUT", "/_sandbox/idp/main", body: settings)
    }

    private func post(_ route: String, _ form: String, _ headers: [String] = [Self.basic]) throws -> Wire {
        try sandbox.call(
            "POST", "/idp/main/\(route)",
            headers: ["Content-Type: application/x-www-form-urlencoded"] + headers, body: form)
    }

    private func grant(_ body: String = "{}") throws -> Tree {
        try sandbox.json("POST", "/_sandbox/idp/main/grant", body: body)
    }

    private func refresh(_ token: Tree?, _ more: String = "") throws -> Wire {
        try post("token", "grant_type=refresh_token&refresh_token=\(token?.text ?? "")\(more)")
    }

    private func isActive(_ token: Tree?) throws -> Bool {
        try Tree(post("introspect", "token=\(token?.text ?? "")").body)["active"] == .bool(true)
    }

    @Test func `a refresh token is good once; used again, it takes all of its grant along`() throws {
        let first = try grant()
        let second = try Tree(refresh(first["refresh_token"]).body)
        #expect(second["refresh_token"] != first["refresh_token"])
        #expect(try isActive(second["access_token"]))
        #expect(try isActive(first["access_token"]))
        let other = try grant()
        #expect(try refresh(first["refresh_token"]).problem == "invalid_grant")
        #expect(try refresh(second["refresh_token"]).problem == "invalid_grant")
        #expect(!(try isActive(second["access_token"])))
        #expect(try isActive(other["access_token"]))
        #expect(try refresh(other["refresh_token"]).status == 200)
    }

    @Test func `a refresh token that stays, and one that ends`() throws {
        try configure(#"{"rotate_refresh_tokens":false,"refresh_token_seconds":60}"#)
        let first = try grant()
        for _ in 0..<2 {
            #expect(try Tree(refresh(first["refresh_token"]).body)["refresh_token"] == first["refresh_token"])
        }
        _ = try sandbox.json("PUT", "/_sandbox/clock", body: #"{"offset_seconds":61}"#)
        #expect(try refresh(first["refresh_token"]).problem == "invalid_grant")
    }

    @Test func `scopes may become fewer, never more`() throws {
        let first = try grant(#"{"scope":"openid chat"}"#)
        let less = try Tree(refresh(first["refresh_token"], "&scope=chat").body)
        #expect(less["scope"] == .text("chat"))
        #expect(try refresh(less["refresh_token"], "&scope=chat%20more").problem == "invalid_scope")
    }

    @Test(arguments: SignatureAlgorithm.allCases)
    func `an ID token that the verifier of the daemon believes`(algorithm: SignatureAlgorithm) throws {
        try configure(#"{"alg":"\#(algorithm.rawValue)","issuer":"https://issuer.example"}"#)
        let answer = try grant()
        let (id, access) = (
            try #require(answer["id_token"]?.text), try #require(answer["access_token"]?.text)
        )
        let secret: (String) -> SecretBytes = { SecretBytes(copying: Array($0.utf8).span) }
        let keys = try sandbox.call("GET", "/idp/main/jwks").bodyText
        if algorithm.isShared {
            try CompactJWS(secret(id)).verify(Key(secret: SecretBytes("secret"), algorithm))
            let hash = Base64URL.decode(Array((try Tree(claimsOf: id)["at_hash"]?.text ?? "").utf8).span)
            #expect(hash?.isEqual(to: algorithm.halfHash(of: secret(access))) == true)
            return
        }
        let now = WallTime(milliseconds: try sandbox.now())
        let order: (String, String) -> VerificationOrder = { id, access in
            VerificationOrder(
                id: 1, token: secret(id), keys: secret(keys), issuer: "https://issuer.example",
                audience: "client", accessToken: secret(access), now: now)
        }
        try IDToken.verify(order(id, access))
        #expect(throws: VerificationFailure.accessTokenMismatch) {
            try IDToken.verify(order(id, access + "x"))
        }
        try configure(#"{"alg":"\#(algorithm.rawValue)","issuer_mismatch":"id_token"}"#)
        let foreign = try #require(try grant()["id_token"]?.text)
        #expect(throws: VerificationFailure.issuerMismatch) {
            try IDToken.verify(order(foreign, access))
        }
    }

    @Test(arguments: [
        ("number", Tree.number("90")), ("string", .text("90")), ("float", .number("90.5")), ("null", .null),
        ("zero", .number("0")), ("negative", .number("-1")), ("garbage", .text("soon")),
    ])
    func `expires_in in each form`(form: String, value: Tree) throws {
        try configure(#"{"access_token_seconds":90,"expires_in":"\#(form)"}"#)
        #expect(try grant()["expires_in"] == value)
        try configure(#"{"expires_in":"missing"}"#)
        #expect(try grant()["expires_in"] == nil)
    }

    @Test func `a client by itself gets no refresh token and no ID token`() throws {
        let wire = try post("token", "grant_type=client_credentials&scope=chat")
        #expect(wire.header("Cache-Control") == "no-store")
        #expect(try Tree(wire.body).keys == ["access_token", "expires_in", "scope", "token_type"])
        let body = "grant_type=client_credentials&client_id=client&client_secret=secret"
        #expect(try post("token", body, []).status == 200)
    }

    @Test func `clients that are nobody, and requests that are none`() throws {
        let wrong = try post("token", "grant_type=client_credentials", ["Authorization: Basic eDp5"])
        #expect(wrong.status == 401)
        #expect(wrong.problem == "invalid_client")
        #expect(wrong.header("WWW-Authenticate") != nil)
        let anonymous = try post("introspect", "token=x", [])
        #expect(anonymous.status == 401)
        #expect(anonymous.header("WWW-Authenticate") == nil)
        #expect(try post("revoke", "token=x", []).problem == "invalid_client")
        #expect(try post("token", "grant_type=password").problem == "unsupported_grant_type")
        #expect(try post("token", "grant_type=a&grant_type=b").problem == "invalid_request")
        #expect(try post("token", "").problem == "invalid_request")
        #expect(try sandbox.call("GET", "/idp/main/token").status == 405)
    }

    @Test func `a public client refreshes, and cannot introspect`() throws {
        try configure(#"{"clients":[{"client_id":"app"}]}"#)
        let form = "grant_type=refresh_token&client_id=app&refresh_token="
        #expect(try post("token", form + (grant()["refresh_token"]?.text ?? ""), []).status == 200)
        #expect(
            try post("token", "grant_type=client_credentials&client_id=app", []).problem
                == "unauthorized_client")
        #expect(try post("introspect", "client_id=app&token=x", []).problem == "invalid_client")
    }

    @Test func `revocation of an access token, of a grant, of nothing, of somebody else's`() throws {
        let first = try grant()
        #expect(try post("revoke", "token=\(first["access_token"]?.text ?? "")").status == 200)
        #expect(!(try isActive(first["access_token"])))
        let second = try Tree(refresh(first["refresh_token"]).body)
        #expect(try post("revoke", "token=\(second["refresh_token"]?.text ?? "")").status == 200)
        #expect(!(try isActive(second["access_token"])))
        #expect(try refresh(second["refresh_token"]).problem == "invalid_grant")
        #expect(try post("revoke", "token=nothing").status == 200)
        try configure(
            #"{"clients":[{"client_id":"a","client_secret":"1"},{"client_id":"client","client_secret":"secret"}]}"#
        )
        let other = try grant(#"{"client_id":"a"}"#)
        #expect(
            try post("revoke", "token=\(other["access_token"]?.text ?? "")").problem == "unauthorized_client")
        #expect(try isActive(other["access_token"]))
    }

    @Test func `introspection tells what is known, and nothing of what has ended`() throws {
        let grant = try grant(#"{"subject":"user-7","scope":"openid chat"}"#)
        let state = try Tree(post("introspect", "token=\(grant["access_token"]?.text ?? "")").body)
        #expect(state["sub"] == .text("user-7"))
        #expect(state["client_id"] == .text("client"))
        #expect(state["scope"] == .text("openid chat"))
        #expect(state["exp"]?.integer != nil)
        #expect(try Tree(post("introspect", "token=x").body) == .object(["active": .bool(false)]))
        try configure(#"{"introspection_exp":false}"#)
        let silent = try Tree(post("introspect", "token=\(grant["access_token"]?.text ?? "")").body)
        #expect(silent["exp"] == nil)
        #expect(silent["active"] == .bool(true))
    }

    @Test func `discovery tells its address, or another issuer`() throws {
        let address = "http://127.0.0.1"
        let found = try sandbox.json("GET", "/idp/main/.well-known/openid-configuration")
        #expect(found["issuer"] == .text(address + "/idp/main"))
        #expect(found["jwks_uri"] == .text(address + "/idp/main/jwks"))
        #expect(try sandbox.json("GET", "/idp/main/.well-known/oauth-authorization-server") == found)
        try configure(#"{"issuer_mismatch":"discovery"}"#)
        let other = try sandbox.json("GET", "/idp/main/.well-known/openid-configuration")
        #expect(other["issuer"] == .text("https://other-issuer.example"))
    }

    @Test func `secrets in the query, and two ways at once, are violations`() throws {
        _ = try post("token?client_secret=secret", "grant_type=client_credentials")
        let twice = try post("token", "grant_type=client_credentials&client_id=client&client_secret=secret")
        #expect(twice.problem == "invalid_request")
        let list = try sandbox.json("GET", "/_sandbox/violations?idp=main")["violations"]?.elements ?? []
        #expect(
            list.map { $0["violation"]?.text } == [
                "client_secret was sent in the query", "two ways of client authentication at once",
            ])
    }
}
