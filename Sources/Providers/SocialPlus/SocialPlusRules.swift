package import CredentialCore

/// What the operator's description decides about sessions.
package struct SocialPlusRules: Equatable, Sendable {
    /// A login without an auth token is refused before any network (R157).
    package var isSecureMode: Bool
    /// An access token is shown to the platform before it is used (R190).
    package var verifiesAccessToken: Bool
    /// How long renewals rest after a handler said that it has no token (R187).
    package var renewalPause: Milliseconds
    /// How long a login may take (R200).
    package var loginTimeout: Milliseconds
    /// Codes that end a session for good.
    package var terminatingCodes: [Int64]
    /// Whether a user that is not found was deleted.
    package var terminatesOnUserNotFound: Bool

    /// Takes them from the description.
    package init(_ network: SocialPlusDefinition) {
        isSecureMode = network.isSecureMode
        verifiesAccessToken = network.verifiesAccessToken
        renewalPause = network.renewalPause
        loginTimeout = network.loginTimeout
        terminatingCodes = network.terminatingCodes
        terminatesOnUserNotFound = network.terminatesOnUserNotFound
    }

    /// Whether the platform said of the access token that it is none, or none any more.
    package static func isTokenRefused(_ failure: RefreshFailure) -> Bool {
        failure.kind == .rejected && failure.httpStatus == 401
    }

    /// Whether nothing was said by whoever was asked.
    package static func isUnanswered(_ failure: RefreshFailure) -> Bool {
        switch failure.kind {
        case .unreachable, .timeout, .tls, .overloaded, .sourceUnavailable: true
        default: false
        }
    }

    /// Whether a code ends a session that there is; "unauthorised" does only during a renewal, else it is worth one.
    package func ends(_ code: Int64, isRenewal: Bool) -> Bool {
        terminatingCodes.contains(code) || code == SocialPlusCode.notFound && terminatesOnUserNotFound
            || code == SocialPlusCode.unauthorized && isRenewal
    }
}
