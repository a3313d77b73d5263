import CLinux
import Glibc

/// The queue of a thread that waits: many send, one takes everything that is there.
package final class Inbox<Message: Sendable>: @unchecked Sendable {
    // Everything mutable is touched under `lock` only.
    private let lock = Lock()
    private var waiting: [Message] = []
    private var isClosed = false
    private let capacity: Int

    /// - Parameter capacity: how many messages may wait; `send` refuses the next one.
    package init(capacity: Int = .max) { self.capacity = capacity }

    /// Leaves a message; false when the queue is full or closed.
    @discardableResult
    package func send(_ message: Message) -> Bool {
        lock.withLock {
            guard !isClosed, waiting.count < capacity else { return false }
            waiting.append(message)
            if waiting.count == 1 { lock.signal() }
            return true
        }
    }

    /// Takes no more messages; the thread gets what is there, then nil.
    package func close() {
        lock.withLock {
            isClosed = true
            lock.signal()
        }
    }

    /// Waits for messages and takes them all, in order; nil once closed and empty.
    ///
    /// For one thread only.
    package func takeAll() -> [Message]? {
        lock.withLock {
            while waiting.isEmpty {
                if isClosed { return nil }
                lock.wait()
            }
            let taken = waiting
            waiting = []
            return taken
        }
    }

    /// Waits for messages, at most `timeout`, and takes them all, in order; empty when none came, nil once closed and empty.
    ///
    /// For one thread only.
    package func takeAll(timeoutMilliseconds timeout: Int64) -> [Message]? {
        let deadline = cl_monotonic_nanoseconds() + min(max(timeout, 0), 1 << 40) * 1_000_000
        return lock.withLock {
            while waiting.isEmpty {
                if isClosed { return nil }
                if cl_monotonic_nanoseconds() >= deadline { return [] }
                lock.wait(untilNanoseconds: deadline)
            }
            let taken = waiting
            waiting = []
            return taken
        }
    }
}

/// A thread of this process, joined when it is asked to be.
package final class WorkerThread: Sendable {
    private let thread: pthread_t

    /// Starts `body` on a thread of its own, all signals blocked, named `name` (at most 15 bytes).
    package init(name: String, _ body: @escaping @Sendable () -> Void) throws(EventLoopFailure) {
        final class Start {
            let name: String
            let body: @Sendable () -> Void
            init(_ name: String, _ body: @escaping @Sendable () -> Void) {
                self.name = name
                self.body = body
            }
        }
        var all = sigset_t()
        var previous = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &previous)
        defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
        var thread = pthread_t()
        let start = Unmanaged.passRetained(Start(name, body))
        let result = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                // Retained once for this thread, released here.
                let start = Unmanaged<Start>.fromOpaque(context).takeRetainedValue()
                cl_name_thread(start.name)
                start.body()
                return nil
            }, start.toOpaque())
        guard result == 0 else {
            start.release()
            throw EventLoopFailure(code: result)
        }
        self.thread = thread
    }

    /// Waits for the end of `body`, at most that long; false when it goes on.
    @discardableResult
    package func join(withinMilliseconds limit: Int32) -> Bool { cl_join_within(thread, limit) == 0 }

    /// Waits for the end of `body`.
    package func join() { pthread_join(thread, nil) }
}
