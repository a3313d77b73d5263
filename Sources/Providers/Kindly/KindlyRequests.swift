package import CredentialCore
import JSON
package import Secrets

/// What is sent to Kindly, and what its clients are told to send (R20 to R25).
///
/// The expiry of a credential is sent nowhere: the platform makes up its own mind about it (R25).
package enum KindlyRequests {
    /// Makes the chat known: `POST connect`; anonymous, whoever is signed in.
    ///
    /// - Throws: `sourceUnavailable` when base and path make no URL.
    package static func connect(
        _ bot: KindlyDefinition, chat: KindlyChat
    ) throws(RefreshFailure) -> PlatformRequest {
        var query = "?"
        if let language = bot.language, let segment = PlatformWire.segment(language) {
            query += "language_code=" + segment + "&"
        }
        query += "include_greeting=false"
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("context")
        writer.beginObject()
        writer.endObject()
        writer.key("market")
        writer.string(bot.market)
        writer.endObject()
        return PlatformRequest(
            url: try PlatformWire.url(bot.baseURL, bot.connectPath + query), method: .post,
            headers: names(bot, chat) + content, body: writer.finish().finish())
    }

    /// Binds a credential to the chat: `POST auth/chat` with an empty object.
    ///
    /// - Throws: `sourceUnavailable` when base and path make no URL.
    package static func bind(
        _ bot: KindlyDefinition, chat: KindlyChat, credential: Credential
    ) throws(RefreshFailure) -> PlatformRequest {
        PlatformRequest(
            url: try PlatformWire.url(bot.baseURL, bot.bindPath), method: .post,
            headers: headers(bot, chat: chat, credential: credential, route: .bind) + content,
            body: SecretBytes("{}"))
    }

    /// Unbinds the credential that was bound, which the caller keeps until then: `POST auth/chat/invalidate` (R51).
    ///
    /// - Throws: `sourceUnavailable` when base and path make no URL.
    package static func invalidate(
        _ bot: KindlyDefinition, chat: KindlyChat, credential: Credential
    ) throws(RefreshFailure) -> PlatformRequest {
        PlatformRequest(
            url: try PlatformWire.url(bot.baseURL, bot.invalidatePath), method: .post,
            headers: headers(bot, chat: chat, credential: credential, route: .other) + content,
            body: SecretBytes("{}"))
    }

    /// The complete list of headers for a request of a client's: who is signed in, then which chat of which bot.
    ///
    /// `Authorization` whenever there is a token (R20); `X-Access-Token` only for a companion (R21) and `X-Auth-Issuer` only where an
    /// issuer is known (R22), and these two only on routes that read them (R23). Without a credential the chat is anonymous.
    package static func headers(
        _ bot: KindlyDefinition, chat: KindlyChat, credential: Credential?, route: KindlyRoute
    ) -> [(name: String, value: SecretBytes)] {
        var headers: [(name: String, value: SecretBytes)] = []
        if let credential {
            var value = SecretBuffer(capacity: credential.bearer.count + 7)
            value.append("Bearer ")
            value.append(credential.bearer)
            headers.append(("Authorization", value.finish()))
            if route.readsCompanion {
                if let companion = credential.companion { headers.append(("X-Access-Token", companion)) }
                if let issuer = credential.issuer ?? bot.defaultIssuer {
                    headers.append(("X-Auth-Issuer", PlatformWire.bytes(issuer)))
                }
            }
        }
        return headers + names(bot, chat)
    }

    private static func names(
        _ bot: KindlyDefinition, _ chat: KindlyChat
    ) -> [(name: String, value: SecretBytes)] {
        var headers = [
            (name: "kindly-bot-key", value: PlatformWire.bytes(bot.botKey)),
            (name: "kindly-chat-uuid", value: PlatformWire.bytes(chat.id)),
            (name: "kindly-chat-client", value: PlatformWire.bytes(bot.clientName)),
            (name: "kindly-chat-version", value: PlatformWire.bytes(bot.clientVersion)),
        ]
        if let token = chat.token { headers.append(("kindly-chatbubble-token", token)) }
        return headers
    }

    private static var content: [(name: String, value: SecretBytes)] {
        [
            ("Content-Type", SecretBytes("application/json")), ("Accept", SecretBytes("application/json")),
        ]
    }
}

/// A route of the platform, as far as headers depend on it (R23).
package enum KindlyRoute: Equatable, Sendable {
    /// `auth/chat`, or what is configured in its place.
    case bind
    /// `message`
    case message
    /// `trigger`
    case trigger
    /// Any other: it reads neither `X-Access-Token` nor `X-Auth-Issuer`.
    case other

    /// Whether it reads the companion and the issuer.
    package var readsCompanion: Bool { self != .other }

    /// What a caller of `headers.get` means: a path below the base, with or without the prefix of the platform; nil means `auth/chat`.
    ///
    /// A name that is not known is a route that reads neither, of which there are many. Nil for what is no name of a route: 1 to 64 of
    /// `a-z 0-9 / _ -`, unless it is configured.
    package init?(_ text: String?, of bot: KindlyDefinition) {
        guard let text else {
            self = .bind
            return
        }
        guard text == bot.bindPath || Self.isName(text) else { return nil }
        var path = text[...]
        while path.hasPrefix("/") { path = path.dropFirst() }
        if path.hasPrefix("chatbubble/v2/") { path = path.dropFirst(14) }
        while path.hasSuffix("/") { path = path.dropLast() }
        switch path {
        case "auth/chat", bot.bindPath[...]: self = .bind
        case "message": self = .message
        case "trigger": self = .trigger
        default: self = .other
        }
    }

    private static func isName(_ text: String) -> Bool {
        guard (1...64).contains(text.utf8.count) else { return false }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "/"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
    }
}
