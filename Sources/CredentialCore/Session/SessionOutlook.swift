/// What can be seen of a session without changing it.
extension CredentialSession {
    /// Whether `token.get` may be answered with what is held, without anything else happening: the hot path's only question.
    @inline(__always)
    package func isFresh(at now: Instant, minValid: Milliseconds) -> Bool {
        freshness.holds(at: now, minValid: minValid)
    }

    /// Until when what is held may be handed out as it is, as long as no event comes.
    package var freshness: Freshness {
        guard standing == .active, gate == nil, distrust == nil, failures.last == nil, signIn == nil,
            !isParked, let schedule
        else { return .none }
        return Freshness(generation: generation, due: schedule.due, expiry: schedule.expiry)
    }

    /// Whether what is held was meant for another destination than the configured one.
    package var isParked: Bool {
        guard let held else { return false }
        return held.destination != traits.destination
    }

    /// Whether what is held may be handed out.
    package func isUsable(at now: Instant) -> Bool {
        guard standing == .active, gate == nil, let schedule, distrust == nil,
            !isRefused, !isParked
        else { return false }
        return !schedule.isExpired(at: now)
    }

    /// Whether the held credential is not on disk, because the disk refused it; that is tried again.
    package var isOnlyInMemory: Bool { persistAgainAt != nil }

    /// What callers are told about it.
    package func state(at now: Instant) -> SessionState {
        switch standing {
        case .sealed: return .sealed
        case .stopped: return .stopped
        case .active: break
        }
        if isParked { return .parked }
        if flight != nil || isRefreshBeingStored { return .refreshing }
        if gate != nil { return .signInNeeded }
        // The grant that it would be fetched with is for another destination.
        if !isUsable(at: now), failures.last?.kind == .grantParked { return .parked }
        guard isUsable(at: now) else {
            if signIn != nil || !traits.hasSource || isHeldBack { return .signInNeeded }
            return held == nil ? .noToken : .expired
        }
        if failures.last != nil { return .stale }
        return schedule?.isDue(at: now) == true ? .due : .fresh
    }

    /// Whether something is asked for, out, or on its way to the disk that may sign somebody in.
    package var hasUnderway: Bool {
        flight != nil || isChangeBeingStored || wanted != nil || !waiters.isEmpty
    }

    /// Whether somebody is signed in, or may come to be without anybody's doing: there is something that a sign-out ends.
    package var mayBeSignedIn: Bool {
        held != nil || hasUnderway || traits.staysSignedOut && traits.hasSource && !isSignedOutOnPurpose
    }

    var isRefreshBeingStored: Bool {
        commits.contains { if case .refreshed = $0.content { true } else { false } }
    }

    /// Whether the platform refused what is held, and nothing better was to be had.
    package var isRefused: Bool { signIn == .credentialRejected || signIn == .refused }

    /// Whether waiters are answered only when the gate is another.
    var isGatePassing: Bool { gate?.isPassing ?? false }

    /// Whether something is on its way to the disk that will replace or remove what is held.
    var isChangeBeingStored: Bool {
        commits.contains { commit in
            switch commit.content {
            case .again, .bound: false
            case .refreshed, .saved, .deleted: true
            }
        }
    }

    /// When a refresh may be begun next, back-off counted; nil: at once.
    ///
    /// One that was asked for does not wait for the back-off, yet for the second between two attempts.
    package func nextAttempt(at now: Instant) -> BootTime? {
        let spaced = lastAttemptAt.map { $0 + Self.attemptSpacing } ?? .distantPast
        let earliest = wanted != nil ? spaced : max(spaced, failures.notBefore ?? .distantPast)
        return earliest > now.boot ? earliest : nil
    }

    /// Whether nothing but time is in the way of a refresh.
    var mayRefresh: Bool {
        standing == .active && traits.hasSource && flight == nil && !isChangeBeingStored
            && (!isParked || wanted == .authenticate) && !isShuttingDown && gate == nil && !isHeldBack
    }

    /// Whether nothing is fetched because somebody signed out, and nobody has signed in since.
    var isHeldBack: Bool { isSignedOut && traits.staysSignedOut && wanted != .authenticate }

    /// Whether a refresh may be begun by itself now.
    func canBegin(_ now: Instant) -> Bool { mayRefresh && nextAttempt(at: now) == nil }

    func isBackingOff(_ now: Instant) -> Bool {
        guard wanted == nil, let notBefore = failures.notBefore else { return false }
        return notBefore > now.boot
    }

    /// Whether a refresh should be begun as soon as one may be.
    ///
    /// After a failure, too: who was told of it is told of the recovery, even if the credential is not due for long.
    func wantsRefresh(_ now: Instant) -> Bool {
        if !waiters.isEmpty || wanted != nil { return true }
        guard !isSignedOut else { return false }
        return failures.last != nil || rejectedGeneration == generation && held != nil || !isUsable(at: now)
            || schedule?.isDue(at: now) == true
    }

