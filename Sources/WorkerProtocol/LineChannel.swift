import CLinux
package import EventLoop
import Glibc
import JSONRPC
package import Secrets

/// One end of the private socket: whole lines in, whole lines out, never waiting.
///
/// Nothing is called from within `send` or `close`: the end of a channel is always told by the loop, once, and never after `close`.
package final class LineChannel {
    /// Why a channel ended.
    package enum End: Equatable, Sendable {
        case closedByPeer
        /// An errno.
        case failed(code: Int32)
        case frameTooLong
        /// The receiver did not take a line.
        case refused
    }

    private let descriptor: Int32
    private var watch: DescriptorWatch?
    private var framer: LineFramer
    private var input = SecretBuffer()
    private var output = SecretBuffer()
    private let onLine: (Span<UInt8>) -> Bool
    private let onEnd: (End) -> Void
    /// False from the end on, whoever brought it about.
    package private(set) var isOpen = true
    // As much as a socket usually holds; more is there again at the next turn of the loop.
    private static let readLength = 64 << 10

    /// Takes over `descriptor`, a connected stream socket.
    ///
    /// `onLine` gets each line; its false ends the channel as `refused`. The descriptor is closed when `onEnd` is called.
    package init(
        loop: EventLoop, descriptor: Int32, frameLimit: Int = WireLimits.frame,
        onLine: @escaping (Span<UInt8>) -> Bool, onEnd: @escaping (End) -> Void
    ) throws(EventLoopFailure) {
        self.descriptor = descriptor
        self.onLine = onLine
        self.onEnd = onEnd
        framer = LineFramer(limit: frameLimit)
        watch = try loop.watch(descriptor, events: Readiness.readable) { [unowned self] ready in
            self.serve(ready)
        }
    }

    deinit { close() }

    /// Bytes that the socket has not taken yet.
    package var unsentBytes: Int { output.count }

    /// Sends a line, or queues what the socket does not take now.
    ///
    /// The line is a message without its line end.
    package func send(_ line: consuming SecretBuffer) {
        guard isOpen else { return }
        let wasEmpty = output.isEmpty
        output.append(copying: line)
        output.append(UInt8(ascii: "\n"))
        if wasEmpty { flush() }
    }

    /// Ends the channel without a word to `onEnd`; what is queued is dropped.
    package func close() {
        guard isOpen else { return }
        isOpen = false
        watch = nil
        Glibc.close(descriptor)
    }

    private func serve(_ ready: UInt32) {
        withExtendedLifetime(self) {
            if ready & Readiness.writable != 0 { flush() }
            if isOpen, ready & ~Readiness.writable != 0 { receive() }
        }
    }

    private func receive() {
        var code: Int32 = 0
        var isAtEnd = false
        input.append(upTo: Self.readLength) { room in
            let count = read(descriptor, room.baseAddress, room.count)
            code = count < 0 ? errno : 0
            isAtEnd = count == 0
            return max(count, 0)
        }
        if isAtEnd { return end(.closedByPeer) }
        if code != 0 {
            if code != EAGAIN && code != EINTR { end(.failed(code: code)) }
            return
        }
        var failure: FramingFailure<Refusal>?
        input.withSpan { bytes in
            do throws(FramingFailure<Refusal>) {
                try framer.push(bytes) { (line: Span<UInt8>) throws(Refusal) in
                    guard isOpen, onLine(line), isOpen else { throw Refusal() }
                }
            } catch {
                failure = error
            }
        }
        input.removeAll()
        switch failure {
        case nil: break
        case .frameTooLong: end(.frameTooLong)
        case .consumer: end(.refused)
        }
    }

    private struct Refusal: Error, Equatable {}

    private func flush() {
        while !output.isEmpty {
            let (count, code) = output.withSpan { bytes in
                bytes.withUnsafeBufferPointer { bytes in
                    let count = Glibc.send(
                        descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
                    return (count, errno)
                }
            }
            guard count >= 0 else {
                if code == EINTR { continue }
                // A broken socket is readable: the loop finds its end there. Until then nothing more is written to it.
                if code != EAGAIN { output.removeAll() }
                break
            }
            output.removeFirst(count)
        }
        output.shrink(to: Self.readLength)
        watch?.setEvents(output.isEmpty ? Readiness.readable : Readiness.readable | Readiness.writable)
    }

    private func end(_ reason: End) {
        guard isOpen else { return }
        close()
        onEnd(reason)
    }
}
