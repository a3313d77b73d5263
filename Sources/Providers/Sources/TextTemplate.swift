import Secrets

/// Texts of an operator in which `{word}` stands for something that is known later.
enum TextTemplate {
    /// What must be escaped in what is put in.
    enum Escaping {
        case none
        /// Inside a JSON string (RFC 8259 §7).
        case json
        /// Inside a field of a form (WHATWG URL, application/x-www-form-urlencoded).
        case form

        /// As the media type of a body asks; what is not known has no rule that we know.
        init(contentType: String) {
            let type = contentType.lowercased().prefix { $0 != ";" && $0 != " " }
            self =
                type == "application/x-www-form-urlencoded" ? .form : type.hasPrefix("text/") ? .none : .json
        }
    }

    /// Puts the values in; what is no placeholder stays as it is, and what was put in is not looked at again.
    ///
    /// `missing` says what becomes of a placeholder that stands for nothing: nil gives the whole text up.
    static func fill(
        _ template: String, _ values: [(name: String, value: SecretBytes?)], _ escaping: Escaping,
        missing: StaticString? = ""
    ) -> SecretBytes? {
        var text = SecretBuffer(capacity: template.utf8.count)
        var rest = template[...]
        while let open = rest.firstIndex(of: "{") {
            text.append(String(rest[..<open]))
            let tail = rest[open...].dropFirst()
            guard let (name, value) = values.first(where: { tail.hasPrefix($0.name + "}") }) else {
                text.append(UInt8(ascii: "{"))
                rest = tail
                continue
            }
            rest = tail.dropFirst(name.count + 1)
            if let value {
                append(value, escaping, to: &text)
            } else if let missing {
                text.append(missing)
            } else {
                return nil
            }
        }
        text.append(String(rest))
        return text.finish()
    }

    private static func append(_ value: SecretBytes, _ escaping: Escaping, to text: inout SecretBuffer) {
        value.withSpan { bytes in
            guard escaping != .none else {
                text.append(bytes)
                return
            }
            for index in 0..<bytes.count {
                let byte = bytes[index]
                switch escaping {
                case .json where byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\"):
                    text.append(UInt8(ascii: "\\"))
                    text.append(byte)
                case .json where byte < 0x20:
                    text.append("\\u00")
                    appendHexadecimal(byte, to: &text)
                case .form where !isFormByte(byte):
                    text.append(UInt8(ascii: "%"))
                    appendHexadecimal(byte, to: &text)
                default: text.append(byte)
                }
            }
        }
    }

    private static func isFormByte(_ byte: UInt8) -> Bool {
        byte &- 48 < 10 || (byte | 0x20) &- 97 < 26 || "-._*".utf8.contains(byte)
    }

    private static func appendHexadecimal(_ byte: UInt8, to text: inout SecretBuffer) {
        for digit in [byte >> 4, byte & 15] {
            text.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "A") + digit - 10)
        }
    }
}
