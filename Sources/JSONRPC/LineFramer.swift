import JSON
import Secrets

/// Why bytes from a stream are not taken.
@usableFromInline
package enum FramingFailure<Consumer: Error>: Error {
    /// A frame is longer than the limit; where the next one begins is not known, so the stream is of no more use.
    case frameTooLong
    /// The receiver of a frame threw this.
    case consumer(Consumer)
}

extension FramingFailure: Equatable where Consumer: Equatable {}

/// Cuts a stream of bytes into lines, one JSON text each; it never reads itself.
///
/// A frame that lies wholly in what was pushed is lent where it is; only an unfinished tail is copied, into memory that is wiped.
/// How a stream is split into pushes never shows in the frames. Lines end with `\n` or `\r\n`; empty ones are skipped.
@usableFromInline
package struct LineFramer: ~Copyable {
    private var partial: SecretBuffer
    private let limit: Int
    private var isBroken = false
    // What a rare large frame needed is given back behind it.
    private static let keptCapacity = 4096

    /// - Parameter limit: bytes of one frame, without its line end, before it is refused.
    package init(limit: Int = 1 << 20) {
        precondition(limit >= 0 && limit < Int.max - 1)
        self.limit = limit
        partial = SecretBuffer()
    }

    /// Whether a frame has begun and not ended: the peer owes its rest.
    package var hasPartialFrame: Bool { !partial.isEmpty }

    /// Bytes kept for the unfinished frame; at most one above the limit.
    package var pendingBytes: Int { partial.count }

    /// Takes the next bytes of the stream and lends each frame that they complete, in order.
    ///
    /// - Throws: `frameTooLong`, after the frames before it were handed over, and at every later push; `consumer` when `frame` throws: the
    ///   rest of `bytes` is dropped, and every later push answers `frameTooLong`, since the stream has a gap.
    @inlinable
    package mutating func push<Failure: Error>(
        _ bytes: Span<UInt8>, _ frame: (Span<UInt8>) throws(Failure) -> Void
    ) throws(FramingFailure<Failure>) {
        // Only this shell is generic, and it is compiled where it is called: the way of a frame asks for no type at run time.
        var failure: Failure?
        let isWhole = cut(bytes) { line in
            do throws(Failure) {
                try frame(line)
                return true
            } catch {
                failure = error
                return false
            }
        }
        if let failure { throw .consumer(failure) }
        guard isWhole else { throw .frameTooLong }
    }

    /// Hands each line of the stream to `take` until that answers false; false when the stream is of no more use.
    @usableFromInline
    mutating func cut(_ bytes: Span<UInt8>, _ take: (Span<UInt8>) -> Bool) -> Bool {
        guard !isBroken else { return false }
        var start = 0
        while let end = ByteSearch.first(UInt8(ascii: "\n"), in: bytes, from: start) {
            let line = bytes.extracting(start..<end)
            start = end + 1
            guard partial.isEmpty ? lend(line, take) : completePartial(line, take) else { return abandon() }
        }
        return keep(bytes.extracting(start...)) || abandon()
    }

    private func lend(_ line: Span<UInt8>, _ take: (Span<UInt8>) -> Bool) -> Bool {
        let content = Self.withoutCarriageReturn(line)
        guard content.count <= limit else { return false }
        return content.isEmpty || take(content)
    }

    private mutating func completePartial(_ line: Span<UInt8>, _ take: (Span<UInt8>) -> Bool) -> Bool {
        guard keep(line) else { return false }
        let isTaken = partial.withSpan { lend($0, take) }
        partial.removeAll()
        partial.shrink(to: Self.keptCapacity)
        return isTaken
    }

    // One byte above the limit may be kept: the `\r` of a line end whose `\n` has not come.
    private mutating func keep(_ tail: Span<UInt8>) -> Bool {
        guard !tail.isEmpty else { return true }
        let length = partial.count + tail.count
        guard length <= limit || (length == limit + 1 && tail[tail.count - 1] == UInt8(ascii: "\r")) else {
            return false
        }
        partial.append(tail)
        return true
    }

    private mutating func abandon() -> Bool {
        isBroken = true
        partial.removeAll()
        partial.shrink(to: 0)
        return false
    }

    @_lifetime(copy line)
    private static func withoutCarriageReturn(_ line: Span<UInt8>) -> Span<UInt8> {
        guard !line.isEmpty, line[line.count - 1] == UInt8(ascii: "\r") else { return line }
        return line.extracting(droppingLast: 1)
    }
}
