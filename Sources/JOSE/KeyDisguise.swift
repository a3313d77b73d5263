import CredentialCore
import Secrets

/// What is no shared secret, although its bytes could be used as one.
///
/// Who verifies with a public key, and is made to take its text for an HMAC secret, accepts tokens from everybody. A secret that
/// is a key of another kind is refused, therefore, in whatever form it comes: nobody has such a secret on purpose.
enum KeyDisguise {
    /// Whether `secret` is a key in PEM, DER, base64 of DER, a JWK or a set of them, or a public key as SSH writes it.
    static func covers(_ secret: SecretBytes) -> Bool {
        secret.withSpan { bytes in
            if bytes.first("-----BEGIN ") != nil || bytes.first("---- BEGIN ") != nil { return true }
            if isSSH(bytes) || isDER(bytes) || JWK.isKey(bytes) { return true }
            guard bytes.count >= 40, let decoded = PEM.decode(bytes) else { return false }
            return decoded.withSpan { isDER($0) }
        }
    }

    // "TYPE BASE64 COMMENT" (RFC 4253 §6.6, as OpenSSH writes it), options before it or not.
    private static func isSSH(_ bytes: Span<UInt8>) -> Bool {
        for type: StaticString in ["ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-sha2-"] {
            var start = 0
            while let found = bytes.first(type, from: start) {
                if found == 0 || bytes[found - 1] <= 0x20, bytes.first(" AAAA", from: found) != nil {
                    return true
                }
                start = found + 1
            }
        }
        return false
    }

    // A SEQUENCE that fills the bytes and begins with a SEQUENCE or an INTEGER that fits: every key and certificate does, and of
    // a hundred million random secrets hardly one.
    private static func isDER(_ bytes: Span<UInt8>) -> Bool {
        guard let (outer, length) = header(bytes, at: 0), outer == 0x30, length.upperBound == bytes.count,
            let (inner, content) = header(bytes, at: length.lowerBound), inner == 0x30 || inner == 0x02
        else { return false }
        return content.upperBound <= bytes.count
    }

    private static func header(_ bytes: Span<UInt8>, at start: Int) -> (tag: UInt8, content: Range<Int>)? {
        guard bytes.count - start >= 2 else { return nil }
        let first = Int(bytes[start + 1])
        guard first >= 0x80 else { return (bytes[start], (start + 2)..<(start + 2 + first)) }
        let size = first - 0x80
        guard (1...4).contains(size), bytes.count - start - 2 >= size else { return nil }
        var length = 0
        for offset in 0..<size { length = length << 8 | Int(bytes[start + 2 + offset]) }
        return (bytes[start], (start + 2 + size)..<(start + 2 + size + length))
    }
}
