import Broker
package import CredentialCore
import RPCServer

/// Clocks that a test moves.
package final class ManualClock: Clock {
    package var now: Instant
    package let bootID = BootID("boot-1")
    /// How often somebody looked.
    package private(set) var looks = 0

    /// 2026-01-01T00:00:00Z, a thousand seconds after the machine was started.
    package init() {
        now = Instant(wall: WallTime(seconds: 1_767_225_600), boot: BootTime(milliseconds: 1_000_000))
    }
}

/// Remembers when the broker wants to be woken.
package final class ManualWaker: WakePort {
    package private(set) var moment: BootTime?
    /// How often it was asked for a moment.
    package private(set) var requests = 0

    package init() {}

    package func wake(at moment: BootTime?) {
        self.moment = moment
        requests += 1
    }

    /// Forgets the moment, as a timer does that has fired.
    package func fire() { moment = nil }
}

/// An alarm that a test lets ring.
package final class ManualAlarm: Alarm {
    package private(set) var moment: BootTime?
    private let handler: () -> Void

    package init(_ handler: @escaping () -> Void) { self.handler = handler }

    package func set(bootMilliseconds: Int64) { moment = BootTime(milliseconds: bootMilliseconds) }

    package func ring() {
        moment = nil
        handler()
    }
}
