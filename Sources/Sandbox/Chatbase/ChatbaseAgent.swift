import JSON

/// One agent: its settings, its conversations, and what it answers.
struct ChatbaseAgent: Sendable {
    var settings = ChatbaseSettings()
    private var conversations = ChatbaseConversations()

    /// Judges a call in the order in which the platform does: the device, the agent, the token, the rest.
    mutating func answer(
        _ call: ChatbaseCall, _ surroundings: Surroundings
    ) throws(ChatbaseFailure) -> Answer {
        conversations.settle(surroundings.now)
        try call.checkRoute()
        let device = try call.device()
        guard settings.isChannelEnabled, call.agent == settings.agentID else { throw .unknownAgent }
        // The token that a device still has when it signs in again may have expired; nobody looks at it.
        if call.route == "verify" { return try verify(call, device, surroundings) }
        let scope: ChatbaseScope =
            if let token = call.userToken {
                .user(try user(token, surroundings.now))
            } else {
                .device(device)
            }
        let user = conversations.userID(scope, record: "anon-\(Self.identifier(surroundings))")
        switch call.route {
        case "conversations":
            let page = try ChatbasePage(conversations.list(scope), call.request, id: \.id)
            return page.answer(date: surroundings.now) { $0.write(user: user, &$1) }
        case "messages":
            let owned = try conversation(call.conversation, scope)
            return try ChatbasePage(owned.messages, call.request, id: \.id)
                .answer(date: surroundings.now) { $0.write(&$1) }
        case "tool_result":
            _ = try conversation(call.conversation, scope)
            guard case .text? = try call.body()[path: "toolCallId"] else {
                throw .invalidBody(field: "toolCallId", message: "Required")
            }
            return Self.data(surroundings.now) { json in
                json.key("success")
                json.bool(true)
            }
        case "retry": return try retry(call, scope, user, surroundings)
        default: return try chat(call, scope, user, surroundings)
        }
    }

    // MARK: - Signing in

    private mutating func verify(
        _ call: ChatbaseCall, _ device: String, _ surroundings: Surroundings
    ) throws(ChatbaseFailure) -> Answer {
        guard case .text(let token)? = try call.body()[path: "token"], !token.isEmpty else {
            throw .invalidBody(field: "token", message: "Required")
        }
        let user = try user(token, surroundings.now)
        conversations.move(from: device, to: user, at: surroundings.now + settings.mergeDelay)
        return Self.data(surroundings.now) { json in
            json.key("ok")
            json.bool(true)
            json.key("userId")
            json.string(user)
        }
    }

    /// The user that a token names: `user_id` before `sub`, a text or a whole number.
    private func user(_ token: String, _ now: Int64) throws(ChatbaseFailure) -> String {
        guard let claims = settings.believed(token, now)?.claims else { throw .invalidToken }
        switch claims[path: "user_id"] ?? claims[path: "sub"] {
        case .text(let text) where !text.isEmpty: return text
        case .integer(let number): return String(number)
        default: throw .userMissing
        }
    }

    // MARK: - Talking

    private mutating func chat(
        _ call: ChatbaseCall, _ scope: ChatbaseScope, _ user: String, _ surroundings: Surroundings
    ) throws(ChatbaseFailure) -> Answer {
        let body = try call.body()
        guard case .text(let text)? = body[path: "message"], !text.isEmpty else {
            throw .invalidBody(field: "message", message: "Required")
        }
        let isStream = try Self.isStream(body)
        let id: String
        switch body[path: "conversationId"] {
        case nil, .null:
            id = "c-" + Self.identifier(surroundings)
            conversations.begin(id, scope, surroundings.now / 1000)
        case .text(let known): id = try conversation(known, scope).id
        default: throw .invalidBody(field: "conversationId", message: "Expected string")
        }
        let question = message(text, isFromUser: true, surroundings)
        conversations.append(question, to: id)
        return reply(to: question, in: id, user, isStream: isStream, surroundings)
    }

    private mutating func retry(
        _ call: ChatbaseCall, _ scope: ChatbaseScope, _ user: String, _ surroundings: Surroundings
    ) throws(ChatbaseFailure) -> Answer {
        let owned = try conversation(call.conversation, scope)
        let body = try call.body()
        guard case .text(let wanted)? = body[path: "messageId"] else {
            throw .invalidBody(field: "messageId", message: "Required")
        }
        let isStream = try Self.isStream(body)
        guard let end = owned.messages.firstIndex(where: { $0.id == wanted }),
            let question = owned.messages[...end].last(where: \.isFromUser)
        else { throw .noUserMessage }
        conversations.takeBack(after: question.id, in: owned.id)
        return reply(to: question, in: owned.id, user, isStream: isStream, surroundings)
    }

    private mutating func reply(
        to question: ChatbaseMessage, in id: String, _ user: String, isStream: Bool,
        _ surroundings: Surroundings
    ) -> Answer {
        let message = message("You said: \(question.text)", isFromUser: false, surroundings)
        conversations.append(message, to: id)
        let reply = ChatbaseReply(message: message, conversation: id, question: question.id, user: user)
        return isStream ? reply.stream(date: surroundings.now) : reply.whole(date: surroundings.now)
    }

    private func conversation(
        _ id: String, _ scope: ChatbaseScope
    ) throws(ChatbaseFailure) -> ChatbaseConversation {
        guard let found = conversations[id] else { throw .unknownConversation }
        guard found.owner == scope else { throw .notOwner }
        return found
    }

    private func message(
        _ text: String, isFromUser: Bool, _ surroundings: Surroundings
    ) -> ChatbaseMessage {
        ChatbaseMessage(
            id: "m-" + Self.identifier(surroundings), isFromUser: isFromUser, text: text,
            createdAt: surroundings.now / 1000)
    }

    private static func isStream(_ body: ControlObject) throws(ChatbaseFailure) -> Bool {
        switch body[path: "stream"] {
        case nil: return false
        case .bool(let isStream): return isStream
        default: throw .invalidBody(field: "stream", message: "Expected boolean")
        }
    }

    private static func identifier(_ surroundings: Surroundings) -> String {
        TokenMint.base64URL(surroundings.random(9))
    }

    /// 200 and `{"data":{…}}`.
    private static func data(_ now: Int64, _ write: (inout JSONWriter) -> Void) -> Answer {
        Answer(status: 200, date: now) { json in
            json.beginObject()
            json.key("data")
            json.beginObject()
            write(&json)
            json.endObject()
            json.endObject()
        }
    }
}
