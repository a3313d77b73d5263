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

    /// Appends the encoded form of `bytes`.
    package static func append(encoding bytes: Span<UInt8>, to buffer: inout SecretBuffer) {
        buffer.reserve((bytes.count * 4 + 2) / 3)
        var index = 0
        while index < bytes.count {
            let left = bytes.count - index
            let group =
                UInt32(bytes[index]) << 16 | (left > 1 ? UInt32(bytes[index + 1]) << 8 : 0)
                | (left > 2 ? UInt32(bytes[index + 2]) : 0)
            buffer.append(digit(group >> 18))
            buffer.append(digit(group >> 12))
            if left > 1 { buffer.append(digit(group >> 6)) }
            if left > 2 { buffer.append(digit(group)) }
            index += 3
        }
    }

    private static func digit(_ value: UInt32) -> UInt8 {
        let value = UInt8(value & 63)
        return switch value {
        case 0..<26: UInt8(ascii: "A") + value
        case 26..<52: UInt8(ascii: "a") + value - 26
        case 52..<62: UInt8(ascii: "0") + value - 52
        case 62: UInt8(ascii: "-")
        default: UInt8(ascii: "_")
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
