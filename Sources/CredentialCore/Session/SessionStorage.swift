/// What goes to the disk, and what the disk says to it.
extension CredentialSession {
    /// A change that the store has been asked for and has not answered.
    struct Commit: Sendable {
        enum Content: Sendable {
            case refreshed(HeldCredential, RefreshReason)
            case saved(HeldCredential, WaiterID)
            case deleted(WaiterID, signsOut: Bool)
            /// What is held already and was refused before.
            case again(HeldCredential)
            /// What is held already, with another expiry.
            case bound(HeldCredential)
        }
        var generation: Generation
        var content: Content
        /// How often the store found another generation than was expected.
        var conflicts = 0

        mutating func renumber(_ generation: Generation) {
            self.generation = generation
            switch content {
            case .refreshed(let held, let reason): content = .refreshed(held.numbered(generation), reason)
            case .saved(let held, let waiter): content = .saved(held.numbered(generation), waiter)
            case .again(let held): content = .again(held.numbered(generation))
            case .bound(let held): content = .bound(held.numbered(generation))
            case .deleted: break
            }
        }
    }

    private static let conflictLimit = 3

    /// A number that no change has had.
    mutating func issueGeneration() -> Generation {
        issuedGeneration = max(issuedGeneration, generation, storedGeneration).next
        return issuedGeneration
    }

    mutating func store(
        _ content: Commit.Content, generation: Generation, _ effects: inout [SessionEffect]
    ) {
        let commit = Commit(generation: generation, content: content)
        effects.append(persistence(of: commit, expected: commits.last?.generation ?? storedGeneration))
        commits.append(commit)
    }

    private func persistence(of commit: Commit, expected: Generation) -> SessionEffect {
        switch commit.content {
        case .refreshed(let held, _), .saved(let held, _), .again(let held), .bound(let held):
            .persist(held, expected: expected)
        case .deleted: .persistDeletion(commit.generation, expected: expected)
        }
    }

    mutating func committed(
        _ committed: Generation, _ failure: StoreFailure?, _ now: Instant, _ draw: UInt64,
        _ effects: inout [SessionEffect]
    ) {
        guard let index = commits.firstIndex(where: { $0.generation == committed }) else { return }
        var commit = commits.remove(at: index)
        if case .conflict(let stored) = failure {
            storedGeneration = stored
            if asksAgain(for: &commit, at: index) {
                let expected = index > 0 ? commits[index - 1].generation : stored
                effects.append(persistence(of: commit, expected: expected))
                commits.insert(commit, at: index)
                return
            }
        }
        if failure == nil { storedGeneration = max(storedGeneration, committed) }
        switch commit.content {
        case .refreshed(let held, let reason):
            refreshedCommitted(held, reason, failure, now, draw, &effects)
        case .saved(let held, let waiter):
            if let failure {
                changeFailed(waiter, failure, now, draw, &effects)
                return
            }
            settleStorage()
            install(held, after: nil, now, draw, &effects)
            effects.append(.answer(waiter, .saved(committed)))
        case .deleted(let waiter, let signsOut):
            if let failure {
                changeFailed(waiter, failure, now, draw, &effects)
                return
            }
            settleStorage()
            remove(committed, signsOut: signsOut, &effects)
            effects.append(.answer(waiter, .deleted(committed)))
        case .again(let held):
            // A conflict with the very number says that it was stored after all.
            if storedGeneration >= held.generation, held.generation == generation { persistAgainAt = nil }
        case .bound: break
        }
        storeExpiry(&effects)
    }

    /// Whether a change that met another generation than it expected is asked for once more.
    ///
    /// It is where one that it was to follow came to nothing, and where the store is further than was known, as when the account
    /// was taken away and put back with a change on its way; then it needs a number of its own.
    private mutating func asksAgain(for commit: inout Commit, at index: Int) -> Bool {
        guard commit.conflicts < Self.conflictLimit else { return false }
        commit.conflicts += 1
        if storedGeneration < commit.generation { return true }
        guard index == commits.count else { return false }
        switch commit.content {
        case .again, .bound: return false
        case .refreshed, .saved, .deleted: break
        }
        commit.renumber(issueGeneration())
        return true
    }

    private mutating func refreshedCommitted(
        _ held: HeldCredential, _ reason: RefreshReason, _ failure: StoreFailure?, _ now: Instant,
        _ draw: UInt64, _ effects: inout [SessionEffect]
    ) {
        if let failure, storedGeneration < held.generation {
            // It cost nothing to get and the disk may be full for long: it is served, and stored when that works again.
            if persistAgainAt == nil { effects.append(.announce(.notStored(failure))) }
            persistAgainAt = now.boot + Self.persistInterval
        } else {
            persistAgainAt = nil
        }
        // Whoever saves or signs out after it wins, unless the disk refuses that.
        if isChangeBeingStored {
            superseded = (held, reason)
        } else {
            install(held, after: reason, now, draw, &effects)
        }
    }

    // What was on disk or in memory before the change counts again.
    private mutating func changeFailed(
        _ waiter: WaiterID, _ failure: StoreFailure, _ now: Instant, _ draw: UInt64,
        _ effects: inout [SessionEffect]
    ) {
        effects.append(.answer(waiter, .failure(.store(failure))))
        guard !isChangeBeingStored else { return }
        if let superseded {
            self.superseded = nil
            install(superseded.held, after: superseded.reason, now, draw, &effects)
        }
        resumeWaiters(now, &effects)
    }

    private mutating func settleStorage() {
        persistAgainAt = nil
        superseded = nil
    }

    /// Stores the expiry that the platform gave for what is held, once nothing else is on its way.
    ///
    /// What is not stored at all takes it along when that is tried again; without it, the next start asks the platform anew.
    mutating func storeExpiry(_ effects: inout [SessionEffect]) {
        guard isExpiryUnstored, commits.isEmpty else { return }
        // Without its tokens it cannot be written; it is when they are back.
        if let held, held.credential == nil { return }
        isExpiryUnstored = false
        guard let held, persistAgainAt == nil, storedGeneration == held.generation else { return }
        store(.bound(held), generation: held.generation, &effects)
    }

    /// Tries once more to store what is served from memory.
    mutating func storeAgain(_ now: Instant, _ effects: inout [SessionEffect]) {
        guard let persistAgainAt, persistAgainAt <= now.boot, commits.isEmpty else { return }
        guard let held, held.generation > storedGeneration else {
            self.persistAgainAt = nil
            return
        }
        self.persistAgainAt = now.boot + Self.persistInterval
        store(.again(held), generation: held.generation, &effects)
    }
}
