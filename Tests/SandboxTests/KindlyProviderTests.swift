import Testing

/// The two strategies at which Kindly asks an identity provider.
@Suite struct `Kindly with an identity provider` {
    let sandbox: RunningSandbox
    private static let issuer = "https://issuer.example"

    init() throws {
        sandbox = try RunningSandbox()
        _ = try sandbox.json("PUT", "/_sandbox/idp/main", body: #"{"issuer":"\#(Self.issuer)"}"#)
    }

    private func client(_ strategy: String, _ more: String = "") throws -> KindlyClient {
        try KindlyClient(
            sandbox,
            #"{"strategy":"\#(strategy)","issuers":[{"issuer":"\#(Self.issuer)","idp":"main"}]\#(more)}"#)
    }

    private func mint(_ recipe: String = "{}") throws -> (id: String, access: String) {
        let answer = try sandbox.json("POST", "/_sandbox/idp/main/mint", body: recipe)
        return (try #require(answer["id_token"]?.text), try #require(answer["access_token"]?.text))
    }

    @Test(arguments: ["RS256", "PS256", "ES256", "ES384", "EdDSA"])
    func `an ID token with its access token, by the keys of the issuer`(algorithm: String) throws {
        let client = try client("identity_provider", #","require_at_hash":true"#)
        let tokens = try mint(#"{"alg":"\#(algorithm)"}"#)
        #expect(try client.bind(tokens.id, companion: tokens.access).status == 200)
        #expect(try client.bind(tokens.id, companion: tokens.access, issuer: Self.issuer).status == 200)
        #expect(try client.bind(tokens.id).status == 200)
        #expect(
            try client.bind(tokens.id, companion: "another").problem == "at_hash is of another access token")
        let wrong = try mint(#"{"alg":"\#(algorithm)","at_hash":"wrong"}"#)
        #expect(
            try client.bind(wrong.id, companion: wrong.access).problem == "at_hash is of another access token"
        )
    }

    @Test func `an ID token without at_hash, where it must have one and where not`() throws {
        let tokens = try mint(#"{"at_hash":"absent"}"#)
        #expect(try client("identity_provider").bind(tokens.id, companion: tokens.access).status == 200)
        let strict = try client("identity_provider", #","require_at_hash":true"#)
        #expect(try strict.bind(tokens.id, companion: tokens.access).problem == "at_hash is missing")
    }

    @Test func `the access token of a pair ends first, and is verified itself`() throws {
        let client = try client("identity_provider", #","expiry":"milliseconds""#)
        let before = try sandbox.now()
        let tokens = try mint(#"{"access_token_format":"jwt","access_token_seconds":60}"#)
        let wire = try client.bind(tokens.id, companion: tokens.access)
        let until = try #require(try Tree(wire.body)["expires_at"]?.integer)
        #expect((before + 59_000...before + 120_000).contains(until))
        let late = try mint(#"{"access_token_format":"jwt","access_token_seconds":-1}"#)
        #expect(
            try client.bind(late.id, companion: late.access).problem
                == "the token has expired, or is not valid yet")
        // An opaque one says nothing of its end: an hour, as the ID token has it.
        let opaque = try mint(#"{"access_token_seconds":60}"#)
        let long = try Tree(client.bind(opaque.id, companion: opaque.access).body)["expires_at"]?.integer
        #expect(try #require(long) >= before + 3_599_000)
    }

    @Test func `a JWT access token alone is a bearer`() throws {
        let tokens = try mint(#"{"access_token_format":"jwt"}"#)
        #expect(try client("identity_provider").bind(tokens.access).status == 200)
    }

    @Test func `a companion that repeats the bearer is refused, and a violation`() throws {
        let client = try client("identity_provider")
        let tokens = try mint(#"{"access_token_format":"jwt"}"#)
        let text = "X-Access-Token repeats the token in Authorization"
        #expect(try client.bind(tokens.access, companion: tokens.access).problem == text)
        #expect(try client.violations() == [text])
    }

    @Test(arguments: ["identity_provider", "introspection"])
    func `an opaque token with a companion is refused in the vendor's words`(strategy: String) throws {
        let tokens = try mint()
        let wire = try client(strategy).bind(tokens.access, companion: tokens.id, issuer: Self.issuer)
        #expect(wire.status == 401)
        #expect(wire.problem == "X-Access-Token requires a JWT id_token in Authorization")
    }

    @Test func `issuers: unknown, of another token, none to be found`() throws {
        let client = try client("identity_provider")
        let tokens = try mint()
        #expect(
            try client.bind(tokens.id, issuer: "https://else.example").problem == "the issuer is not known")
        let other = try mint(#"{"claims":{"iss":"https://else.example"}}"#)
        #expect(try client.bind(other.id).problem == "the issuer is not known")
        #expect(try client.bind(other.id, issuer: Self.issuer).problem == "iss is not the issuer")
        #expect(
            try client.bind(tokens.access).problem
                == "no issuer: X-Auth-Issuer is missing and the token has no iss")
        #expect(try client.bind(tokens.access, issuer: Self.issuer).problem == "the token is no JWT")
    }

    @Test func `keys rotate: the old one stays, and is dropped`() throws {
        let client = try client("identity_provider")
        let old = try mint().id
        _ = try sandbox.json("POST", "/_sandbox/idp/main/rotate")
        let new = try mint().id
        #expect(try client.bind(old).status == 200)
        #expect(try client.bind(new).status == 200)
        _ = try sandbox.json("POST", "/_sandbox/idp/main/rotate", body: #"{"keep_old":false}"#)
        #expect(try client.bind(old).problem == "the signature is wrong")
    }

    @Test func `an opaque token is introspected, and is good until it is revoked`() throws {
        let client = try client("introspection", #","expiry":"milliseconds""#)
        let before = try sandbox.now()
        let token = try mint(#"{"access_token_seconds":60}"#).access
        #expect(try client.bind(token).problem == "X-Auth-Issuer is missing")
        let wire = try client.bind(token, issuer: Self.issuer)
        let until = try #require(try Tree(wire.body)["expires_at"]?.integer)
        #expect((before + 59_000...before + 120_000).contains(until))
        #expect(try client.call("message", KindlyClient.headers(token, nil, Self.issuer)).status == 200)
        _ = try sandbox.json("POST", "/_sandbox/idp/main/revoke", body: #"{"token":"\#(token)"}"#)
        let later = try client.call("message", KindlyClient.headers(token, nil, Self.issuer))
        #expect(later.problem == "the token is not active")
        #expect(try client.bind("nonsense", issuer: Self.issuer).problem == "the token is not active")
    }

    @Test func `a bot that the identity provider does not know`() throws {
        let client = try KindlyClient(
            sandbox,
            #"{"strategy":"introspection","issuers":[{"issuer":"\#(Self.issuer)","idp":"main","client_secret":"x"}]}"#
        )
        let wire = try client.bind(try mint().access, issuer: Self.issuer)
        #expect(wire.problem == "the identity provider refuses the bot")
    }
}
