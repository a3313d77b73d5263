package import CredentialCore
import JSON
package import Secrets

/// A signed token in compact form, taken apart and not yet believed (RFC 7515 §7.1).
package struct CompactJWS {
    /// `alg`, as the header claims it.
    package let algorithm: String
    /// `kid`; it only selects among keys that are known.
    package let keyID: String?
    private let token: SecretBytes
    private let signedLength: Int
    /// The payload; believe it after `verify` only.
    package let payload: SecretBytes

    /// Takes a token apart.
    ///
    /// - Throws: `malformed` for anything that is not exactly three parts of strict base64url, for a header that is no object, has a member
    ///   twice, names no algorithm (`none`), or asks for something that is not understood (`crit`, `b64`, `zip`, a nested `cty`).
    ///   Keys that a header brings along (`jwk`, `jku`, `x5c`, `x5u`) are not looked at.
    package init(_ token: SecretBytes) throws(VerificationFailure) {
        guard token.count <= Credential.tokenLimit else { throw .malformed }
        let parts = token.withSpan { bytes -> (header: SecretBytes, payload: SecretBytes, signed: Int)? in
            guard let (first, second) = Self.dots(bytes),
                let header = Base64URL.decode(bytes.extracting(0..<first)),
                let payload = Base64URL.decode(bytes.extracting((first + 1)..<second)),
                Base64URL.isValid(bytes.extracting((second + 1)..<bytes.count))
            else { return nil }
            return (header, payload, second)
        }
        guard let parts else { throw .malformed }
        (algorithm, keyID) = try parts.header.withSpan { bytes throws(VerificationFailure) in
            var document = JSONDocument(limits: JSONLimits(length: 1 << 14, depth: 8))
            guard let root = try? document.parse(bytes), root.kind == .object,
                let algorithm = root.member("alg")?.string
            else { throw .malformed }
            for name: StaticString in ["crit", "b64", "zip", "enc"] where root.member(name) != nil {
                throw .malformed
            }
            if let type = root.member("cty"), !Self.isPlain(type) { throw .malformed }
            guard algorithm.lowercased() != "none" else { throw .malformed }
            guard let keyID = root.member("kid") else { return (algorithm, nil) }
            guard let text = keyID.string else { throw .malformed }
            return (algorithm, text)
        }
        self.token = token
        signedLength = parts.signed
        payload = parts.payload
    }

    /// Checks the signature with a key, by the key's algorithm and no other.
    package func verify(_ key: Key) throws(VerificationFailure) {
        guard algorithm == key.algorithm.rawValue else { throw .algorithmMismatch }
        let isGenuine = token.withSpan { bytes in
            guard let signature = Base64URL.decode(bytes.extracting((signedLength + 1)..<bytes.count)) else {
                return false
            }
            return signature.withSpan { key.verifies($0, of: bytes.extracting(0..<signedLength)) }
        }
        guard isGenuine else { throw .signatureWrong }
    }

    // A payload that is a token itself, or encrypted (RFC 7519 §5.2), is not looked into.
    private static func isPlain(_ contentType: borrowing JSONValue) -> Bool {
        guard let type = contentType.string?.lowercased() else { return false }
        return !["jwt", "jose", "jwe", "application/jwt", "application/jose", "application/jwe"].contains(
            type)
    }

    // Counted, not split: a token of dots alone costs nothing.
    private static func dots(_ bytes: Span<UInt8>) -> (Int, Int)? {
        var first: Int?
        var second: Int?
        for index in 0..<bytes.count where bytes[index] == UInt8(ascii: ".") {
            guard second == nil else { return nil }
            if first == nil { first = index } else { second = index }
        }
        guard let first, let second else { return nil }
        return (first, second)
    }
}
