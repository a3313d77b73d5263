/// A complete HTTP request as it arrived (RFC 9112), its target taken apart.
struct Request: Sendable {
    /// A name and its value, in the order of arrival; for header fields and for the query.
    typealias Pair = (name: String, value: String)

    let isTLS: Bool
    let method: String
    /// The request target as it stood in the request line.
    let target: String
    /// The path, percent-decoded.
    let path: String
    /// The path between its slashes, each part decoded for itself: an escaped slash separates nothing (RFC 3986 §2.2).
    let segments: [String]
    let query: [Pair]
    let headers: [Pair]
    /// The first bytes of the body, at most 1 MiB.
    let body: [UInt8]
    /// How many bytes of body arrived.
    let bodyLength: UInt64

    init(
        isTLS: Bool, method: String, target: String, headers: [Pair], body: [UInt8], bodyLength: UInt64
    ) {
        self.isTLS = isTLS
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        self.bodyLength = bodyLength
        let parts = target.utf8.split(
            separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
        path = Self.decoded(parts[0], plusIsSpace: false)
        segments = parts[0].split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
            .map {
                Self.decoded($0, plusIsSpace: false)
            }
        query = parts.count < 2 ? [] : Self.pairs(parts[1])
    }

    /// The value of the first header field of that name, in any case; nil when there is none.
    func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// Scheme and authority under which the client knows this server; nil without `Host`.
    var origin: String? {
        header("Host").map { "\(isTLS ? "https" : "http")://\($0)" }
    }

    /// The credential of `Authorization: Bearer` (RFC 6750 §2.1); nil when there is none.
    var bearer: String? {
        guard let value = header("Authorization"), value.utf8.count > 7,
            value.prefix(7).lowercased() == "bearer "
        else { return nil }
        let token = value.dropFirst(7).drop { $0 == " " }
        return token.isEmpty ? nil : String(token)
    }

    /// The fields of a form (RFC 6749 appendix B).
    var form: [Pair] { Self.pairs(String(decoding: body, as: UTF8.self)[...].utf8) }

    /// The value of the first query parameter of that name.
    func parameter(_ name: String) -> String? {
        query.first { $0.name == name }?.value
    }

    /// A text of a form, decoded: a plus sign is a space.
    static func formDecoded(_ text: Substring) -> String { decoded(text.utf8, plusIsSpace: true) }

    private static func pairs(_ query: Substring.UTF8View) -> [Pair] {
        query.split(separator: UInt8(ascii: "&")).map { field in
            let sides = field.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            return (
                decoded(sides[0], plusIsSpace: true),
                sides.count < 2 ? "" : decoded(sides[1], plusIsSpace: true)
            )
        }
    }

    // A percent sign that begins no escape stands for itself: the journal shows what came, it does not judge.
    private static func decoded(_ text: Substring.UTF8View, plusIsSpace: Bool) -> String {
        let bytes = Array(text)
        var result: [UInt8] = []
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "%"), index + 2 < bytes.count, let high = digit(bytes[index + 1]),
                let low = digit(bytes[index + 2])
            {
                result.append(high << 4 | low)
                index += 3
                continue
            }
            result.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            index += 1
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - 48
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - 87
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - 55
        default: nil
        }
    }
}
