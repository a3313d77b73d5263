import Secrets

/// What refreshes bring, and what time does.
extension CredentialSession {
    mutating func refreshSucceeded(
        _ ticket: RefreshTicket, _ fresh: FreshCredential, _ now: Instant, _ draw: UInt64,
        _ effects: inout [SessionEffect]
    ) {
        guard let flight, flight.ticket == ticket else { return }
        if isStale(fresh, now) {
            refreshFailed(ticket, RefreshFailure(.stale), now, draw, &effects)
            return
        }
        self.flight = nil
        let held = HeldCredential(
            credential: fresh.credential, generation: issueGeneration(), expiries: fresh.expiries,
            receivedAt: now, bootID: traits.bootID, origin: .source, destination: traits.destination)
        store(.refreshed(held, flight.reason), generation: held.generation, &effects)
    }

    /// Whether it is no better than nothing: the token that was just refused, or one that had ended when it came.
    ///
    /// The bearer's own `exp` is judged by the origin's clock as well, where that is known: it may be ours that is wrong.
    package func isStale(_ fresh: FreshCredential, _ now: Instant) -> Bool {
        if let held, rejectedGeneration == held.generation, let known = held.credential,
            fresh.credential.bearer.isEqual(to: known.bearer)
        {
            return true
        }
        let originNow = min(now.wall, fresh.originDate ?? now.wall)
        if let exp = fresh.expiries.exp, exp <= originNow { return true }
        for expiry in [fresh.expiries.backend, fresh.expiries.hint] {
            if let expiry, expiry <= now.wall { return true }
        }
        return false
    }

    mutating func refreshFailed(
        _ ticket: RefreshTicket, _ failure: RefreshFailure, _ now: Instant, _ draw: UInt64,
        _ effects: inout [SessionEffect]
    ) {
        guard let flight, flight.ticket == ticket else { return }
        self.flight = nil
        if flight.reason == .authenticate {
            signInFailure = (failure, now.wall)
            guard schedule?.isExpired(at: now) != false, !isParked else {
                signInFailed(failure, now, &effects)
                return
            }
        }
        if distrust == .rejected { distrust = nil }
        let remaining = isUsable(at: now) ? schedule?.remaining(at: now) ?? .zero : .zero
        recordFailure(failure, now, remaining: remaining, draw, &effects)
        for waiter in waiters.removeAll() {
            effects.append(.answer(waiter.id, answerAfterFailure(waiter, now)))
        }
    }

    /// Whoever can be served is, and the others are told why not: what failed before, and how often, stays as it was.
    mutating func refreshDeferred(
        _ ticket: RefreshTicket, _ reason: SessionFailure, _ pause: Milliseconds, _ now: Instant,
        _ effects: inout [SessionEffect]
    ) {
        guard let flight, flight.ticket == ticket else { return }
        self.flight = nil
        if distrust == .rejected { distrust = nil }
        failures.postpone(until: max(now.boot + pause, failures.notBefore ?? .distantPast))
        for waiter in waiters.removeAll() {
            guard case .token(let minValid, _) = waiter.wish, isUsable(at: now) else {
                effects.append(.answer(waiter.id, .failure(reason)))
                continue
            }
            effects.append(.answer(waiter.id, .token(remarks(minValid: minValid, now))))
        }
    }

    /// Tells those who waited for it that nobody was signed in: what is held stays as it was, and nothing is fetched because of it (R50).
    private mutating func signInFailed(
        _ failure: RefreshFailure, _ now: Instant, _ effects: inout [SessionEffect]
    ) {
        let pause = FailureRecord.delay(count: 1, retryAfter: failure.retryAfter, remaining: .max, draw: 0)
        let isUsable = isUsable(at: now)
        // What is withheld is replaced by another refresh: whoever waits for that still does.
        let told = waiters.removeAll { waiter in
            if case .refresh = waiter.wish { true } else { isUsable }
        }
        for waiter in told {
            switch waiter.wish {
            case .refresh: effects.append(.answer(waiter.id, .failure(.refresh(failure, retryAfter: pause))))
            case .token(let minValid, _):
                var remarks = remarks(minValid: minValid, now)
                remarks.refreshError = remarks.refreshError ?? failure
                effects.append(.answer(waiter.id, .token(remarks)))
            }
        }
    }

    /// Counts a failure, says so if it is the first, and gives up for an hour where the same one refuses again and again.
    mutating func recordFailure(
        _ failure: RefreshFailure, _ now: Instant, remaining: Milliseconds, _ draw: UInt64,
        _ effects: inout [SessionEffect]
    ) {
        if failures.last == nil { effects.append(.announce(.refreshFailed(failure))) }
        failures.record(failure, at: now, remaining: remaining, draw: draw)
        switch failure.kind {
        case .grantMissing: signIn = signIn ?? .grantMissing
        case .grantDead: signIn = signIn ?? .grantDead
        case .grantPossiblySpent: signIn = signIn ?? .possiblySpent
        default:
            guard failures.refusals >= 3 else { break }
            signIn = signIn ?? (failure.isRefusalOfPlatform ? .refusedByPlatform : .refusedWithoutReason)
        }
        if signIn != nil { failures.postpone(until: now.boot + Self.giveUpInterval) }
    }

    mutating func wokeUp(_ now: Instant, _ draw: UInt64, _ effects: inout [SessionEffect]) {
        if case .clock(let until) = distrust, now.wall >= until { distrust = nil }
        if let flight, flight.deadline <= now.boot {
            effects.append(.cancelRefresh(flight.ticket))
            let failure = RefreshFailure(.timeout, party: flight.party)
            refreshFailed(flight.ticket, failure, now, draw, &effects)
        }
        while let waiter = waiters.removeExpired(at: now.boot) {
            effects.append(.answer(waiter.id, answerAtDeadline(waiter, now)))
        }
        if canBegin(now), wantsRefresh(now) { startRefresh(now, &effects) }
        storeAgain(now, &effects)
    }

    private func answerAtDeadline(_ waiter: Waiter, _ now: Instant) -> SessionAnswer {
        if case .token(let minValid, isForced: false) = waiter.wish, isUsable(at: now) {
            return .token(remarks(minValid: minValid, now))
        }
        return .failure(.deadlineExceeded(retryAfter: Self.attemptSpacing))
    }
}
