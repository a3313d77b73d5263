import CredentialCore

/// Doing what is due, a few accounts a turn.
///
/// Thousands of accounts may be due together. What takes longer than a moment is begun, and goes on in the turns of the loop that follow, so
/// that clients are served in between; as long as some of it is left, the moment that is asked for has passed already.
extension Broker {
    // Clocks can be set and machines suspended without anybody saying so: everything is looked at again this often.
    static let reviewInterval = Milliseconds.seconds(60)
    /// As many accounts are woken in one turn of the loop: a refresh that begins takes some 20 microseconds.
    package static let wokenPerTurn = 64
    /// As many accounts are configured anew in one turn of the loop.
    package static let configuredPerTurn = 64

    /// Does some of what is due; whoever keeps the clock calls it at the moment that was asked for, and when a clock was set.
    ///
    /// Accounts that are due together are woken a few in a turn of the loop, so that clients are served in between: where some are
    /// left, the moment that is asked for next has passed already.
    package func wakeUp() {
        let now = clock.now
        announcedWake = nil
        if now.boot >= lastReview + Self.reviewInterval { beginReview(now.boot) }
        if reconfiguration != nil {
            goOnConfiguring()
        } else if requester.owesRefusals {
            requester.tellDismissed()
        } else if unreviewed.isEmpty {
            for account in wakes.take(dueAt: now.boot, atMost: Self.wokenPerTurn) { wakeUp(account) }
        } else {
            goOnReviewing()
        }
        keeper.wakeUp()
        desk.wakeUp()
        memory.wakeUp()
        scheduleWake()
    }

    /// Looks at every account again, some now and the rest in the turns that follow: a clock was set, or time has passed that nobody
    /// counted.
    package func review() {
        beginReview(clock.now.boot)
        goOnReviewing()
        scheduleWake()
    }

    private func beginReview(_ now: BootTime) {
        lastReview = now
        unreviewed = accounts.sorted()[...]
        memory.storeAgain()
    }

    private func goOnReviewing() {
        let some = unreviewed.prefix(Self.wokenPerTurn)
        unreviewed.removeFirst(some.count)
        for account in some where !account.isGone { wakeUp(account) }
        if unreviewed.isEmpty { unreviewed = [] }
    }

    // What was begun and goes on in the next turn, which is as soon as clients have had theirs.
    private var hasWorkLeft: Bool {
        !unreviewed.isEmpty || reconfiguration != nil || requester.owesRefusals
    }

    /// Sees to it that an account is woken when it has something to do next.
    func scheduleWake(of account: Account) {
        wakes.schedule(account, at: isShuttingDown ? nil : account.nextWakeUp(at: clock.now))
        scheduleWake()
    }

    func scheduleWake() {
        let grants = keeper.nextWakeUp ?? .distantFuture
        var next = grants
        if !isShuttingDown {
            next = min(
                wakes.next ?? .distantFuture, grants, desk.nextWakeUp ?? .distantFuture,
                memory.nextWakeUp ?? .distantFuture, lastReview + Self.reviewInterval)
            if hasWorkLeft { next = .distantPast }
        }
        guard next != announcedWake else { return }
        announcedWake = next
        ports.waker.wake(at: next == .distantFuture ? nil : next)
    }
}
