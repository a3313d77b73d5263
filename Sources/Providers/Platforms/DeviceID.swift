/// An install as a platform knows it: a random UUID in upper case, as Chatbase's own clients write it (R77).
package struct DeviceID: Hashable, Sendable {
    /// `XXXXXXXX-XXXX-4XXX-YXXX-XXXXXXXXXXXX`.
    package let text: String

    /// Makes a version 4 UUID of 16 random bytes, of which 6 bits are overwritten (RFC 9562 §5.4).
    package init(high: UInt64, low: UInt64) {
        let high = high & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
        let low = low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        let digits = Self.digits(high) + Self.digits(low)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { text += "-" }
            text.append(digit)
        }
        self.text = text
    }

    /// Reads an identifier that was made before: a UUID of any version, in either case; nil when it is none.
    ///
    /// The case stays: to the server it is a text.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 36 else { return nil }
        for (index, byte) in bytes.enumerated() {
            let isDigit = byte &- 48 < 10 || (byte | 0x20) &- 97 < 6
            guard [8, 13, 18, 23].contains(index) ? byte == UInt8(ascii: "-") : isDigit else { return nil }
        }
        self.text = text
    }

    private static func digits(_ value: UInt64) -> String {
        let digits = String(value, radix: 16, uppercase: true)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}
