/// What the disk says of a grant.
extension GrantSession {
    mutating func stored(
        _ change: UInt64, _ failure: StoreFailure?, _ now: Instant, _ effects: inout [GrantEffect]
    ) {
        guard let index = pending.firstIndex(where: { $0.change == change }) else { return }
        let change = pending.remove(at: index)
        switch failure {
        case nil:
            onDisk = change.generation
            refusals = 0
        case .conflict(let stored): onDisk = stored
        default: refusals = min(refusals + 1, 1000)
        }
        // What was asked for on top of a change that came to nothing is refused in turn; from then on the disk is known again.
        if pending.isEmpty { expected = onDisk }
        // Told after what became of a flight: who hears of an import asks at once.
        var news: [GrantEffect] = []
        switch change.content {
        case .intent: intentStored(failure, &effects)
        case .successor(let generation): successorStored(generation, failure, now, &effects)
        case .note:
            persistAgainAt = failure == nil || held == nil ? nil : now.boot + persistInterval
        case .imported(let grant, let waiter):
            if failure == nil {
                held = grant
                replaced(by: grant.generation, &effects)
                news.append(.announce(.imported(grant.generation)))
            }
            news.append(.answer(waiter, failure))
        case .deleted(let generation, let waiter):
            if failure == nil {
                held = nil
                flight?.isUnwanted = true
                replaced(by: generation, &effects)
                news.append(.announce(.deleted))
                fail(waiting.map(\.id), RefreshFailure(.grantMissing), &effects)
                waiting.removeAll()
            }
            news.append(.answer(waiter, failure))
        }
        proceed(now, &effects)
        effects += news
    }

    private mutating func replaced(by newest: Generation, _ effects: inout [GrantEffect]) {
        generation = newest
        persistAgainAt = nil
        isDoubtful = false
        lastFailure = nil
    }

    private mutating func intentStored(_ failure: StoreFailure?, _ effects: inout [GrantEffect]) {
        guard let flight, case .recording = flight.phase else { return }
        guard let failure else {
            // It has brought to the disk whatever was refused before.
            persistAgainAt = nil
            self.flight?.phase = .recorded
            return
        }
        self.flight = nil
        effects.append(.drop(flight: flight.id))
        let told: RefreshFailure =
            switch failure {
            case .busy: RefreshFailure(.overloaded, retryAfter: .seconds(1))
            default: RefreshFailure(.storeFull, cause: .store(failure))
            }
        fail(flight.turns, told, &effects)
    }

    private mutating func successorStored(
        _ stored: Generation, _ failure: StoreFailure?, _ now: Instant, _ effects: inout [GrantEffect]
    ) {
        if let failure {
            // It cost a grant: it is kept in memory and stored as soon as that works. Nobody is answered before.
            if persistAgainAt == nil { effects.append(.announce(.notStored(failure))) }
            persistAgainAt = now.boot + persistInterval
            return
        }
        persistAgainAt = nil
        guard let flight, case .storing(_, let refused) = flight.phase else { return }
        if stored > flight.generation { effects.append(.announce(.rotated(stored))) }
        self.flight = nil
        if let refused {
            effects.append(.drop(flight: flight.id))
            fail(flight.turns, refused, &effects)
        } else {
            effects.append(.deliver(flight: flight.id, turns: flight.turns))
        }
    }

    /// Tries once more to store what is in memory only.
    mutating func storeAgain(_ now: Instant, _ effects: inout [GrantEffect]) {
        // While a refresh token is out, its intent is what the disk must have.
        guard let persistAgainAt, persistAgainAt <= now.boot, pending.isEmpty, mayStoreAgain, let held
        else { return }
        self.persistAgainAt = now.boot + persistInterval
        store(
            flight == nil ? .note : .successor(held.generation), .putGrant(held, expected: expected),
            held.generation, &effects)
    }

    /// Whether no flight is out but one that came back.
    var mayStoreAgain: Bool {
        guard let flight else { return true }
        return if case .storing = flight.phase { true } else { false }
    }
}
