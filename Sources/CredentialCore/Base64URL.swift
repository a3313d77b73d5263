package import Secrets

/// base64url without padding (RFC 4648 §5, RFC 7515 §2), strictly: no other alphabet, no white space, unused bits zero.
package enum Base64URL {
    /// The decoded bytes, in memory that is wiped; nil when `text` is not well formed.
    package static func decode(_ text: Span<UInt8>) -> SecretBytes? {
        guard text.count % 4 != 1 else { return nil }
        var buffer = SecretBuffer(capacity: text.count / 4 * 3 + 2)
        var bits: UInt32 = 0
        var count = 0
        for index in 0..<text.count {
            guard let value = value(of: text[index]) else { return nil }
            bits = bits << 6 | value
            count += 6
            if count >= 8 {
                count -= 8
                buffer.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
                bits &= (1 << UInt32(count)) - 1
            }
        }
        return bits == 0 ? buffer.finish() : nil
    }

    /// The two alphabets of RFC 4648, and how their texts end.
    package enum Form: Sendable {
        /// §5, without padding.
        case url
        /// §4, with padding, as Basic authentication has it (RFC 7617 §2).
        case standard
    }

    /// Appends the encoded form of `bytes`.
    package static func append(
        encoding bytes: Span<UInt8>, as form: Form = .url, to buffer: inout SecretBuffer
    ) {
        buffer.reserve((bytes.count + 2) / 3 * 4)
        var index = 0
        while index < bytes.count {
            let left = bytes.count - index
            let group =
                UInt32(bytes[index]) << 16 | (left > 1 ? UInt32(bytes[index + 1]) << 8 : 0)
                | (left > 2 ? UInt32(bytes[index + 2]) : 0)
            for place in 0..<4 {
                if place <= left {
                    buffer.append(digit(group >> UInt32(18 - 6 * place), form))
                } else if form == .standard {
                    buffer.append(UInt8(ascii: "="))
                }
            }
            index += 3
        }
    }

    private static func digit(_ value: UInt32, _ form: Form) -> UInt8 {
        let value = UInt8(value & 63)
        return switch value {
        case 0..<26: UInt8(ascii: "A") + value
        case 26..<52: UInt8(ascii: "a") + value - 26
        case 52..<62: UInt8(ascii: "0") + value - 52
        case 62: form == .url ? UInt8(ascii: "-") : UInt8(ascii: "+")
        default: form == .url ? UInt8(ascii: "_") : UInt8(ascii: "/")
        }
    }

    /// Whether `text` is well formed.
    package static func isValid(_ text: Span<UInt8>) -> Bool {
        guard text.count % 4 != 1 else { return false }
        for index in 0..<text.count where value(of: text[index]) == nil { return false }
        guard text.count % 4 != 0, let last = value(of: text[text.count - 1]) else { return true }
        return last & (text.count % 4 == 2 ? 0b1111 : 0b11) == 0
    }

    private static func value(of byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte) - 65
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte) - 71
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte) + 4
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
