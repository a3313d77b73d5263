/// What replaces or removes a credential.
extension CredentialSession {
    mutating func saved(
        _ waiter: WaiterID, _ credential: Credential, _ expiries: Expiries, _ now: Instant,
        _ effects: inout [SessionEffect]
    ) {
        // A stopped account takes nothing (R43), a parked one does: that is how an operator decides.
        if standing != .active {
            effects.append(.answer(waiter, .failure(standing == .sealed ? .sealed : .stopped)))
            return
        }
        // What was saved by hand wins over what a source is about to bring.
        giveUpFlight(&effects)
        let held = HeldCredential(
            credential: credential, generation: issueGeneration(), expiries: expiries, receivedAt: now,
            bootID: traits.bootID, origin: .saved, destination: traits.destination)
        store(.saved(held, waiter), generation: held.generation, &effects)
    }

    mutating func deleted(_ waiter: WaiterID, signsOut: Bool, _ effects: inout [SessionEffect]) {
        guard standing != .sealed else {
            effects.append(.answer(waiter, .failure(.sealed)))
            return
        }
        giveUpFlight(&effects)
        store(.deleted(waiter, signsOut: signsOut), generation: issueGeneration(), &effects)
    }

    /// Makes a credential the one that is held; `reason` is that of the refresh which brought it, nil for a saved one.
    mutating func install(
        _ held: HeldCredential, after reason: RefreshReason?, _ now: Instant, _ draw: UInt64,
        _ effects: inout [SessionEffect]
    ) {
        guard held.generation > generation else { return }
        let isCalledOver = (ended?.record.count ?? 0) > 1
        let hadFailed = failures.last != nil || signIn != nil || isCalledOver
        let replaced = generation
        self.held = held
        generation = held.generation
        let schedule = Schedule(
            expiries: held.expiries, receivedAt: held.receivedAt, now: now, early: traits.early)
        self.schedule = schedule
        trial =
            reason != nil && rejectedGeneration == replaced ? (generation, now.boot + Self.trialPeriod) : nil
        if reason == nil { ended = nil }
        noteShortfall(schedule.remaining(at: now), isRefreshed: reason != nil, replaced: replaced)
        distrust = nil
        wanted = nil
        isSignedOut = false
        // A refresh is of whoever is signed in already.
        if reason == nil || reason == .authenticate { signInFailure = nil }
        effects.append(.announce(.replaced(generation)))
        if reason != nil, schedule.isExpired(at: now) {
            // Valid by its origin's clock and past by ours: asking again at once would bring the same.
            recordFailure(RefreshFailure(.stale), now, remaining: .zero, draw, &effects)
            for waiter in waiters.removeAll() {
                effects.append(.answer(waiter.id, answerAfterFailure(waiter, now)))
            }
            return
        }
        signIn = nil
        failures = FailureRecord()
        // Where the platform called those before it over, it has a say in whether that is so.
        if hadFailed, reason == nil || !isCalledOver { effects.append(.announce(.recovered)) }
        guard !isGatePassing else { return }
        serveWaiters(isRefreshed: reason != nil, now, &effects)
        resumeWaiters(now, &effects)
    }

    // A source that gave less than was asked is not asked for more again, as long as it gives no more.
    private mutating func noteShortfall(
        _ remaining: Milliseconds, isRefreshed: Bool, replaced: Generation
    ) {
        guard isRefreshed, let known = shortfall, known.generation == replaced,
            remaining < known.minValid
        else {
            shortfall = nil
            return
        }
        shortfall = (generation, known.minValid)
    }

    /// Answers those whom the new credential satisfies, and all of them when a refresh brought it: there is no better one.
    private mutating func serveWaiters(
        isRefreshed: Bool, _ now: Instant, _ effects: inout [SessionEffect]
    ) {
        let failure = standingFailure
        let remaining = schedule?.remaining(at: now) ?? .zero
        let isUsable = isUsable(at: now)
        let served = waiters.removeAll { waiter in
            guard failure == nil, !isRefreshed, case .token(let minValid, _) = waiter.wish else {
                return true
            }
            return isUsable && remaining >= minValid
        }
        for waiter in served {
            switch waiter.wish {
            case _ where failure != nil || !isUsable && isRefreshed:
                effects.append(.answer(waiter.id, answerAfterFailure(waiter, now)))
            case .refresh:
                effects.append(.answer(waiter.id, .refreshed))
            case .token(let minValid, _):
                let remarks = remarks(minValid: minValid, now)
                if remarks.isShortLived {
                    shortfall = (generation, min(minValid, shortfall?.minValid ?? .max))
                }
                effects.append(.answer(waiter.id, .token(remarks)))
            }
        }
    }

