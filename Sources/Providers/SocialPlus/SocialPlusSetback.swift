package import CredentialCore

/// How the last attempt to log in, or to renew a session, came to nothing (R200, R204).
package struct SocialPlusSetback: Equatable, Sendable {
    /// Where it ended, under the names of the wire.
    package enum Step: String, Sendable, CaseIterable {
        /// What the caller gave is none, or there is nobody to give what is needed: nobody was asked.
        case request
        /// The client that is registered for it gave no token.
        case handler
        /// The source gave none.
        case source
        /// The platform made no session of it.
        case session
        /// The platform did not take the access token.
        case verification
        /// The disk did not take what came of it.
        case store
        /// It took longer than a login may.
        case timeout
    }

    /// What failed.
    package let failure: RefreshFailure
    /// Where it ended.
    package let step: Step
    /// Of which kind the session was to be.
    package let kind: SocialPlusKind
    /// When.
    package let at: WallTime

    /// Takes the parts.
    package init(_ failure: RefreshFailure, _ step: Step, _ kind: SocialPlusKind, at moment: WallTime) {
        self.failure = failure
        self.step = step
        self.kind = kind
        at = moment
    }
}
