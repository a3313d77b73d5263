import CredentialCore
import JSON
import Secrets
import Testing

private struct FixedNames: NameResolver {
    func uid(of user: String) throws(NameResolutionFailure) -> UInt32? {
        guard user != "broken" else { throw NameResolutionFailure(code: 5) }
        return ["root": 0, "chat": 1000][user]
    }
    func gid(of group: String) throws(NameResolutionFailure) -> UInt32? { group == "agents" ? 2000 : nil }
}

// SplitMix64: the same accounts for the same seed.
private struct Seeded: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func text(_ alphabet: String, _ lengths: ClosedRange<Int>) -> String {
        String(
            (0..<Int.random(in: lengths, using: &self)).compactMap { _ in alphabet.randomElement(using: &self)
            })
    }

    mutating func maybe<Value>(_ make: (inout Seeded) throws -> Value) rethrows -> Value? {
        Bool.random(using: &self) ? try make(&self) : nil
    }
}

private let letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
private let nasty = letters + "\"\\/ \t\n\u{7F}\u{1F600}é"

extension Seeded {
    fileprivate mutating func reference() -> SecretReference {
        switch Int.random(in: 0..<3, using: &self) {
        case 0: return .file(path: "/" + text(letters + "\"\\ é/", 0...30))
        case 1: return .credential(name: text(letters, 1...20))
        default:
            guard let name = SecretName(text(letters, 1...20)) else { return .file(path: "/never") }
            return .secret(name)
        }
    }

    fileprivate mutating func fields() -> FieldMap {
        var map = FieldMap(token: text(letters, 1...9) + "." + text(letters + "\"é", 1...9))
        map.idToken = maybe { $0.text(letters, 1...9) }
        map.accessToken = maybe { $0.text(letters, 1...9) }
        map.issuer = maybe { $0.text(letters, 1...9) }
        map.expiresAt = maybe { $0.text(letters, 1...9) }
        map.expiresIn = maybe { $0.text(letters, 1...9) }
        return map
    }

    fileprivate mutating func source() throws -> SourceDefinition {
        switch Int.random(in: 0..<5, using: &self) {
        case 3: return .oauth(try oauth())
        case 4: return .jwt(jwt())
        case 0:
            return .static(
                StaticSource(
                    idToken: reference(), accessToken: maybe { $0.reference() },
                    issuer: maybe { $0.text(letters + "\"\\:/", 1...30) },
                    expiresAt: maybe { WallTime(seconds: .random(in: 0...253_402_300_799, using: &$0)) }))
        case 1:
            let fields = maybe { $0.fields() }
            return .file(
                FileSource(
                    file: Bool.random(using: &self)
                        ? .file(path: "/" + text(letters + "\"\\ é/", 0...30))
                        : .credential(name: text(letters, 1...20)),
                    format: fields.map { .json($0) } ?? .token))
        default:
            let method: HTTPSource.Method = Bool.random(using: &self) ? .get : .post
            let answer: HTTPSource.Answer = Bool.random(using: &self) ? .json : .text
            var headers: [HTTPSource.Header] = []
            for number in 0..<Int.random(in: 0...3, using: &self) {
                let value: HTTPSource.Header.Value =
                    Bool.random(using: &self)
                    ? .literal(text(letters + "\"\\;", 1...20))
                    : .secret(reference(), prefix: text(letters + " ", 0...8))
                headers.append(.init(name: "X-\(number)-" + text(letters + "!#$%", 1...8), value: value))
            }
            return .http(
                HTTPSource(
                    url: try HTTPURL(
                        "https://" + text("abc", 1...8) + ".example/" + text(letters + "?&=", 0...20)),
                    method: method, headers: headers,
                    bodyTemplate: method == .get ? nil : maybe { $0.text(nasty, 0...40) + "{account}" },
                    contentType: "text/" + text(letters, 1...8), answer: answer,
                    fields: answer == .text ? nil : maybe { $0.fields() },
                    caFile: maybe { "/" + $0.text(letters, 1...9) },
                    proxy: maybe { "http://proxy.example:\(Int.random(in: 1...65535, using: &$0))" },
                    timeout: Milliseconds(.random(in: 1000...60_000, using: &self))))
        }
    }

