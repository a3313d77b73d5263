import CredentialCore

/// A session among a source, a disk and callers that do anything at any time, with a plain account of what must be true.
///
/// The account is kept from the events and from what the session asked for, never from what the session holds: it knows which
/// credential counts, until when, and who waits. A value, so that a search can go back to any step.
struct SessionWorld {
    enum Action: CaseIterable {
        case get, getLong, getNow, forceUse, forceOperate, refresh
        case succeed, succeedLate, succeedEnded, failOnce, refuse
        case rejectUse, rejectOperate, outlive, save, delete
        case commit, commitFull, start, stop
        case sleep, pass, clockBack, clockAhead, resume, move, shutDown

        /// Those in whose mixture most of the trouble lies.
        static let core: [Action] = [
            .getLong, .forceOperate, .succeed, .refuse, .rejectOperate, .save, .delete, .commit, .commitFull,
            .sleep,
        ]
    }

    struct Fault: Error { let text: String }

    private enum Kind { case refreshed, saved, deleted, again }

    private struct Change {
        let generation: Generation
        let expected: Generation
        let kind: Kind
        let waiter: WaiterID?
        let credential: Counted?
    }

    /// A credential that counts, as the plain account sees it.
    private struct Counted {
        let generation: Generation
        let lifetime: Milliseconds
        let receivedAt: Instant

        func remaining(_ now: Instant) -> Milliseconds {
            let wall = receivedAt.wall + lifetime - now.wall
            let boot = receivedAt.boot + lifetime - now.boot
            return max(.zero, min(wall, boot))
        }
    }

    private(set) var session: CredentialSession
    private(set) var now = SessionBench.start
    private(set) var starts = 0
    private var lastStart: BootTime?
    private var out: RefreshTicket?
    private var oldTicket: RefreshTicket?
    private var open: [WaiterID: (minValid: Milliseconds, deadline: BootTime, mayShare: Bool)] = [:]
    private var lastWaiter: UInt64 = 0
    private var changes: [Change] = []
    private var disk = SessionDisk()
    private var stored = Generation.none
    private var issued = Generation.none
    private var held: Counted?
    private var overtaken: Counted?
    private var newest = Generation.none
    private var lastFailure: RefreshFailure?
    private var isElsewhere = false
    private var isShuttingDown = false
    private var isActive = true
    private var nextLifetime = Milliseconds.zero
    private let random: @Sendable () -> UInt64

    init(draw: @escaping @Sendable () -> UInt64 = { 0 }) {
        session = CredentialSession(traits: SessionBench.traits(), standing: .active)
        random = draw
    }

    var isSettled: Bool { open.isEmpty }

    // MARK: Doing

