/// Which texts of a description may go where: what would break out of a header, a path or a line is refused when it is read.
enum TextRules {
    /// A path from the root, without control characters, within PATH_MAX.
    static func isAbsolutePath(_ text: String) -> Bool {
        text.utf8.first == UInt8(ascii: "/") && text.utf8.count < 4096
            && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    /// A name that may stand below systemd's directory of credentials.
    static func isCredentialName(_ text: String) -> Bool {
        (1...255).contains(text.utf8.count) && text.utf8.first != UInt8(ascii: ".")
            && text.utf8.allSatisfy {
                isAlphanumeric($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "_")
                    || $0 == UInt8(ascii: "-")
            }
    }

    /// A token (RFC 9110 §5.6.2), at most 128 bytes.
    static func isHeaderName(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.utf8.allSatisfy { isAlphanumeric($0) || "!#$%&'*+-.^_`|~".utf8.contains($0) }
    }

    /// Visible ASCII and blanks (RFC 9110 §5.5 without obs-text), at most 8 KiB.
    ///
    /// A prefix may end with a blank, a whole value may neither begin nor end with one.
    static func isHeaderValue(_ text: String, isPrefix: Bool = false) -> Bool {
        guard text.utf8.count <= 8192, text.utf8.allSatisfy({ (0x20...0x7E).contains($0) || $0 == 0x09 })
        else { return false }
        return isPrefix || (!isBlank(text.utf8.first) && !isBlank(text.utf8.last))
    }

    /// Names of members with dots between them; none empty, at most 8 of them and 256 bytes.
    static func isMemberPath(_ text: String) -> Bool {
        let names = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return text.utf8.count <= 256 && names.count <= 8 && names.allSatisfy { !$0.isEmpty }
            && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    /// `http://host:port` or `https://host:port`, the port written out, and nothing behind it but perhaps a slash.
    static func isProxy(_ text: String) -> Bool {
        let authority: Substring
        if text.hasPrefix("http://") {
            authority = text.dropFirst(7)
        } else if text.hasPrefix("https://") {
            authority = text.dropFirst(8)
        } else {
            return false
        }
        guard !authority.contains(where: { "/?".contains($0) }), authority.last != "]",
            authority.contains(":")
        else { return false }
        return (try? HTTPURL("https://" + authority)) != nil
    }

    /// Whether every `{word}` of a text is one of the placeholders that are filled in; braces around anything else are JSON's own.
    static func hasOnlyPlaceholders(_ known: [String], _ text: String) -> Bool {
        words(of: text).allSatisfy(known.contains)
    }

    /// Whether one of the placeholders is in the text.
    static func hasPlaceholder(_ known: [String], _ text: String) -> Bool {
        words(of: text).contains(where: known.contains)
    }

    /// Whether there is something in the text that looks like a placeholder.
    static func hasPlaceholder(_ text: String) -> Bool { !words(of: text).isEmpty }

    private static func words(of text: String) -> [String] {
        var words: [String] = []
        var word: [UInt8]?
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "{"): word = []
            case UInt8(ascii: "}"):
                if let word, !word.isEmpty { words.append(String(decoding: word, as: UTF8.self)) }
                word = nil
            default:
                if isAlphanumeric(byte) || byte == UInt8(ascii: "_") {
                    word?.append(byte)
                } else {
                    word = nil
                }
            }
        }
        return words
    }

    /// A path that is put behind a base: visible ASCII that needs no escape, no empty part, neither `.` nor `..`, at most 256 bytes.
    static func isRelativeRoute(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return (1...256).contains(text.utf8.count)
            && parts.allSatisfy { !$0.isEmpty && !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8) }
            && text.utf8.allSatisfy { isAlphanumeric($0) || "/-._~!$&'()*+,;=:@%".utf8.contains($0) }
    }

    /// 1 to `limit` characters, none of which controls anything.
    static func isPrintable(_ text: String, limit: Int) -> Bool {
        (1...limit).contains(text.unicodeScalars.count)
            && text.unicodeScalars.allSatisfy {
                $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value)
                    && $0.properties.generalCategory != .format
            }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        byte &- 48 < 10 || (byte | 0x20) &- 97 < 26
    }

    private static func isBlank(_ byte: UInt8?) -> Bool { byte == 0x20 || byte == 0x09 }
}
