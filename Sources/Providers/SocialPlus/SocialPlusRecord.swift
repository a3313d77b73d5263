package import CredentialCore
import JSON
package import Secrets

/// What of a session is on disk, beside its credential: enough to go on after a restart, and to renew.
///
/// An existing value is one that can be gone on from: a state in which a session can rest, with its user where there is one.
package struct SocialPlusRecord: Sendable {
    /// `notLoggedIn`, `established`, `tokenExpired` or `terminated`.
    package let state: SocialPlusState
    /// Who obtains the access tokens.
    package let kind: SocialPlusKind
    /// Whose session it is; nil: nobody's.
    package let user: SocialPlusUser?
    /// When the platform made the newest access token.
    package let issuedAt: WallTime?
    /// Kept for a legacy route; never sent.
    package let refreshToken: SecretBytes?
    /// Which code ended the session.
    package let terminationCode: String?
    /// Whether somebody wants it revoked, and nobody knows yet whether the platform has.
    package let isRevoking: Bool

    static let longestRefreshToken = 4096

    /// Nil for a state in which no session rests, and for a session without a user.
    package init?(
        state: SocialPlusState, kind: SocialPlusKind = .default, user: SocialPlusUser? = nil,
        issuedAt: WallTime? = nil, refreshToken: SecretBytes? = nil, terminationCode: String? = nil,
        isRevoking: Bool = false
    ) {
        guard state != .start, state != .establishing, user != nil || !state.isSession else { return nil }
        self.state = state
        // Who is signed out has left nothing behind, and who was banned no token.
        let isOut = state == .notLoggedIn
        self.kind = isOut ? .default : kind
        self.user = isOut ? nil : user
        self.issuedAt = state.isSession ? issuedAt : nil
        self.refreshToken = refreshToken.flatMap {
            state.isSession && (1...Self.longestRefreshToken).contains($0.count) ? $0 : nil
        }
        self.terminationCode = state == .terminated ? PlatformWire.code(terminationCode) : nil
        self.isRevoking = state.isSession && isRevoking
    }

    /// One JSON object; parts that are unknown are left out.
    package func json() -> SecretBytes {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("state")
        writer.string(state.rawValue)
        writer.key("kind")
        writer.string(kind.rawValue)
        if let user {
            writer.key("user_id")
            writer.string(user.id)
            if let displayName = user.displayName {
                writer.key("display_name")
                writer.string(displayName)
            }
        }
        if let issuedAt {
            writer.key("issued_at")
            writer.integer(issuedAt.seconds)
        }
        if let refreshToken {
            writer.key("refresh_token")
            writer.string(refreshToken)
        }
        if let terminationCode {
            writer.key("termination_code")
            writer.string(terminationCode)
        }
        if isRevoking {
            writer.key("revoking")
            writer.bool(true)
        }
        writer.endObject()
        return writer.finish().finish()
    }

    /// Reads the stored form; nil for what is no such object, is longer than 64 KiB, or says nothing to go on from.
    ///
    /// Names that are not known are passed over, and so is what could not have been written where it is not needed.
    package init?(json: SecretBytes) {
        let limits = JSONLimits(length: 64 * 1024, depth: 8)
        let read: SocialPlusRecord?? = PlatformWire.withObject(json, limits: limits) { root in
            guard let state = root.member("state")?.string.flatMap(SocialPlusState.init(rawValue:)),
                let kind = root.member("kind")?.string.flatMap(SocialPlusKind.init(rawValue:))
            else { return nil }
            return SocialPlusRecord(
                state: state, kind: kind, user: Self.user(in: root),
                issuedAt: root.member("issued_at")?.integer.map { WallTime(seconds: $0) },
                refreshToken: root.member("refresh_token")?.secret,
                terminationCode: root.member("termination_code")?.string,
                isRevoking: root.member("revoking")?.bool ?? false)
        }
        guard let read = read ?? nil else { return nil }
        self = read
    }

    private static func user(in root: borrowing JSONValue) -> SocialPlusUser? {
        guard let id = root.member("user_id")?.string else { return nil }
        let displayName = root.member("display_name")?.string
        return (try? SocialPlusUser(id: id, displayName: displayName)) ?? (try? SocialPlusUser(id: id))
    }
}
