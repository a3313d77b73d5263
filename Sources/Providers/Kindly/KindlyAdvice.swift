package import CredentialCore
import JSON
import Secrets

/// What is noticeable about a credential for a bot (R15, R18, R24, R40, R67); nothing of it is refused because of this.
package enum KindlyAdvice: String, Sendable, CaseIterable {
    /// Introspection takes one token: a companion would be sent beside it (R15).
    case companionWithIntrospection = "companion_with_introspection"
    /// A bot with JWTs of the backend's ignores the companion (R18).
    case companionIgnored = "companion_ignored"
    /// With introspection, and with any opaque token, the platform cannot tell whose it is (R24).
    case issuerMissing = "issuer_missing"
    /// An opaque token says nothing of its end, and neither did who gave it: it is used until it is refused (R40, R71).
    case opaqueWithoutExpiry = "opaque_without_expiry"
    /// A bot that verifies JWTs gets an opaque token.
    case opaqueBearer = "opaque_bearer"
    /// `iss` is not the configured one, which the platform compares exactly (R67).
    case issuerUnexpected = "issuer_unexpected"
    /// `chat.id` names another chat.
    case chatUnexpected = "chat_unexpected"

    /// Everything that is noticeable, in the order of the cases; `hasExpiry` where any of the three is known.
    package static func on(
        _ credential: Credential, for bot: KindlyDefinition, chatID: String?, hasExpiry: Bool
    ) -> [KindlyAdvice] {
        var advice: Set<KindlyAdvice> = []
        // One that was cut off is no JWT either, and is to be mended, not introspected.
        let isOpaque =
            UnverifiedJWT(credential.bearer) == nil && UnverifiedJWT.defect(of: credential.bearer) == nil
        if credential.companion != nil {
            switch bot.strategy {
            case .introspection: advice.insert(.companionWithIntrospection)
            case .kindlyJWT: advice.insert(.companionIgnored)
            case .identityProvider, nil: break
            }
        }
        if credential.issuer ?? bot.defaultIssuer == nil, isOpaque || bot.strategy == .introspection {
            advice.insert(.issuerMissing)
        }
        if isOpaque, !hasExpiry { advice.insert(.opaqueWithoutExpiry) }
        if isOpaque, bot.strategy == .kindlyJWT { advice.insert(.opaqueBearer) }
        if let expected = bot.expectedIssuer, UnverifiedJWT(credential.bearer) != nil,
            issuer(of: credential.bearer) != expected
        {
            advice.insert(.issuerUnexpected)
        }
        if let chatID, let named = chat(in: credential.bearer), named != chatID {
            advice.insert(.chatUnexpected)
        }
        return allCases.filter(advice.contains)
    }

    private static func issuer(of token: SecretBytes) -> String? {
        let issuer: String?? = TokenClaims.read(.payload, of: token) { $0.member("iss")?.string }
        return issuer ?? nil
    }

    private static func chat(in token: SecretBytes) -> String? {
        let chat: String?? = TokenClaims.read(.payload, of: token) { payload in
            guard let chat = payload.member("chat"), chat.kind == .object else { return nil }
            return chat.member("id")?.string
        }
        return chat ?? nil
    }
}
