import CSodium
package import Secrets

/// Why a sealed value was not opened.
package enum SealFailure: Error, Equatable {
    /// Too short, or not what was sealed with this key for this place.
    case forged
}

/// XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03): seals values under a key, bound to associated data.
///
/// A sealed value is `nonce (24) ‖ ciphertext ‖ tag (16)`. The nonce is drawn anew at every write: at 192 bits random ones do not
/// collide. The cipher does not commit to its key, so keys are never tried in turn: a check value says which one is right.
package enum Seal {
    static let keyLength = 32
    static let nonceLength = 24
    static let tagLength = 16

    /// Seals `plaintext`; `key` has 32 bytes.
    package static func seal(
        _ plaintext: Span<UInt8>, key: UnsafeRawBufferPointer, associatedData: [UInt8], random: RandomSource
    ) -> [UInt8] {
        precondition(key.count == keyLength)
        return [UInt8](unsafeUninitializedCapacity: nonceLength + plaintext.count + tagLength) {
            sealed, count in
            guard let base = sealed.baseAddress else { return }
            random(UnsafeMutableRawBufferPointer(start: base, count: nonceLength))
            plaintext.withUnsafeBufferPointer { plain in
                // Cannot fail: it says so for every length below 2^38.
                _ = crypto_aead_xchacha20poly1305_ietf_encrypt(
                    base + nonceLength, nil, plain.baseAddress, UInt64(plain.count), associatedData,
                    UInt64(associatedData.count), nil, base, key.bytes)
            }
            count = nonceLength + plaintext.count + tagLength
        }
    }

    /// Opens what `seal` made and appends it to `plaintext`; nothing is appended when it is refused.
    package static func open(
        _ sealed: Span<UInt8>, key: UnsafeRawBufferPointer, associatedData: [UInt8],
        into plaintext: inout SecretBuffer
    ) throws(SealFailure) {
        precondition(key.count == keyLength)
        let length = sealed.count - nonceLength - tagLength
        guard length >= 0 else { throw .forged }
        // One byte more, so that an empty value has an address too.
        try plaintext.append(upTo: length + 1) { room throws(SealFailure) -> Int in
            let result = sealed.withUnsafeBufferPointer { sealed -> Int32 in
                guard let base = sealed.baseAddress else { return -1 }
                return crypto_aead_xchacha20poly1305_ietf_decrypt(
                    room.bytes, nil, nil, base + nonceLength,
                    UInt64(length + tagLength), associatedData, UInt64(associatedData.count), base,
                    key.bytes)
            }
            guard result == 0 else { throw .forged }
            return length
        }
    }

    /// Keyed BLAKE2b-256 (RFC 7693) of `bytes`.
    static func keyedHash(_ bytes: [UInt8], key: UnsafeRawBufferPointer) -> [UInt8] {
        precondition(key.count == keyLength)
        return [UInt8](unsafeUninitializedCapacity: 32) { hash, count in
            guard let base = hash.baseAddress else { return }
            crypto_generichash(
                base, 32, bytes, UInt64(bytes.count),
                key.bytes, key.count)
            count = 32
        }
    }

    /// Compares in constant time.
    static func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count && sodium_memcmp(left, right, left.count) == 0
    }
}