    /// Forgets what is held: it was signed out, and nobody who waited brings it back.
    mutating func remove(_ removed: Generation, signsOut: Bool, _ effects: inout [SessionEffect]) {
        guard removed > generation else { return }
        held = nil
        schedule = nil
        distrust = nil
        wanted = nil
        ended = nil
        generation = removed
        signedOutGeneration = removed
        isSignedOut = true
        isSignedOutOnPurpose = signsOut
        if isRefused {
            signIn = nil
            failures = FailureRecord()
        }
        effects.append(.announce(.deleted(removed)))
        guard !isGatePassing else { return }
        let isLasting = traits.staysSignedOut || !traits.hasSource
        answerAll(
            .failure(.signInNeeded(.signedOut, retryAfter: isLasting ? nil : Self.attemptSpacing)), &effects)
    }

    /// Takes the platform's own view of when a generation ends, in place of what it said before.
    mutating func bound(
        _ generation: Generation, _ expiry: WallTime?, _ now: Instant, _ draw: UInt64,
        _ effects: inout [SessionEffect]
    ) {
        guard let held, held.generation == generation else { return }
        if held.expiries.backend != expiry { take(expiry, of: held, now, &effects) }
        if let expiry, expiry <= now.wall {
            calledOver(generation, at: expiry, now, draw, &effects)
        } else if let ended {
            self.ended = nil
            if ended.record.count > 1 { effects.append(.announce(.recovered)) }
        }
        if canBegin(now), wantsRefresh(now) { startRefresh(now, &effects) }
    }

    private mutating func take(
        _ expiry: WallTime?, of held: HeldCredential, _ now: Instant, _ effects: inout [SessionEffect]
    ) {
        var expiries = held.expiries
        expiries.backend = expiry
        self.held = held.expiring(expiries)
        schedule = Schedule(
            expiries: expiries, receivedAt: held.receivedAt, isThisBoot: isOfThisBoot(held, now), now: now,
            early: traits.early)
        isExpiryUnstored = true
        effects.append(.announce(.expiryChanged(generation)))
        storeExpiry(&effects)
        // Who was promised less than he asked for may have more now, and the other way round.
        shortfall = nil
    }

    // The first brings one other at once, as if it had been refused. From the second on the source, or a clock, is what is wrong: each
    // one that comes begins as if it were good, so that the row of them has a record of its own.
    private mutating func calledOver(
        _ generation: Generation, at expiry: WallTime, _ now: Instant, _ draw: UInt64,
        _ effects: inout [SessionEffect]
    ) {
        guard ended?.generation != generation else { return }
        let failure = RefreshFailure(.stale, cause: .calledOver(expiry), party: .platform)
        var record = ended?.record ?? FailureRecord()
        record.record(failure, at: now, remaining: .zero, draw: draw)
        ended = (generation, record)
        guard record.count > 1 || !traits.hasSource, flight == nil, !isChangeBeingStored else { return }
        if record.count <= 2 { effects.append(.announce(.refreshFailed(failure))) }
        failures = record
        for waiter in waiters.removeAll() {
            effects.append(.answer(waiter.id, answerAfterFailure(waiter, now)))
        }
    }

    /// Opens or closes the way to everything that is handed out or fetched.
    mutating func gated(
        _ gate: SessionGate?, _ now: Instant, _ draw: UInt64, _ effects: inout [SessionEffect]
    ) {
        guard gate != self.gate else { return }
        self.gate = gate
        switch gate {
        case .notLoggedIn, .terminated:
            giveUpFlight(&effects)
            wanted = nil
            if let failure = standingFailure { answerAll(.failure(failure), &effects) }
        case .establishing: giveUpFlight(&effects)
        case .ending:
            giveUpFlight(&effects)
            wanted = nil
        case nil:
            serveWaiters(isRefreshed: false, now, &effects)
            resumeWaiters(now, &effects)
            wokeUp(now, draw, &effects)
        }
    }

    /// Goes on for those who wait when a change came to nothing, or brought too little.
    mutating func resumeWaiters(_ now: Instant, _ effects: inout [SessionEffect]) {
        guard !waiters.isEmpty || wanted != nil, flight == nil, !isChangeBeingStored, !isGatePassing
        else { return }
        if canBegin(now) {
            startRefresh(now, &effects)
        } else if !mayRefresh || isBackingOff(now) {
            for waiter in waiters.removeAll() {
                effects.append(.answer(waiter.id, answerAfterFailure(waiter, now)))
            }
        }
    }
}