    fileprivate mutating func requestHeaders() -> [HTTPSource.Header] {
        maybe { [.init(name: "X-" + $0.text(letters, 1...9), value: .literal("{bearer}"))] } ?? []
    }

    fileprivate mutating func url() throws -> HTTPURL {
        try HTTPURL("https://" + text("abc", 1...8) + ".example/" + text(letters, 0...9))
    }

    fileprivate mutating func oauth() throws -> OAuthSource {
        let grant = try #require(GrantName(text(letters, 1...20)))
        let spends = Bool.random(using: &self)
        let authentication: OAuthSource.ClientAuthentication
        switch Int.random(in: spends ? 0..<4 : 1..<4, using: &self) {
        case 0: authentication = .none
        case 1: authentication = .basic((0..<Int.random(in: 1...8, using: &self)).map { _ in reference() })
        case 2: authentication = .form((0..<Int.random(in: 1...8, using: &self)).map { _ in reference() })
        default:
            authentication = .privateKeyJWT(
                key: reference(),
                algorithm: SignatureAlgorithm.allCases.randomElement(using: &self) ?? .rs256,
                keyID: maybe { $0.text(letters + "\" \\", 1...20) })
        }
        let issuer = try maybe { try $0.url().text + "/" }
        return OAuthSource(
            endpoints: .init(
                issuer: issuer, token: issuer == nil ? try url() : try maybe { try $0.url() },
                introspection: try maybe { try $0.url() }, revocation: try maybe { try $0.url() },
                keys: try maybe { try $0.url() }),
            flow: spends ? .refreshToken(grant: grant) : .clientCredentials,
            clientID: text(letters + "\"\\ :&", 1...30), authentication: authentication,
            scope: Set(
                (0..<Int.random(in: 0...5, using: &self)).map { _ in text(letters + "!#/:[]~", 1...9) }
            )
            .sorted(),
            audience: maybe { $0.text(letters + "\"\\/", 1...30) },
            resource: maybe { $0.text(letters, 1...30) },
            introspection: OAuthSource.Introspection.allCases.filter { $0 != .always || issuer != nil }
                .randomElement(using: &self) ?? .never,
            caFile: maybe { "/" + $0.text(letters, 1...9) },
            proxy: maybe { "http://proxy.example:\(Int.random(in: 1...65535, using: &$0))" },
            timeout: Milliseconds(.random(in: 1000...10_000, using: &self)))
    }

    fileprivate mutating func jwt() -> JWTSource {
        var claims: [JWTSource.Claim] = []
        if let issuer = maybe({ $0.text(letters + "\"\\é", 1...20) }) {
            claims.append(.init(name: "iss", value: .text(issuer)))
        }
        if let subject = maybe({ $0.text(letters, 1...20) + "{account}" }) {
            claims.append(.init(name: "sub", value: .text(subject)))
        }
        if Bool.random(using: &self) {
            let audience = (0..<Int.random(in: 1...3, using: &self)).map { _ in
                JWTSource.Claim.Value.text(text(letters, 1...9))
            }
            claims.append(.init(name: "aud", value: audience.count == 1 ? audience[0] : .list(audience)))
        }
        claims += members(depth: 1)
        return JWTSource(
            key: reference(), algorithm: SignatureAlgorithm.allCases.randomElement(using: &self) ?? .hs256,
            keyID: maybe { $0.text(letters, 1...9) },
            lifetime: Milliseconds(.random(in: 1000...86_400_000, using: &self)),
            claims: claims)
    }

    private mutating func members(depth: Int) -> [JWTSource.Claim] {
        (0..<Int.random(in: 0...3, using: &self)).map { number in
            JWTSource.Claim(name: "\(number)" + text(letters + "\"\\.é", 1...9), value: value(depth: depth))
        }
    }

