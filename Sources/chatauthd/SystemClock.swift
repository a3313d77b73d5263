import CLinux
import CredentialCore
import EventLoop
import Broker

/// The clocks of this machine.
final class SystemClock: Clock {
    let bootID: BootID

    init(bootID: BootID) { self.bootID = bootID }

    var now: Instant {
        Instant(
            wall: WallTime(milliseconds: cl_wall_milliseconds()),
            boot: BootTime(milliseconds: cl_boot_milliseconds()))
    }
}

/// Wakes the broker by a timer of the loop.
final class LoopWaker: WakePort {
    private var timer: LoopTimer?
    weak var broker: Broker?

    init(loop: EventLoop) throws(EventLoopFailure) {
        timer = try loop.makeTimer { [unowned self] in broker?.wakeUp() }
    }

    func wake(at moment: BootTime?) {
        guard let moment else {
            timer?.cancel()
            return
        }
        timer?.set(bootMilliseconds: moment.milliseconds)
    }
}
