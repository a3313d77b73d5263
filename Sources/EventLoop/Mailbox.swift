import CLinux
import Glibc

/// Where other threads leave messages for the loop.
///
/// Unbounded on purpose: each sender answers questions that the loop asked, and those are bounded where they are asked.
package final class Mailbox<Message: Sendable>: @unchecked Sendable {
    // `waiting` is touched under `lock` only; `descriptor` never changes; `watch` is written once, on the loop, before the mailbox
    // is given to anybody; `taken` is touched in `takeSome` only, which the loop calls.
    private let lock = Lock()
    private var waiting: [Message] = []
    let descriptor: Int32
    var watch: DescriptorWatch?
    // Taken and not handed over yet; touched by the loop only.
    private var taken: ArraySlice<Message> = []

    /// As many are handed over in one turn of the loop, so that clients are served in between.
    package static var handedPerTurn: Int { 64 }

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

    /// The next messages, in order; where some are left the descriptor stays readable.
    func takeSome() -> ArraySlice<Message> {
        if taken.isEmpty {
            var count: UInt64 = 0
            _ = read(descriptor, &count, 8)
            taken = lock.withLock {
                let all = waiting
                waiting = []
                return all[...]
            }
        }
        let some = taken.prefix(Self.handedPerTurn)
        taken.removeFirst(some.count)
        if taken.isEmpty {
            taken = []
        } else {
            var one: UInt64 = 1
            _ = write(descriptor, &one, 8)
        }
        return some
    }
}
