import Broker
import BrokerSupport
import CredentialCore
import JSON
import RPCServer
import Secrets
import Testing

@Suite struct `Doctor methods` {
    /// What the backend gives, and what the bot says to it.
    private final class World {
        var issued = ""
        var bindStatus = 401
        var isReachable = true
        /// Whether it is another site that answers there.
        var isElsewhere = false

        func answer(_ request: FetchRequest) -> Result<FetchResponse, FetchFailure> {
            if request.url.text.hasPrefix("https://backend.example/") {
                return PlatformAnswers.json(200, #"{"token":"\#(issued)"}"#)
            }
            guard isReachable else { return .failure(.nameNotResolved) }
            if isElsewhere { return PlatformAnswers.json(404, "") }
            if request.url.text.hasSuffix("/auth/chat") { return PlatformAnswers.json(bindStatus, "{}") }
            if request.url.text.contains("/connect?") {
                return PlatformAnswers.json(200, #"{"token":"chat-token"}"#)
            }
            return PlatformAnswers.json(404, "")
        }
    }

    private let world = World()

    private func account(hasSource: Bool = true) throws -> AccountDefinition {
        let source = try HTTPSource(
            url: HTTPURL("https://backend.example/token"), fields: FieldMap(token: "token"))
        return AccountDefinition(
            name: Definitions.name("bot"), provider: .kindly,
            platform: .kindly(
                KindlyDefinition(
                    botKey: "bot-1", market: "market", strategy: .kindlyJWT,
                    baseURL: try HTTPURL("https://bot.example/chatbubble/v2"),
                    expectedIssuer: "https://issuer.example")),
            source: hasSource ? .http(source) : nil,
            access: AccessRules(use: Definitions.user(7), operate: Definitions.user(8)))
    }

    private func stage(
        _ account: AccountDefinition? = nil, instance: InstanceKind = .user(uid: 1000)
    ) throws -> (Stage, MemoryConnection) {
        let stage = try Stage(instance: instance, accounts: [account ?? self.account()])
        stage.fetcher.backend = { [world] in world.answer($0) }
        stage.advance(.zero)
        return (stage, try #require(stage.connect()))
    }

    private func jwt(_ header: String, _ payload: String) -> String {
        var text = SecretBuffer()
        for part in [header, payload] {
            Base64URL.append(encoding: Array(part.utf8).span, to: &text)
            text.append(UInt8(ascii: "."))
        }
        text.append("c2lnbmF0dXJl")
        return text.withSpan { bytes in String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self) }
    }

    private func diagnosis(_ stage: Stage, _ client: MemoryConnection, online: Bool = false) -> String {
        stage.call(client, "account.doctor", #"{"account":"bot"\#(online ? #","online":true"# : "")}"#)
    }

    @Test(arguments: [true, false])
    func `what keeps a token from being had has the kind that whoever asks for one is told`(_ isBot: Bool)
        throws
    {
        let (stage, client) = try stage(isBot ? account(hasSource: false) : Definitions.plain("bot"))
        let kind = isBot ? "sign_in_needed" : "no_source"
        #expect(stage.call(client, "token.get", #"{"account":"bot"}"#).contains(#""kind":"\#(kind)""#))
        #expect(
            diagnosis(stage, client).contains(
                #""code":"source_missing","message":"there is no valid credential, and nothing that gives one","#
                    + #""fix":"configure a source, register a handler, or save a credential","error":{"kind":"\#(kind)"}}"#
            ))
    }

    @Test
    func `R63, R67: a refused bind is explained by the claims of the token, and the token is not shown`()
        throws
    {
        world.issued = jwt(
            #"{"alg":"HS256","kid":"k1"}"#, #"{"iss":"https://other.example","aud":["a","b"]}"#)
        let (stage, client) = try stage()
        let answer = diagnosis(stage, client)
        #expect(answer.contains(#""ok":false"#))
        #expect(answer.contains(#""severity":"error","code":"bind_rejected""#))
        #expect(
            answer.contains(#""requirement":"R63","error":{"kind":"credential_rejected","http_status":401"#))
        #expect(answer.contains(#""code":"algorithm_unfit""#))
        #expect(answer.contains(#""code":"issuer_unexpected""#))
        #expect(
            answer.contains(
                #""tokens":{"id_token":{"kind":"jwt","alg":"HS256","kid":"k1","iss":"https://other.example","#
                    + #""aud":["a","b"],"exp":null}}"#))
        #expect(!answer.contains(world.issued) && !answer.contains("c2lnbmF0dXJl"))
    }

    @Test func `R66: a backend that gives the refused token again is named`() throws {
        world.issued = jwt(#"{"alg":"RS256"}"#, #"{"iss":"https://issuer.example"}"#)
        let (stage, client) = try stage()
        stage.advance(.seconds(60))
        #expect(diagnosis(stage, client).contains(#""code":"stale_credential""#))
    }

    @Test func `R70: at_hash is reckoned anew`() throws {
        world.bindStatus = 200
        let (stage, client) = try stage(account(hasSource: false))
        let token = jwt(
            #"{"alg":"RS256"}"#, #"{"iss":"https://issuer.example","at_hash":"UmVcZ6GYNYUw6lgGuNgu2Q"}"#)
        func save(_ access: String) -> String {
            _ = stage.call(
                client, "credentials.save",
                #"{"account":"bot","id_token":"\#(token)","access_token":"\#(access)"}"#)
            return diagnosis(stage, client)
        }
        #expect(!save("access-token-abc123").contains("companion_mismatch"))
        #expect(save("access-token-abc124").contains(#""severity":"warning","code":"companion_mismatch""#))
    }

    @Test func `R40, R72: what is noticeable stands in inspect and show, and all three expiries`() throws {
        world.bindStatus = 200
        world.issued = "opaque"
        let (stage, client) = try stage()
        for method in ["credentials.inspect", "account.show"] {
            let answer = stage.call(client, method, #"{"account":"bot"}"#)
            #expect(
                answer.contains(#""warnings":["issuer_missing","opaque_without_expiry","opaque_bearer"]"#))
            #expect(answer.contains(#""binding":{"state":"authenticated","chat_id":""#))
            #expect(answer.contains(#""bound_generation":1}"#))
            #expect(answer.contains(#""expiries":{"backend":null,"hint":null,"exp":null}"#))
        }
    }

    @Test func `a binding that failed has its cause and the last error`() throws {
        world.issued = jwt(#"{"alg":"RS256"}"#, "{}")
        let (stage, client) = try stage()
        let answer = stage.call(client, "credentials.inspect", #"{"account":"bot"}"#)
        #expect(answer.contains(#""binding":{"state":"anonymous","cause":"refused_by_platform","chat_id":""#))
        #expect(answer.contains(#""last_error":{"kind":"credential_rejected","http_status":401}"#))
    }

    @Test(arguments: [false, true])
    func `what Kindly took and somebody else saw refused is no fault of its signature`(_ renews: Bool) throws
    {
        world.bindStatus = 200
        world.issued = jwt(#"{"alg":"RS256"}"#, #"{"iss":"https://issuer.example"}"#)
        let (stage, client) = try stage()
        for generation in 1...2 {
            stage.advance(.seconds(2))
            if renews {
                world.issued = jwt(
                    #"{"alg":"RS256"}"#, #"{"iss":"https://issuer.example","jti":"\#(generation)"}"#)
            }
            _ = stage.call(client, "token.reject", #"{"account":"bot","generation":\#(generation)}"#)
        }
        stage.advance(.seconds(2))
        let told = diagnosis(stage, client)
        let codes = told.split(separator: #""code":""#).dropFirst().map { $0.prefix { $0 != "\"" } }
        #expect(codes == (renews ? ["credential_rejected"] : ["stale_credential"]))
    }

    @Test func `online the source is asked and the way is tried, and nothing is stored`() throws {
        world.bindStatus = 200
        world.issued = jwt(#"{"alg":"RS256"}"#, #"{"iss":"https://issuer.example"}"#)
        let (stage, client) = try stage()
        let changes = stage.store.submitted.count
        let well = diagnosis(stage, client, online: true)
        #expect(well.contains(#""ok":true"#))
        #expect(well.contains(#""severity":"ok","code":"platform_reached""#))
        #expect(well.contains(#""severity":"ok","code":"source_works""#))
        world.isReachable = false
        let blocked = diagnosis(stage, client, online: true)
        #expect(
            blocked.contains(
                #""code":"platform_unreachable","message":"the platform cannot be reached: its name does not resolve""#
            ))
        #expect(stage.store.submitted.count == changes)
    }

    @Test func `online the way is tried now, however long it was given up on for`() throws {
        world.bindStatus = 200
        let (stage, client) = try stage()
        world.isReachable = false
        for _ in 1...6 {
            #expect(
                diagnosis(stage, client, online: true).contains(
                    "cannot be reached: its name does not resolve"))
        }
        world.isReachable = true
        #expect(diagnosis(stage, client, online: true).contains(#""code":"platform_reached""#))
    }

    @Test func `a platform that answers 404 is reached, and its base URL looks wrong`() throws {
        world.bindStatus = 200
        world.issued = jwt(#"{"alg":"RS256"}"#, #"{"iss":"https://issuer.example"}"#)
        let (stage, client) = try stage()
        world.isElsewhere = true
        let lost = diagnosis(stage, client, online: true)
        #expect(lost.contains(#""severity":"warning","code":"platform_path_unknown""#))
        #expect(lost.contains("base URL or path looks wrong"))
        #expect(!lost.contains("platform_reached"))
    }

    @Test func `online what explains a source that fails comes first, and each finding once`() throws {
        world.bindStatus = 200
        world.issued = jwt(#"{"alg":"RS256"}"#, #"{"iss":"https://issuer.example"}"#)
        let (stage, client) = try stage()
        stage.fetcher.backend = { [world] request in
            request.url.text.hasPrefix("https://backend.example/")
                ? PlatformAnswers.json(401, #"{"error":"no_user"}"#) : world.answer(request)
        }
        let failing = diagnosis(stage, client, online: true)
        #expect(failing.contains(#""severity":"error","code":"source_refused""#))
        #expect(failing.contains(": status 401, code no_user"))
        #expect(!failing.contains(#""code":"source_failing""#))
    }

    @Test func `it is for operators`() throws {
        let (stage, _) = try stage(instance: .system(admins: Definitions.user(9)))
        let user = try #require(stage.connect(uid: 7))
        #expect(diagnosis(stage, user).contains(#""kind":"permission_denied""#))
        let operating = try #require(stage.connect(uid: 8))
        #expect(diagnosis(stage, operating).contains(#""findings":["#))
    }

    @Test func `the daemon is looked at by administrators, and in part by everybody`() throws {
        let (stage, client) = try stage(instance: .system(admins: Definitions.user(9)))
        stage.control.facts.isAuditWritable = false
        stage.control.facts.isAuditKeyRemade = true
        stage.control.facts.lostAuditEntries = 3
        stage.control.outcome = .refused(["/etc/x.toml:3: no key of that name"])
        let admin = try #require(stage.connect(uid: 9, onAdminSocket: true))
        let all = stage.call(admin, "daemon.doctor")
        #expect(all.contains(#""ok":false"#))
        #expect(all.contains(#""code":"audit_unwritable""#))
        #expect(all.contains(#""severity":"warning","code":"audit_key_missing""#))
        #expect(all.contains(#""code":"audit_lossy","message":"3 audit entries"#))
        #expect(stage.call(admin, "daemon.metrics").contains(#"chatauth_audit_lost_total 3\n"#))
        #expect(all.contains("would be refused: /etc/x.toml:3: no key of that name"))
        #expect(stage.account("bot") != nil)
        let part = stage.call(client, "daemon.doctor")
        #expect(!part.contains(#""code":"audit_"#) && !part.contains("x.toml"))
        #expect(part.contains(#""code":"no_accounts""#))
    }

    @Test func `a sealed store and accounts in trouble are said`() throws {
        let sealed = try Stage(isOpen: false)
        let client = try #require(sealed.connect())
        let answer = sealed.call(client, "daemon.doctor")
        #expect(answer.contains(#""severity":"error","code":"store_sealed""#))
        let (stage, other) = try stage(account(hasSource: false))
        #expect(
            stage.call(other, "daemon.doctor").contains(
                #""code":"accounts_in_trouble","message":"not all accounts are well: bot (sign_in_needed)""#))
    }
}
