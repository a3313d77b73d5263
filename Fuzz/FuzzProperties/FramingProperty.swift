import JSON
import JSONRPC

/// What holds for every stream of bytes, however it arrives.
package enum FramingProperty {
    /// A way in which a stream showed the framer or the classifier to be wrong.
    package enum Violation: Error, Equatable, Sendable {
        case framesDependOnSplits
        case moreIsKeptThanTheLimit
        case unusableID
    }

    /// The frames of a stream, and whether it ended in a frame that is too long.
    package struct Outcome: Equatable, Sendable {
        /// The frames, in order.
        package var frames: [[UInt8]] = []
        /// Whether what comes behind them was refused.
        package var isTooLong = false

        /// Of a stream without a frame.
        package init() {}
    }

    /// Cuts `stream` as a whole, byte by byte and at places that its own bytes choose; classifies every frame.
    package static func check(_ stream: Span<UInt8>, limit: Int = 64) throws(Violation) {
        let whole = try outcome(stream, limit: limit) { _ in stream.count }
        let single = try outcome(stream, limit: limit) { _ in 1 }
        let mixed = try outcome(stream, limit: limit) { offset in 1 + Int(stream[offset] & 15) }
        guard whole == single, whole == mixed else { throw .framesDependOnSplits }
        var document = JSONDocument()
        for frame in whole.frames {
            guard let root = try? document.parse(frame.span) else { continue }
            try classify(JSONRPCPayload(root))
        }
    }

    /// The frames of `stream` when `length(offset)` bytes are pushed at a time.
    package static func outcome(
        _ stream: Span<UInt8>, limit: Int, pushing length: (Int) -> Int
    ) throws(Violation) -> Outcome {
        var framer = LineFramer(limit: limit)
        var outcome = Outcome()
        var offset = 0
        while offset < stream.count {
            let end = min(stream.count, offset + max(1, length(offset)))
            do throws(FramingFailure<Never>) {
                try framer.push(stream.extracting(offset..<end)) { (frame: Span<UInt8>) in
                    outcome.frames.append(frame.withUnsafeBufferPointer(Array.init))
                }
            } catch {
                outcome.isTooLong = true
                return outcome
            }
            guard framer.pendingBytes <= limit + 1, framer.hasPartialFrame == (framer.pendingBytes > 0) else {
                throw .moreIsKeptThanTheLimit
            }
            offset = end
        }
        return outcome
    }

    private static func classify(_ payload: JSONRPCPayload) throws(Violation) {
        switch payload {
        case .single(let message): try check(message)
        case .batch(var batch):
            while let message = batch.next() { try check(message) }
        }
    }

    private static func check(_ message: JSONRPCMessage) throws(Violation) {
        switch message {
        case .request(let request):
            guard isEchoable(request.rawID) else { throw .unusableID }
        case .invalid(let rawID, _):
            guard rawID.isEmpty || isEchoable(rawID) else { throw .unusableID }
        case .notification, .response: break
        }
    }

    private static func isEchoable(_ rawID: Span<UInt8>) -> Bool {
        var document = JSONDocument()
        guard let value = try? document.parse(rawID) else { return false }
        return value.kind == .string ? rawID.count <= JSONRPCMessage.longestID + 2 : value.integer != nil
    }
}
