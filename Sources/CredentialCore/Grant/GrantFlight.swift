import Secrets

/// A refresh token on its way to the server and back.
extension GrantSession {
    /// Takes the next step of the flight, unless an import or a deletion is on its way to the disk: that decides what the step is.
    mutating func proceed(_ now: Instant, _ effects: inout [GrantEffect]) {
        guard let flight, !isReplacementPending else { return }
        let isReplaced = held == nil || generation != flight.generation
        switch flight.phase {
        case .recording, .sent: break
        case .storing(let brought, _):
            // Replaced before the disk took what it brought: whoever waits asks again of what is there now.
            guard held == nil || generation != brought else { break }
            self.flight = nil
            effects.append(.drop(flight: flight.id))
            requeue(flight, &effects)
        case .recorded:
            // Nobody wants it any more: then it is not spent either.
            guard !isReplaced, !isShuttingDown, !flight.turns.isEmpty, let token = held?.refreshToken else {
                abandon(flight, &effects)
                return
            }
            self.flight?.phase = .sent
            effects.append(.send(flight: flight.id, refreshToken: token))
        case .answered(let answer):
            if isReplaced {
                orphaned(flight, answer, &effects)
            } else {
                take(answer, flight, now, &effects)
            }
        }
    }

    // Nothing was sent: whoever waits asks again of what is there now, and the intent is taken back.
    private mutating func abandon(_ flight: Flight, _ effects: inout [GrantEffect]) {
        self.flight = nil
        effects.append(.drop(flight: flight.id))
        if held != nil, generation == flight.generation { note(.usable, &effects) }
        requeue(flight, &effects)
    }

    private mutating func requeue(_ flight: Flight, _ effects: inout [GrantEffect]) {
        if isShuttingDown {
            fail(flight.turns, RefreshFailure(.sourceUnavailable), &effects)
        } else if let refusal = refusal(for: flight.key) {
            fail(flight.turns, refusal, &effects)
        } else {
            waiting.insert(contentsOf: flight.turns.map { Turn(id: $0, key: flight.key) }, at: 0)
        }
    }

    // What was sent is not the grant any more. Of a deleted grant nothing may live on; of an imported one the old line may.
    private mutating func orphaned(_ flight: Flight, _ answer: SpendAnswer, _ effects: inout [GrantEffect]) {
        self.flight = nil
        if flight.isUnwanted, case .spent(let successor?, _, _) = answer {
            effects.append(.revoke(flight: flight.id, successor))
        } else {
            effects.append(.drop(flight: flight.id))
        }
        requeue(flight, &effects)
    }

    private mutating func take(
        _ answer: SpendAnswer, _ flight: Flight, _ now: Instant, _ effects: inout [GrantEffect]
    ) {
        guard var next = held else { return }
        switch answer {
        case .spent(let successor, let scope, let failure):
            if let successor, !successor.isEqual(to: next.refreshToken) {
                next.refreshToken = successor
                next.generation = issue()
                next.receivedAt = now.wall
            }
            next.scope = scope ?? next.scope
            next.state = .usable
            next.uncertainAttempts = 0
            isDoubtful = false
            lastFailure = failure
            held = next
            generation = next.generation
            self.flight?.phase = .storing(next.generation, failure: failure)
            store(
                .successor(next.generation), .putGrant(next, expected: expected), next.generation, &effects)
        case .failed(let failure, let certainty):
            self.flight = nil
            effects.append(.drop(flight: flight.id))
            let told = judge(failure, certainty, &effects)
            lastFailure = told
            fail(flight.turns, told, &effects)
        }
    }

    /// What a failure means for the grant, and what those who wait are told.
    private mutating func judge(
        _ failure: RefreshFailure, _ certainty: SpendCertainty, _ effects: inout [GrantEffect]
    ) -> RefreshFailure {
        let uncertain = isUncertain
        switch certainty {
        case .lost:
            held?.uncertainAttempts += 1
            if (held?.uncertainAttempts ?? 0) >= Self.attemptLimit {
                return giveUp(.possiblySpent, failure, &effects)
            }
            effects.append(.announce(.uncertain))
            note(.usable, &effects)
        case .open:
            isDoubtful = true
            note(.usable, &effects)
        case .notSpent:
            if failure.kind == .grantDead {
                return giveUp(uncertain ? .possiblySpent : .dead, failure, &effects)
            }
            // After a lost answer the server's refusal may mean that the token was spent by us. A 400 or 401 is about what was
            // sent (RFC 6749 §5.2), whatever its body; what else has no word of the server's may be a gateway's.
            let isVerdict =
                failure.kind == .rejected
                && (failure.providerCode != nil || failure.httpStatus == 400 || failure.httpStatus == 401)
            if isVerdict, (held?.uncertainAttempts ?? 0) > 0 {
                return giveUp(.possiblySpent, failure, &effects)
            }
            note(.usable, &effects)
        case .gone: return giveUp(.possiblySpent, failure, &effects)
        }
        return failure
    }

    private mutating func giveUp(
        _ state: HeldGrant.State, _ failure: RefreshFailure, _ effects: inout [GrantEffect]
    ) -> RefreshFailure {
        note(state, &effects)
        effects.append(.announce(state == .dead ? .dead : .possiblySpent))
        return RefreshFailure(
            state == .dead ? .grantDead : .grantPossiblySpent, httpStatus: failure.httpStatus,
            providerCode: failure.providerCode)
    }

    /// Stores what is known of the refresh token, without anybody waiting for it.
    mutating func note(_ state: HeldGrant.State, _ effects: inout [GrantEffect]) {
        held?.state = state
        guard let held else { return }
        store(.note, .putGrant(held, expected: expected), held.generation, &effects)
    }
}