    mutating func perform(_ action: Action) throws(Fault) {
        let before = session.generation
        switch action {
        case .get: try get(minValid: 0, wait: 20, force: false, .use)
        case .getLong: try get(minValid: 600, wait: 20, force: false, .use)
        case .getNow: try get(minValid: 0, wait: 0, force: false, .use)
        case .forceUse: try get(minValid: 0, wait: 20, force: true, .use)
        case .forceOperate: try get(minValid: 0, wait: 20, force: true, .operate)
        case .refresh:
            let waiter = newWaiter(minValid: .zero, wait: .seconds(20), mayShare: false)
            try apply(.refreshRequested(waiter: waiter, wait: .seconds(20)))
        case .succeed: try succeed(out, lifetime: 300)
        case .succeedLate: try succeed(oldTicket, lifetime: 300)
        case .succeedEnded: try succeed(out, lifetime: -1)
        case .failOnce: try fail(RefreshFailure(.unreachable))
        case .refuse: try fail(RefreshFailure(.rejected, httpStatus: 403))
        case .rejectUse: try reject(.use)
        case .rejectOperate: try reject(.operate)
        case .outlive:
            // What is looked at behind the event must know already what came of it.
            var after = session
            _ = after.apply(.refusalOutlived, at: now, draw: 0)
            if after.failures.last == nil { lastFailure = nil }
            try apply(.refusalOutlived)
        case .save:
            let waiter = newWaiter(minValid: .zero, wait: .max, mayShare: false)
            nextLifetime = .seconds(100)
            try apply(
                .saved(
                    waiter: waiter, SessionBench.credential("saved"),
                    Expiries(hint: now.wall + .seconds(100))))
        case .delete:
            try apply(.deleted(waiter: newWaiter(minValid: .zero, wait: .max, mayShare: false)))
        case .commit: try commit(refused: false)
        case .commitFull: try commit(refused: true)
        case .start:
            isActive = true
            disk.unshelve(&session)
            try apply(.started)
        case .stop:
            isActive = false
            try apply(.stopped)
        case .sleep: try sleep()
        case .pass: try pass(Milliseconds.seconds(95))
        case .clockBack: try setClock(by: -86_400)
        case .clockAhead: try setClock(by: 86_400)
        case .resume:
            now.boot = now.boot + .seconds(7200)
            try apply(.wokeUp)
        case .move:
            isElsewhere.toggle()
            let there = isElsewhere ? Destination("elsewhere") : SessionBench.destination
            let effects = session.reconfigure(
                SessionBench.traits(destination: there), sourceChanged: false, at: now)
            try note(effects)
            try check()
        case .shutDown:
            isShuttingDown = true
            try apply(.shuttingDown)
        }
        guard session.generation >= before else { throw Fault(text: "the generation went back") }
    }

    /// Lets time pass with a source that fails and a disk that refuses, until nobody waits any more.
    mutating func settle() throws(Fault) {
        for _ in 0..<200 {
            if isSettled { return }
            try commit(refused: true)
            try fail(RefreshFailure(.unreachable))
            try sleep()
        }
        throw Fault(text: "\(open.count) were never answered")
    }

    private mutating func get(
        minValid: Int64, wait: Int64, force: Bool, _ role: Role
    ) throws(Fault) {
        let waiter = newWaiter(minValid: .seconds(minValid), wait: .seconds(wait), mayShare: !force)
        let isEnough =
            held.map { $0.remaining(now) >= .seconds(minValid) && $0.remaining(now) > .zero } ?? false
        let isServed = !force && isEnough && session.isUsable(at: now)
        let request = TokenRequest(
            waiter: waiter, minValid: .seconds(minValid), wait: .seconds(wait), force: force, role: role)
        try apply(.tokenRequested(request))
        if isServed, open[waiter] != nil { throw Fault(text: "what is valid was not handed out at once") }
        if wait == 0, open[waiter] != nil { throw Fault(text: "who cannot wait was not answered") }
        if open[waiter] != nil {
            let soon = session.nextWakeUp(at: now).map { $0 <= now.boot + .seconds(1) } ?? false
            guard out != nil || !changes.isEmpty || soon else { throw Fault(text: "waits for nothing") }
        }
    }

    private mutating func newWaiter(
        minValid: Milliseconds, wait: Milliseconds, mayShare: Bool
    ) -> WaiterID {
        lastWaiter += 1
        let waiter = WaiterID(lastWaiter)
        open[waiter] = (minValid, now.boot + wait, mayShare)
        return waiter
    }

    private mutating func succeed(_ ticket: RefreshTicket?, lifetime: Int64) throws(Fault) {
        guard let ticket else { return }
        let isAwaited = ticket == out
        if isAwaited {
            out = nil
            if lifetime <= 0 { failed(RefreshFailure(.stale)) }
        }
        nextLifetime = .seconds(lifetime)
        let count = changes.count
        try apply(
            .refreshSucceeded(
                ticket,
                FreshCredential(
                    credential: SessionBench.credential(text: "fresh \(ticket.serial)"),
                    expiries: Expiries(hint: now.wall + .seconds(lifetime)))))
        guard changes.count == count || isAwaited && lifetime > 0 else {
            throw Fault(text: "a late or dead answer was stored")
        }
    }

