import Broker
import BrokerSupport
import CredentialCore
import Testing

/// An agent at Chatbase as far as accounts are concerned, and the backend that issues its tokens.
final class ChatbaseAgent {
    var accepted: Set<String> = ["jwt-a", "jwt-b"]
    var issued = "jwt-a"
    var isDown = false
    private(set) var verifications: [(token: String, device: String?, user: String?)] = []
    private(set) var violations: [String] = []

    func answer(_ request: FetchRequest) -> Result<FetchResponse, FetchFailure> {
        if request.url.text.hasPrefix("https://backend.example/") {
            return PlatformAnswers.json(200, #"{"token":"\#(issued)","expires_in":3600}"#)
        }
        let agents = (1...2).map { "https://chat.example/api/agents/agent-\($0)/verify" }
        guard agents.contains(request.url.text), request.method == .post else {
            violations.append("unknown route \(request.url.text)")
            return PlatformAnswers.json(404, #"{"error":{"code":"AGENT_NOT_FOUND","message":"no"}}"#)
        }
        func header(_ name: String) -> String? {
            request.headers.first { $0.name == name }.map { PlatformAnswers.text($0.value) }
        }
        if header("Authorization") != nil { violations.append("Authorization was sent") }
        if header("X-Device-Id") == nil { violations.append("no device") }
        let body = request.body.map(PlatformAnswers.text) ?? ""
        let token = String(body.dropFirst(#"{"token":""#.count).dropLast(2))
        verifications.append((token, header("X-Device-Id"), header("X-User-Token")))
        if isDown { return PlatformAnswers.json(503, "") }
        guard accepted.contains(token) else {
            return PlatformAnswers.json(401, #"{"error":{"code":"AUTH_INVALID_JWT","message":"no"}}"#)
        }
        return PlatformAnswers.json(200, #"{"data":{"ok":true,"userId":"user-\#(token.suffix(1))"}}"#)
    }

    // MARK: Stages

    static func account(
        _ name: String = "desk", hasSource: Bool = false, device: String? = nil, trusts: Bool = false,
        identifiesOnStart: Bool = false
    ) throws -> AccountDefinition {
        let source = try HTTPSource(
            url: HTTPURL("https://backend.example/token"), fields: FieldMap(token: "token"))
        return AccountDefinition(
            name: Definitions.name(name), provider: .chatbase,
            platform: .chatbase(
                ChatbaseDefinition(
                    agentID: "agent-1", baseURL: try HTTPURL("https://chat.example/api"), device: device,
                    identifiesOnStart: identifiesOnStart, trustsVerifiedUserID: trusts)),
            source: hasSource ? .http(source) : nil)
    }

    func stage(
        _ accounts: [AccountDefinition]? = nil, instance: InstanceKind = .user(uid: 1000)
    ) throws -> (Stage, MemoryConnection) {
        let stage = try Stage(instance: instance, accounts: accounts ?? [Self.account()])
        stage.fetcher.backend = { [self] in answer($0) }
        stage.advance(.zero)
        return (stage, try #require(stage.connect()))
    }

    // MARK: Asking

    func state(_ stage: Stage, _ client: MemoryConnection) -> String {
        stage.call(client, "identity.state", #"{"account":"desk"}"#)
    }

    func device(_ stage: Stage, _ client: MemoryConnection, _ account: String = "desk") -> String {
        let answer = stage.call(client, "device.id", #"{"account":"\#(account)"}"#)
        return String(answer.suffix(39).prefix(36))
    }

    func headers(_ stage: Stage, _ client: MemoryConnection) -> String {
        stage.call(client, "headers.get", #"{"account":"desk"}"#)
    }
}
