import Configuration
import CredentialCore
import Testing

private func account(_ text: String) throws -> AccountDefinition {
    let configuration = try read(accounts("a.toml", "[account.x]\n" + text))
    return try #require(configuration.accounts.first)
}

private let kindly = "provider = \"kindly\"\nbot_key = \"b\"\nmarket = \"en\"\n"
private let chatbase = "provider = \"chatbase\"\nagent_id = \"a\"\n"
private let socialPlus = "provider = \"socialplus\"\napi_key = { secret = \"k\" }\n"
private let bind = "[account.x.bind]\nurl = \"https://c.example\"\n"
private let tokenSource = "[account.x.source]\nkind = \"http\"\nform = \"socialplus_auth_token\"\n"
private let bindPlaceholders = ["bearer", "companion", "issuer", "account"]

private let defects: [SourceDefect] = [
    .init("provider = \"kindly\"\nmarket = \"en\"", "bot_key", .missing),
    .init("provider = \"kindly\"\nbot_key = \"b\"", "market", .missing),
    .init("provider = \"kindly\"\nbot_key = \"a b\"\nmarket = \"en\"", "bot_key", .malformedText),
    .init(kindly + "markt = \"en\"", "markt", .unknownKey(nearest: "market")),
    .init(kindly + "agent_id = \"a\"", "agent_id", .unknownKey(nearest: nil)),
    .init(
        kindly + "strategy = \"jwt\"", "strategy",
        .notOneOf(["kindly_jwt", "identity_provider", "introspection"])),
    .init(kindly + "connect = \"daemon\"", "connect", .notOneOf(["broker", "client"])),
    .init(kindly + "base_url = \"http://bot.example\"", "base_url", .url(.plainTextNotLoopback)),
    .init(kindly + "base_url = \"https://bot.example/?a=1\"", "base_url", .baseWithQuery),
    .init(kindly + "bind_path = \"/auth/chat\"", "bind_path", .relativeRoute),
    .init(kindly + "bind_path = \"a/../b\"", "bind_path", .relativeRoute),
    .init(kindly + "bind_path = \"a?b\"", "bind_path", .relativeRoute),
    .init(kindly + "client_version = \"3\\r\\nx: y\"", "client_version", .malformedText),
    .init(kindly + "expiry_field = \"a..b\"", "expiry_field", .malformedText),
    .init(kindly + "strict_at_hash = 1", "strict_at_hash", .wrongType(expected: .boolean, found: .integer)),
    .init(kindly + "early_fraction = 0.05", "early_fraction", .fraction),
    .init(kindly + "early_fraction = nan", "early_fraction", .fraction),
    .init(kindly + "early_fraction = true", "early_fraction", .wrongType(expected: .number, found: .boolean)),
    .init(kindly + "callback_timeout = 0", "callback_timeout", .outOfRange(from: 1, to: 60)),
    .init(kindly + "timeout = 61", "timeout", .outOfRange(from: 1, to: 60)),
    .init(kindly + "[account.x.bind]\nurl = \"https://c.example\"", "bind", .unknownKey(nearest: nil)),
    .init("provider = \"chatbase\"", "agent_id", .missing),
    .init("provider = \"chatbase\"\nagent_id = \"a/b\"", "agent_id", .malformedText),
    .init(chatbase + "device = \"-d\"", "device", .malformedText),
    .init(chatbase + "user_agent = \"a\\nb\"", "user_agent", .malformedText),
    .init("provider = \"socialplus\"\nregion = \"eu\"", "api_key", .missing),
    .init("provider = \"socialplus\"\nregion = \"eu\"\napi_key = \"k\"", "api_key", .literalSecret),
    .init(socialPlus, "region", .notOneOfKeys("region", "base_url")),
    .init(
        socialPlus + "region = \"eu\"\nbase_url = \"https://s.example\"", "base_url",
        .notOneOfKeys("region", "base_url")),
    .init(socialPlus + "region = \"au\"", "region", .notOneOf(["sg", "eu", "us"])),
    .init(
        socialPlus + "region = \"eu\"\nuser_id = \"\(String(repeating: "u", count: 51))\"", "user_id",
        .malformedText),
    .init(socialPlus + "region = \"eu\"\ndisplay_name = \"\"", "display_name", .malformedText),
    .init(socialPlus + "region = \"eu\"\nlogin_on_start = true", "user_id", .missing),
    .init(
        socialPlus + "region = \"eu\"\nterminate_codes = [1, \"2\"]", "terminate_codes[1]",
        .wrongType(expected: .integer, found: .string)),
    .init(
        socialPlus + "region = \"eu\"\nterminate_codes = [0]", "terminate_codes[0]",
        .outOfRange(from: 1, to: 999_999_999)),
    .init("[account.x.bind]\nmethod = \"POST\"", "bind.url", .missing),
    .init(bind + "order = \"after\"", "bind.order", .notOneOf(["behind", "before"])),
    .init(bind + "body = '{chat_id}'", "bind.body", .placeholder(bindPlaceholders)),
    .init(bind + "headers = { X-A = \"{bearr}\" }", "bind.headers.X-A", .placeholder(bindPlaceholders)),
    .init("[account.x.bind]\nurl = \"https://p.example/{account}\"", "bind.url", .placeholderHere),
    .init(
        bind + "headers = { X-A = { secret = \"k\", prefix = \"{account} \" } }", "bind.headers.X-A.prefix",
        .placeholderHere),
    .init(
        bind + "headers = { Authorization = \"Bearer abc\" }", "bind.headers.Authorization", .literalSecret),
    .init(bind + "method = \"GET\"\nbody = \"x\"", "bind.body", .bodyNotTaken),
    .init(bind + "method = \"DELETE\"\nbody = \"x\"", "bind.body", .bodyNotTaken),
    .init(
        bind + "refused_statuses = [500]", "bind.refused_statuses[0]", .outOfRange(from: 400, to: 499)),
    .init(
        "headers = { X-A = { secret = \"k\" } }", "headers.X-A", .secretForClients),
    .init("headers = { Authorization = \"Bearer x\" }", "headers.Authorization", .literalSecret),
    .init("headers = { X-A = \"{user}\" }", "headers.X-A", .placeholder(bindPlaceholders)),
    .init(
        kindly + "[account.x.headers]\nX-A = \"{bearer}\"", "headers", .unknownKey(nearest: nil)),
    .init(bind + "expiry_fild = \"x\"", "bind.expiry_fild", .unknownKey(nearest: "expiry_field")),
    .init(tokenSource + "url = \"https://s.example\"", "source.server_key", .missing),
    .init(tokenSource + "server_key = { secret = \"k\" }", "source.region", .missing),
    .init(
        tokenSource + "server_key = { secret = \"k\" }\nregion = \"eu\"\nbody = \"x\"", "source.body",
        .setByForm),
    .init(
        tokenSource + "server_key = { secret = \"k\" }\nregion = \"eu\"\nurl = \"https://s.example\"",
        "source.url", .notOneOfKeys("url", "region")),
]

