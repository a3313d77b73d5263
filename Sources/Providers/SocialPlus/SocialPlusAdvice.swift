package import CredentialCore

/// What is noticeable about a session's token, under the names of the wire; nothing is refused because of this.
package enum SocialPlusAdvice: String, Sendable, CaseIterable {
    /// It lives less than twice as long as it is renewed ahead of its end: users are logged out again and again (R201).
    case lifetimeShort = "lifetime_short"
    /// Nothing says when it ends, so that nobody is asked for another before it is refused (R202).
    case expiryUnknown = "expiry_unknown"

    /// Everything that is noticeable of a token that is held.
    package static func on(_ schedule: Schedule) -> [SocialPlusAdvice] {
        if schedule.expiresAt == nil { return [.expiryUnknown] }
        return schedule.isShortLived ? [.lifetimeShort] : []
    }
}
