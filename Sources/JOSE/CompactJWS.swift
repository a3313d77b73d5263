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
    ///   twice, or asks for something that is not understood (`crit`, `b64`, `zip`, a nested `cty`).
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
            for name: StaticString in ["crit", "b64", "zip"] where root.member(name) != nil {
                throw .malformed
            }
            if let type = root.member("cty")?.string, type.lowercased() == "jwt" { throw .malformed }
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

    // Counted, not split: a token of dots alone costs nothing.
    private static func dots(_ bytes: Span<UInt8>) -> (Int, Int)? {
        var found: [Int] = []
        for index in 0..<bytes.count where bytes[index] == UInt8(ascii: ".") {
            guard found.count < 2 else { return nil }
            found.append(index)
        }
        return found.count == 2 ? (found[0], found[1]) : nil
    }
}

/// Makes signed tokens.
package enum JWTMinter {
    /// The compact serialisation of `claims`, signed with `key` (RFC 7519 §7.1).
    package static func mint(
        claims: SecretBytes, key: Key, keyID: String?
    ) throws(SigningFailure) -> SecretBytes {
        var header = JSONWriter()
        header.beginObject()
        header.key("alg")
        header.string(key.algorithm.rawValue)
        header.key("typ")
        header.string("JWT")
        if let keyID {
            header.key("kid")
            header.string(keyID)
        }
        header.endObject()
        let headerBytes = header.finish()
        var token = SecretBuffer(capacity: (headerBytes.count + claims.count) * 4 / 3 + 512)
        headerBytes.withSpan { Base64URL.append(encoding: $0, to: &token) }
        token.append(UInt8(ascii: "."))
        claims.withSpan { Base64URL.append(encoding: $0, to: &token) }
        var signature = SecretBuffer(capacity: 2048)
        try token.withSpan { data throws(SigningFailure) in
            try key.sign(data, appendingTo: &signature)
        }
        token.append(UInt8(ascii: "."))
        signature.withSpan { Base64URL.append(encoding: $0, to: &token) }
        return token.finish()
    }
}
