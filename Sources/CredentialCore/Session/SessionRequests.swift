/// What callers want.
extension CredentialSession {
    mutating func tokenRequested(_ request: TokenRequest, _ now: Instant, _ effects: inout [SessionEffect]) {
        if let failure = standingFailure {
            effects.append(.answer(request.waiter, .failure(failure)))
            return
        }
        if request.force {
            forced(request, now, &effects)
            return
        }
        guard isUsable(at: now), let schedule else {
            waitForRefresh(request, now, &effects)
            return
        }
        let isLongEnough = schedule.remaining(at: now) >= request.minValid
        let isBestThereIs =
            !traits.hasSource || isShuttingDown || isLongest(for: request.minValid) || isBackingOff(now)
        let isDue = !isLongEnough && !isBestThereIs || schedule.isDue(at: now)
        if isDue, canBegin(now) { startRefresh(now, &effects) }
        if isLongEnough || isBestThereIs || request.wait <= .zero {
            let remarks = remarks(minValid: request.minValid, now)
            effects.append(.answer(request.waiter, .token(remarks)))
        } else {
            wait(request, now)
        }
    }

    /// A refresh brought this generation for somebody who wanted no more than is wanted now, and it was too short.
    private func isLongest(for minValid: Milliseconds) -> Bool {
        guard let shortfall, shortfall.generation == generation else { return false }
        return minValid >= shortfall.minValid
    }

    private mutating func forced(_ request: TokenRequest, _ now: Instant, _ effects: inout [SessionEffect]) {
        guard traits.hasSource, !isShuttingDown, !isHeldBack else {
            effects.append(.answer(request.waiter, .failure(nothingToAsk(now))))
            return
        }
        if mayRefresh, wanted == nil {
            if let retryAfter = forceLimit(for: request.role, now) {
                effects.append(.answer(request.waiter, .failure(.rateLimited(retryAfter: retryAfter))))
                return
            }
            // Who may only use the account cannot make us ask a backend that wants to be left alone.
            if request.role == .use, isBackingOff(now) {
                let remarks = remarks(minValid: request.minValid, now)
                effects.append(
                    .answer(
                        request.waiter, isUsable(at: now) ? .token(remarks) : .failure(nothingValid(now))))
                return
            }
            if request.role == .use { lastForcedByUseAt = now.boot }
        }
        want(.forced, now, &effects)
        guard request.wait > .zero else {
            effects.append(.answer(request.waiter, .failure(tooEarly)))
            return
        }
        wait(request, now)
    }

    /// Has a refresh begin as soon as one may, unless one is out or its result is being stored.
    private mutating func want(_ reason: RefreshReason, _ now: Instant, _ effects: inout [SessionEffect]) {
        guard flight == nil, !isRefreshBeingStored else { return }
        // Whoever signs in may be somebody else, and the one that a platform refused counts for more than a caller's wish.
        if wanted != .authenticate, wanted != .rejected || reason == .authenticate { wanted = reason }
        if canBegin(now) { startRefresh(now, &effects) }
    }

    /// How long a peer that may only use the account must wait before it may force again.
    private func forceLimit(for role: Role, _ now: Instant) -> Milliseconds? {
        guard role == .use, let lastForcedByUseAt else { return nil }
        let next = lastForcedByUseAt + Self.useForceSpacing
        return next > now.boot ? next - now.boot : nil
    }

    private mutating func waitForRefresh(
        _ request: TokenRequest, _ now: Instant, _ effects: inout [SessionEffect]
    ) {
        // Nothing but the second between two attempts in the way: a caller may as well wait for it.
        guard
            flight != nil || isChangeBeingStored || isGatePassing || mayRefresh && !isBackingOff(now)
        else {
            effects.append(.answer(request.waiter, .failure(nothingValid(now))))
            return
        }
        if canBegin(now) { startRefresh(now, &effects) }
        guard request.wait > .zero else {
            effects.append(.answer(request.waiter, .failure(tooEarly)))
            return
        }
        wait(request, now)
    }

    mutating func refreshRequested(
        _ waiter: WaiterID, _ wait: Milliseconds, signsIn: Bool, _ now: Instant,
        _ effects: inout [SessionEffect]
    ) {
        let isRefused = isShuttingDown || !traits.hasSource || isHeldBack && !signsIn
        // Who signs in decides what becomes of what is parked.
        let standing = signsIn && standingFailure == .parked ? nil : standingFailure
        if let refusal = standing ?? (isRefused ? nothingToAsk(now) : nil) {
            effects.append(.answer(waiter, .failure(refusal)))
            return
        }
        // What is out was asked for before somebody else signed in.
        if signsIn, flight?.reason != .authenticate { giveUpFlight(&effects) }
        want(signsIn ? .authenticate : .forced, now, &effects)
        guard wait > .zero else {
            effects.append(.answer(waiter, .failure(tooEarly)))
            return
        }
        waiters.append(Waiter(id: waiter, wish: .refresh, deadline: now.boot + wait))
    }