    private mutating func value(depth: Int) -> JWTSource.Claim.Value {
        switch Int.random(in: depth < 4 ? 0..<5 : 0..<3, using: &self) {
        case 0: .text(text(letters + "\"\\{}é", 1...20))
        case 1: .integer(.random(in: .min ... .max, using: &self))
        case 2: .boolean(Bool.random(using: &self))
        case 3: .list((0..<Int.random(in: 0...3, using: &self)).map { _ in value(depth: depth + 1) })
        default: .object(members(depth: depth + 1))
        }
    }

    fileprivate mutating func rules() -> [AccessRule] {
        (0..<Int.random(in: 0...3, using: &self)).compactMap { _ in
            let uid: UInt32? = maybe { .random(in: 0...(.max - 1), using: &$0) }
            let gid: UInt32? = maybe { .random(in: 0...(.max - 1), using: &$0) }
            return AccessRule(
                user: uid == nil ? nil : maybe { $0.text(letters + "$.é", 1...9) }, uid: uid,
                group: gid == nil ? nil : maybe { $0.text(letters, 1...9) }, gid: gid)
        }
    }
}

// Platforms of every provider, with whatever their keys may be.
extension Seeded {
    fileprivate mutating func platform() throws -> (AccountDefinition.Provider, PlatformDefinition?) {
        let provider = AccountDefinition.Provider.allCases.randomElement(using: &self) ?? .generic
        let transport = PlatformTransport(
            caFile: maybe { "/" + $0.text(letters, 1...9) },
            proxy: maybe { "http://proxy.example:\(Int.random(in: 1...65535, using: &$0))" },
            timeout: Milliseconds(.random(in: 1000...60_000, using: &self)))
        let route = text(letters, 1...9) + "/" + text(letters + "-._~", 1...9) + "a"
        let base = try HTTPURL("https://" + text("abc", 1...8) + ".example/" + text(letters, 1...9))
        switch provider {
        case .generic, .oauth:
            return (
                provider,
                try maybe { random in
                    .described(
                        BindDefinition(
                            url: try random.url(),
                            headers: [
                                .init(name: "X-A", value: .literal("{bearer}" + random.text(letters, 1...9)))
                            ],
                            bodyTemplate: random.maybe { $0.text(nasty, 0...20) + "{companion}" },
                            contentType: "text/" + random.text(letters, 1...9),
                            expiryField: random.maybe { $0.text(letters, 1...9) },
                            refusals: Bool.random(using: &random) ? [401] : [403, 499],
                            order: Bool.random(using: &random) ? .before : .behind, transport: transport))
                }
            )
        case .kindly:
            return (
                provider,
                .kindly(
                    KindlyDefinition(
                        botKey: text(letters + "-/\"\\", 1...30), market: text(letters, 1...9),
                        language: maybe { $0.text(letters, 2...5) },
                        strategy: maybe { KindlyDefinition.Strategy.allCases.randomElement(using: &$0) }
                            ?? nil,
                        connecting: Bool.random(using: &self) ? .broker : .client, baseURL: base,
                        connectPath: route, bindPath: text(letters, 1...9), invalidatePath: route,
                        clientName: text(letters, 1...9), clientVersion: text("0123.", 1...9),
                        expiryField: text(letters, 1...9) + ".x",
                        defaultIssuer: maybe { $0.text(letters, 1...9) },
                        expectedIssuer: maybe { $0.text(letters, 1...9) },
                        isAtHashStrict: Bool.random(using: &self), transport: transport))
            )
        case .chatbase:
            return (
                provider,
                .chatbase(
                    ChatbaseDefinition(
                        agentID: text(letters + "-_", 1...30), baseURL: base,
                        device: maybe { $0.text(letters, 1...9) },
                        userAgent: maybe { $0.text(letters + "/()", 1...9) },
                        identifiesOnStart: Bool.random(using: &self),
                        trustsVerifiedUserID: Bool.random(using: &self), transport: transport))
            )
        case .socialPlus:
            let region = maybe { SocialPlusDefinition.Region.allCases.randomElement(using: &$0) } ?? nil
            let user = maybe { $0.text(letters + "é", 1...50) }
            return (
                provider,
                .socialPlus(
                    SocialPlusDefinition(
                        apiKey: reference(),
                        baseURL: try region.map { try HTTPURL("https://apix.\($0.rawValue).amity.co") }
                            ?? base,
                        region: region, userID: user, displayName: maybe { $0.text(letters + "é\"", 1...50) },
                        isSecureMode: Bool.random(using: &self),
                        logsInOnStart: user != nil && Bool.random(using: &self),
                        verifiesAccessToken: Bool.random(using: &self),
                        renewalPause: Milliseconds(.random(in: 0...86_400_000, using: &self)),
                        loginTimeout: Milliseconds(.random(in: 1000...300_000, using: &self)),
                        terminatingCodes: (0..<Int.random(in: 0...3, using: &self)).map { _ in
                            .random(in: 1...999_999_999, using: &self)
                        }, terminatesOnUserNotFound: Bool.random(using: &self), sessionsPath: route,
                        verifyPath: route, revokePath: text(letters, 1...9), transport: transport))
            )
        }
    }
}

