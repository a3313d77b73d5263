/// The life of one grant: events in, effects out, nothing else.
///
/// Difficulty: a refresh token can be spent once, and nobody may answer. So before it is sent the intent is on disk, and with it the room
/// for its successor; before anybody is answered the successor is. What was sent and not answered is sent once more at most, and then
/// only a person can help. Invariants: at most one request is out; a request that is out is never given up; the successor that it
/// brings is kept, unless an import or a deletion, which is on disk by then, has replaced what was sent.
package struct GrantSession: Sendable {
    struct Turn: Sendable {
        let id: UInt64
        let key: SpendKey
    }

    struct Flight: Sendable {
        enum Phase: Sendable {
            /// The intent is on its way to the disk.
            case recording
            /// The intent is on disk and nothing is sent yet.
            case recorded
            case sent
            /// The answer waits until an import or a deletion is on disk, or is not.
            case answered(SpendAnswer)
            /// The successor is on its way to the disk.
            case storing(Generation, failure: RefreshFailure?)
        }
        let id: UInt64
        let key: SpendKey
        let generation: Generation
        var turns: [UInt64]
        var phase = Phase.recording
        /// The grant was deleted meanwhile: whatever comes is nobody's, and is ended.
        var isUnwanted = false
    }

    /// A change that the store has been asked for and has not answered.
    struct Pending: Sendable {
        let change: UInt64
        let content: Content
        let generation: Generation
    }

    enum Content: Sendable {
        case intent
        case successor(Generation)
        /// What is known of the refresh token, or once more what the disk refused.
        case note
        case imported(HeldGrant, WaiterID)
        case deleted(Generation, WaiterID)
    }

    /// Which grant.
    package let name: GrantName
    /// What is known of it; nil: there is none, or not any more.
    package internal(set) var held: HeldGrant?
    /// The newest number, deletions counted.
    package internal(set) var generation: Generation
    /// Why the last request brought nothing; nil: it did.
    package internal(set) var lastFailure: RefreshFailure?

    var waiting: [Turn] = []
    var flight: Flight?
    var pending: [Pending] = []
    /// What the store is known to have.
    var onDisk: Generation
    /// What the store has once everything that was asked for is done.
    var expected: Generation
    /// The newest number that was given to anything.
    var issued: Generation
    /// A server that is no authority answered, and nobody knows what lies behind it.
    var isDoubtful = false
    var isShuttingDown = false
    var persistAgainAt: BootTime?
    var refusals = 0
    var lastChange: UInt64 = 0
    var lastFlight: UInt64 = 0

    /// A lost answer is followed by one more attempt, and no second one.
    static let attemptLimit = 2
    /// How soon the disk is asked again: at first at once, so to speak, for it may cost a grant.
    var persistInterval: Milliseconds { refusals <= 30 ? .seconds(1) : .seconds(30) }

    /// A grant that there never was.
    package init(name: GrantName) { self.init(StoredGrant(name: name, generation: .none, held: nil)) }

    /// A grant as the store had it; an intent without an answer is an attempt whose outcome nobody knows.
    package init(_ stored: StoredGrant) {
        name = stored.name
        generation = stored.generation
        onDisk = stored.generation
        expected = stored.generation
        issued = stored.generation
        held = stored.held
        if var held, held.state == .spending {
            held.uncertainAttempts += 1
            held.state = held.uncertainAttempts >= Self.attemptLimit ? .possiblySpent : .usable
            self.held = held
        }
    }

    // MARK: Looking

    /// Whether a request could be sent, were there room for it.
    package var canBegin: Bool {
        flight == nil && !waiting.isEmpty && !isReplacementPending && !isShuttingDown
    }

    /// Whether a request is out, or on its way out or back: the daemon should not end now.
    package var isBusy: Bool { flight != nil || !pending.isEmpty || persistAgainAt != nil }

    /// The request that the newest flight was begun for.
    package var leadingTurn: UInt64? { flight?.turns.first }

    /// Whether a request is between its intent and its delivery: one of few, as room on the disk is kept for each.
    package var isInFlight: Bool { flight != nil }

    /// Whether the newest refresh token is in memory only.
    package var isOnlyInMemory: Bool { persistAgainAt != nil && held?.generation != onDisk }

    /// Whether the last attempt may have spent the grant.
    package var isUncertain: Bool { isDoubtful || (held?.uncertainAttempts ?? 0) > 0 }

    /// When `wokeUp` has something to do; nil: never by itself.
    package var nextWakeUp: BootTime? { pending.isEmpty && mayStoreAgain ? persistAgainAt : nil }

    var isReplacementPending: Bool {
        pending.contains { change in
            switch change.content {
            case .imported, .deleted: true
            case .intent, .successor, .note: false
            }
        }
    }

    /// Why the grant is not sent for that key, whatever else; nil: it may be.
    package func refusal(for key: SpendKey) -> RefreshFailure? {
        guard let held else { return RefreshFailure(.grantMissing) }
        guard held.destination == key.destination else { return RefreshFailure(.grantParked) }
        switch held.state {
        case .usable, .spending: return nil
        case .possiblySpent: return RefreshFailure(.grantPossiblySpent)
        case .dead: return RefreshFailure(.grantDead)
        }
    }

    // MARK: Deciding

    /// Takes an event and says what is to be done.
    package mutating func apply(_ event: GrantEvent, at now: Instant) -> [GrantEffect] {
        var effects: [GrantEffect] = []
        switch event {
        case .requested(let turn, let key): requested(Turn(id: turn, key: key), &effects)
        case .left(let turn):
            waiting.removeAll { $0.id == turn }
            flight?.turns.removeAll { $0 == turn }
        case .begin: begin(&effects)
        case .answered(let id, let answer):
            guard flight?.id == id, case .sent = flight?.phase else { break }
            flight?.phase = .answered(answer)
            proceed(now, &effects)
        case .stored(let change, let failure): stored(change, failure, now, &effects)
        case .imported(let waiter, let token, let destination, let scope):
            let grant = HeldGrant(
                name: name, refreshToken: token, generation: issue(), destination: destination, scope: scope,
                receivedAt: now.wall)
            store(.imported(grant, waiter), .putGrant(grant, expected: expected), grant.generation, &effects)
        case .deleted(let waiter):
            let generation = issue()
            store(
                .deleted(generation, waiter),
                .deleteGrant(name: name, generation: generation, expected: expected), generation, &effects)
        case .wokeUp: storeAgain(now, &effects)
        case .shuttingDown:
            isShuttingDown = true
            fail(waiting.map(\.id), RefreshFailure(.sourceUnavailable), &effects)
            waiting.removeAll()
        }
        return effects
    }

    private mutating func requested(_ turn: Turn, _ effects: inout [GrantEffect]) {
        guard !isShuttingDown else { return fail([turn.id], RefreshFailure(.sourceUnavailable), &effects) }
        // Somebody is asking for the very same: its answer is everybody's.
        if let flight, flight.key == turn.key {
            self.flight?.turns.append(turn.id)
            return
        }
        if flight == nil, !isReplacementPending, let refusal = refusal(for: turn.key) {
            return fail([turn.id], refusal, &effects)
        }
        waiting.append(turn)
    }

    private mutating func begin(_ effects: inout [GrantEffect]) {
        guard canBegin else { return }
        while let first = waiting.first {
            let same = waiting.filter { $0.key == first.key }.map(\.id)
            waiting.removeAll { $0.key == first.key }
            if let refusal = refusal(for: first.key) {
                fail(same, refusal, &effects)
                continue
            }
            guard var intent = held else { return }
            lastFlight += 1
            flight = Flight(id: lastFlight, key: first.key, generation: generation, turns: same)
            intent.state = .spending
            store(.intent, .putGrant(intent, expected: expected), intent.generation, &effects)
            return
        }
    }

    // MARK: Parts

    mutating func issue() -> Generation {
        issued = max(issued, generation, expected).next
        return issued
    }

    mutating func store(
        _ content: Content, _ operation: StoreChange.Operation, _ next: Generation,
        _ effects: inout [GrantEffect]
    ) {
        lastChange += 1
        pending.append(Pending(change: lastChange, content: content, generation: next))
        expected = next
        effects.append(.store(change: lastChange, operation))
    }

    func fail(_ turns: [UInt64], _ failure: RefreshFailure, _ effects: inout [GrantEffect]) {
        if !turns.isEmpty { effects.append(.fail(turns: turns, failure)) }
    }
}
