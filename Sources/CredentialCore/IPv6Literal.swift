/// The text of an IPv6 address, in the one spelling that RFC 5952 §4 allows.
///
/// No zone and no IPv4 tail: the first means something on one machine only, and the second has two spellings.
enum IPv6Literal {
    /// Whether `text`, the part between the brackets, is canonical: lower case, no leading zeros, the longest run of zeros as `::`.
    static func isCanonical(_ text: Substring) -> Bool {
        guard let groups = parse(text) else { return false }
        return spelling(groups) == text
    }

    private static func parse(_ text: Substring) -> [UInt16]? {
        guard text.utf8.count <= 39 else { return nil }
        var before: [UInt16] = []
        var after: [UInt16]?
        var rest = text
        if rest.hasPrefix("::") {
            after = []
            rest = rest.dropFirst(2)
        }
        while !rest.isEmpty {
            let digits = rest.prefix { $0 != ":" }
            guard (1...4).contains(digits.utf8.count), !digits.hasPrefix("+"),
                let group = UInt16(digits, radix: 16)
            else { return nil }
            if after == nil { before.append(group) } else { after?.append(group) }
            rest = rest.dropFirst(digits.count)
            if rest.hasPrefix("::") {
                guard after == nil else { return nil }
                after = []
                rest = rest.dropFirst(2)
            } else if rest.hasPrefix(":") {
                rest = rest.dropFirst()
                guard !rest.isEmpty else { return nil }
            }
        }
        guard let after else { return before.count == 8 ? before : nil }
        let missing = 8 - before.count - after.count
        return missing >= 1 ? before + Array(repeating: 0, count: missing) + after : nil
    }

    private static func spelling(_ groups: [UInt16]) -> String {
        var longest = 0..<0
        var start = 0
        while start < groups.count {
            let end = groups[start...].firstIndex { $0 != 0 } ?? groups.count
            if end - start > longest.count { longest = start..<end }
            start = max(end, start + 1)
        }
        let texts = groups.map { String($0, radix: 16) }
        // A single zero group is written out (RFC 5952 §4.2.2).
        guard longest.count > 1 else { return texts.joined(separator: ":") }
        return texts[..<longest.lowerBound].joined(separator: ":") + "::"
            + texts[longest.upperBound...].joined(separator: ":")
    }
}
