import COpenSSL
package import CredentialCore
package import Secrets

extension SignatureAlgorithm {
    /// Whether both sides know the key.
    package var isShared: Bool { self == .hs256 || self == .hs384 || self == .hs512 }

    /// The library's name of it; 0 for those with a shared key.
    var code: Int32 {
        switch self {
        case .hs256, .hs384, .hs512: 0
        case .rs256: Int32(CO_RS256)
        case .ps256: Int32(CO_PS256)
        case .es256: Int32(CO_ES256)
        case .es384: Int32(CO_ES384)
        case .edDSA: Int32(CO_EDDSA)
        }
    }

    /// The kind of key that it needs; nil for a shared one.
    var kind: Int32? {
        switch self {
        case .hs256, .hs384, .hs512: nil
        case .rs256, .ps256: Int32(CO_RSA)
        case .es256: Int32(CO_P256)
        case .es384: Int32(CO_P384)
        case .edDSA: Int32(CO_ED25519)
        }
    }

    /// The hash that belongs to it; for EdDSA that of Ed25519.
    var hash: Int32 {
        switch self {
        case .hs256, .rs256, .ps256, .es256: Int32(CO_SHA256)
        case .hs384, .es384: Int32(CO_SHA384)
        case .hs512, .edDSA: Int32(CO_SHA512)
        }
    }

    /// The left half of the hash that belongs to the algorithm, as `at_hash` has it (OpenID Connect Core 1.0 §3.1.3.6).
    ///
    /// Empty when the library fails.
    package func halfHash(of token: SecretBytes) -> SecretBytes {
        var digest = SecretBuffer(capacity: 64)
        digest.append(upTo: 64) { room in
            token.withSpan { bytes in
                // Both pointers are valid for the call, and no hash is longer than the room.
                bytes.withUnsafeBufferPointer {
                    co_digest(
                        hash, $0.baseAddress, $0.count, room.baseAddress?.assumingMemoryBound(to: UInt8.self))
                }
            }
        }
        digest.truncate(to: digest.count / 2)
        return digest.finish()
    }
}

extension HashOrder {
    /// What comes of the order.
    package var outcome: Result<SecretBytes, SigningFailure> {
        let half = algorithm.halfHash(of: token)
        return half.isEmpty ? .failure(.libraryFailed) : .success(half)
    }
}
