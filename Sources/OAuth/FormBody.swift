import Secrets

/// A body of `application/x-www-form-urlencoded` (RFC 6749 appendix B), built where it is wiped.
struct FormBody: ~Copyable {
    private var buffer = SecretBuffer(capacity: 256)

    /// Adds a parameter whose value is no secret.
    mutating func add(_ name: StaticString, _ value: String) {
        begin(name)
        Self.append(value.utf8.span, to: &buffer)
    }

    /// Adds a parameter whose value is a secret.
    mutating func add(_ name: StaticString, _ value: SecretBytes) {
        begin(name)
        value.withSpan { Self.append($0, to: &buffer) }
    }

    private mutating func begin(_ name: StaticString) {
        if !buffer.isEmpty { buffer.append(UInt8(ascii: "&")) }
        buffer.append(name)
        buffer.append(UInt8(ascii: "="))
    }

    consuming func finish() -> SecretBytes { buffer.finish() }

    /// Appends the bytes as a form has them: unreserved ones as they are, a space as `+`, all others as `%XX`.
    static func append(_ bytes: Span<UInt8>, to buffer: inout SecretBuffer) {
        buffer.reserve(bytes.count)
        for index in 0..<bytes.count {
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "*"):
                buffer.append(byte)
            case UInt8(ascii: " "): buffer.append(UInt8(ascii: "+"))
            default:
                buffer.append(UInt8(ascii: "%"))
                buffer.append(hexadecimal(byte >> 4))
                buffer.append(hexadecimal(byte & 15))
            }
        }
    }

    private static func hexadecimal(_ digit: UInt8) -> UInt8 {
        digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "A") + digit - 10
    }
}
