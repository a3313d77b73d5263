package import CredentialCore
import WorkerProtocol

/// The three header fields of a response that matter here, taken from its lines as they come.
package struct ResponseHead {
    private var date: String?
    private var retryAfter: String?
    private var mediaType: String?
    private var bytes = 0
    private var isComplete = false

    /// Knows nothing yet.
    package init() {}

    /// Takes a line with its end.
    ///
    /// - Returns: false once all lines together are more than `WireLimits.headerBytes`.
    package mutating func take(_ line: Span<UInt8>) -> Bool {
        bytes += line.count
        guard bytes <= WireLimits.headerBytes else { return false }
        // What comes behind the body are trailers: nothing that decides on a response may come from there.
        guard !isComplete else { return true }
        if Self.starts(line, with: "HTTP/") {
            // An interim response (RFC 9110 §15.2) came before this one.
            date = nil
            retryAfter = nil
            mediaType = nil
        } else if Self.starts(line, with: "date:") {
            date = date ?? Self.value(line, behind: 5)
        } else if Self.starts(line, with: "retry-after:") {
            retryAfter = retryAfter ?? Self.value(line, behind: 12)
        } else if Self.starts(line, with: "content-type:") {
            mediaType = mediaType ?? Self.value(line, behind: 13)
        }
        return true
    }

    /// The body begins.
    package mutating func complete() { isComplete = true }

    /// The origin's clock (RFC 9110 §6.6.1); nil when there is no `Date` that can be read.
    package func originDate(now: WallTime) -> WallTime? {
        guard let date = date.flatMap({ HTTPDate.parse($0, now: now) }),
            WireLimits.date.contains(date.seconds)
        else { return nil }
        return date
    }

    /// What `Retry-After` says (RFC 9110 §10.2.3), between nothing and a day; a date counts from the response's own, else from `now`.
    package func retryDelay(now: WallTime) -> Milliseconds? {
        guard let retryAfter else { return nil }
        if !retryAfter.isEmpty, retryAfter.utf8.allSatisfy({ $0 &- 48 < 10 }) {
            // More digits than a number holds are a long time too.
            return Self.clamped(Milliseconds.seconds(Int64(retryAfter) ?? .max))
        }
        guard let date = HTTPDate.parse(retryAfter, now: now) else { return nil }
        return Self.clamped(date - (originDate(now: now) ?? now))
    }

    /// Printable ASCII, or nil.
    package var contentType: String? {
        guard let mediaType, !mediaType.isEmpty, mediaType.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else {
            return nil
        }
        return mediaType
    }

    private static func clamped(_ length: Milliseconds) -> Milliseconds {
        Milliseconds(
            min(max(length.count, WireLimits.retryAfter.lowerBound), WireLimits.retryAfter.upperBound))
    }

    private static func starts(_ line: Span<UInt8>, with name: StaticString) -> Bool {
        guard line.count >= name.utf8CodeUnitCount else { return false }
        for index in 0..<name.utf8CodeUnitCount {
            let byte = line[index]
            let lower = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
            let expected = name.utf8Start[index]
            guard lower == expected || byte == expected else { return false }
        }
        return true
    }

    private static func value(_ line: Span<UInt8>, behind start: Int) -> String? {
        var start = start
        var end = line.count
        while start < end, line[start] <= 0x20 { start += 1 }
        while end > start, line[end - 1] <= 0x20 { end -= 1 }
        guard end - start <= WireLimits.contentType else { return nil }
        return line.extracting(start..<end).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }
}