@Suite struct `Platforms in files` {
    @Test func `R1, R2: every key of a Kindly bot arrives`() throws {
        let found = try account(
            """
            provider = "kindly"
            bot_key = "key"
            market = "nb"
            language = "nb-NO"
            strategy = "introspection"
            connect = "client"
            base_url = "https://bot.example/chatbubble/v2/"
            connect_path = "c"
            bind_path = "a/b"
            invalidate_path = "a/b/i"
            client_name = "kiosk"
            client_version = "4.0"
            expiry_field = "data.expires_at"
            default_issuer = "https://issuer.example"
            expected_issuer = "https://other.example"
            strict_at_hash = true
            ca_file = "/etc/ca.pem"
            proxy = "http://proxy.example:1"
            timeout = 3
            early_fraction = 0.8
            callback_timeout = 20
            """)
        let expected = KindlyDefinition(
            botKey: "key", market: "nb", language: "nb-NO", strategy: .introspection, connecting: .client,
            baseURL: try HTTPURL("https://bot.example/chatbubble/v2"), connectPath: "c", bindPath: "a/b",
            invalidatePath: "a/b/i", clientName: "kiosk", clientVersion: "4.0",
            expiryField: "data.expires_at", defaultIssuer: "https://issuer.example",
            expectedIssuer: "https://other.example", isAtHashStrict: true,
            transport: PlatformTransport(
                caFile: "/etc/ca.pem", proxy: "http://proxy.example:1", timeout: .seconds(3)))
        #expect(found.provider == .kindly)
        #expect(found.platform == .kindly(expected))
        #expect(found.earlyFraction == EarlyFraction(0.8))
        #expect(found.callbackTimeout == .seconds(20))
    }