    /// When `wokeUp` has something to do; nil: never by itself.
    package func nextWakeUp(at now: Instant) -> BootTime? {
        var next = BootTime.distantFuture
        // While the disk is busy its answer is what comes next.
        if let persistAgainAt, commits.isEmpty { next = min(next, persistAgainAt) }
        if let deadline = waiters.earliestDeadline { next = min(next, deadline) }
        if let flight {
            next = min(next, flight.deadline)
        } else if mayRefresh {
            if wantsRefresh(now) {
                next = min(next, nextAttempt(at: now) ?? now.boot)
                // However long the source is left alone: whoever listens is told when nothing valid is left.
                if isUsable(at: now), let schedule {
                    next = min(next, now.boot + schedule.remaining(at: now))
                }
            } else if !isSignedOut, let schedule {
                next = min(next, now.boot + schedule.untilDue(at: now))
            }
        } else if standing == .active, !traits.hasSource, !isParked, let schedule,
            !schedule.isExpired(at: now)
        {
            // Nothing is fetched; whoever listens is told in time that somebody has to bring another one.
            let length = schedule.isDue(at: now) ? schedule.remaining(at: now) : schedule.untilDue(at: now)
            next = min(next, now.boot + length)
        }
        return next == .distantFuture ? nil : next
    }

    // MARK: Answers

    private var gateFailure: SessionFailure? {
        switch gate {
        case .notLoggedIn, .terminated: gate.map { .gated($0) }
        case .establishing, .ending, nil: nil
        }
    }

    /// Why nobody is served, whatever is held.
    package var standingFailure: SessionFailure? {
        switch standing {
        case .sealed: .sealed
        case .stopped: .stopped
        case .active: isParked ? .parked : gateFailure
        }
    }

    /// What keeps anything valid from coming, whatever a source gives: a person has to do something first; nil: nothing does.
    package func obstacle(at now: Instant) -> SessionFailure? {
        if isParked { return .parked }
        if gate == .terminated { return .gated(.terminated) }
        guard isRefused, let signIn else { return nil }
        return .signInNeeded(signIn, retryAfter: traits.hasSource ? pause(now) : nil)
    }

    /// What is said of an account without a source where one is to be asked: what is held may be at its end.
    package func absenceOfSource(at now: Instant) -> SessionFailure {
        if isRefused, let signIn { return .signInNeeded(signIn, retryAfter: nil) }
        return schedule?.isExpired(at: now) == true ? .signInNeeded(.expired, retryAfter: nil) : .noSource
    }

    /// What is known of the last failures, for an answer.
    func remarks(minValid: Milliseconds, _ now: Instant) -> TokenRemarks {
        TokenRemarks(
            refreshError: failures.last, isShortLived: (schedule?.remaining(at: now) ?? .zero) < minValid)
    }

    /// What is said where nothing could be asked.
    func absence(_ now: Instant) -> SessionFailure {
        if traits.needsHandler {
            return .refresh(RefreshFailure(.handlerRequired), retryAfter: Self.attemptSpacing)
        }
        // What is valid goes on; it is another one that nobody gives.
        guard traits.staysSignedOut, !isUsable(at: now) else { return .noSource }
        return .signInNeeded(held == nil ? .signedOut : .expired, retryAfter: nil)
    }

    /// Why there is nothing, when no refresh is out.
    func nothingValid(_ now: Instant) -> SessionFailure {
        if let standingFailure { return standingFailure }
        if isShuttingDown { return .shuttingDown }
        if isHeldBack { return .signInNeeded(.signedOut, retryAfter: nil) }
        let retryAfter = pause(now)
        if let signIn { return .signInNeeded(signIn, retryAfter: traits.hasSource ? retryAfter : nil) }
        guard traits.hasSource else { return absence(now) }
        guard let last = failures.last else { return .deadlineExceeded(retryAfter: retryAfter) }
        return .refresh(last, retryAfter: retryAfter)
    }

    private func pause(_ now: Instant) -> Milliseconds {
        nextAttempt(at: now).map { $0 - now.boot } ?? Self.attemptSpacing
    }

    /// What a waiter is told when the refresh that it waited for gave nothing.
    func answerAfterFailure(_ waiter: Waiter, _ now: Instant) -> SessionAnswer {
        if case .token(let minValid, _) = waiter.wish, isUsable(at: now) {
            return .token(remarks(minValid: minValid, now))
        }
        // Who tried to sign in is told why that failed, not that nobody is signed in.
        if isHeldBack, case .refresh = waiter.wish, let last = failures.last {
            return .failure(.refresh(last, retryAfter: Self.attemptSpacing))
        }
        return .failure(nothingValid(now))
    }
}
