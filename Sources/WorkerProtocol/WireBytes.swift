import CredentialCore
import JSON
import Secrets

/// Bytes as members of JSON objects: as text where they are text, else as base64url (RFC 4648 §5).
enum WireBytes {
    /// Whether the bytes go as a string: UTF-8, and nothing in it that JSON writes with six bytes.
    static func isText(_ bytes: Span<UInt8>) -> Bool {
        for index in 0..<bytes.count {
            let byte = bytes[index]
            if byte < 0x20, byte != 0x09, byte != 0x0A, byte != 0x0D { return false }
        }
        return (try? UTF8Span(validating: bytes)) != nil
    }

    /// The alphabet of RFC 4648 §5, without padding.
    static func encode(_ bytes: Span<UInt8>) -> SecretBuffer {
        let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        var text = SecretBuffer(capacity: bytes.count / 3 * 4 + 4)
        var bits: UInt32 = 0
        var count: UInt32 = 0
        for index in 0..<bytes.count {
            bits = bits << 8 | UInt32(bytes[index])
            count += 8
            while count >= 6 {
                count -= 6
                text.append(alphabet.utf8Start[Int(bits >> count & 63)])
            }
            bits &= (1 << count) - 1
        }
        if count > 0 { text.append(alphabet.utf8Start[Int(bits << (6 - count) & 63)]) }
        return text
    }

    /// The bytes that `object` has under `text` or under `base64`; nil when it has neither.
    ///
    /// - Throws: `wrongType` for both at once, another kind, or text that does not decode; `outOfRange` above `limit` bytes.
    static func read(
        _ object: borrowing JSONValue, text: StaticString, base64: StaticString, limit: Int
    ) throws(WireFailure) -> SecretBytes? {
        let bytes: SecretBytes?
        if let value = object.member(text) {
            guard object.member(base64) == nil, value.kind == .string else { throw .wrongType }
            // An escape makes text longer, never shorter than a sixth.
            guard value.raw.count <= limit * 6 else { throw .outOfRange }
            bytes = value.secret
        } else if let value = object.member(base64) {
            guard value.kind == .string, !value.hasEscapes else { throw .wrongType }
            guard value.raw.count <= limit / 3 * 4 + 4 else { throw .outOfRange }
            guard let decoded = Base64URL.decode(value.raw) else { throw .wrongType }
            bytes = decoded
        } else {
            return nil
        }
        guard let bytes, bytes.count <= limit else { throw .outOfRange }
        return bytes
    }
}

extension JSONWriter {
    /// Writes a member of an object, under the name that its bytes need.
    mutating func member(_ secret: SecretBytes, text: StaticString, base64: StaticString) {
        if secret.withSpan({ WireBytes.isText($0) }) {
            key(text)
            string(secret)
        } else {
            key(base64)
            secret.withSpan { bytes in
                let encoded = WireBytes.encode(bytes)
                encoded.withSpan { string(utf8: $0) }
            }
        }
    }
}
