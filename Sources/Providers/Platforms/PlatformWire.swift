import CredentialCore
import JSON
import Secrets

/// What requests to platforms and their answers have in common, whichever platform it is.
enum PlatformWire {
    /// The text as the value of a header or the content of a body.
    static func bytes(_ text: String) -> SecretBytes {
        var buffer = SecretBuffer(capacity: text.utf8.count)
        buffer.append(text)
        return buffer.finish()
    }

    /// A secret from a file as the value of a header: without its line end; nil when no header could carry it (RFC 9110 §5.5).
    static func headerValue(_ secret: SecretBytes) -> SecretBytes? {
        secret.withSpan { bytes in
            var end = bytes.count
            if end > 0, bytes[end - 1] == UInt8(ascii: "\n") { end -= 1 }
            if end > 0, bytes[end - 1] == UInt8(ascii: "\r") { end -= 1 }
            guard end > 0 else { return nil }
            for index in 0..<end where !(0x20...0x7E).contains(bytes[index]) { return nil }
            return SecretBytes(copying: bytes.extracting(0..<end))
        }
    }

    /// `base/route`; what comes from configuration and makes no URL makes the platform unusable, not the daemon.
    static func url(_ base: HTTPURL, _ route: String) throws(RefreshFailure) -> HTTPURL {
        do throws(HTTPURL.Failure) {
            return try HTTPURL(base.text + "/" + route)
        } catch {
            throw RefreshFailure(.sourceUnavailable)
        }
    }

    /// One segment of a path, percent-encoded (RFC 3986 §3.3); nil for nothing, `.` and `..`, which lead elsewhere.
    static func segment(_ text: String) -> String? {
        guard !["", ".", ".."].contains(text) else { return nil }
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += digits.count == 1 ? "%0" + digits : "%" + digits
            }
        }
        return encoded
    }

    /// A text from outside that is kept and shown: 1 to `limit` bytes of UTF-8 without control characters; else nil.
    static func plain(_ text: String?, limit: Int) -> String? {
        guard let text, (1...limit).contains(text.utf8.count) else { return nil }
        let isPlain = text.unicodeScalars.allSatisfy { scalar in
            scalar.value >= 0x20 && !(0x7F...0x9F).contains(scalar.value)
        }
        return isPlain ? text : nil
    }

    /// A code of a platform that is safe to print: 1 to 64 letters, digits, `_`, `-` and `.`; else nil.
    static func code(_ text: String?) -> String? {
        guard let text, (1...64).contains(text.utf8.count) else { return nil }
        let isWord = text.utf8.allSatisfy { byte in
            byte &- 48 < 10 || (byte | 0x20) &- 97 < 26 || byte == UInt8(ascii: "_")
                || byte == UInt8(ascii: "-")
                || byte == UInt8(ascii: ".")
        }
        return isWord ? text : nil
    }

    /// Lends the object that a body holds; nil when it holds none.
    static func withObject<Result>(
        _ body: SecretBytes, limits: JSONLimits = JSONLimits(), _ read: (borrowing JSONValue) -> Result
    ) -> Result? {
        body.withSpan { bytes in
            var document = JSONDocument(limits: limits)
            guard let root = try? document.parse(bytes), root.kind == .object else { return nil }
            return read(root)
        }
    }
}
