import Glibc
import Secrets

/// Text for people: whatever comes from outside is escaped, so that no terminal obeys it.
extension SecretBuffer {
    /// Appends `text` with every control and direction-changing character as `\u{…}`.
    mutating func append(printable text: String) {
        for scalar in text.unicodeScalars {
            if Self.isObeyed(scalar) {
                append("\\u{")
                append(String(scalar.value, radix: 16))
                append("}")
            } else {
                append(String(scalar))
            }
        }
    }

    /// The whole as text; for what is no secret.
    var text: String { withSpan { $0.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) } } }

    /// C0, DEL, C1, line and paragraph separators, and what turns the direction of writing around.
    private static func isObeyed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x61C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    /// Appends the system's word for an error number.
    mutating func append(systemError number: Int32) {
        guard let text = strerror(number) else { return append(decimal: Int64(number)) }
        append(String(cString: text))
    }

    mutating func append(option: Option) {
        append("--")
        append(option.name)
    }

    /// Appends milliseconds as seconds: a whole number, or one with three digits behind the point.
    mutating func append(secondsOf milliseconds: Int64) {
        append(decimal: milliseconds / 1000)
        let rest = milliseconds % 1000
        guard rest > 0 else { return }
        append(".")
        append(UInt8(truncatingIfNeeded: 48 + rest / 100))
        append(UInt8(truncatingIfNeeded: 48 + rest / 10 % 10))
        append(UInt8(truncatingIfNeeded: 48 + rest % 10))
    }

    /// Appends `number` with leading zeros.
    mutating func append(_ number: Int64, digits: Int) {
        var scale: Int64 = 1
        for _ in 1..<digits { scale *= 10 }
        while scale > 0 {
            append(UInt8(truncatingIfNeeded: 48 + number / scale % 10))
            scale /= 10
        }
    }

    /// Appends seconds since the epoch as RFC 3339 in UTC; years 0 to 9999.
    mutating func append(rfc3339 seconds: Int64) {
        let seconds = min(max(seconds, -62_167_219_200), 253_402_300_799)
        let day = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
        let second = seconds - day * 86_400
        // Days of the proleptic Gregorian calendar, counted in eras of 400 years that begin on 1 March.
        let shifted = day + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        append(yearOfEra + era * 400 + (month < 10 ? 0 : 1), digits: 4)
        append("-")
        append(month < 10 ? month + 3 : month - 9, digits: 2)
        append("-")
        append(dayOfYear - (153 * month + 2) / 5 + 1, digits: 2)
        append("T")
        append(second / 3600, digits: 2)
        append(":")
        append(second / 60 % 60, digits: 2)
        append(":")
        append(second % 60, digits: 2)
        append("Z")
    }
}

extension Command {
    func appendWords(to text: inout SecretBuffer) {
        let description = description
        if let group = description.group {
            text.append(group)
            text.append(" ")
        }
        text.append(description.word)
    }
}
