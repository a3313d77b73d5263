package import CredentialCore
import JSON
import Secrets

/// What a platform says in words about an answer that is no success, where nobody knows the form of its errors.
///
/// A text under `error`, `message`, `detail` or `description` of a JSON object, or under the same names one level below; else the body as
/// it is, unless that is a page. It is for people only: foreign text, kept to 512 bytes that cannot harm a terminal.
package enum ErrorText {
    /// Bytes that are kept at most.
    package static let limit = 512

    private static let names: [StaticString] = ["error", "message", "detail", "description"]

    /// Reads it; nil when there is nothing that can be shown.
    package static func read(_ response: FetchResponse) -> String? {
        let found: String?? = PlatformWire.withObject(response.body) { root in
            text(in: root, depth: 1)
        }
        if let found { return found.flatMap(shown) }
        guard !response.isPage else { return nil }
        return response.body.withSpan { bytes in
            // Only what is kept is looked at: the body may have a mebibyte.
            let start = bytes.extracting(0..<min(bytes.count, limit + 3))
            return shown(String(decoding: start.indices.map { start[$0] }, as: UTF8.self))
        }
    }

    private static func text(in object: borrowing JSONValue, depth: Int) -> String? {
        for name in names {
            guard let value = object.member(name) else { continue }
            switch value.kind {
            case .string:
                if let text = value.string, !text.isEmpty { return text }
            case .object where depth < 2:
                if let text = text(in: value, depth: depth + 1) { return text }
            default: continue
            }
        }
        return nil
    }

    /// The text without control characters and line ends, cut to `limit` bytes at the end of a character; nil when nothing is left.
    private static func shown(_ text: String) -> String? {
        var kept = String.UnicodeScalarView()
        var count = 0
        for scalar in text.unicodeScalars {
            let isControl =
                scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || scalar.value == 0xFFFD
                || [.format, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
            let scalar: Unicode.Scalar = isControl ? " " : scalar
            if scalar == " ", kept.last ?? " " == " " { continue }
            count += String(scalar).utf8.count
            if count > limit { break }
            kept.append(scalar)
        }
        if kept.last == " " { kept.removeLast() }
        return kept.isEmpty ? nil : String(kept)
    }
}