extension Array where Element == UInt8 {
    fileprivate init(copying span: Span<UInt8>) {
        self = span.indices.map { span[$0] }
    }
}

private func written(_ account: AccountDefinition) -> (definition: SecretBytes, policy: SecretBytes) {
    var definition = JSONWriter()
    AccountDefinitionJSON.writeDefinition(account, to: &definition)
    var policy = JSONWriter()
    AccountDefinitionJSON.writePolicy(account.access, to: &policy)
    return (definition.finish().finish(), policy.finish().finish())
}

private func stored(
    _ name: AccountName, _ definition: SecretBytes, _ policy: SecretBytes
) throws -> AccountDefinition {
    try definition.withSpan { definition in
        try policy.withSpan { policy in
            var one = JSONDocument()
            var other = JSONDocument()
            return try AccountDefinitionJSON.stored(
                name: name, definition: one.parse(definition), policy: other.parse(policy))
        }
    }
}

private func added(_ text: String) throws -> AccountDefinition {
    var document = JSONDocument()
    let bytes = Array(text.utf8)
    return try AccountDefinitionJSON.added(document.parse(bytes.span), names: FixedNames())
}

/// The faults of the parameters of `account.add`, each on a line.
private func faults(_ text: String) throws -> [String] {
    do {
        _ = try added(text)
        return []
    } catch let failure as AccountDefinitionJSON.Failure {
        return failure.faults.map(\.message)
    }
}

