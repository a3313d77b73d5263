import EventLoop
package import Log

/// The level from which on records are written; set on the loop, read on every thread.
package final class LogThreshold: @unchecked Sendable {
    // The level is read and written under the lock only.
    private let lock = Lock()
    private var level: LogLevel

    /// Begins with `level`.
    package init(_ level: LogLevel) { self.level = level }

    /// The least urgent level that is written.
    package var value: LogLevel {
        get { lock.withLock { level } }
        set { lock.withLock { level = newValue } }
    }
}
