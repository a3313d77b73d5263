import CredentialCore
import JOSE
import JSON
import Secrets
import Testing

/// What the customer backend signs, verified with the keys that it shows.
@Suite struct `Signed tokens` {
    let sandbox: RunningSandbox

    init() throws { sandbox = try RunningSandbox() }

    private func settings(_ more: String) throws {
        try sandbox.set(#"{"token_format":"signed_jwt",\#(more)}"#)
    }

    @Test(arguments: SignatureAlgorithm.allCases)
    func `every algorithm, by the key that the backend shows`(algorithm: SignatureAlgorithm) throws {
        try settings(#""alg":"\#(algorithm.rawValue)""#)
        let token = try #require(try sandbox.token()["token"]?.text)
        let shown = try sandbox.json("GET", "/_sandbox/backend/support/key")
        let key = try #require(shown[algorithm.isShared ? "secret" : "public_key"]?.text)
        let jws = try CompactJWS(SecretBytes(copying: Array(token.utf8).span))
        try jws.verify(
            Key(reading: SecretBytes(copying: Array(key.utf8).span), algorithm, isPrivate: false))
        // The set of keys says the same as the PEM.
        guard !algorithm.isShared else { return }
        let set = try #require(shown["jwks"])
        let keys = try JWKSet(SecretBytes(copying: Array(set.compact.utf8).span))
        try jws.verify(keys.key(for: jws))
    }

    @Test func `claims from the settings and from the body of the request`() throws {
        try settings(
            #""claims":{"iss":"https://customer.example","sub":null},"body_claims":{"chat.id":"chatId","user_id":"a.b","gone":"gone"}"#
        )
        let answer = try sandbox.json(
            "POST", "/backend/support/token", body: #"{"chatId":"chat-7","a":{"b":42}}"#)
        let claims = try Tree(claimsOf: try #require(answer["token"]?.text))
        #expect(claims.keys == ["chat", "exp", "iat", "iss", "jti", "user_id"])
        #expect(claims["iss"] == .text("https://customer.example"))
        #expect(claims["chat"] == .object(["id": .text("chat-7")]))
        #expect(claims["user_id"] == .number("42"))
    }

    @Test func `a secret from outside, with the signature of the vector`() throws {
        try settings(
            #""alg":"HS256","key":"test-identity-secret","kid":"","claims":{"iss":null,"sub":null,"iat":null,"jti":null,"exp":4102444800,"user_id":"u-42"}"#
        )
        let token = try #require(try sandbox.token()["token"]?.text)
        #expect(try Tree(claimsOf: token).keys == ["exp", "user_id"])
        let secret = SecretBytes("test-identity-secret")
        try CompactJWS(SecretBytes(copying: Array(token.utf8).span)).verify(Key(secret: secret, .hs256))
    }

    @Test func `a wrong signature and none at all`() throws {
        try settings(#""alg":"ES256","signature":"wrong""#)
        let wrong = try #require(try sandbox.token()["token"]?.text)
        let pem = try #require(try sandbox.json("GET", "/_sandbox/backend/support/key")["public_key"]?.text)
        let key = try Key(reading: SecretBytes(copying: Array(pem.utf8).span), .es256, isPrivate: false)
        #expect(throws: VerificationFailure.signatureWrong) {
            try CompactJWS(SecretBytes(copying: Array(wrong.utf8).span)).verify(key)
        }
        try settings(#""alg":"ES256","signature":"absent""#)
        let absent = try #require(try sandbox.token()["token"]?.text)
        #expect(throws: VerificationFailure.malformed) {
            _ = try CompactJWS(SecretBytes(copying: Array(absent.utf8).span))
        }
    }

    @Test(arguments: ["right", "wrong", "absent"])
    func `an ID token tells the hash of its access token`(word: String) throws {
        try settings(
            #""alg":"ES384","at_hash":"\#(word)","fields":{"id_token":"id","access_token":"access"}"#)
        let answer = try sandbox.token()
        let access = try #require(answer["access"]?.text)
        let hash = SignatureAlgorithm.es384.halfHash(of: SecretBytes(copying: Array(access.utf8).span))
        let stated = try Tree(claimsOf: try #require(answer["id"]?.text))["at_hash"]?.text
        #expect((stated == nil) == (word == "absent"))
        let decoded = stated.flatMap { Base64URL.decode(Array($0.utf8).span) }
        #expect((decoded?.isEqual(to: hash) == true) == (word == "right"))
    }

    @Test func `the key stays when settings change, and is another one for another algorithm`() throws {
        try settings(#""alg":"ES256""#)
        let first = try sandbox.json("GET", "/_sandbox/backend/support/key")
        try settings(#""alg":"ES256","lifetime_seconds":5"#)
        #expect(try sandbox.json("GET", "/_sandbox/backend/support/key") == first)
        try settings(#""alg":"EdDSA""#)
        #expect(try sandbox.json("GET", "/_sandbox/backend/support/key")["alg"] == .text("EdDSA"))
    }

    @Test(arguments: ["RS256", "ES256", "EdDSA"])
    func `what is no key is refused`(algorithm: String) throws {
        let answer = try sandbox.json(
            "PUT", "/_sandbox/backend/support", body: #"{"alg":"\#(algorithm)","key":"no key"}"#, status: 400)
        #expect(answer["error"] == .text("\"key\" is no key for this algorithm"))
    }

    @Test func `there are no violations until somebody commits one`() throws {
        _ = try sandbox.token()
        let none = Tree.object(["dropped": .number("0"), "violations": .array([])])
        #expect(try sandbox.json("GET", "/_sandbox/violations") == none)
        #expect(try sandbox.json("GET", "/_sandbox/violations?backend=support") == none)
        _ = try sandbox.json("DELETE", "/_sandbox/violations")
        _ = try sandbox.json("GET", "/_sandbox/violations?nobody=x", status: 400)
    }
}
