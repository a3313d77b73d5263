package import CredentialCore

/// Where a session stands, under the names of the wire (R169 to R181).
package enum SocialPlusState: String, Sendable, CaseIterable {
    /// Nobody looked yet whether there is a session; gone when the daemon has started (R169).
    case start
    case notLoggedIn = "not_logged_in"
    /// A login is under way.
    case establishing
    case established
    /// The access token ended, and another is being sought.
    case tokenExpired = "token_expired"
    /// The user was banned or deleted; only a logout leads out (R180).
    case terminated

    /// Every step that there is; all others are impossible (R181).
    ///
    /// Where the vendor's own engine does more than its document says, the document is followed: a login starts from
    /// `notLoggedIn` alone, and a token expires in `established` alone. What was terminated before a restart still is.
    package func allows(_ next: SocialPlusState) -> Bool {
        switch (self, next) {
        case (.start, .notLoggedIn), (.start, .established), (.start, .terminated),
            (.notLoggedIn, .establishing), (.establishing, .established), (.establishing, .notLoggedIn),
            (.established, .tokenExpired), (.established, .terminated), (.established, .notLoggedIn),
            (.tokenExpired, .established), (.tokenExpired, .terminated), (.tokenExpired, .notLoggedIn),
            (.terminated, .notLoggedIn):
            true
        case (.start, _), (.notLoggedIn, _), (.establishing, _), (.established, _), (.tokenExpired, _),
            (.terminated, _):
            false
        }
    }

    /// Whether there is a session that can end, be renewed or be revoked.
    package var isSession: Bool { self == .established || self == .tokenExpired }
}

/// Who obtains the access tokens of a session, and so which handler is asked for the next one (R196).
package enum SocialPlusKind: String, Sendable, CaseIterable {
    /// The platform makes them of an auth token.
    case `default`
    /// The customer's backend issues them.
    case accessToken = "access_token"

    /// What a source is asked for.
    package var wish: SourceContext.Wish { self == .default ? .authToken : .accessToken }

    /// What a handler is asked when the next one is due (R185, R192, R196).
    package var renewalQuestion: HandlerQuestion.Kind {
        self == .default ? .sessionWillRenew : .sessionOnTokenRenew
    }
}

/// A step of a session, as it is announced (R182).
package struct SocialPlusChange: Equatable, Sendable {
    /// Why a step was taken, under the names of the wire.
    package enum Cause: String, Sendable, CaseIterable {
        case started
        case loggingIn = "logging_in"
        case loggedIn = "logged_in"
        case loginFailed = "login_failed"
        case loginTimeout = "login_timeout"
        /// By the clock.
        case expired
        /// The platform refused the access token on a call.
        case unauthorized
        case renewed
        /// The platform said that the session is over.
        case terminated
        case loggedOut = "logged_out"
        /// After the platform had revoked the access token.
        case revoked
    }

    /// Where it stood.
    package let from: SocialPlusState
    /// Where it stands.
    package let to: SocialPlusState
    /// Why.
    package let cause: Cause
    /// The platform's code, where one was the reason.
    package let code: String?

    /// Takes the parts.
    package init(from: SocialPlusState, to: SocialPlusState, cause: Cause, code: String? = nil) {
        self.from = from
        self.to = to
        self.cause = cause
        self.code = code
    }
}
