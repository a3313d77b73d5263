/// The escapes of RFC 8259 §7, read.
enum JSONEscape {
    /// Decodes the escape that begins at `offset` (a backslash): the scalar, and the bytes that it takes.
    ///
    /// Nil when it is none, is cut off, or is half of a surrogate pair: such a text has no UTF-8 form.
    static func decode(_ bytes: Span<UInt8>, at offset: Int) -> (scalar: UInt32, length: Int)? {
        guard offset + 1 < bytes.count else { return nil }
        switch bytes[offset + 1] {
        case UInt8(ascii: "\""): return (0x22, 2)
        case UInt8(ascii: "\\"): return (0x5C, 2)
        case UInt8(ascii: "/"): return (0x2F, 2)
        case UInt8(ascii: "b"): return (0x08, 2)
        case UInt8(ascii: "f"): return (0x0C, 2)
        case UInt8(ascii: "n"): return (0x0A, 2)
        case UInt8(ascii: "r"): return (0x0D, 2)
        case UInt8(ascii: "t"): return (0x09, 2)
        case UInt8(ascii: "u"):
            guard let high = hexadecimal(bytes, at: offset + 2) else { return nil }
            guard high & 0xF800 == 0xD800 else { return (high, 6) }
            guard high < 0xDC00, offset + 7 < bytes.count, bytes[offset + 6] == UInt8(ascii: "\\"),
                bytes[offset + 7] == UInt8(ascii: "u"), let low = hexadecimal(bytes, at: offset + 8),
                low & 0xFC00 == 0xDC00
            else { return nil }
            return (0x10000 + (high & 0x3FF) << 10 + low & 0x3FF, 12)
        default: return nil
        }
    }

    private static func hexadecimal(_ bytes: Span<UInt8>, at offset: Int) -> UInt32? {
        guard offset + 4 <= bytes.count else { return nil }
        var value: UInt32 = 0
        for index in offset..<(offset + 4) {
            let digit: UInt8
            switch bytes[index] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = bytes[index] - 48
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = bytes[index] - 87
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = bytes[index] - 55
            default: return nil
            }
            value = value << 4 | UInt32(digit)
        }
        return value
    }
}

/// The bytes of the UTF-8 form of a string, one after another, read from what stands between its quotes.
struct JSONUnescapedBytes: ~Escapable {
    private let raw: Span<UInt8>
    private var offset = 0
    // What is left of the scalar that an escape gave, its next byte lowest.
    private var pending: UInt32 = 0

    @_lifetime(copy raw)
    init(_ raw: Span<UInt8>) {
        self.raw = raw
    }

    mutating func next() -> UInt8? {
        if pending != 0 {
            let byte = UInt8(truncatingIfNeeded: pending)
            pending >>= 8
            return byte
        }
        guard offset < raw.count else { return nil }
        let byte = raw[offset]
        guard byte == UInt8(ascii: "\\"), let (scalar, length) = JSONEscape.decode(raw, at: offset) else {
            offset += 1
            return byte
        }
        offset += length
        switch scalar {
        case ..<0x80: return UInt8(scalar)
        case ..<0x800:
            pending = trail(scalar)
            return UInt8(0xC0 | scalar >> 6)
        case ..<0x10000:
            pending = trail(scalar >> 6) | trail(scalar) << 8
            return UInt8(0xE0 | scalar >> 12)
        default:
            pending = trail(scalar >> 12) | trail(scalar >> 6) << 8 | trail(scalar) << 16
            return UInt8(0xF0 | scalar >> 18)
        }
    }

    // Never 0, so that `pending` says by itself whether something is left.
    private func trail(_ bits: UInt32) -> UInt32 { 0x80 | bits & 0x3F }
}