    mutating func rejected(
        _ waiter: WaiterID, _ reported: Generation?, _ role: Role, _ now: Instant,
        _ effects: inout [SessionEffect]
    ) {
        if let failure = standingFailure {
            effects.append(.answer(waiter, .failure(failure)))
            return
        }
        guard let held, reported ?? held.generation == held.generation, !isRefused else {
            effects.append(.answer(waiter, .rejection(isAccepted: false)))
            return
        }
        // The one that the first rejection brought was refused as well: asking again would bring another such. Where
        // nothing can be asked, the first is the last.
        let isTrusted = role >= .operate
        if isTrusted, isOnTrial(now) || !traits.hasSource && !traits.needsHandler {
            refuseCredential(held.generation, now, &effects)
            effects.append(.answer(waiter, .rejection(isAccepted: true)))
            return
        }
        guard traits.hasSource || isTrusted, rejectedGeneration != held.generation else {
            // What a user said before is believed now; it was asked for already.
            let isNews = isTrusted && rejectedGeneration == held.generation && distrust != .refused
            if isNews { distrust = .refused }
            effects.append(.answer(waiter, .rejection(isAccepted: isNews)))
            return
        }
        if let retryAfter = forceLimit(for: role, now) {
            effects.append(.answer(waiter, .failure(.rateLimited(retryAfter: retryAfter))))
            return
        }
        rejectedGeneration = held.generation
        if role == .use { lastForcedByUseAt = now.boot }
        if isTrusted {
            distrust = .refused
        } else if !isShuttingDown {
            distrust = distrust ?? .rejected
        }
        if traits.hasSource { want(.rejected, now, &effects) }
        effects.append(.answer(waiter, .rejection(isAccepted: true)))
    }

    /// Whether a rejection brought what is held, and not so long ago that it has been good for something.
    private func isOnTrial(_ now: Instant) -> Bool {
        guard let trial, trial.generation == generation else { return false }
        return now.boot < trial.until
    }

    /// Why an account is given up on whose credential was refused: at a platform where somebody signs in, that is what has to be
    /// done (R45, R95).
    var reasonOfRefusal: SignInReason {
        traits.staysSignedOut && !traits.hasSource ? .refused : .credentialRejected
    }

    private mutating func refuseCredential(
        _ refused: Generation, _ now: Instant, _ effects: inout [SessionEffect]
    ) {
        rejectedGeneration = refused
        signIn = reasonOfRefusal
        giveUpFlight(&effects)
        wanted = nil
        failures.postpone(until: now.boot + Self.giveUpInterval)
        answerAll(.failure(nothingValid(now)), &effects)
    }

    /// Takes a refusal of what is held back, and all that came of it.
    mutating func outliveRefusal(_ now: Instant, _ draw: UInt64, _ effects: inout [SessionEffect]) {
        guard held != nil, rejectedGeneration == generation || isRefused else { return }
        let isOutlived = isRefused || failures.last?.kind == .stale || failures.last?.kind == .rejected
        rejectedGeneration = nil
        trial = nil
        if distrust == .rejected || distrust == .refused { distrust = nil }
        if wanted == .rejected { wanted = nil }
        if isRefused { signIn = nil }
        if isOutlived, signIn == nil {
            failures = FailureRecord()
            effects.append(.announce(.recovered))
        }
        wokeUp(now, draw, &effects)
    }

    // MARK: Parts

    /// Why no source can be asked, whatever is held.
    private func nothingToAsk(_ now: Instant) -> SessionFailure {
        if isShuttingDown { return .shuttingDown }
        if isHeldBack { return .signInNeeded(.signedOut, retryAfter: nil) }
        return absence(now)
    }

    /// Who asks for a refresh and does not wait for it is told to come back.
    private var tooEarly: SessionFailure { .deadlineExceeded(retryAfter: Self.attemptSpacing) }

    private mutating func wait(_ request: TokenRequest, _ now: Instant) {
        waiters.append(
            Waiter(
                id: request.waiter, wish: .token(minValid: request.minValid, isForced: request.force),
                deadline: now.boot + request.wait))
    }
}
