import JSON
package import Secrets

/// A chat with a bot: what names it, and what proves to the platform that it is ours.
///
/// An existing value can stand in headers: both parts are visible ASCII, the name of at most 256 bytes, the token of at most 8 KiB.
package struct KindlyChat: Sendable {
    /// `kindly-chat-uuid`; also what backends and handlers are told (R5, R59).
    package let id: String
    /// `kindly-chatbubble-token`, the `token` of `connect`; nil: it was not connected yet, or a client brought it without one.
    package let token: SecretBytes?
    /// Whether a client brought it, instead of `connect`.
    package let isAttached: Bool

    /// Nil when a part could not stand in a header.
    package init?(id: String, token: SecretBytes? = nil, isAttached: Bool = false) {
        guard (1...256).contains(id.utf8.count), id.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return nil
        }
        if let token {
            let isFit = token.withSpan { bytes in
                guard (1...8192).contains(bytes.count) else { return false }
                for index in 0..<bytes.count where !(0x21...0x7E).contains(bytes[index]) { return false }
                return true
            }
            guard isFit else { return nil }
        }
        self.id = id
        self.token = token
        self.isAttached = isAttached
    }

    /// Whether the platform has heard of it: it was connected, or a client brought it.
    package var isKnownToPlatform: Bool { token != nil || isAttached }

    /// Whether it was brought without its token: the platform may refuse whatever is said of it, whoever is signed in.
    package var lacksToken: Bool { isAttached && token == nil }

    /// Whether `other` is this very chat and brings nothing that is not known of it.
    package func covers(_ other: KindlyChat) -> Bool {
        guard id == other.id else { return false }
        guard let theirs = other.token else { return true }
        return token?.isEqual(to: theirs) == true
    }

    // MARK: The stored form

    /// One JSON object: `chat_id`, `chat_token` where there is one, and `attached`; secret, because of the token.
    package func json() -> SecretBytes {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("chat_id")
        writer.string(id)
        if let token {
            writer.key("chat_token")
            writer.string(token)
        }
        writer.key("attached")
        writer.bool(isAttached)
        writer.endObject()
        return writer.finish().finish()
    }

    /// Reads the stored form; nil when it is none; names that are not known are passed over.
    package init?(json: SecretBytes) {
        let chat: KindlyChat?? = PlatformWire.withObject(
            json, limits: JSONLimits(length: 16 * 1024, depth: 8)
        ) {
            root in
            guard let id = root.member("chat_id")?.string else { return nil }
            return KindlyChat(
                id: id, token: root.member("chat_token")?.secret,
                isAttached: root.member("attached")?.bool ?? false)
        }
        guard let chat = chat ?? nil else { return nil }
        self = chat
    }
}
