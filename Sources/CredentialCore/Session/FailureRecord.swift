/// What failed in a row, and when it may be tried again.
package struct FailureRecord: Sendable {
    /// The newest failure since the last success.
    package private(set) var last: RefreshFailure?
    /// When that was.
    package private(set) var lastAt: Instant?
    /// Attempts that failed in a row; those that were never sent do not count.
    package private(set) var count = 0
    /// No attempt before this moment.
    package private(set) var notBefore: BootTime?
    /// Refusals in a row, by the same party and with the same status.
    private(set) var refusals = 0
    private var refusal: RefreshFailure?

    /// Nothing has failed.
    package init() {}

    static let shortest = Milliseconds.seconds(1)
    static let longest = Milliseconds.seconds(300)
    static let longestRetryAfter = Milliseconds.seconds(3600)

    /// Counts a failure; `remaining` is how long the held credential is still valid.
    package mutating func record(
        _ failure: RefreshFailure, at now: Instant, remaining: Milliseconds, draw: UInt64
    ) {
        // A request that was never sent says nothing about the backend: it neither counts nor ends a row of refusals.
        if failure.kind == .rejected {
            let isSame = refusal?.party == failure.party && refusal?.httpStatus == failure.httpStatus
            refusals = refusals > 0 && isSame ? min(refusals + 1, 32) : 1
            refusal = failure
        } else if failure.kind != .overloaded {
            refusals = 0
        }
        if failure.kind != .overloaded { count = min(count + 1, 32) }
        last = failure
        lastAt = now
        notBefore =
            now.boot
            + Self.delay(count: count, retryAfter: failure.retryAfter, remaining: remaining, draw: draw)
    }

    /// Allows no attempt before `moment`, whatever the back-off says.
    mutating func postpone(until moment: BootTime) { notBefore = moment }

    /// Exponential with full jitter from one second to five minutes, never past the middle of what time is left.
    ///
    /// What the backend asked for wins, within a second and an hour.
    static func delay(
        count: Int, retryAfter: Milliseconds?, remaining: Milliseconds, draw: UInt64
    ) -> Milliseconds {
        if let retryAfter { return max(shortest, min(retryAfter, longestRetryAfter)) }
        let ceiling = min(longest.count, shortest.count << Int64(min(max(count - 1, 0), 16)))
        let jittered = Int64(draw % UInt64(ceiling + 1))
        let halfway = remaining > .zero && remaining < .max ? remaining.count / 2 : Int64.max
        return Milliseconds(max(shortest.count, min(jittered, halfway)))
    }
}
