/// A length of time in milliseconds; arithmetic saturates, so that no number from outside can trap.
package struct Milliseconds: Hashable, Comparable, Sendable {
    /// How many; negative where a moment has passed.
    package let count: Int64

    /// Takes a number of milliseconds.
    package init(_ count: Int64) { self.count = count }

    /// Whole seconds, saturating.
    package static func seconds(_ count: Int64) -> Milliseconds {
        Milliseconds(count.multipliedSaturating(by: 1000))
    }

    /// No time.
    package static let zero = Milliseconds(0)
    /// For ever.
    package static let max = Milliseconds(.max)

    package static func < (left: Milliseconds, right: Milliseconds) -> Bool { left.count < right.count }
    /// Divides, towards zero; `divisor` is a constant of ours and never 0.
    package static func / (left: Milliseconds, divisor: Int64) -> Milliseconds {
        Milliseconds(left.count / divisor)
    }

    /// Rounded up: what a caller is told to wait.
    package var secondsRoundedUp: Int64 { count <= 0 ? 0 : (count - 1) / 1000 + 1 }
}

/// A moment on a clock that counts milliseconds; arithmetic saturates.
package protocol Timestamp: Hashable, Comparable, Sendable {
    var milliseconds: Int64 { get }
    init(milliseconds: Int64)
}

extension Timestamp {
    /// The epoch, or the boot: nothing that is asked about was earlier.
    package static var distantPast: Self { Self(milliseconds: 0) }
    /// Never; stays where it is whatever is added.
    package static var distantFuture: Self { Self(milliseconds: .max) }

    package static func < (left: Self, right: Self) -> Bool { left.milliseconds < right.milliseconds }

    /// Later by `length`.
    package static func + (moment: Self, length: Milliseconds) -> Self {
        moment.milliseconds == .max
            ? moment : Self(milliseconds: moment.milliseconds.addingSaturating(length.count))
    }

    /// Earlier by `length`.
    package static func - (moment: Self, length: Milliseconds) -> Self {
        moment.milliseconds == .max
            ? moment : Self(milliseconds: moment.milliseconds.subtractingSaturating(length.count))
    }

    /// From `earlier` to `later`; negative the other way round.
    package static func - (later: Self, earlier: Self) -> Milliseconds {
        Milliseconds(later.milliseconds.subtractingSaturating(earlier.milliseconds))
    }
}

/// Wall time: milliseconds since 1970-01-01T00:00:00Z (CLOCK_REALTIME).
///
/// It can be set.
package struct WallTime: Timestamp {
    /// Milliseconds on that clock.
    package let milliseconds: Int64
    /// Takes a reading of the clock.
    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Whole seconds since the epoch, saturating.
    package init(seconds: Int64) { self.init(milliseconds: seconds.multipliedSaturating(by: 1000)) }

    /// Whole seconds since the epoch, floored: what goes over the wire.
    package var seconds: Int64 { milliseconds / 1000 - (milliseconds % 1000 < 0 ? 1 : 0) }
}

/// Milliseconds since boot, suspended time included (CLOCK_BOOTTIME).
///
/// It never goes back.
package struct BootTime: Timestamp {
    /// Milliseconds on that clock.
    package let milliseconds: Int64
    /// Takes a reading of the clock.
    package init(milliseconds: Int64) { self.milliseconds = milliseconds }
}

/// Now, on both clocks.
package struct Instant: Hashable, Sendable {
    /// What the wall clock says.
    package var wall: WallTime
    /// What the boot clock says.
    package var boot: BootTime

    /// Takes a reading of both.
    package init(wall: WallTime, boot: BootTime) {
        self.wall = wall
        self.boot = boot
    }

    /// The wall time of an earlier moment of this boot, on the clock as it is set now.
    ///
    /// What is counted from a remembered moment, such as `expires_in` from when the request was sent, is reckoned back like
    /// this: the clock may have been set in between.
    package func wallTime(of earlier: BootTime) -> WallTime { wall - (boot - earlier) }

    /// Later by `length` on both clocks.
    package static func + (moment: Instant, length: Milliseconds) -> Instant {
        Instant(wall: moment.wall + length, boot: moment.boot + length)
    }
}

/// Which boot a `BootTime` counts from (`/proc/sys/kernel/random/boot_id`).
package struct BootID: Hashable, Sendable {
    /// The identifier as the kernel writes it.
    package let text: String
    /// Takes what the kernel says.
    package init(_ text: String) { self.text = text }
}

/// The clocks of this machine, or those of a test.
package protocol Clock: AnyObject {
    var now: Instant { get }
    var bootID: BootID { get }
}

extension Int64 {
    func addingSaturating(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other > 0 ? .max : .min) : sum
    }

    func subtractingSaturating(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }

    func multipliedSaturating(by other: Int64) -> Int64 {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        return overflow ? ((self < 0) == (other < 0) ? .max : .min) : product
    }
}
