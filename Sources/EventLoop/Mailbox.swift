import CLinux
import Glibc

/// Where other threads leave messages for the loop.
///
/// Unbounded on purpose: each sender answers questions that the loop asked, and those are bounded where they are asked.
package final class Mailbox<Message: Sendable>: @unchecked Sendable {
    // `waiting` is touched under `lock` only; `descriptor` never changes; `watch` is written once, on the loop, before the mailbox
    // is given to anybody.
    private let lock = Lock()
    private var waiting: [Message] = []
    let descriptor: Int32
    var watch: DescriptorWatch?

    init() throws(EventLoopFailure) {
        descriptor = cl_event_fd()
        guard descriptor >= 0 else { throw EventLoopFailure(code: errno) }
    }

    deinit { close(descriptor) }

    /// Leaves a message; callable from any thread.
    package func send(_ message: Message) {
        let isFirst = lock.withLock {
            waiting.append(message)
            return waiting.count == 1
        }
        if isFirst {
            var one: UInt64 = 1
            _ = write(descriptor, &one, 8)
        }
    }

    func takeAll() -> [Message] {
        var count: UInt64 = 0
        _ = read(descriptor, &count, 8)
        return lock.withLock {
            let taken = waiting
            waiting = []
            return taken
        }
    }
}