@Suite struct `Accounts as JSON` {
    @Test(arguments: [1, 2, 3, 20_260_101] as [UInt64])
    func `what is written reads back as the same account`(_ seed: UInt64) throws {
        var random = Seeded(state: seed)
        for round in 0..<500 {
            let name = try #require(AccountName("a" + random.text(letters, 0...20)))
            let (provider, platform) = try random.platform()
            let account = AccountDefinition(
                name: name, provider: provider, platform: platform,
                requestHeaders: [.generic, .oauth].contains(provider) ? random.requestHeaders() : [],
                source: try random.maybe { try $0.source() },
                access: AccessRules(use: random.rules(), operate: random.rules()),
                startsByItself: Bool.random(using: &random),
                earlyFraction: random.maybe { EarlyFraction(Double.random(in: 0.1...1, using: &$0)) } ?? nil,
                callbackTimeout: Milliseconds(.random(in: 1000...60_000, using: &random)), origin: .rpc)
            let texts = written(account)
            #expect(
                try stored(name, texts.definition, texts.policy) == account, "seed \(seed) round \(round)")
        }
    }

    @Test func `an http account is added with the numbers of its names`() throws {
        let account = try added(
            #"""
            {"account":"bot","source":{"kind":"http","url":"https://b.example/t","headers":{"X-A":"1"}},
             "allow":{"use":[{"user":"chat"},{"group":"agents"}],"operate":[{"user":0}]},"autostart":false}
            """#)
        let chat = try #require(AccessRule(user: "chat", uid: 1000))
        let agents = try #require(AccessRule(group: "agents", gid: 2000))
        let root = try #require(AccessRule(uid: 0))
        let url = try HTTPURL("https://b.example/t")
        #expect(account.name.text == "bot")
        #expect(
            account.source
                == .http(HTTPSource(url: url, headers: [.init(name: "X-A", value: .literal("1"))])))
        #expect(account.access == AccessRules(use: [chat, agents], operate: [root]))
        #expect(!account.startsByItself)
        #expect(account.origin == .rpc)
        let texts = written(account)
        #expect(
            texts.policy.withSpan { String(decoding: Array(copying: $0), as: UTF8.self) }
                == #"{"use":[{"user":"chat","uid":1000},{"group":"agents","gid":2000}],"operate":[{"uid":0}]}"#
        )
    }

    @Test func `an account that is added may refer to secrets by name`() throws {
        let account = try added(
            #"""
            {"account":"bot","provider":"oauth","source":{"kind":"oauth","issuer":"https://a.example",
             "client_id":"c","client_secret":{"secret":"client"},"scope":"b a b"}}
            """#)
        let grant = try #require(GrantName("bot"))
        let client = try #require(SecretName("client"))
        #expect(account.provider == .oauth)
        #expect(
            account.source
                == .oauth(
                    OAuthSource(
                        endpoints: .init(issuer: "https://a.example"), flow: .refreshToken(grant: grant),
                        clientID: "c", authentication: .basic([.secret(client)]), scope: ["a", "b"])))
    }

    @Test func `a name is enough`() throws {
        let account = try added(#"{"account":"bot"}"#)
        #expect(account.source == nil)
        #expect(account.access == .nobody)
        #expect(account.startsByItself)
    }

    @Test(arguments: [
        (#"{}"#, "account: this key is needed"),
        (#"[]"#, "expected a table, found a list"),
        (
            #"{"account":"-x"}"#,
            "account: an account's name is 1 to 64 of A-Z a-z 0-9 . _ @ - and does not begin with . or -"
        ),
        (#"{"account":"x","provider":"kindly"}"#, "settings.bot_key: this key is needed"),
        (#"{"account":"x","sorce":{}}"#, #"sorce: unknown key; did you mean "source"?"#),
        (#"{"account":"x","source":null}"#, "source: expected a table, found null"),
        (
            #"{"account":"x","source":{"kind":"file","path":"/etc/shadow"}}"#,
            "source.kind: not allowed for an account that is added over RPC; write it into a file"
        ),
        (
            #"{"account":"x","source":{"kind":"static","id_token":{"file":"/etc/shadow"}}}"#,
            "source.kind: not allowed for an account that is added over RPC; write it into a file"
        ),
        (
            #"{"account":"x","source":{"kind":"exec","program":"/x"}}"#,
            "source.kind: not available in this version"
        ),
        (
            #"{"account":"x","source":{"kind":"http","url":"https://b.example","headers":{"X":{"file":"/a"}}}}"#,
            "source.headers.X: not allowed for an account that is added over RPC; write it into a file"
        ),
        (
            #"{"account":"x","source":{"kind":"http","url":"https://b.example","headers":{"X":{"credential":"a"}}}}"#,
            "source.headers.X: not allowed for an account that is added over RPC; write it into a file"
        ),
        (
            #"{"account":"x","source":{"kind":"http","url":"https://b.example","headers":{"Authorization":"x"}}}"#,
            #"source.headers.Authorization: a secret must not stand here; refer to it with { secret = "name" }, { file = "/path" } or { credential = "name" }"#
        ),
        (
            #"{"account":"x","source":{"kind":"oauth","issuer":"https://a.example","client_id":"c","client_secret":{"file":"/a"}}}"#,
            "source.client_secret: not allowed for an account that is added over RPC; write it into a file"
        ),
        (
            #"{"account":"x","source":{"kind":"jwt","algorithm":"HS256","key":{"credential":"a"}}}"#,
            "source.key: not allowed for an account that is added over RPC; write it into a file"
        ),
        (
            #"{"account":"x","source":{"kind":"oauth","issuer":"https://a.example","client_id":"c","client_secrets":["s"]}}"#,
            #"source.client_secrets[0]: a secret must not stand here; refer to it with { secret = "name" }, { file = "/path" } or { credential = "name" }"#
        ),
        (#"{"account":"x","allow":{"use":[{"user":"nobody"}]}}"#, "allow.use[0].user: no such user"),
        (
            #"{"account":"x","allow":{"use":[{"user":"broken"}]}}"#,
            "allow.use[0].user: the name service failed (errno 5); try again"
        ),
        (#"{"account":"x","allow":{"use":[{"uid":0}]}}"#, "allow.use[0]: a rule needs a user or a group"),
        (#"{"account":"x","autostart":1e300}"#, "autostart: expected true or false, found a number"),
    ])
    func `what may not be added is refused`(_ text: String, _ line: String) throws {
        #expect(try faults(text).first == line)
    }

    @Test(arguments: [
        (#"{"use":[{"user":"chat"}]}"#, "policy.use[0].uid"),
        (#"{"use":[{"user":"chat","gid":5}]}"#, "policy.use[0].uid"),
        (#"{"operate":[{"group":"agents","uid":5}]}"#, "policy.operate[0].gid"),
    ])
    func `a stored rule that lost a number is refused, not widened`(_ policy: String, _ key: String) throws {
        let name = try #require(AccountName("x"))
        let text = SecretBytes(copying: Array(policy.utf8).span)
        #expect(
            throws: AccountDefinitionJSON.Failure(
                faults: [DefinitionFault(key: key, position: nil, problem: .missing)])
        ) {
            try stored(name, SecretBytes(#"{"provider":"generic"}"#), text)
        }
    }

    @Test(
        arguments: [
            ("sorce", "source"), ("SOURCE", "source"), ("allwo", "allow"), ("autostrat", "autostart"),
            ("x", nil),
            ("", nil), ("entirely-different", nil), (String(repeating: "source", count: 1000), nil),
        ] as [(String, String?)])
    func `the nearest key is the one that was meant`(_ text: String, _ nearest: String?) {
        #expect(NearestKey.find(text, among: ["provider", "source", "allow", "autostart"]) == nearest)
    }
}

@Suite struct `Platforms as JSON` {
    @Test func `the keys of a platform stand in settings`() throws {
        let account = try added(
            #"""
            {"account":"bot","provider":"kindly","settings":{"bot_key":"b","market":"en"},
             "early_fraction":0.5,"callback_timeout":2}
            """#)
        #expect(
            account.platform
                == .kindly(
                    KindlyDefinition(
                        botKey: "b", market: "en",
                        baseURL: try HTTPURL("https://bot.kindly.ai/chatbubble/v2"))))
        #expect(account.earlyFraction == EarlyFraction(0.5))
        #expect(account.callbackTimeout == .seconds(2))
    }

    @Test func `what is missing or not allowed in settings is named`() throws {
        #expect(
            try faults(#"{"account":"bot","provider":"kindly"}"#)
                == ["settings.bot_key: this key is needed", "settings.market: this key is needed"])
        #expect(
            try faults(
                #"{"account":"bot","provider":"kindly","bot_key":"b","settings":{"bot_key":"b","market":"en","x":1}}"#
            ) == ["settings.x: unknown key", "bot_key: unknown key"])
        #expect(
            try faults(
                #"{"account":"bot","provider":"socialplus","settings":{"region":"eu","api_key":{"file":"/a"}}}"#
            )
                == [
                    "settings.api_key: not allowed for an account that is added over RPC; write it into a file"
                ])
        #expect(
            try faults(#"{"account":"bot","settings":{"bind":{"url":"https://c.example","order":"never"}}}"#)
                == ["settings.bind.order: must be one of behind, before"])
    }
}
