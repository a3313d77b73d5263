/// The well-formed multi-byte sequences of the Unicode standard, table 3-7.
package enum UTF8Sequence {
    /// The length of the sequence whose lead byte, 0x80 or above, stands at `offset`; nil when it is ill-formed or cut off.
    ///
    /// No overlong form, no surrogate, nothing above U+10FFFF.
    package static func length(_ bytes: Span<UInt8>, at offset: Int) -> Int? {
        let second: ClosedRange<UInt8>
        let length: Int
        switch bytes[offset] {
        case 0xC2...0xDF: (second, length) = (0x80...0xBF, 2)
        case 0xE0: (second, length) = (0xA0...0xBF, 3)
        case 0xED: (second, length) = (0x80...0x9F, 3)
        case 0xE1...0xEF: (second, length) = (0x80...0xBF, 3)
        case 0xF0: (second, length) = (0x90...0xBF, 4)
        case 0xF1...0xF3: (second, length) = (0x80...0xBF, 4)
        case 0xF4: (second, length) = (0x80...0x8F, 4)
        default: return nil
        }
        guard offset + length <= bytes.count, second.contains(bytes[offset + 1]) else { return nil }
        for index in 2..<max(length, 2) where bytes[offset + index] & 0xC0 != 0x80 { return nil }
        return length
    }
}
