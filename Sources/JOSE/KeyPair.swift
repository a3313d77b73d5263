import COpenSSL
package import CredentialCore
package import Secrets

/// A new key of one's own, in the form in which both halves can be given away: for stand-ins and for tests.
package struct KeyPair: Sendable {
    /// What it is for.
    package let algorithm: SignatureAlgorithm
    /// The private half, PEM.
    package let privateKey: SecretBytes
    /// The public half, DER (SubjectPublicKeyInfo, RFC 5280 §4.1.2.7).
    package let publicKey: [UInt8]

    /// Makes a key; RSA with 2048 bits and the exponent 65537.
    ///
    /// - Throws: `keyUnsuitable` for an algorithm whose key both sides share; `libraryFailed`.
    package init(for algorithm: SignatureAlgorithm) throws(SigningFailure) {
        guard let kind = algorithm.kind else { throw .keyUnsuitable }
        guard co_load() == 1, let pair = co_key_generate(kind) else { throw .libraryFailed }
        defer { co_key_free(pair) }
        self.algorithm = algorithm
        let (secret, open) = (Self.der(pair, isPrivate: true), Self.der(pair, isPrivate: false))
        guard !secret.isEmpty, !open.isEmpty else { throw .libraryFailed }
        let label: StaticString =
            switch algorithm {
            case .rs256, .ps256: "RSA PRIVATE KEY"
            case .es256, .es384: "EC PRIVATE KEY"
            default: "PRIVATE KEY"
            }
        privateKey = secret.withSpan { Self.pem($0, label) }
        publicKey = open.withSpan { span in span.indices.map { span[$0] } }
    }

    /// The textual encoding of `der` (RFC 7468 §2).
    package static func pem(_ der: Span<UInt8>, _ label: StaticString) -> SecretBytes {
        var text = SecretBuffer(capacity: der.count * 3 / 2 + 128)
        text.append("-----BEGIN ")
        text.append(label)
        text.append("-----\n")
        // 48 bytes are a line of 64 characters.
        for start in stride(from: 0, to: der.count, by: 48) {
            let line = der.extracting(start..<min(start + 48, der.count))
            Base64URL.append(encoding: line, as: .standard, to: &text)
            text.append("\n")
        }
        text.append("-----END ")
        text.append(label)
        text.append("-----\n")
        return text.finish()
    }

    private static func der(_ pair: OpaquePointer, isPrivate: Bool) -> SecretBytes {
        var buffer = SecretBuffer(capacity: Int(CO_KEY_LIMIT))
        buffer.append(upTo: Int(CO_KEY_LIMIT)) { room in
            // The room has the size that the call is promised.
            co_key_to_der(pair, isPrivate ? 1 : 0, room.baseAddress?.assumingMemoryBound(to: UInt8.self))
        }
        return buffer.finish()
    }
}