    @Test func `what a platform does not say has the vendor's defaults`() throws {
        #expect(
            try account(kindly).platform
                == .kindly(
                    KindlyDefinition(
                        botKey: "b", market: "en", baseURL: try HTTPURL("https://bot.kindly.ai/chatbubble/v2")
                    )))
        #expect(
            try account(chatbase).platform
                == .chatbase(
                    ChatbaseDefinition(agentID: "a", baseURL: try HTTPURL("https://www.chatbase.co/api/sdk")))
        )
        let secret = SecretReference.secret(try #require(SecretName("k")))
        for region in SocialPlusDefinition.Region.allCases {
            #expect(
                try account(socialPlus + "region = \"\(region.rawValue)\"").platform
                    == .socialPlus(
                        SocialPlusDefinition(
                            apiKey: secret, baseURL: try HTTPURL("https://apix.\(region.rawValue).amity.co"),
                            region: region)))
        }
        #expect(try account("").platform == nil)
        #expect(try account("").callbackTimeout == .seconds(15))
    }

    @Test func `R152: every key of a Chatbase agent and of a social.plus network arrives`() throws {
        #expect(
            try account(
                chatbase + """
                    base_url = "https://c.example"
                    device = "shared"
                    user_agent = "Kiosk/1 (x)"
                    identify_on_start = true
                    trust_verify_user_id = true
                    """
            ).platform
                == .chatbase(
                    ChatbaseDefinition(
                        agentID: "a", baseURL: try HTTPURL("https://c.example"), device: "shared",
                        userAgent: "Kiosk/1 (x)", identifiesOnStart: true, trustsVerifiedUserID: true)))
        #expect(
            try account(
                """
                provider = "socialplus"
                api_key = { credential = "key" }
                base_url = "https://s.example"
                user_id = "u-1"
                display_name = "Frønt Desk"
                secure_mode = false
                login_on_start = true
                verify_access_token = false
                renewal_pause = 0
                login_timeout = 5
                terminate_codes = [400312, 400999]
                terminate_on_user_not_found = false
                sessions_path = "s"
                verify_path = "v"
                revoke_path = "r"
                timeout = 2
                """
            ).platform
                == .socialPlus(
                    SocialPlusDefinition(
                        apiKey: .credential(name: "key"), baseURL: try HTTPURL("https://s.example"),
                        userID: "u-1", displayName: "Frønt Desk", isSecureMode: false, logsInOnStart: true,
                        verifiesAccessToken: false, renewalPause: .zero, loginTimeout: .seconds(5),
                        terminatingCodes: [400_312, 400_999], terminatesOnUserNotFound: false,
                        sessionsPath: "s", verifyPath: "v", revokePath: "r",
                        transport: PlatformTransport(timeout: .seconds(2)))))
    }

    @Test(arguments: ["generic", "oauth"])
    func `a platform that nobody here knows is described by one request`(_ provider: String) throws {
        let found = try account(
            """
            provider = "\(provider)"
            [account.x.bind]
            url = "https://c.example/bind?x=1"
            method = "PATCH"
            headers = { Authorization = "Bearer {bearer}", X-Key = { secret = "k" } }
            body = '{"t":"{companion}","i":"{issuer}","a":"{account}"}'
            content_type = "application/json"
            expiry_field = "data.until"
            refused_statuses = [401, 410]
            order = "before"
            timeout = 4
            [account.x.headers]
            X-Session = "{bearer}"
            """)
        let secret = SecretReference.secret(try #require(SecretName("k")))
        #expect(
            found.platform
                == .described(
                    BindDefinition(
                        url: try HTTPURL("https://c.example/bind?x=1"), method: .patch,
                        headers: [
                            .init(name: "Authorization", value: .literal("Bearer {bearer}")),
                            .init(name: "X-Key", value: .secret(secret, prefix: "")),
                        ],
                        bodyTemplate: #"{"t":"{companion}","i":"{issuer}","a":"{account}"}"#,
                        expiryField: "data.until", refusals: [401, 410], order: .before,
                        transport: PlatformTransport(timeout: .seconds(4)))))
        #expect(found.platform?.references == [secret])
        #expect(found.requestHeaders == [.init(name: "X-Session", value: .literal("{bearer}"))])
    }

    @Test func `R159: the ready-made source asks the account's own network for an auth token`() throws {
        let key = SecretReference.secret(try #require(SecretName("s")))
        func source(_ url: String) throws -> SourceDefinition {
            .http(
                HTTPSource(
                    url: try HTTPURL(url),
                    headers: [.init(name: "x-server-key", value: .secret(key, prefix: ""))],
                    bodyTemplate: #"{"userId":"{user_id}"}"#, answer: .text))
        }
        let text = tokenSource + "server_key = { secret = \"s\" }\n"
        #expect(
            try account(socialPlus + "region = \"us\"\n" + text).source
                == source("https://apix.us.amity.co/api/v4/authentication/token"))
        #expect(
            try account(socialPlus + "region = \"us\"\n" + text + "base_url = \"https://s.example/\"").source
                == source("https://s.example/api/v4/authentication/token"))
        #expect(
            try account(text + "region = \"sg\"").source
                == source("https://apix.sg.amity.co/api/v4/authentication/token"))
        #expect(
            try account(text + "url = \"https://s.example/token\"").source
                == source("https://s.example/token"))
    }

    @Test(arguments: defects)
    func `each defect of a platform is named exactly`(_ defect: SourceDefect) {
        do throws(ConfigurationFailure) {
            _ = try read(accounts("a.toml", "[account.x]\n" + defect.text))
            Issue.record("accepted")
        } catch {
            #expect(error.faults.map(\.key) == ["account.x." + defect.key])
            #expect(error.faults.map(\.problem) == [.value(defect.problem)])
            #expect(error.faults.allSatisfy { $0.position != nil })
        }
    }
}
