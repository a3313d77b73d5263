package import EventLoop

/// Asks systemd for more time while the start takes long, from a thread of its own, since the loop does not turn yet.
///
/// It ends with `end`, and after a quarter of an hour in any case: a start that hangs must not hang for ever.
package final class StartExtension {
    private let inbox = Inbox<Never>()
    private let thread: WorkerThread?

    /// Every so often, in milliseconds, another `period` is asked for.
    private static let interval: Int64 = 10_000
    private static let period: Int64 = 30_000
    private static let rounds = 90

    /// Begins to ask, unless nobody listens.
    package init(
        _ serviceManager: ServiceManager, intervalMilliseconds: Int64? = nil
    ) throws(EventLoopFailure) {
        let interval = intervalMilliseconds ?? Self.interval
        guard serviceManager.isPresent else {
            thread = nil
            return
        }
        thread = try WorkerThread(name: "start") { [inbox] in
            for _ in 0..<Self.rounds {
                guard inbox.takeAll(timeoutMilliseconds: interval) != nil else { return }
                serviceManager.extendTimeout(microseconds: Self.period * 1000)
            }
        }
    }

    deinit { end() }

    /// The start is over, or goes on by the time that every service has.
    package func end() {
        inbox.close()
        thread?.join(withinMilliseconds: 1000)
    }
}
