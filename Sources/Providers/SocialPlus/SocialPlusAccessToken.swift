package import CredentialCore
import JSON
package import Secrets

/// What an access token that the customer's backend issued must be before anybody is asked about it (R193, R194).
///
/// Its signature is the server's to judge.
package enum SocialPlusAccessToken {
    /// Why it is not even shown to the platform; the cases of R204 that can be told apart here.
    package enum Failure: Error, Equatable, Sendable {
        /// Not a JWT in compact form.
        case notJWT
        /// No `userId` of 1 to 50 characters in it.
        case userIDMissing
        /// A renewal brought another user's (R197).
        case otherUser
        /// A renewal, or a login in which nobody else looks at it, brought one that has ended already.
        case expired

        /// What is wrong with it, where that was said of a refresh.
        package init?(_ flaw: RefreshFailure.TokenFlaw) {
            switch flaw {
            case .missing: return nil
            case .notJWT: self = .notJWT
            case .userMissing: self = .userIDMissing
            case .otherUser: self = .otherUser
            }
        }

        /// The same as what came of a refresh.
        package var refreshFailure: RefreshFailure {
            switch self {
            case .notJWT: RefreshFailure(.malformed, cause: .token(.notJWT))
            case .userIDMissing: RefreshFailure(.malformed, cause: .token(.userMissing))
            case .otherUser: RefreshFailure(.otherUser, cause: .token(.otherUser))
            case .expired: RefreshFailure(.stale)
            }
        }
    }

    /// Whom it is for.
    package static func user(of token: SecretBytes) throws(Failure) -> SocialPlusUser {
        let claim: String?? = TokenClaims.read(.payload, of: token) { payload in
            payload.member("userId")?.string
        }
        guard let claim else { throw .notJWT }
        guard let id = claim, let user = try? SocialPlusUser(id: id) else { throw .userIDMissing }
        return user
    }

    /// Checks one that is to follow another of the same user.
    ///
    /// An ended one is not shown to the platform: its "unauthorised" would be the end of the session.
    package static func checkRenewed(
        _ token: SecretBytes, for userID: String, now: WallTime
    ) throws(Failure) {
        let user = try user(of: token)
        guard user.id == userID else { throw .otherUser }
        if hasEnded(token, at: now) { throw .expired }
    }

    /// Whether it says itself that it is over.
    static func hasEnded(_ token: SecretBytes, at now: WallTime) -> Bool {
        if case .at(let moment) = UnverifiedJWT(token)?.exp { moment <= now } else { false }
    }
}
