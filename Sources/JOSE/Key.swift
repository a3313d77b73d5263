import COpenSSL
package import CredentialCore
package import Secrets

/// A key and the one algorithm that it is for (RFC 7518 §3): a token's header never chooses.
package final class Key {
    /// What it signs or verifies with.
    package let algorithm: SignatureAlgorithm

    private enum Material {
        case shared(SecretBytes)
        // Owned by this object: freed once, at its end.
        case pair(OpaquePointer)
    }
    private let material: Material

    /// Takes a secret shared by both sides, for HS256, HS384 and HS512.
    ///
    /// - Throws: `keyUnsuitable` when it is another kind of key in disguise, a public key above all: whoever knows that could sign.
    package init(secret: SecretBytes, _ algorithm: SignatureAlgorithm) throws(SigningFailure) {
        guard algorithm.isShared, !secret.isEmpty, !Self.looksLikeAnotherKey(secret) else {
            throw .keyUnsuitable
        }
        self.algorithm = algorithm
        material = .shared(secret)
    }

    /// Reads a key in PEM or as a JWK; for HS* the bytes are the key.
    package convenience init(
        reading bytes: SecretBytes, _ algorithm: SignatureAlgorithm, isPrivate: Bool
    ) throws(SigningFailure) {
        if algorithm.isShared {
            try self.init(secret: bytes, algorithm)
            return
        }
        let first = bytes.withSpan { bytes in
            for index in 0..<bytes.count where bytes[index] > 0x20 { return bytes[index] }
            return UInt8(0)
        }
        if first == UInt8(ascii: "{") {
            let key = try JWK.key(in: bytes, algorithm, isPrivate: isPrivate)
            try self.init(key, algorithm)
            return
        }
        let pem = bytes.withSpan { bytes in
            // The pointer is valid for the call, which copies what it needs.
            bytes.withUnsafeBufferPointer { co_key_from_pem($0.baseAddress, $0.count, isPrivate) }
        }
        guard let pem else { throw .keyMalformed }
        try self.init(pem, algorithm)
    }

    /// Takes over a key of the library, and frees it in any case.
    init(_ pair: OpaquePointer, _ algorithm: SignatureAlgorithm) throws(SigningFailure) {
        guard co_key_suits(pair, algorithm.code) else {
            co_key_free(pair)
            throw .keyUnsuitable
        }
        self.algorithm = algorithm
        material = .pair(pair)
    }

    deinit { if case .pair(let pair) = material { co_key_free(pair) } }

    /// Appends the signature of `data`, in the form of RFC 7518.
    func sign(_ data: Span<UInt8>, appendingTo buffer: inout SecretBuffer) throws(SigningFailure) {
        // The largest is of RSA with 16384 bits.
        let before = buffer.count
        buffer.append(upTo: 2048) { room in
            // All pointers are valid for the calls, and `room` is as large as they are told.
            data.withUnsafeBufferPointer { data in
                let out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
                switch material {
                case .pair(let pair):
                    return co_sign(
                        pair, algorithm.code, data.baseAddress, data.count, out, room.count)
                case .shared(let secret):
                    return secret.withSpan { secret in
                        secret.withUnsafeBufferPointer { secret in
                            co_hmac(
                                algorithm.code, secret.baseAddress, secret.count, data.baseAddress,
                                data.count,
                                out)
                        }
                    }
                }
            }
        }
        guard buffer.count > before else { throw .libraryFailed }
    }

    /// Whether `signature` is this key's, of `data`.
    package func verifies(_ signature: Span<UInt8>, of data: Span<UInt8>) -> Bool {
        switch material {
        case .pair(let pair):
            return data.withUnsafeBufferPointer { data in
                signature.withUnsafeBufferPointer { signature in
                    co_verify(
                        pair, algorithm.code, data.baseAddress, data.count, signature.baseAddress,
                        signature.count)
                }
            }
        case .shared:
            var expected = SecretBuffer(capacity: 64)
            guard (try? sign(data, appendingTo: &expected)) != nil else { return false }
            return expected.finish().isEqual(to: SecretBytes(copying: signature))
        }
    }

    // PEM, a JWK, an SSH public key, or DER of a SubjectPublicKeyInfo: none of them is a shared secret.
    private static func looksLikeAnotherKey(_ secret: SecretBytes) -> Bool {
        let isText = secret.withSpan { bytes in
            starts(bytes, with: "ssh-") || starts(bytes, with: "ecdsa-sha2-")
                || contains(bytes, "-----BEGIN ")
        }
        if isText { return true }
        if secret.withSpan({ JWK.isKey($0) }) { return true }
        return secret.withSpan { bytes in
            bytes.count > 32 && bytes[0] == 0x30 && (bytes[1] == 0x82 || bytes[1] == 0x81 || bytes[1] == 0x59)
        }
    }

    private static func starts(_ bytes: Span<UInt8>, with text: StaticString) -> Bool {
        let prefix = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        guard bytes.count >= prefix.count else { return false }
        for index in 0..<prefix.count where bytes[index] != prefix[index] { return false }
        return true
    }

    private static func contains(_ bytes: Span<UInt8>, _ text: StaticString) -> Bool {
        guard bytes.count >= text.utf8CodeUnitCount else { return false }
        for start in 0...(bytes.count - text.utf8CodeUnitCount)
        where starts(bytes.extracting(start..<bytes.count), with: text) { return true }
        return false
    }
}

extension SignatureAlgorithm {
    /// Whether both sides know the key.
    package var isShared: Bool { self == .hs256 || self == .hs384 || self == .hs512 }

    var code: Int32 {
        switch self {
        case .hs256: Int32(CO_HS256)
        case .hs384: Int32(CO_HS384)
        case .hs512: Int32(CO_HS512)
        case .rs256: Int32(CO_RS256)
        case .ps256: Int32(CO_PS256)
        case .es256: Int32(CO_ES256)
        case .es384: Int32(CO_ES384)
        case .edDSA: Int32(CO_EDDSA)
        }
    }

    /// The left half of the hash that belongs to the algorithm, as `at_hash` has it (OpenID Connect Core 1.0 §3.1.3.6).
    package func halfHash(of token: SecretBytes) -> SecretBytes {
        var hash = SecretBuffer(capacity: 64)
        hash.append(upTo: 64) { room in
            token.withSpan { bytes in
                bytes.withUnsafeBufferPointer {
                    co_hash(
                        code, $0.baseAddress, $0.count, room.baseAddress?.assumingMemoryBound(to: UInt8.self))
                }
            }
        }
        hash.truncate(to: hash.count / 2)
        return hash.finish()
    }
}
