package import CredentialCore
import JSON
package import Secrets

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
        var token = SecretBuffer(capacity: (headerBytes.count + claims.count) * 4 / 3 + 1408)
        headerBytes.withSpan { Base64URL.append(encoding: $0, to: &token) }
        token.append(UInt8(ascii: "."))
        claims.withSpan { Base64URL.append(encoding: $0, to: &token) }
        var signature = SecretBuffer(capacity: 1024)
        try token.withSpan { data throws(SigningFailure) in
            try key.sign(data, appendingTo: &signature)
        }
        token.append(UInt8(ascii: "."))
        signature.withSpan { Base64URL.append(encoding: $0, to: &token) }
        return token.finish()
    }
}
