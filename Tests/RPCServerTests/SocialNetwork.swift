import BrokerSupport
import CredentialCore
import Secrets
import Testing

/// A network at social.plus as far as sessions are concerned, and the backend that vouches for its users.
final class SocialNetwork {
    /// Auth tokens that the network takes.
    var authTokens: Set<String> = ["at-1", "at-2"]
    /// What the customer's backend gives; nil: it refuses.
    var issued: String? = "at-1"
    var lifetime: Int64 = 3600
    /// What becomes of every request instead of an answer.
    var failure: FetchFailure?
    var isDown: Bool {
        get { failure != nil }
        set { failure = newValue ? .connectionFailed : nil }
    }
    /// Answered to everything instead: status and code.
    var refusal: (status: Int, code: Int?)?
    private(set) var log: [String] = []
    private(set) var devices: [String] = []
    private(set) var violations: [String] = []
    private var made = 0
    var now: () -> Int64 = { 0 }

    func answer(_ request: FetchRequest) -> Result<FetchResponse, FetchFailure> {
        let body = request.body.map(PlatformAnswers.text) ?? ""
        func header(_ name: String) -> String? {
            request.headers.first { $0.name == name }.map { PlatformAnswers.text($0.value) }
        }
        if request.url.text.hasPrefix("https://backend.example/") {
            log.append("backend")
            guard let issued else { return PlatformAnswers.json(401, "{}") }
            return PlatformAnswers.json(200, #"{"token":"\#(issued)"}"#)
        }
        let word = request.method == .post ? "POST" : request.method == .delete ? "DELETE" : "GET"
        let bearer = header("Authorization").map { String($0.dropFirst(7)) }
        log.append(word + " " + (body.member("authToken") ?? bearer ?? "-"))
        if word == "POST" {
            if header("x-api-key") != "key" { violations.append("no key") }
            if bearer != nil { violations.append("a bearer beside the key") }
            if let device = body.member("deviceId") { devices.append(device) }
        } else if header("x-api-key") != nil {
            violations.append("a key beside the bearer")
        }
        if let failure { return .failure(failure) }
        if let refusal {
            let code = refusal.code.map { #""code":\#($0),"# } ?? ""
            return PlatformAnswers.json(refusal.status, #"{"status":"error",\#(code)"message":"no"}"#)
        }
        guard word == "POST" else { return PlatformAnswers.json(200, #"{"success":true}"#) }
        if let token = body.member("authToken"), !authTokens.contains(token) {
            return PlatformAnswers.json(401, #"{"status":"error","code":400100,"message":"no"}"#)
        }
        made += 1
        return PlatformAnswers.json(
            200, #"{"accessToken":"access-\#(made)","refreshToken":"r","expiresAt":\#(now() + lifetime)}"#)
    }

    func forget() { log = [] }

    // MARK: Accounts

    static func account(
        hasSource: Bool = false, isSecure: Bool = true, logsIn: Bool = false, verifies: Bool = true,
        base: String = "https://apix.eu.amity.co", access: AccessRules = .nobody
    ) throws -> AccountDefinition {
        let source = try HTTPSource(
            url: HTTPURL("https://backend.example/token"), fields: FieldMap(token: "token"))
        let key = try #require(SecretName("app-key"))
        return AccountDefinition(
            name: Definitions.name("app"), provider: .socialPlus,
            platform: .socialPlus(
                SocialPlusDefinition(
                    apiKey: .secret(key), baseURL: try HTTPURL(base), userID: "anna", isSecureMode: isSecure,
                    logsInOnStart: logsIn, verifiesAccessToken: verifies)),
            source: hasSource ? .http(source) : nil, access: access)
    }

    /// A stage whose network this is, and a client.
    func stage(
        _ account: AccountDefinition? = nil, after earlier: Stage? = nil, later: Milliseconds = .zero,
        instance: InstanceKind = .user(uid: 1000)
    ) throws -> (Stage, MemoryConnection) {
        let stage = try Stage(instance: instance, isOpen: false, accounts: [account ?? Self.account()])
        stage.store.put(
            HeldSecret(
                name: try #require(SecretName("app-key")), value: SecretBytes("key"),
                generation: Generation(1), setAt: stage.clock.now.wall))
        if let contents = earlier?.store.contents {
            for credential in contents.credentials { stage.store.put(credential) }
            for state in contents.states { stage.store.put(state) }
        }
        stage.clock.now = stage.clock.now + later
        stage.fetcher.backend = { [unowned self] in self.answer($0) }
        now = { [unowned stage] in stage.clock.now.wall.seconds }
        stage.open()
        stage.advance(.zero)
        return (stage, try #require(stage.connect()))
    }
}

extension Stage {
    /// A call of `session.*` for `app`, with further parameters.
    func session(_ client: MemoryConnection, _ method: String, _ rest: String = "") -> String {
        call(client, "session." + method, #"{"account":"app"\#(rest)}"#)
    }

    /// The session's state as `session.state` says it.
    func state(_ client: MemoryConnection) -> String {
        let answer = session(client, "state")
        return answer.member("state") ?? answer
    }

    func token(_ client: MemoryConnection) -> String {
        call(client, "token.get", #"{"account":"app"}"#)
    }

    /// A request that is not waited for.
    func begin(_ client: MemoryConnection, _ method: String, _ rest: String = "") {
        receive(
            #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":{"account":"app"\#(rest)}}"# + "\n",
            from: client)
        run()
    }

    /// Registers a client for the questions of `kind`.
    func register(_ client: MemoryConnection, _ kind: String) {
        _ = call(client, "handler.register", #"{"account":"app","kinds":["\#(kind)"]}"#)
    }

    /// Answers the question with that number.
    func answer(_ client: MemoryConnection, id: Int = 1, _ result: String) {
        receive(#"{"jsonrpc":"2.0","id":\#(id),"result":\#(result)}"# + "\n", from: client)
        run()
    }
}
