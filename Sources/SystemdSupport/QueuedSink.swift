package import EventLoop
package import Log

/// Puts a thread between whoever logs and a sink that may block: a paused terminal, a journal that hangs.
///
/// At most `capacity` records wait; what comes then is dropped, and how much that was is said as soon as the sink moves again.
package final class QueuedSink: LogSink {
    private let inbox: Inbox<LogRecord>
    private let dropped = DropCount()
    private let thread: WorkerThread

    /// Starts the thread, which writes to `sink`.
    package init(_ sink: any LogSink, capacity: Int = 1024) throws(EventLoopFailure) {
        let inbox = Inbox<LogRecord>(capacity: capacity)
        let dropped = dropped
        self.inbox = inbox
        thread = try WorkerThread(name: "log") {
            while let records = inbox.takeAll() {
                for record in records { sink.write(record) }
                let count = dropped.take()
                guard count > 0 else { continue }
                sink.write(
                    LogRecord(
                        level: .error, message: "Log records were dropped, the log did not take them",
                        fields: [(.count, .integer(count))], messageID: nil))
            }
        }
    }

    /// Leaves a record for the thread; it never waits.
    package func write(_ record: LogRecord) {
        if !inbox.send(record) { dropped.add() }
    }

    /// Lets the thread write what waits, for at most that long.
    package func close(waitingMilliseconds limit: Int32) {
        inbox.close()
        thread.join(withinMilliseconds: limit)
    }
}

/// Counts on one thread and is read on another.
private final class DropCount: @unchecked Sendable {
    // The count is touched under the lock only.
    private let lock = Lock()
    private var count: Int64 = 0

    func add() { lock.withLock { count += 1 } }

    func take() -> Int64 {
        lock.withLock {
            defer { count = 0 }
            return count
        }
    }
}
