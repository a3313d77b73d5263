import CredentialCore
import JOSE
import Secrets

/// What holds for every token, key and set of keys from outside.
package enum JOSEProperty {
    /// A way in which one of them was believed.
    package enum Violation: Error, Equatable, Sendable {
        /// A signature that was not made here was found good.
        case forged
        case idTokenBelieved
    }

    private static let algorithms: [SignatureAlgorithm] = [.hs256, .rs256, .es256, .edDSA]
    private static let secret = SecretBytes("a secret of this property, and of nothing else")

    /// Takes `bytes` for a token, for keys of several kinds, and for a set of keys.
    package static func check(_ bytes: Span<UInt8>) throws(Violation) {
        let input = SecretBytes(copying: bytes)
        if let token = try? CompactJWS(input), let key = try? Key(secret: secret, .hs256),
            (try? token.verify(key)) != nil
        {
            throw .forged
        }
        for algorithm in algorithms {
            for isPrivate in [false, true] { _ = try? Key(reading: input, algorithm, isPrivate: isPrivate) }
        }
        _ = try? JWKSet(input)
        let order = VerificationOrder(
            id: 1, token: input, keys: input, issuer: "https://issuer.example", audience: "desk",
            accessToken: nil,
            now: WallTime(seconds: 1_800_000_000))
        if (try? IDToken.verify(order)) != nil { throw .idTokenBelieved }
    }
}
