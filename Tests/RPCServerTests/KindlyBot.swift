import Broker
import BrokerSupport
import CredentialCore
import Secrets
import Testing

/// A bot at Kindly as far as accounts are concerned, and the backend that issues its tokens.
final class KindlyBot {
    var issued = "token-1"
    /// What the backend answers; nil: with `issued`.
    var backendAnswer: String?
    var expiry = ""
    var refused: Set<String> = []
    /// What is said of the end of some bearers in place of `expiry`.
    var expiries: [String: String] = [:]
    /// What the bot's clock says when it answers a bind.
    var date: WallTime?
    /// The token that `connect` gives a chat, those that are not taken any more, and what is answered to these.
    var chatToken = "chat-token"
    var unknownChatTokens: Set<String> = []
    var unknownStatus = 404
    var bindStatus = 200
    /// What becomes of a bind that does not come so far as to be answered.
    var bindFailure: FetchFailure?
    var invalidateStatus = 200
    var invalidateFailure: FetchFailure?
    var isBackendDown = false
    /// What a backend that is down answers.
    var backendStatus = 503
    /// The backend makes a token for the chat that it is told, and the bot takes it for that one only.
    var hasTokensOfChats = false
    /// What `connect` is answered with.
    var connectStatus = 200
    /// What `connect` calls the chat; nil: as it was asked.
    var chatName: String?
    /// The bearers with which chats were to be unbound.
    private(set) var ends: [String] = []
    private(set) var binds: [(bearer: String, chat: String?)] = []
    private(set) var bodies: [String] = []
    private(set) var routes: [String] = []
    private(set) var violations: [String] = []

    func answer(_ request: FetchRequest) -> Result<FetchResponse, FetchFailure> {
        if request.url.text.hasPrefix("https://backend.example/") {
            bodies.append(request.body.map(PlatformAnswers.text) ?? "")
            if hasTokensOfChats { issued = "for-" + (bodies.last?.member("chatId") ?? "nobody") }
            if isBackendDown { return PlatformAnswers.json(backendStatus, "") }
            return PlatformAnswers.json(200, backendAnswer ?? #"{"token":"\#(issued)"}"#)
        }
        let prefixes = ["bot", "other"].map { "https://\($0).example/chatbubble/v2/" }
        guard let prefix = prefixes.first(where: { request.url.text.hasPrefix($0) }) else {
            return PlatformAnswers.json(404, "")
        }
        func header(_ name: String) -> String? {
            request.headers.first { $0.name == name }.map { PlatformAnswers.text($0.value) }
        }
        let route = String(request.url.text.dropFirst(prefix.count).prefix { $0 != "?" })
        routes.append(route)
        if header("kindly-bot-key") != "bot-1" { violations.append("\(route): bot key") }
        switch route {
        case "connect":
            if header("Authorization") != nil { violations.append("connect with a token") }
            guard connectStatus == 200 else { return PlatformAnswers.json(connectStatus, "") }
            return PlatformAnswers.json(
                200,
                #"{"chat_id":"\#(chatName ?? header("kindly-chat-uuid") ?? "")","token":"\#(chatToken)"}"#)
        case "auth/chat":
            let bearer = String((header("Authorization") ?? "").dropFirst(7))
            binds.append((bearer, header("kindly-chat-uuid")))
            if header("kindly-chatbubble-token") == nil {
                violations.append("no chat token")
                return PlatformAnswers.json(401, #"{"error":"no such chat"}"#)
            }
            if let bindFailure { return .failure(bindFailure) }
            if header("kindly-chatbubble-token").map(unknownChatTokens.contains) == true {
                return PlatformAnswers.json(unknownStatus, #"{"error":"chatbubble token"}"#)
            }
            let isOfOther = hasTokensOfChats && bearer != "for-" + (header("kindly-chat-uuid") ?? "")
            if isOfOther || refused.contains(bearer) {
                return PlatformAnswers.json(401, #"{"error":"signature"}"#)
            }
            let body = bindStatus == 200 ? "{\(expiries[bearer] ?? expiry)}" : ""
            return PlatformAnswers.json(bindStatus, body, date: date)
        case "auth/chat/invalidate":
            let bearer = String((header("Authorization") ?? "").dropFirst(7))
            ends.append(bearer)
            if let invalidateFailure { return .failure(invalidateFailure) }
            if refused.contains(bearer) { return PlatformAnswers.json(401, "") }
            return PlatformAnswers.json(invalidateStatus, "{}")
        default: return PlatformAnswers.json(404, "")
        }
    }
}

extension KindlyBot {
    /// The account `bot` at this bot.
    static func account(
        hasSource: Bool = true, connecting: KindlyDefinition.Connecting = .broker, isStrict: Bool = false,
        base: String = "https://bot.example/chatbubble/v2", access: AccessRules = .nobody
    ) throws -> AccountDefinition {
        let source = try HTTPSource(
            url: HTTPURL("https://backend.example/token"), fields: FieldMap(token: "token"))
        return AccountDefinition(
            name: Definitions.name("bot"), provider: .kindly,
            platform: .kindly(
                KindlyDefinition(
                    botKey: "bot-1", market: "market", connecting: connecting,
                    baseURL: try HTTPURL(base), isAtHashStrict: isStrict)),
            source: hasSource ? .http(source) : nil, access: access)
    }

    /// A daemon with that account, whose requests this bot and its backend answer at once, and a client.
    func stage(_ account: AccountDefinition? = nil) throws -> (Stage, MemoryConnection) {
        let stage = try Stage(accounts: [account ?? Self.account()])
        stage.fetcher.backend = { [unowned self] in answer($0) }
        stage.advance(.zero)
        return (stage, try #require(stage.connect()))
    }
}

extension Stage {
    /// The id of the account's chat.
    func chat(_ client: MemoryConnection) -> String {
        let answer = call(client, "chat.id", #"{"account":"bot"}"#)
        return String(answer.split(separator: "\"").drop { $0 != "chat_id" }.dropFirst(2).first ?? "")
    }
}
