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
    /// - Throws: `keyUnsuitable` when there is none, or when it is another kind of key in disguise.
    package init(secret: SecretBytes, _ algorithm: SignatureAlgorithm) throws(SigningFailure) {
        guard algorithm.isShared, !secret.isEmpty, !KeyDisguise.covers(secret) else { throw .keyUnsuitable }
        guard co_load() == 1 else { throw .libraryFailed }
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
        let isJSON = bytes.withSpan { bytes in
            for index in 0..<bytes.count where bytes[index] > 0x20 {
                return bytes[index] == UInt8(ascii: "{")
            }
            return false
        }
        if isJSON {
            try self.init(JWK.key(in: bytes, algorithm, isPrivate: isPrivate), algorithm)
            return
        }
        let pem = try bytes.withSpan { bytes throws(SigningFailure) -> PEM in
            try PEM(bytes, isPrivate: isPrivate)
        }
        guard co_load() == 1 else { throw .libraryFailed }
        let pair = pem.content.withSpan { der in
            // The pointer is valid for the call, which copies what it needs.
            der.withUnsafeBufferPointer { co_key_from_der(pem.form, $0.baseAddress, $0.count) }
        }
        guard let pair else { throw .keyMalformed }
        try self.init(pair, algorithm)
    }

    /// Takes over a key of the library, and frees it in any case.
    init(_ pair: OpaquePointer, _ algorithm: SignatureAlgorithm) throws(SigningFailure) {
        guard let kind = algorithm.kind, co_key_kind(pair) == kind else {
            co_key_free(pair)
            throw .keyUnsuitable
        }
        self.algorithm = algorithm
        material = .pair(pair)
    }

    deinit { if case .pair(let pair) = material { co_key_free(pair) } }

    /// Appends the signature of `data`, in the form of RFC 7518.
    ///
    /// - Throws: `keyMalformed` when the private half is missing or not of the public half.
    package func sign(_ data: Span<UInt8>, appendingTo buffer: inout SecretBuffer) throws(SigningFailure) {
        let before = buffer.count
        buffer.append(upTo: Int(CO_SIGNATURE_LIMIT)) { room in
            let out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
            // All pointers are valid for the calls, and `room` has the size that the calls are promised.
            return data.withUnsafeBufferPointer { data in
                switch material {
                case .pair(let pair):
                    return co_sign(pair, algorithm.code, data.baseAddress, data.count, out)
                case .shared(let secret):
                    return secret.withSpan { secret in
                        secret.withUnsafeBufferPointer { secret in
                            co_hmac(
                                algorithm.hash, secret.baseAddress, secret.count, data.baseAddress,
                                data.count,
                                out)
                        }
                    }
                }
            }
        }
        guard buffer.count == before else { return }
        if case .pair = material { throw .keyMalformed }
        throw .libraryFailed
    }

    /// Whether `signature` is this key's, of `data`.
    package func verifies(_ signature: Span<UInt8>, of data: Span<UInt8>) -> Bool {
        switch material {
        case .pair(let pair):
            // All pointers are valid for the call.
            return data.withUnsafeBufferPointer { data in
                signature.withUnsafeBufferPointer { signature in
                    co_verify(
                        pair, algorithm.code, data.baseAddress, data.count, signature.baseAddress,
                        signature.count) == 1
                }
            }
        case .shared:
            var expected = SecretBuffer(capacity: Int(CO_SIGNATURE_LIMIT))
            guard (try? sign(data, appendingTo: &expected)) != nil else { return false }
            return expected.finish().isEqual(to: SecretBytes(copying: signature))
        }
    }
}
