import ChatAuthAPI
import JSON
import Secrets

extension Refusal {
    /// What a text for people may have, in bytes; more is cut off.
    private static let longestMessage = 2000

    /// Reads an error object; nil when it is none.
    init?(_ error: JSONValue) {
        guard let code = error.member("code")?.integer, let message = error.member("message")?.string else {
            return nil
        }
        self.code = code
        let data = error.member("data")
        kind = data?.member("kind")?.string.flatMap { ErrorKind(rawValue: $0) }
        isRetryable = data?.member("retryable")?.bool ?? false
        retryAfterSeconds = wholeSeconds(data?.member("retry_after_seconds"))
        var text = SecretBuffer()
        text.append(printable: String(message.prefix(Self.longestMessage)))
        self.message = text.withSpan { $0.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) } }
    }
}

/// A number of seconds, rounded down; nil when it is none or beyond any calendar.
func wholeSeconds(_ value: JSONValue?) -> Int64? {
    guard let value else { return nil }
    if let integer = value.integer { return integer.magnitude < 1 << 53 ? integer : nil }
    guard let double = value.double, double.magnitude < 9e15 else { return nil }
    return Int64(exactly: double.rounded(.down))
}
