package import CredentialCore
import JSON
package import Secrets

/// Whether the two tokens of a credential are a pair, as far as they say themselves (R16, R17).
///
/// The hash is reckoned by whoever can: this says what has to be hashed, how, and what must come out (OpenID Connect Core 1.0 §3.1.3.6).
package enum CompanionCheck: Sendable {
    /// There is no companion, or the ID token does not say which access token is its own.
    case passed
    /// The ID token is opaque: the platform would refuse the pair, so it is not sent.
    case idTokenIsOpaque
    /// To be decided by the hash of the access token.
    case undecided(AccessTokenHash)

    /// How to hash an access token, and what an ID token says of it.
    package struct AccessTokenHash: Sendable {
        /// The hashes that `alg` of an ID token can stand for.
        package enum Digest: Sendable, CaseIterable {
            case sha256, sha384, sha512
        }

        /// Which hash.
        package let digest: Digest
        /// What is hashed: its bytes as they are.
        package let accessToken: SecretBytes
        /// What the left half of the hash must be; nil: the claim is none that could ever match.
        let stated: SecretBytes?

        /// Whether the access token is the ID token's; `halfHash` is the left half of its hash.
        package func isMatched(by halfHash: SecretBytes) -> Bool {
            guard let stated, !halfHash.isEmpty else { return false }
            return stated.isEqual(to: halfHash)
        }
    }

    /// Looks at a credential before anything is sent.
    package static func of(_ credential: Credential) -> CompanionCheck {
        guard let companion = credential.companion, let idToken = credential.idToken else { return .passed }
        let digest: AccessTokenHash.Digest?? = TokenClaims.read(.header, of: idToken) { header in
            guard let name = header.member("alg")?.string else { return nil }
            return self.digest(name)
        }
        guard let digest else { return .idTokenIsOpaque }
        let claim: StatedHash? = TokenClaims.read(.payload, of: idToken) { payload in
            guard let value = payload.member("at_hash"), !value.isNull else { return .absent }
            guard value.kind == .string, !value.hasEscapes, let bytes = Base64URL.decode(value.raw) else {
                return .unreadable
            }
            return .bytes(bytes)
        }
        switch claim {
        case nil: return .idTokenIsOpaque
        case .absent: return .passed
        case .unreadable:
            return .undecided(
                AccessTokenHash(digest: digest ?? .sha256, accessToken: companion, stated: nil))
        case .bytes(let stated):
            // With an algorithm that nobody knows nothing can be compared, and the platform decides.
            guard let digest else { return .passed }
            return .undecided(AccessTokenHash(digest: digest, accessToken: companion, stated: stated))
        }
    }

    private enum StatedHash {
        case absent, unreadable
        case bytes(SecretBytes)
    }

    // The number in the name (RFC 7518 §3.1); the Edwards curves hash with SHA-512 by common practice.
    private static func digest(_ algorithm: String) -> AccessTokenHash.Digest? {
        if algorithm == "EdDSA" || algorithm == "Ed25519" { return .sha512 }
        if algorithm.hasSuffix("256") { return .sha256 }
        if algorithm.hasSuffix("384") { return .sha384 }
        return algorithm.hasSuffix("512") ? .sha512 : nil
    }
}