    private mutating func fail(_ failure: RefreshFailure) throws(Fault) {
        guard let ticket = out else { return }
        out = nil
        failed(failure)
        try apply(.refreshFailed(ticket, failure))
    }

    private mutating func failed(_ failure: RefreshFailure) { lastFailure = failure }

    private mutating func reject(_ role: Role) throws(Fault) {
        let waiter = newWaiter(minValid: .zero, wait: .zero, mayShare: false)
        try apply(.rejected(waiter: waiter, generation: nil, role: role))
        if open[waiter] != nil { throw Fault(text: "a report was not answered") }
    }

    private mutating func commit(refused: Bool) throws(Fault) {
        guard let change = changes.first else { return }
        changes.removeFirst()
        let isExpected = stored == change.expected && stored < change.generation
        let failure: StoreFailure? =
            refused ? .full : isExpected ? nil : .conflict(stored: stored)
        if failure == nil { stored = change.generation }
        let effects = session.apply(.committed(change.generation, failure), at: now, draw: random())
        let isAskedAgain = effects.contains { effect in
            if case .persist(let held, _) = effect { return held.generation == change.generation }
            if case .persistDeletion(let generation, _) = effect { return generation == change.generation }
            return false
        }
        if !isAskedAgain { settleChange(change, failure) }
        try note(effects, again: isAskedAgain ? change : nil)
        try check()
    }

    private mutating func settleChange(_ change: Change, _ failure: StoreFailure?) {
        let isLast = !changes.contains { $0.kind != .again }
        switch (change.kind, failure) {
        case (.again, _): break
        case (.refreshed, _):
            if isLast { install(change.credential) } else { overtaken = change.credential }
        case (.saved, nil):
            overtaken = nil
            install(change.credential)
        case (.deleted, nil):
            overtaken = nil
            held = nil
            newest = change.generation
        default:
            if isLast, let overtaken { install(overtaken) }
            if isLast { overtaken = nil }
        }
    }

    private mutating func install(_ credential: Counted?) {
        guard let credential, credential.generation > newest else { return }
        held = credential
        newest = credential.generation
        lastFailure =
            credential.remaining(now) > .zero || credential.lifetime == .seconds(100)
            ? nil : RefreshFailure(.stale)
    }

    private mutating func sleep() throws(Fault) {
        guard let next = session.nextWakeUp(at: now) else { return }
        try pass(max(.zero, next - now.boot))
    }

    private mutating func pass(_ length: Milliseconds) throws(Fault) {
        now = now + length
        try apply(.wokeUp)
    }

    private mutating func setClock(by seconds: Int64) throws(Fault) {
        now.wall = now.wall + .seconds(seconds)
        try apply(.wokeUp)
    }

    // MARK: Judging

    private mutating func apply(_ event: SessionEvent) throws(Fault) {
        try note(session.apply(event, at: now, draw: random()))
        try check()
    }

    private mutating func note(_ effects: [SessionEffect], again: Change? = nil) throws(Fault) {
        for effect in effects {
            switch effect {
            case .startRefresh(let ticket, _):
                guard out == nil else { throw Fault(text: "two refreshes are out") }
                guard isActive, !isShuttingDown else { throw Fault(text: "a refresh of one at rest") }
                guard !changes.contains(where: { $0.kind != .again }) else {
                    throw Fault(text: "a refresh while a change is on its way")
                }
                if let lastStart, now.boot < lastStart + .seconds(1) {
                    throw Fault(text: "two attempts within a second")
                }
                if let oldTicket, ticket.serial <= oldTicket.serial { throw Fault(text: "a ticket twice") }
                lastStart = now.boot
                starts += 1
                out = ticket
                oldTicket = ticket
            case .cancelRefresh(let ticket):
                guard ticket == out else { throw Fault(text: "cancelled what is not out") }
                if let lastStart, now.boot >= lastStart + .seconds(15) { failed(RefreshFailure(.timeout)) }
                out = nil
            case .persist(let credential, let expected):
                guard credential.credential != nil else { throw Fault(text: "stores what has no tokens") }
                disk.keep(credential)
                let kind: Kind =
                    again?.kind
                    ?? (credential.generation <= issued
                        ? .again : credential.origin == .saved ? .saved : .refreshed)
                let counted =
                    again.map(\.credential)
                    ?? Counted(
                        generation: credential.generation, lifetime: nextLifetime, receivedAt: now)
                try ask(credential.generation, expected, kind, counted, isAgain: again != nil)
            case .persistDeletion(let generation, let expected):
                try ask(generation, expected, .deleted, nil, isAgain: again != nil)
            case .answer(let waiter, let answer): try answered(waiter, answer)
            case .announce: break
            }
        }
    }

