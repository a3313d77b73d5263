package import CredentialCore
import JSON
package import Secrets

/// What is wrong with an identity token as far as it can be seen without the secret (R83).
///
/// Advice: whoever has the secret decides, and a token is sent with all of these.
package enum ChatbaseWarning: String, Sendable, CaseIterable {
    case notJWT = "not_a_jwt"
    /// Signed otherwise than with HMAC-SHA-256, which is all that the agent takes.
    case notHS256 = "algorithm_not_hs256"
    /// Neither `user_id` nor `sub`.
    case userMissing = "user_missing"
    /// Without `exp` a token that leaks is good for ever.
    case expiryMissing = "exp_missing"
    /// An `exp` that is no moment.
    case expiryImplausible = "exp_implausible"
    case expired
}

/// The preflight of identity tokens.
package enum ChatbaseClaims {
    /// Everything that is noticeable, in the order of the cases; nothing for a token as the vendor describes it.
    package static func warnings(_ token: SecretBytes, now: WallTime) -> [ChatbaseWarning] {
        let isHS256 = TokenClaims.read(.header, of: token) { header in
            header.member("alg")?.isString("HS256") ?? false
        }
        let userID: String?? = TokenClaims.read(.payload, of: token) { payload in user(in: payload) }
        guard let isHS256, let userID, let exp = UnverifiedJWT(token)?.exp else { return [.notJWT] }
        var warnings: [ChatbaseWarning] = []
        if !isHS256 { warnings.append(.notHS256) }
        if userID == nil { warnings.append(.userMissing) }
        switch exp {
        case .absent: warnings.append(.expiryMissing)
        case .implausible: warnings.append(.expiryImplausible)
        case .at(let moment): if moment <= now { warnings.append(.expired) }
        }
        return warnings
    }

    /// Whom the token names: `user_id`, else `sub`; nil when neither is there or can be shown.
    package static func user(of token: SecretBytes) -> String? {
        let userID: String?? = TokenClaims.read(.payload, of: token) { payload in user(in: payload) }
        return PlatformWire.plain(userID ?? nil, limit: ChatbaseIdentity.longestID)
    }

    private static func user(in payload: borrowing JSONValue) -> String? {
        TokenClaims.subject("user_id", in: payload) ?? TokenClaims.subject("sub", in: payload)
    }
}
