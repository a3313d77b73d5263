/// The life of one account's credential: events in, effects out, nothing else.
///
/// Difficulty: late answers. A refresh may come back after a save, a sign-out, a stop or another refresh, and a disk may
/// answer after all of them. So a refresh carries a ticket and a change to the store its generation, and one that is not
/// the awaited one changes nothing. Invariants: at most one refresh is out, and none while a change is on its way to the
/// disk; every waiter is answered exactly once; a credential is replaced wholesale; its generation only grows, and a number
/// is never given to two changes.
package struct CredentialSession: Sendable {
    /// What the account is, as far as this machine needs to know.
    package struct Traits: Equatable, Sendable {
        /// Whether there is anything that fresh credentials come from.
        package var hasSource: Bool
        /// Whether that is so because no handler is connected.
        package var needsHandler: Bool
        /// Where credentials of the account may be sent.
        package var destination: Destination
        /// Which boot this is.
        package var bootID: BootID
        /// How long one refresh may take in all, waiting for its turn included.
        package var refreshDeadline: Milliseconds
        /// Whether who signed out stays so until somebody signs in, whoever asks for a token meanwhile.
        package var staysSignedOut: Bool
        /// At which part of its life a credential is due; nil: by the common rule alone.
        package var early: EarlyFraction?

        /// Takes the parts.
        package init(
            hasSource: Bool, destination: Destination, bootID: BootID,
            refreshDeadline: Milliseconds = .seconds(15), staysSignedOut: Bool = false,
            needsHandler: Bool = false, early: EarlyFraction? = nil
        ) {
            self.early = early
            self.hasSource = hasSource
            self.staysSignedOut = staysSignedOut
            self.needsHandler = needsHandler
            self.destination = destination
            self.bootID = bootID
            self.refreshDeadline = refreshDeadline
        }
    }

    /// Whether it works at all.
    package enum Standing: Equatable, Sendable {
        case active, stopped, sealed
    }

    /// Why a credential that has not expired is not handed out as it is.
    enum Distrust: Equatable, Sendable {
        /// A user says that it was refused, or what it was made of was replaced: a refresh because of that is out or about to begin.
        case rejected
        /// It was refused before our eyes, or somebody who operates the account says so: it is never handed out again.
        case refused
        /// The wall clock was earlier than `until`, which is in the store: what it says of expiry means nothing till then.
        case clock(until: WallTime)
    }

    struct Flight: Sendable {
        let ticket: RefreshTicket
        let reason: RefreshReason
        let deadline: BootTime
        /// Who is asked now.
        var party = RefreshFailure.Party.source
    }

    /// What the account is.
    package internal(set) var traits: Traits
    /// Whether it works at all.
    package internal(set) var standing: Standing
    /// The credential, usable or not; nil: none; without its tokens while the session rests.
    package internal(set) var held: HeldCredential?
    /// When what is held is due, and when it ends.
    package internal(set) var schedule: Schedule?
    /// Of the newest credential, deletions counted.
    package internal(set) var generation = Generation.none
    /// Of the newest deletion: what is of that generation or older was signed out.
    package internal(set) var signedOutGeneration = Generation.none
    /// What failed since the last success.
    package internal(set) var failures = FailureRecord()
    /// Why the last sign-in gave nothing, and when; nil: it did not fail, whatever failed since.
    package internal(set) var signInFailure: (failure: RefreshFailure, at: WallTime)?
    /// Why the account was given up on; nil: it was not.
    package internal(set) var signIn: SignInReason?

    /// What of the platform's own state stands in the way of every hand-out; nil: nothing.
    package internal(set) var gate: SessionGate?

    var distrust: Distrust?
    var flight: Flight?
    var waiters = WaiterQueue()
    /// A refresh that somebody asked for, back-off or not, and that has not begun.
    var wanted: RefreshReason?
    /// The credential was deleted: nothing is fetched until somebody asks.
    var isSignedOut = false
    /// Somebody wanted that: what comes by itself, as a handler does, changes nothing.
    package internal(set) var isSignedOutOnPurpose = false
    var isShuttingDown = false
    var commits: [Commit] = []
    /// A refreshed credential that is on disk, while a change that came after it is on its way there.
    var superseded: (held: HeldCredential, reason: RefreshReason)?
    /// What the store has; behind `generation` where the disk refused something.
    var storedGeneration = Generation.none
    /// The newest number that a change was given, whatever became of it.
    var issuedGeneration = Generation.none
    var persistAgainAt: BootTime?
    /// The platform gave another expiry than the stored one.
    var isExpiryUnstored = false
    var lastSerial: UInt64 = 0
    var lastAttemptAt: BootTime?
    var lastForcedByUseAt: BootTime?
    var rejectedGeneration: Generation?
    /// A rejection brought this one; where it is refused before that moment, the platform refuses whatever comes.
    var trial: (generation: Generation, until: BootTime)?
    /// The newest generation that the platform took and called over at once, and how many in a row those are.
    var ended: (generation: Generation, record: FailureRecord)?
    /// A refresh brought this generation, and it was not valid for so long.
    var shortfall: (generation: Generation, minValid: Milliseconds)?

    /// How long one that a rejection brought must stand before a refusal of it is a first one again.
    package static let trialPeriod = Milliseconds.seconds(60)
    static let attemptSpacing = Milliseconds.seconds(1)
    static let useForceSpacing = Milliseconds.seconds(30)
    static let giveUpInterval = Milliseconds.seconds(3600)
    static let persistInterval = Milliseconds.seconds(30)

    /// A session that holds nothing yet.
    package init(traits: Traits, standing: Standing) {
        self.traits = traits
        self.standing = standing
    }

    // MARK: Deciding

    /// Takes an event and says what is to be done; `draw` is a random number that this call may use once.
    package mutating func apply(_ event: SessionEvent, at now: Instant, draw: UInt64) -> [SessionEffect] {
        var effects: [SessionEffect] = []
        switch event {
        case .tokenRequested(let request): tokenRequested(request, now, &effects)
        case .refreshRequested(let waiter, let wait, let signsIn):
            refreshRequested(waiter, wait, signsIn: signsIn, now, &effects)
        case .bound(let generation, let expiry): bound(generation, expiry, now, draw, &effects)
        case .gated(let gate): self.gated(gate, now, draw, &effects)
        case .sourceAnswered(let ticket):
            if flight?.ticket == ticket { flight?.party = .platform }
        case .refreshSucceeded(let ticket, let fresh): refreshSucceeded(ticket, fresh, now, draw, &effects)
        case .refreshFailed(let ticket, let failure): refreshFailed(ticket, failure, now, draw, &effects)
        case .refreshDeferred(let ticket, let reason, let pause):
            refreshDeferred(ticket, reason, pause, now, &effects)
        case .signInFailed(let failure): signInFailure = (failure, now.wall)
        case .rejected(let waiter, let generation, let role):
            rejected(waiter, generation, role, now, &effects)
        case .refusalOutlived: outliveRefusal(now, draw, &effects)
        case .saved(let waiter, let credential, let expiries):
            saved(waiter, credential, expiries, now, &effects)
        case .deleted(let waiter, let signsOut): deleted(waiter, signsOut: signsOut, &effects)
        case .committed(let generation, let failure): committed(generation, failure, now, draw, &effects)
        case .waitersLeft(let gone): waiters.remove(gone)
        case .started:
            // Without its tokens it could not work; whoever has it work reads them first.
            guard !isShelved else { break }
            if standing == .stopped { standing = .active }
            if !isSignedOutOnPurpose { isSignedOut = false }
            wokeUp(now, draw, &effects)
        case .stopped:
            guard standing != .sealed else { break }
            standing = .stopped
            giveUpFlight(&effects)
            wanted = nil
            answerAll(.failure(.stopped), &effects)
        case .sourceRenewed(let signsIn, let outdatesHeld):
            forgiveFailures()
            if !isRefused { signIn = nil }
            if signsIn { isSignedOut = false }
            if outdatesHeld, held != nil {
                // One that is out was asked for with what was replaced, too.
                giveUpFlight(&effects)
                wanted = .forced
                distrust = distrust ?? .rejected
            }
            wokeUp(now, draw, &effects)
        case .wokeUp: wokeUp(now, draw, &effects)
        case .shuttingDown:
            isShuttingDown = true
            giveUpFlight(&effects)
            wanted = nil
            answerAll(.failure(.shuttingDown), &effects)
        }
        shelve()
        return effects
    }

    /// Puts back what the store held; nothing was out before.
    ///
    /// With `trustsWallClock` false the wall clock is earlier than the newest stored moment: what has an expiry and came before
    /// this boot is refreshed first, or waits until the clock has reached `lastWrittenAt`.
    package mutating func restore(
        _ stored: StoredCredential, at now: Instant, trustsWallClock: Bool, lastWrittenAt: WallTime? = nil
    ) {
        generation = stored.generation
        storedGeneration = stored.generation
        issuedGeneration = stored.generation
        held = stored.held
        let isThisBoot = stored.held.map { isOfThisBoot($0, now) } ?? false
        schedule = stored.held.map {
            Schedule(
                expiries: $0.expiries, receivedAt: $0.receivedAt, isThisBoot: isThisBoot, now: now,
                early: traits.early)
        }
        // Within one boot the boot clock knows how old it is, whatever the wall clock says.
        let isDoubtful = !trustsWallClock && !isThisBoot && schedule?.expiresAt != nil
        distrust = isDoubtful ? .clock(until: lastWrittenAt ?? .distantFuture) : nil
        isSignedOut = stored.held == nil && stored.generation > .none
        // The row of a credential does not say why; nobody is signed in against his will.
        isSignedOutOnPurpose = isSignedOut
    }

    /// Takes what the store says elsewhere of the deletion of that generation: it was no sign-out.
    package mutating func restoreForgetting(_ forgotten: Generation) {
        if forgotten == generation { isSignedOutOnPurpose = false }
    }

    /// A boot clock that has not come as far as the stored one is another clock, as in a time namespace.
    func isOfThisBoot(_ held: HeldCredential, _ now: Instant) -> Bool {
        held.bootID == traits.bootID && held.receivedAt.boot <= now.boot
    }

    /// Makes the held credential due earlier than others that are due with it; at most a tenth of its lifetime.
    package mutating func bringForward(by spread: Milliseconds) {
        schedule?.bringForward(by: spread)
    }

    /// Opens a sealed session, once what it holds has been restored.
    package mutating func unseal(standing: Standing) {
        if self.standing == .sealed { self.standing = standing }
        shelve()
    }

    /// Takes a changed definition: a refresh that is out for the old one is given up.
    package mutating func reconfigure(
        _ traits: Traits, sourceChanged: Bool, at now: Instant
    ) -> [SessionEffect] {
        var effects: [SessionEffect] = []
        // What the old definition fetched was not meant for the new destination.
        let isElsewhere = traits.destination != self.traits.destination
        if sourceChanged || isElsewhere || !traits.hasSource { giveUpFlight(&effects) }
        if traits.early != self.traits.early { schedule?.reckon(traits.early) }
        self.traits = traits
        if sourceChanged {
            forgiveFailures()
            if !isSignedOutOnPurpose { isSignedOut = false }
            if isRefused, traits.hasSource {
                // A new source deserves a try; what was refused is not handed out meanwhile.
                signIn = nil
                distrust = .refused
            } else if !isRefused {
                signIn = nil
            }
        }
        if !traits.hasSource {
            wanted = nil
            if distrust == .rejected { distrust = nil }
            // A handler may come back, and is asked then.
            if distrust == .refused, !traits.needsHandler { signIn = reasonOfRefusal }
            if !isGatePassing { answerAll(.failure(absence(now)), &effects) }
        }
        if isParked, isElsewhere {
            wanted = nil
            answerAll(.failure(.parked), &effects)
        }
        return effects
    }

    // MARK: Parts of several events

    /// What failed with another source says nothing of this one.
    private mutating func forgiveFailures() {
        failures = FailureRecord()
        shortfall = nil
        ended = nil
    }

    /// Ends the refresh that is out; what was asked for by name is done later, unless a new credential makes it needless.
    mutating func giveUpFlight(_ effects: inout [SessionEffect]) {
        guard let flight else { return }
        self.flight = nil
        switch flight.reason {
        case .forced, .rejected, .authenticate: wanted = flight.reason
        case .initial, .expiring: break
        }
        effects.append(.cancelRefresh(flight.ticket))
    }

    mutating func answerAll(_ answer: SessionAnswer, _ effects: inout [SessionEffect]) {
        for waiter in waiters.removeAll() { effects.append(.answer(waiter.id, answer)) }
    }

    mutating func startRefresh(_ now: Instant, _ effects: inout [SessionEffect]) {
        let isRejected = held != nil && rejectedGeneration == generation
        let reason = wanted ?? (held == nil ? .initial : isRejected ? .rejected : .expiring)
        wanted = nil
        lastSerial += 1
        let ticket = RefreshTicket(serial: lastSerial, generation: generation)
        flight = Flight(ticket: ticket, reason: reason, deadline: now.boot + traits.refreshDeadline)
        lastAttemptAt = now.boot
        effects.append(.startRefresh(ticket, reason))
    }
}
