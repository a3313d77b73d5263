import CredentialCore
import JSON

/// Stands in for the Kindly platform: chats, and the credentials that are bound to them.
///
/// Each name is a bot with a key, a strategy and chats of its own, at `/kindly/NAME/chatbubble/v2/…`. A chat is there after
/// `connect`; its token guards all else. Only `auth/chat`, `message` and `trigger` may see an access token or an issuer.
struct Kindly: StandIn {
    struct Chat: Sendable {
        let token: String
        var identity: KindlyVerifier.Identity?
        /// Texts that were sent, oldest first.
        var messages: [String] = []
    }

    struct Instance: Sendable {
        var settings = KindlySettings()
        /// By the chat's UUID.
        var chats: [String: Chat] = [:]
        var revoked: Set<String> = []
        /// Keys that the stand-in made, one for each algorithm that was asked for.
        var keys: [SigningKey] = []
    }

    var instances = Instances(Instance())

    static let noun = "kindly"
    static let routes = [
        "connect", "auth/chat", "auth/chat/invalidate", "message", "trigger", "latest",
        "auth/notification_services", "other",
    ]
    /// Where `X-Access-Token` and `X-Auth-Issuer` are read.
    private static let credentialRoutes = ["auth/chat", "message", "trigger"]
    /// Chats of one bot at most, and messages of one chat.
    private static let limits = (chats: 10_000, messages: 1000)

    func place(of segments: [String]) -> (owner: Owner, route: String)? {
        guard segments.count > 4, segments[0] == Self.noun, Owner.isName(segments[1]),
            segments[2] == "chatbubble", segments[3] == "v2"
        else { return nil }
        let route = segments.dropFirst(4).joined(separator: "/")
        return (Owner(noun: Self.noun, name: segments[1]), Self.routes.contains(route) ? route : "other")
    }

    mutating func answer(
        _ request: Request, _ name: String, _ route: String, _ surroundings: Surroundings
    ) -> Answer {
        var instance = instances[name]
        var answer = Self.answer(request, name, route, &instance, surroundings)
        instances[name] = instance
        if route == "other" { answer.violations.append("there is no such route") }
        for header in ["X-Access-Token", "X-Auth-Issuer"] where request.header(header) != nil {
            if !Self.credentialRoutes.contains(route) {
                answer.violations.append("\(header) was sent to \(route)")
            }
        }
        for header in ["Authorization", "X-Access-Token", "X-Auth-Issuer", "kindly-chatbubble-token"] {
            let count = request.headers.filter { $0.name.lowercased() == header.lowercased() }.count
            if count > 1 { answer.violations.append("\(header) was sent \(count) times") }
        }
        return answer
    }

    private static func answer(
        _ request: Request, _ name: String, _ route: String, _ instance: inout Instance,
        _ surroundings: Surroundings
    ) -> Answer {
        let now = surroundings.now
        guard route != "other" else { return .problem(404, "no such route", date: now) }
        let method = route == "latest" ? "GET" : "POST"
        guard request.method == method else { return .problem(405, "use \(method)", date: now) }
        guard request.header("kindly-bot-key") == instance.settings.botKey ?? name else {
            return .problem(404, "kindly-bot-key is no bot's", date: now)
        }
        guard let uuid = request.header("kindly-chat-uuid"), !uuid.isEmpty else {
            return .problem(400, "kindly-chat-uuid is missing", date: now)
        }
        guard method == "GET" || (try? ControlObject(body: request.body)) != nil else {
            return .problem(400, "the body is no JSON object", date: now)
        }
        guard route != "connect" else { return connect(uuid, name, &instance, surroundings) }
        guard var chat = instance.chats[uuid] else { return .problem(401, "no such chat", date: now) }
        guard request.header("kindly-chatbubble-token") == chat.token else {
            return .problem(401, "kindly-chatbubble-token is not of this chat", date: now)
        }
        let providers = surroundings.other(IdentityProvider.self)
        let verifier = KindlyVerifier(
            settings: instance.settings, ownKeys: instance.keys, revoked: instance.revoked,
            providers: providers, now: now)
        defer { instance.chats[uuid] = chat }
        switch route {
        case "auth/chat": return bind(request, uuid, &chat, verifier)
        case "auth/chat/invalidate":
            chat.identity = nil
            return Answer(status: 200, date: now) { ControlObject([]).write(&$0) }
        case "latest":
            let messages = chat.messages.map { ControlValue.object(ControlObject([("message", .text($0))])) }
            return Answer(status: 200, date: now) {
                ControlObject([("messages", .array(messages))]).write(&$0)
            }
        case "message", "trigger": return send(request, uuid, &chat, verifier)
        default: return .problem(501, "push is not stood in for", date: now)
        }
    }

