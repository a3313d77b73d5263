import CLinux
import Glibc

/// Whoever serves descriptors by the batch.
///
/// All calls come from the loop.
package protocol DescriptorHandler: AnyObject {
    /// The descriptor that was added with `token` is ready for `events` (of `Readiness`), or was, before another of the same batch was
    /// served: it may have been removed meanwhile.
    func descriptorIsReady(_ token: UInt64, _ events: UInt32)
    /// What was ready at once has been served.
    func batchDidEnd()
}

/// Descriptors that are waited for together and served a batch at a time: what clients are, of whom there are many.
///
/// Difficulty: a source of sd-event for each client halves the speed at 16 clients and loses nine tenths at 256, and an epoll set that is
/// itself watched by sd-event wakes twice and is asked twice for each batch. So it is the other way round: the loop waits here, and
/// sd-event is one of the descriptors.
package final class DescriptorSet {
    private let epoll: Int32
    private var ready: UnsafeMutableBufferPointer<cl_ready>
    /// Who serves them; one at most.
    package weak var handler: (any DescriptorHandler)?

    /// As many are served before others of the loop have their turn.
    package static let batchSize = 256
    /// Tokens are greater: this one is the loop's own.
    private static let source: UInt64 = 0

    /// A set with one member, the descriptor of sd-event.
    init(around source: Int32) throws(EventLoopFailure) {
        epoll = cl_epoll_create()
        guard epoll >= 0 else { throw EventLoopFailure(code: errno) }
        ready = .allocate(capacity: Self.batchSize)
        guard cl_epoll_add(epoll, source, Readiness.readable, Self.source) == 0 else {
            throw EventLoopFailure(code: errno)
        }
    }

    deinit {
        ready.deallocate()
        close(epoll)
    }

    /// Watches a descriptor, which stays the caller's, for `events`.
    ///
    /// `token` is not 0. False, with errno, when the kernel refuses.
    package func add(_ descriptor: Int32, _ events: UInt32, token: UInt64) -> Bool {
        precondition(token != Self.source)
        return cl_epoll_add(epoll, descriptor, events, token) == 0
    }

    /// Changes what a descriptor is watched for.
    package func modify(_ descriptor: Int32, _ events: UInt32, token: UInt64) {
        _ = cl_epoll_modify(epoll, descriptor, events, token)
    }

    /// Watches a descriptor no more; to be called before it is closed.
    package func remove(_ descriptor: Int32) {
        _ = cl_epoll_remove(epoll, descriptor)
    }

    /// Waits at most so long (negative: without end) and serves what is ready; answers whether sd-event is, and whether others were.
    func serve(timeoutMilliseconds timeout: Int32) throws(EventLoopFailure) -> (source: Bool, others: Bool) {
        let count = Int(cl_epoll_wait(epoll, ready.baseAddress, Int32(Self.batchSize), timeout))
        guard count > 0 else {
            guard count == 0 || errno == EINTR else { throw EventLoopFailure(code: errno) }
            return (false, false)
        }
        var source = false
        guard let handler else { return (true, false) }
        for index in 0..<count {
            let event = ready[index]
            if event.token == Self.source {
                source = true
            } else {
                handler.descriptorIsReady(event.token, event.events)
            }
        }
        let others = count > (source ? 1 : 0)
        if others { handler.batchDidEnd() }
        return (source, others)
    }
}
