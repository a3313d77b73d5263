import JSON
import Secrets

/// What every answer that is no credential says alike, whoever gave it.
extension FetchResponse {
    /// Whether it is a web page: a portal's or a gateway's, and not the word of whoever was asked.
    package var isPage: Bool {
        guard let type = contentType?.lowercased() else { return false }
        return type.hasPrefix("text/html") || type.hasPrefix("application/xhtml")
    }

    /// The `error` member of a JSON object (RFC 6749 §5.2), where it is a word that is safe to print.
    package var errorCode: String? {
        body.withSpan { bytes in
            var document = JSONDocument(limits: JSONLimits(length: 1 << 20, depth: 32))
            guard let root = try? document.parse(bytes), root.kind == .object,
                let code = root.member("error"), code.kind == .string
            else { return nil }
            return Self.isWord(code.raw) ? code.string : nil
        }
    }

    private static func isWord(_ raw: Span<UInt8>) -> Bool {
        guard (1...64).contains(raw.count) else { return false }
        for index in 0..<raw.count {
            switch raw[index] {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"),
                UInt8(ascii: "."):
                continue
            default: return false
            }
        }
        return true
    }
}
