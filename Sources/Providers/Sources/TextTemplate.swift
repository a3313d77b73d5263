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
    static func fill(
        _ template: String, _ values: [(name: String, value: String)], _ escaping: Escaping
    ) -> String {
        var text = ""
        var rest = template[...]
        while let open = rest.firstIndex(of: "{") {
            text += rest[..<open]
            let tail = rest[open...].dropFirst()
            if let (name, value) = values.first(where: { tail.hasPrefix($0.name + "}") }) {
                text += escape(value, escaping)
                rest = tail.dropFirst(name.count + 1)
            } else {
                text += "{"
                rest = tail
            }
        }
        return text + rest
    }

    static func escape(_ value: String, _ escaping: Escaping) -> String {
        var text = ""
        switch escaping {
        case .none: return value
        case .json:
            for scalar in value.unicodeScalars {
                if scalar == "\"" || scalar == "\\" {
                    text += "\\"
                    text.unicodeScalars.append(scalar)
                } else if scalar.value < 0x20 {
                    let digits = String(scalar.value, radix: 16)
                    text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                } else {
                    text.unicodeScalars.append(scalar)
                }
            }
        case .form:
            for byte in value.utf8 {
                if byte &- 48 < 10 || (byte | 0x20) &- 97 < 26 || "-._*".utf8.contains(byte) {
                    text.unicodeScalars.append(Unicode.Scalar(byte))
                } else {
                    text += byte < 16 ? "%0" : "%"
                    text += String(byte, radix: 16, uppercase: true)
                }
            }
        }
        return text
    }
}
