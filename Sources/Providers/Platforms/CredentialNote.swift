package import CredentialCore
import Secrets

/// What is noticeable about any credential, wherever it is shown; nothing of it is refused because of this.
package enum CredentialNote: String, Sendable, CaseIterable {
    /// It begins as a JWT does and is none: cut off, or with something lost on the way.
    case jwtMalformed = "jwt_malformed"
    /// `exp` is no moment, and counts as unknown.
    case expImplausible = "exp_implausible"
    /// What the platform said of its end is no moment, and counts as unknown.
    case expiryImplausible = "expiry_implausible"
    /// The platform's answer lacks the member that `expiry_field` names.
    case expiryMissing = "expiry_missing"

    /// Everything that is noticeable, in the order of the cases.
    package static func on(
        _ credential: Credential, expiryFlaw: BindAnswer.ExpiryFlaw?
    ) -> [CredentialNote] {
        allCases.filter { note in
            switch note {
            case .jwtMalformed: UnverifiedJWT.defect(of: credential.bearer) != nil
            case .expImplausible: UnverifiedJWT(credential.bearer)?.exp == .implausible
            case .expiryImplausible: expiryFlaw == .implausible
            case .expiryMissing: expiryFlaw == .missing
            }
        }
    }
}
