/// An absolute URL that a credential may be fetched from: `https`, or `http` to a literal loopback address only.
///
/// Read strictly, so that no two programs can disagree on where it leads: ASCII, no user information, no fragment, no trailing
/// dot, no other spelling of a port or an address. What curl is given is exactly this text.
package struct HTTPURL: Hashable, Sendable {
    /// The URL as it was given.
    package let text: String
    /// Lower case scheme, host and port: what connections, breakers and limits are counted by (RFC 6454 §4).
    package let origin: String

    /// Why a text is no such URL.
    package enum Failure: Error, Equatable, Sendable {
        case notAbsolute
        case schemeNotAllowed
        /// Plain http to something else than 127.0.0.0/8 or [::1], written as digits.
        case plainTextNotLoopback
        case userInformation
        case fragment
        case badHost
        case badPort
        case badByte
        case tooLong
    }

    /// Reads a URL.
    ///
    /// - Throws: `Failure`: the first fault, from bytes over scheme and host to port.
    package init(_ text: String) throws(Failure) {
        guard text.utf8.count <= 2048 else { throw .tooLong }
        for byte in text.utf8 where byte <= 0x20 || byte > 0x7E || byte == UInt8(ascii: "\\") {
            throw .badByte
        }
        let isPlain: Bool
        let rest: Substring
        if text.hasPrefix("https://") {
            isPlain = false
            rest = text.dropFirst(8)
        } else if text.hasPrefix("http://") {
            isPlain = true
            rest = text.dropFirst(7)
        } else {
            let afterScheme = text.drop { $0 != ":" }
            throw afterScheme.hasPrefix("://") ? .schemeNotAllowed : .notAbsolute
        }
        guard !rest.contains("#") else { throw .fragment }
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        guard !authority.contains("@") else { throw .userInformation }
        let (host, port) = try Self.split(authority)
        if isPlain, !Self.isLoopbackLiteral(host) { throw .plainTextNotLoopback }
        self.text = text
        origin =
            (isPlain ? "http://" : "https://") + host.lowercased() + ":"
            + String(port ?? (isPlain ? 80 : 443))
    }

    /// Name or address, in lower case, an IPv6 address in its brackets: for people.
    package var host: String {
        // Neither a name nor an address in brackets has a slash or ends with digits behind a colon.
        let authority = origin.drop { $0 != "/" }.drop { $0 == "/" }
        return authority.lastIndex(of: ":").map { String(authority[..<$0]) } ?? String(authority)
    }

    private static func split(_ authority: Substring) throws(Failure) -> (host: String, port: Int?) {
        let host: Substring
        let afterHost: Substring
        if authority.first == "[" {
            guard let end = authority.firstIndex(of: "]") else { throw .badHost }
            host = authority[...end]
            afterHost = authority[authority.index(after: end)...]
            let inner = host.dropFirst().dropLast()
            guard IPv6Literal.isCanonical(inner) else { throw .badHost }
        } else {
            host = authority.prefix { $0 != ":" }
            afterHost = authority[host.endIndex...]
            guard isName(host) else { throw .badHost }
        }
        if afterHost.isEmpty { return (String(host), nil) }
        let digits = afterHost.dropFirst()
        guard afterHost.first == ":", (1...5).contains(digits.utf8.count), digits.first != "0",
            let port = Int(digits), (1...65535).contains(port),
            digits.allSatisfy({ $0.isASCII && $0.isNumber })
        else { throw .badPort }
        return (String(host), port)
    }

    // Labels of letters, digits and hyphens. A last label of digits makes it an IPv4 address, which has one spelling only.
    private static func isName(_ host: Substring) -> Bool {
        guard (1...253).contains(host.utf8.count) else { return false }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        for label in labels {
            guard (1...63).contains(label.utf8.count), label.first != "-", label.last != "-",
                label.utf8.allSatisfy({
                    isAlphanumeric($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
                })
            else { return false }
        }
        guard let last = labels.last, last.utf8.first.map({ $0 &- 48 < 10 }) == true else { return true }
        return isIPv4(labels)
    }

    private static func isIPv4(_ labels: [Substring]) -> Bool {
        labels.count == 4
            && labels.allSatisfy { label in
                guard let number = Int(label), (0...255).contains(number) else { return false }
                return String(number) == label
            }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        byte &- 48 < 10 || (byte | 0x20) &- 97 < 26
    }

    private static func isLoopbackLiteral(_ host: String) -> Bool {
        if host == "[::1]" { return true }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        return isIPv4(labels) && labels.first == "127"
    }
}
