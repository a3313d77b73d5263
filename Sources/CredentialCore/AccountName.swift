/// The name of an account: 1 to 64 of `A-Z a-z 0-9 . _ @ -`, not beginning with `.` or `-`.
///
/// Because of that alphabet a name is safe in a log line, a file name and a shell word, and is never escaped.
package struct AccountName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The name as it is written everywhere.
    package let text: String

    /// Nil when `text` is not a name.
    package init?(_ text: String) {
        guard Self.isValid(text.utf8.span) else { return nil }
        self.text = text
    }

    package var description: String { text }
    package static func < (left: AccountName, right: AccountName) -> Bool { left.text < right.text }

    /// Whether the bytes are a name.
    package static func isValid(_ bytes: Span<UInt8>) -> Bool {
        guard (1...64).contains(bytes.count), bytes[0] != UInt8(ascii: "."), bytes[0] != UInt8(ascii: "-")
        else {
            return false
        }
        for index in 0..<bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "@"),
                UInt8(ascii: "-"):
                continue
            default: return false
            }
        }
        return true
    }
}
