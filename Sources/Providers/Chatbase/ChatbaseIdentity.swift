import JSON
package import Secrets

/// What an account remembers of its user beside the token: who the server says it is, which conversation is open, and for which
/// device the server took the token.
///
/// The first two are not known from the token: both come from the client that chats. Each sign-in forgets them, even of the same
/// user, and so does each sign-out; the device is not among them and outlives both (R98, R101). The server has seen a token beside
/// one device, whose conversations it moved (R87): for another it counts only once the server has seen it there.
package struct ChatbaseIdentity: Equatable, Sendable {
    /// What the server confirmed with the last finished reply; anonymous users have one too (R98).
    package private(set) var currentUserID: String?
    /// The conversation that the next message continues; nil: it begins a new one.
    package private(set) var currentConversationID: String?
    /// The device for which the server took the token; nil: nobody is signed in.
    package private(set) var verifiedDevice: DeviceID?

    /// Nobody has chatted yet.
    package init() {}

    /// Bytes of one identifier; more is refused.
    package static let longestID = 256

    /// Why a report is not taken.
    package enum Failure: Error, Equatable, Sendable {
        /// Empty, longer than 256 bytes, or with control characters.
        case userIDInvalid, conversationIDInvalid
    }

    /// The server accepted a token of whoever signs in; `userID` only where its answer is trusted with that (contradiction 7).
    package mutating func identified(on device: DeviceID, userID: String? = nil) {
        currentUserID = PlatformWire.plain(userID, limit: Self.longestID)
        currentConversationID = nil
        verifiedDevice = device
    }

    /// The server accepted another token of whoever is signed in.
    package mutating func renewed(on device: DeviceID) { verifiedDevice = device }

    /// Another install: it has no user and no conversation that the server has confirmed there.
    package mutating func deviceReplaced() {
        currentUserID = nil
        currentConversationID = nil
    }

    /// The user is signed out, and the next message begins a new anonymous conversation (R101).
    package mutating func loggedOut() {
        self = ChatbaseIdentity()
    }

    /// Takes what the chatting client learned (R98); nil leaves a part as it is, and a report that is refused changes nothing.
    package mutating func report(userID: String?, conversationID: String?) throws(Failure) {
        if let userID, PlatformWire.plain(userID, limit: Self.longestID) == nil { throw .userIDInvalid }
        if let conversationID, PlatformWire.plain(conversationID, limit: Self.longestID) == nil {
            throw .conversationIDInvalid
        }
        if let userID { currentUserID = userID }
        if let conversationID { currentConversationID = conversationID }
    }

    // MARK: The stored form

    /// One JSON object: `user_id`, `conversation_id` and `verified_device`, each only where it is known.
    package func json() -> SecretBytes {
        var writer = JSONWriter()
        writer.beginObject()
        if let currentUserID {
            writer.key("user_id")
            writer.string(currentUserID)
        }
        if let currentConversationID {
            writer.key("conversation_id")
            writer.string(currentConversationID)
        }
        if let verifiedDevice {
            writer.key("verified_device")
            writer.string(verifiedDevice.text)
        }
        writer.endObject()
        return writer.finish().finish()
    }

    /// Reads the stored form; nil when it is no JSON object or longer than 16 KiB.
    ///
    /// Names that are not known are passed over, and a part that could not have been reported counts as unknown.
    package init?(json: SecretBytes) {
        let limits = JSONLimits(length: 16 * 1024, depth: 8)
        let read: ChatbaseIdentity? = PlatformWire.withObject(json, limits: limits) { root in
            var identity = ChatbaseIdentity()
            identity.currentUserID = PlatformWire.plain(
                root.member("user_id")?.string, limit: Self.longestID)
            identity.currentConversationID = PlatformWire.plain(
                root.member("conversation_id")?.string, limit: Self.longestID)
            identity.verifiedDevice = root.member("verified_device")?.string.flatMap { DeviceID($0) }
            return identity
        }
        guard let read else { return nil }
        self = read
    }
}
