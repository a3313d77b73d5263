import CLinux
package import EventLoop

/// Feeds systemd's watchdog while the loop turns and another thread answers it, and keeps the status line true.
///
/// A beat asks the other thread; the next one feeds the watchdog only if that has answered. So a thread that stands still ends the
/// service after the watchdog's time and at most one beat more, and one that is merely slow does not. While it has something to do that is
/// known to take long (a migration), it is given that time.
package final class Pulse {
    private let serviceManager: ServiceManager
    private let beat: Int64
    private let isWatched: Bool
    private let ask: (@escaping () -> Void) -> Bool
    private let status: () -> String
    private let boot: () -> Int64
    private var timer: LoopTimer?
    private var isAsked = false
    private var busyUntil = Int64.min
    private var said = ""

    /// The slowest beat, in milliseconds: a status line is never older.
    package static let slowestBeat: Int64 = 5000
    /// How long the other thread may be busy with what is known to take long, in milliseconds.
    package static let longWork: Int64 = 900_000

    /// The beat for a watchdog of that many microseconds (nil: none), in milliseconds.
    package static func beat(watchdogMicroseconds: Int64?) -> Int64 {
        guard let watchdogMicroseconds else { return slowestBeat }
        return min(max(watchdogMicroseconds / 3000, 1), slowestBeat)
    }

    /// What `WATCHDOG_USEC` and `WATCHDOG_PID` ask of the process `pid`; nil where they ask nothing of it.
    package static func watchdog(microseconds: String?, pid text: String?, own pid: Int32) -> Int64? {
        guard let microseconds, let value = Int64(microseconds), value > 0 else { return nil }
        guard let text else { return value }
        return Int32(text) == pid ? value : nil
    }

    /// Begins to beat, unless nobody listens.
    ///
    /// `ask` asks the other thread and calls back on the loop when that answers; it returns false where it could not ask. `status`
    /// makes the line for `systemctl status`; `boot` tells milliseconds since boot.
    package init(
        loop: EventLoop, serviceManager: ServiceManager, watchdogMicroseconds: Int64?,
        boot: @escaping () -> Int64 = { cl_boot_milliseconds() },
        ask: @escaping (@escaping () -> Void) -> Bool, status: @escaping () -> String
    ) throws(EventLoopFailure) {
        self.serviceManager = serviceManager
        isWatched = watchdogMicroseconds != nil
        beat = Self.beat(watchdogMicroseconds: watchdogMicroseconds)
        self.boot = boot
        self.ask = ask
        self.status = status
        guard serviceManager.isPresent else { return }
        timer = try loop.makeTimer { [unowned self] in strike() }
        timer?.set(bootMilliseconds: boot())
    }

    /// Says how the service is now, if that has changed.
    package func tellStatus() {
        let line = status()
        guard serviceManager.isPresent, line != said else { return }
        said = line
        serviceManager.status(line)
    }

    /// The other thread was given something that may take long.
    package func expectLongWork() { busyUntil = boot() + Self.longWork }

    /// That is done; how the service is may have changed by it.
    package func longWorkDidEnd() {
        busyUntil = .min
        tellStatus()
    }

    private func strike() {
        timer?.set(bootMilliseconds: boot() + beat)
        tellStatus()
        guard isWatched else { return }
        if isAsked {
            if boot() < busyUntil { serviceManager.watchdog() }
            return
        }
        // A question that finds no room is one that is not answered either.
        let hasRoom = ask { [weak self] in self?.isAsked = false }
        isAsked = hasRoom
        if hasRoom || boot() < busyUntil { serviceManager.watchdog() }
    }
}
