import CLinux
import Glibc
import JSONRPC
import Secrets

/// The socket, as frames.
///
/// Frames are copied before anybody sees them: whoever serves one may wait for the next.
final class Wire {
    /// Bytes of a frame: several times the largest that the daemon sends.
    static let longestFrame = 4 << 20
    private static let chunk = 16 << 10

    private let descriptor: Int32
    private var framer = LineFramer(limit: longestFrame)
    private var frames: [SecretBytes] = []

    static var now: Int64 { cl_boot_milliseconds() }

    init(path: String, patience: Int64) throws(ClientFailure) {
        var text = path
        let opened = text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                cl_connect_unix_within($0.baseAddress, $0.count, Int32(clamping: patience))
            }
        }
        guard opened >= 0 else {
            let code = errno
            throw code == EAGAIN ? .timedOut : .notReachable(path: path, errno: code)
        }
        descriptor = cl_above_standard(opened)
        guard descriptor >= 0 else { throw .notReachable(path: path, errno: errno) }
    }

    deinit { close(descriptor) }

    func send(_ line: consuming SecretBuffer) throws(ClientFailure) {
        let code = line.withSpan { span in
            span.withUnsafeBufferPointer { bytes -> Int32 in
                var sent = 0
                while sent < bytes.count, let base = bytes.baseAddress {
                    let count = Glibc.send(descriptor, base + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
                    if count >= 0 { sent += count } else if errno != EINTR { return errno }
                }
                return 0
            }
        }
        guard code != 0 else { return }
        throw code == EAGAIN ? .timedOut : .connectionLost
    }

    /// The next frame; nil when the daemon has ended the connection.
    ///
    /// - Throws: `timedOut` behind `deadline`, a moment of the boot clock; nil waits for ever.
    func next(until deadline: Int64?) throws(ClientFailure) -> SecretBytes? {
        while frames.isEmpty {
            try waitForBytes(deadline)
            var buffer = SecretBuffer(capacity: Self.chunk)
            var count = 0
            buffer.append(upTo: Self.chunk) { room in
                count = recv(descriptor, room.baseAddress, room.count, 0)
                return max(count, 0)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            do throws(FramingFailure<Never>) {
                try buffer.withSpan { (bytes) throws(FramingFailure<Never>) in
                    try framer.push(bytes) { frames.append(SecretBytes(copying: $0)) }
                }
            } catch {
                throw .malformedAnswer
            }
        }
        return frames.removeFirst()
    }

    private func waitForBytes(_ deadline: Int64?) throws(ClientFailure) {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while true {
            let rest = deadline.map { Int32(clamping: max($0 - Self.now, 0)) } ?? -1
            let count = poll(&wanted, 1, rest)
            if count > 0 { return }
            if count == 0 { throw .timedOut }
            guard errno == EINTR else { throw .connectionLost }
        }
    }
}
