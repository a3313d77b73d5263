package import Secrets

/// Why a field is not sent: found before any network.
package enum SocialPlusFieldFailure: Error, Equatable, Sendable {
    /// Not 1 to 50 characters, or with control characters (R155).
    case userIDInvalid
    /// More than 100 characters, or with control characters (R156).
    case displayNameInvalid
    /// Not 1 to 100 characters of visible ASCII (R157).
    case authTokenInvalid
}

/// Who logs in: an existing value is one that the platform takes.
package struct SocialPlusUser: Equatable, Sendable {
    /// The user's stable identifier; 1 to 50 characters.
    package let id: String
    /// The name in the profile; at most 100 characters; nil: the profile keeps its own.
    package let displayName: String?

    /// Checks the limits; an empty display name counts as none.
    package init(id: String, displayName: String? = nil) throws(SocialPlusFieldFailure) {
        guard Self.isPlain(id, limit: 50) else { throw .userIDInvalid }
        self.id = id
        if let displayName, !displayName.isEmpty {
            guard Self.isPlain(displayName, limit: 100) else { throw .displayNameInvalid }
            self.displayName = displayName
        } else {
            self.displayName = nil
        }
    }

    /// Checks the limits of an auth token.
    package static func check(authToken: SecretBytes) throws(SocialPlusFieldFailure) {
        let isTaken = authToken.withSpan { bytes in
            guard (1...100).contains(bytes.count) else { return false }
            for index in 0..<bytes.count where !(0x21...0x7E).contains(bytes[index]) { return false }
            return true
        }
        guard isTaken else { throw .authTokenInvalid }
    }

    // A character of the platform's schema is a code point, of at most four bytes.
    private static func isPlain(_ text: String, limit: Int) -> Bool {
        text.unicodeScalars.count <= limit && PlatformWire.plain(text, limit: limit * 4) != nil
    }
}