    // A chat that is there stays as it is, with its token and its identity: this is what a reconnect finds.
    private static func connect(
        _ uuid: String, _ name: String, _ instance: inout Instance, _ surroundings: Surroundings
    ) -> Answer {
        if instance.chats[uuid] == nil, instance.chats.count >= limits.chats {
            return .problem(503, "too many chats", date: surroundings.now)
        }
        let mint = TokenMint(random: surroundings.random)
        let chat = instance.chats[uuid] ?? Chat(token: mint.opaque(length: 0))
        instance.chats[uuid] = chat
        return Answer(status: 200, date: surroundings.now) { json in
            ControlObject([
                ("chat_id", .text(uuid)), ("token", .text(chat.token)),
                ("created", .text(CalendarText.rfc3339(surroundings.now))), ("bot_name", .text(name)),
            ]).write(&json)
        }
    }

    private static func bind(
        _ request: Request, _ uuid: String, _ chat: inout Chat, _ verifier: KindlyVerifier
    ) -> Answer {
        let identity: KindlyVerifier.Identity
        do {
            identity = try verifier.verify(request, uuid: uuid)
        } catch {
            let answer = Answer.problem(401, error.text, date: verifier.now)
            return error.isViolation ? answer.accusing(error.text) : answer
        }
        // The identity is replaced, the history stays.
        chat.identity = identity
        let cap = verifier.settings.bindSeconds.map { verifier.now + $0 * 1000 }
        let until = [identity.until, cap].compactMap(\.self).min()
        return Answer(status: 200, date: verifier.now) { json in
            json.beginObject()
            if let until { verifier.settings.expiry.write(until, &json) }
            json.endObject()
        }
    }

    private static func send(
        _ request: Request, _ uuid: String, _ chat: inout Chat, _ verifier: KindlyVerifier
    ) -> Answer {
        if chat.identity != nil {
            do {
                _ = try verifier.verify(request, uuid: uuid)
            } catch {
                let answer = Answer.problem(401, error.text, date: verifier.now)
                return error.isViolation ? answer.accusing(error.text) : answer
            }
        }
        let body = try? ControlObject(body: request.body)
        if case .text(let text)? = body?[path: "message"], chat.messages.count < limits.messages {
            chat.messages.append(text)
        }
        let (count, subject) = (chat.messages.count, chat.identity?.subject)
        return Answer(status: 200, date: verifier.now) { json in
            ControlObject([
                ("messages", .integer(Int64(count))), ("user", subject.map { .text($0) } ?? .null),
            ]).write(&json)
        }
    }
}

extension KindlySettings.Expiry {
    /// Writes the member `expires_at`, unless it is to be missing; `until` in Unix milliseconds.
    fileprivate func write(_ until: Int64, _ json: inout JSONWriter) {
        guard self != .missing else { return }
        json.key("expires_at")
        switch self {
        case .seconds, .missing: json.integer(until / 1000)
        case .float: json.double(Double(until / 1000) + 0.5)
        case .milliseconds: json.integer(until)
        case .iso: json.string(CalendarText.rfc3339(until))
        case .string: json.string(String(until / 1000))
        case .garbage: json.string("soon")
        }
    }
}
