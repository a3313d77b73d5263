import Configuration
import CredentialCore
import Testing

private let oauth = "kind = \"oauth\"\nissuer = \"https://a.example\"\nclient_id = \"c\"\n"
private let jwt = "kind = \"jwt\"\nkey = { file = \"/k\" }\nalgorithm = \"RS256\"\n"

private let defects: [SourceDefect] = [
    .init("kind = \"oauth\"\nclient_id = \"c\"", "source", .withoutIssuer),
    .init("kind = \"oauth\"\nissuer = \"https://a.example\"", "source.client_id", .missing),
    .init(
        "kind = \"oauth\"\nissuer = \"https://a.example?x\"\nclient_id = \"c\"", "source.issuer",
        .malformedText),
    .init(
        "kind = \"oauth\"\nissuer = \"http://a.example\"\nclient_id = \"c\"", "source.issuer",
        .url(.plainTextNotLoopback)),
    .init(
        "kind = \"oauth\"\nissuer = \"https://a.example\"\nclient_id = \"c\\r\\n\"", "source.client_id",
        .malformedText),
    .init(oauth + "token_endpoint = \"ftp://a.example\"", "source.token_endpoint", .url(.schemeNotAllowed)),
    .init(oauth + "jwks_uri = \"https://a.example/#k\"", "source.jwks_uri", .url(.fragment)),
    .init(
        oauth + "grant_type = \"password\"", "source.grant_type",
        .notOneOf(["refresh_token", "client_credentials"])),
    .init(oauth + "grant = \"a/b\"", "source.grant", .entryName),
    .init(
        oauth + "grant_type = \"client_credentials\"\ngrant = \"g\"\nclient_secret = { secret = \"s\" }",
        "source.grant", .grantWithoutRefresh),
    .init(oauth + "grant_type = \"client_credentials\"", "source.client_secret", .missing),
    .init(oauth + "client_authentication = \"basic\"", "source.client_secret", .missing),
    .init(oauth + "client_authentication = \"private_key_jwt\"", "source.client_key", .missing),
    .init(
        oauth + "client_authentication = \"mtls\"", "source.client_authentication",
        .notOneOf(["basic", "form", "none", "private_key_jwt"])),
    .init(oauth + "client_secret = \"hunter2\"", "source.client_secret", .literalSecret),
    .init(oauth + "client_secrets = [\"hunter2\"]", "source.client_secrets[0]", .literalSecret),
    .init(oauth + "client_secrets = []", "source.client_secrets", .malformedText),
    .init(
        oauth + "client_secrets = [" + String(repeating: "{ secret = \"s\" }, ", count: 9) + "]",
        "source.client_secrets", .tooMany(limit: 8)),
    .init(
        oauth + "client_secret = { secret = \"s\" }\nclient_secrets = ["
            + String(repeating: "{ secret = \"s\" }, ", count: 8) + "]", "source.client_secrets",
        .tooMany(limit: 8)),
    .init(
        oauth + "client_secret = { secret = \"s\" }\nclient_key = { file = \"/k\" }", "source.client_key",
        .contradiction),
    .init(
        oauth + "client_authentication = \"none\"\nclient_secret = { secret = \"s\" }",
        "source.client_secret",
        .contradiction),
    .init(
        oauth + "client_authentication = \"none\"\nclient_secrets = [{ secret = \"s\" }]",
        "source.client_secrets", .contradiction),
    .init(
        oauth + "client_authentication = \"none\"\nclient_key = { file = \"/k\" }", "source.client_key",
        .contradiction),
    .init(
        oauth
            + "client_authentication = \"private_key_jwt\"\nclient_key = { file = \"/k\" }\nclient_secrets = [{ secret = \"s\" }]",
        "source.client_secrets", .contradiction),
    .init(
        oauth + "client_secret = { secret = \"s\" }\nclient_key_id = \"1\"", "source.client_key_id",
        .contradiction),
    .init(
        oauth + "client_key = { file = \"/k\" }\nclient_key_algorithm = \"none\"",
        "source.client_key_algorithm",
        .notOneOf(["HS256", "HS384", "HS512", "RS256", "PS256", "ES256", "ES384", "EdDSA"])),
    .init(oauth + "scope = \"a \\\"b\\\"\"", "source.scope", .malformedText),
    .init(oauth + "scope = [\"a b\"]", "source.scope", .malformedText),
    .init(oauth + "scope = [\"a\\nb\"]", "source.scope", .malformedText),
    .init(oauth + "scope = [1]", "source.scope", .wrongType(expected: .string, found: .list)),
    .init(oauth + "scope = 1", "source.scope", .wrongType(expected: .string, found: .integer)),
    .init(
        oauth + "scope = [" + (0..<65).map { "\"s\($0)\", " }.joined() + "]", "source.scope",
        .tooMany(limit: 64)),
    .init(oauth + "audience = \"\"", "source.audience", .malformedText),
    .init(oauth + "resource = \"a\\u0000\"", "source.resource", .malformedText),
    .init(
        oauth + "introspect = \"sometimes\"", "source.introspect",
        .notOneOf(["automatic", "always", "never"])),
    .init(
        "kind = \"oauth\"\ntoken_endpoint = \"https://a.example\"\nclient_id = \"c\"\nintrospect = \"always\"",
        "source.introspection_endpoint", .missing),
    .init(oauth + "isuer = \"x\"", "source.isuer", .unknownKey(nearest: "issuer")),
    .init(oauth + "ca_file = \"x\"", "source.ca_file", .relativePath),
    .init(oauth + "proxy = \"x\"", "source.proxy", .proxy),
    .init(oauth + "timeout = 11", "source.timeout", .outOfRange(from: 1, to: 10)),
    .init("kind = \"jwt\"\nalgorithm = \"RS256\"", "source.key", .missing),
    .init("kind = \"jwt\"\nkey = { file = \"/k\" }", "source.algorithm", .missing),
    .init("kind = \"jwt\"\nkey = \"k\"\nalgorithm = \"HS256\"", "source.key", .literalSecret),
    .init(
        "kind = \"jwt\"\nkey = { file = \"/k\" }\nalgorithm = \"none\"", "source.algorithm",
        .notOneOf(["HS256", "HS384", "HS512", "RS256", "PS256", "ES256", "ES384", "EdDSA"])),
    .init(jwt + "lifetime = 0", "source.lifetime", .outOfRange(from: 1, to: 86_400)),
    .init(jwt + "lifetime = 86401", "source.lifetime", .outOfRange(from: 1, to: 86_400)),
    .init(jwt + "issuer = \"\"", "source.issuer", .malformedText),
    .init(jwt + "subject = \"a\\nb\"", "source.subject", .malformedText),
    .init(jwt + "audience = 5", "source.audience", .wrongType(expected: .string, found: .integer)),
    .init(jwt + "audience = []", "source.audience", .malformedText),
    .init(
        jwt + "audience = [\"a\", 5]", "source.audience[1]", .wrongType(expected: .string, found: .integer)),
    .init(jwt + "claims = { exp = 1 }", "source.claims.exp", .claimReserved),
    .init(jwt + "claims = { iat = 1 }", "source.claims.iat", .claimReserved),
    .init(jwt + "claims = { nbf = 1 }", "source.claims.nbf", .claimReserved),
    .init(jwt + "claims = { iss = \"x\" }", "source.claims.iss", .claimReserved),
    .init(jwt + "claims = { a = 1.5 }", "source.claims.a", .wrongType(expected: .string, found: .number)),
    .init(jwt + "claims = { a = { b = { c = { d = {} } } } }", "source.claims.a.b.c.d", .tooMany(limit: 64)),
    .init(
        jwt + "claims = { " + (0..<65).map { "k\($0) = 1" }.joined(separator: ", ") + " }", "source.claims",
        .tooMany(limit: 64)),
    .init(jwt + "claim = {}", "source.claim", .unknownKey(nearest: "claims")),
]