    private mutating func ask(
        _ generation: Generation, _ expected: Generation, _ kind: Kind, _ credential: Counted?, isAgain: Bool
    ) throws(Fault) {
        guard expected < generation else { throw Fault(text: "a number that does not grow") }
        guard kind == .again || isAgain || generation > issued else { throw Fault(text: "a number twice") }
        issued = max(issued, generation)
        let change = Change(
            generation: generation, expected: expected, kind: kind, waiter: nil, credential: credential)
        // One queue to the disk: what is asked for again is behind what was asked for before.
        changes.append(change)
    }

    private mutating func answered(_ waiter: WaiterID, _ answer: SessionAnswer) throws(Fault) {
        guard let asked = open.removeValue(forKey: waiter) else { throw Fault(text: "answered twice") }
        switch answer {
        case .token(let remarks):
            guard let held, held.remaining(now) > .zero else {
                throw Fault(text: "nothing valid was handed out")
            }
            guard isActive, session.isUsable(at: now) else { throw Fault(text: "handed out while at rest") }
            guard remarks.isShortLived == (held.remaining(now) < asked.minValid) else {
                throw Fault(text: "short-lived is wrong")
            }
            guard remarks.refreshError == lastFailure else {
                throw Fault(text: "the failure is \(String(describing: remarks.refreshError))")
            }
        case .saved(let generation), .deleted(let generation):
            guard stored >= generation else { throw Fault(text: "said to be stored and is not") }
        case .refreshed:
            guard held != nil else { throw Fault(text: "refreshed to nothing") }
        case .rejection, .failure: break
        }
    }

    private func check() throws(Fault) {
        guard session.generation == newest else {
            throw Fault(text: "holds \(session.generation.number) instead of \(newest.number)")
        }
        guard (session.held == nil) == (held == nil) else {
            throw Fault(text: "holds what it should not, or nothing")
        }
        guard !isActive || !session.isShelved else { throw Fault(text: "works without its tokens") }
        if !isActive, changes.isEmpty, stored == newest, session.held?.credential != nil {
            throw Fault(text: "keeps the tokens that the disk has while it rests")
        }
        if session.isUsable(at: now) {
            guard let held, held.remaining(now) > .zero, isActive else {
                throw Fault(text: "calls the dead usable")
            }
        }
        if session.isFresh(at: now, minValid: .zero), !session.isUsable(at: now) || lastFailure != nil {
            throw Fault(text: "calls fresh what is not")
        }
        if let due = open.values.lazy.filter({ $0.deadline < .distantFuture }).map(\.deadline).min() {
            guard let next = session.nextWakeUp(at: now), next <= due else {
                throw Fault(text: "sleeps past a deadline")
            }
        }
        // Waking it now must leave it with something later to wake up for, or the loop would spin.
        var later = session
        _ = later.apply(.wokeUp, at: now, draw: 0)
        if let next = later.nextWakeUp(at: now), next <= now.boot {
            throw Fault(text: "wants to be woken for ever")
        }
    }
}