@Suite struct `OAuth and JWT sources in files` {
    @Test(arguments: defects)
    func `each defect is named exactly, with its place`(_ defect: SourceDefect) {
        do throws(ConfigurationFailure) {
            _ = try read(accounts("a.toml", "[account.x.source]\n" + defect.text))
            Issue.record("accepted")
        } catch {
            #expect(error.faults.map(\.key) == ["account.x." + defect.key])
            #expect(error.faults.map(\.problem) == [.value(defect.problem)])
            #expect(error.faults.allSatisfy { $0.position != nil })
        }
    }

    private func source(_ text: String) throws -> SourceDefinition? {
        try read(accounts("a.toml", "[account.x.source]\n" + text)).accounts.first?.source
    }

    @Test func `what is absent has its default`() throws {
        let grant = try #require(GrantName("x"))
        #expect(
            try source(oauth)
                == .oauth(
                    OAuthSource(
                        endpoints: .init(issuer: "https://a.example"), flow: .refreshToken(grant: grant),
                        clientID: "c", authentication: .none)))
        #expect(
            try source(jwt)
                == .jwt(
                    JWTSource(
                        key: .file(path: "/k"), algorithm: .rs256, lifetime: .seconds(300), claims: [])))
    }

    @Test func `every key of an oauth source arrives`() throws {
        let grant = try #require(GrantName("shared"))
        let new = try #require(SecretName("new"))
        #expect(
            try source(
                """
                kind = "oauth"
                issuer = "https://a.example/"
                token_endpoint = "https://a.example/t"
                introspection_endpoint = "https://a.example/i"
                revocation_endpoint = "https://a.example/r"
                jwks_uri = "https://a.example/k"
                grant_type = "refresh_token"
                grant = "shared"
                client_id = "c"
                client_authentication = "form"
                client_secrets = [{ secret = "new" }, { credential = "old" }]
                scope = ["b", "a", "b"]
                audience = "https://api.example"
                resource = "https://api.example/r"
                introspect = "always"
                ca_file = "/ca.pem"
                proxy = "http://proxy.example:1"
                timeout = 2.5
                """)
                == .oauth(
                    OAuthSource(
                        endpoints: .init(
                            issuer: "https://a.example/", token: HTTPURL("https://a.example/t"),
                            introspection: HTTPURL("https://a.example/i"),
                            revocation: HTTPURL("https://a.example/r"), keys: HTTPURL("https://a.example/k")),
                        flow: .refreshToken(grant: grant), clientID: "c",
                        authentication: .form([.secret(new), .credential(name: "old")]), scope: ["a", "b"],
                        audience: "https://api.example", resource: "https://api.example/r",
                        introspection: .always, caFile: "/ca.pem", proxy: "http://proxy.example:1",
                        timeout: Milliseconds(2500))))
    }

    @Test func `a key is proof enough`() throws {
        guard
            case .oauth(let parsed) = try source(
                oauth
                    + "grant_type = \"client_credentials\"\nclient_key = { file = \"/k\" }\nclient_key_id = \"1\""
            )
        else {
            Issue.record("another source")
            return
        }
        #expect(parsed.flow == .clientCredentials)
        #expect(
            parsed.authentication == .privateKeyJWT(key: .file(path: "/k"), algorithm: .rs256, keyID: "1"))
    }

    @Test func `claims keep their shape`() throws {
        #expect(
            try source(
                jwt + """
                    key_id = "1"
                    lifetime = 900
                    subject = "{account}"
                    audience = ["a", "b"]
                    claims = { chat = { id = "c", domains = ["*.x"] }, seats = 5, vip = false, sub2 = { iss = "x" } }
                    """)
                == .jwt(
                    JWTSource(
                        key: .file(path: "/k"), algorithm: .rs256, keyID: "1", lifetime: .seconds(900),
                        claims: [
                            .init(name: "sub", value: .text("{account}")),
                            .init(name: "aud", value: .list([.text("a"), .text("b")])),
                            .init(
                                name: "chat",
                                value: .object([
                                    .init(name: "id", value: .text("c")),
                                    .init(name: "domains", value: .list([.text("*.x")])),
                                ])),
                            .init(name: "seats", value: .integer(5)),
                            .init(name: "vip", value: .boolean(false)),
                            .init(
                                name: "sub2", value: .object([.init(name: "iss", value: .text("x"))])),
                        ])))
    }
}
