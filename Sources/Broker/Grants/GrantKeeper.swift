import CredentialCore
import Log
import Secrets

/// Keeps the grants: feeds events to their sessions and carries out what they decide.
final class GrantKeeper {
    /// Stores a change and says later what came of it.
    typealias Store = (StoreChange.Operation, @escaping (StoreFailure?) -> Void) -> Void

    private let clock: any Clock
    private let log: Logger
    private let store: Store
    private let runner: OAuthRunner
    private var sessions: [GrantName: GrantSession] = [:]
    // Grants whose next request waits for room: on the disk it is kept for so many.
    private var queue: [GrantName] = []
    private var isServingQueue = false
    /// Told what happened to a grant.
    var changed: ((GrantName, GrantChange) -> Void)?
    /// Told what came of an import or a deletion.
    var answered: ((WaiterID, StoreFailure?) -> Void)?

    init(clock: any Clock, log: Logger, runner: OAuthRunner, store: @escaping Store) {
        self.clock = clock
        self.log = log
        self.runner = runner
        self.store = store
        runner.keeper = self
    }

    // MARK: Looking

    /// What the store had; what is known already is newer.
    func load(_ grants: [StoredGrant]) {
        for stored in grants where sessions[stored.name] == nil {
            sessions[stored.name] = GrantSession(stored)
        }
    }

    func session(_ name: GrantName) -> GrantSession? { sessions[name] }

    /// Every grant that is there, by name.
    var all: [GrantSession] { sessions.values.filter { $0.held != nil }.sorted { $0.name < $1.name } }

    /// Grants that are on their way to a server or to the disk.
    var busyCount: Int { sessions.values.count { $0.isBusy } }

    var nextWakeUp: BootTime? { sessions.values.compactMap(\.nextWakeUp).min() }

    func refusal(of name: GrantName, for key: SpendKey) -> RefreshFailure? {
        (sessions[name] ?? GrantSession(name: name)).refusal(for: key)
    }

    // MARK: Events

    func request(turn: UInt64, _ name: GrantName, _ key: SpendKey) {
        apply(.requested(turn: turn, key), to: name)
    }

    func leave(turn: UInt64, _ name: GrantName) { apply(.left(turn: turn), to: name) }

    func answered(_ name: GrantName, _ flight: UInt64, _ answer: SpendAnswer) {
        apply(.answered(flight: flight, answer), to: name)
    }

    func importGrant(
        _ name: GrantName, _ refreshToken: SecretBytes, _ destination: Destination, scope: String?,
        waiter: WaiterID
    ) {
        apply(
            .imported(waiter: waiter, refreshToken: refreshToken, destination, scope: scope), to: name)
    }

    func delete(_ name: GrantName, waiter: WaiterID) { apply(.deleted(waiter: waiter), to: name) }

    func wakeUp() {
        let now = clock.now.boot
        for (name, session) in sessions where (session.nextWakeUp ?? .distantFuture) <= now {
            apply(.wokeUp, to: name)
        }
    }

    func shutDown() {
        for name in sessions.keys { apply(.shuttingDown, to: name) }
    }

    private func apply(_ event: GrantEvent, to name: GrantName) {
        var session = sessions[name] ?? GrantSession(name: name)
        let effects = session.apply(event, at: clock.now)
        // A name that nobody ever had a grant for is not remembered.
        sessions[name] = session.generation == .none && !session.isBusy && !session.canBegin ? nil : session
        for effect in effects { carryOut(effect, name) }
        if sessions[name]?.canBegin == true, !queue.contains(name) { queue.append(name) }
        serveQueue()
    }

    private func serveQueue() {
        guard !isServingQueue else { return }
        isServingQueue = true
        defer { isServingQueue = false }
        while !queue.isEmpty, sessions.values.count(where: { $0.isInFlight }) < HeldGrant.spendingLimit {
            let name = queue.removeFirst()
            guard var session = sessions[name], session.canBegin else { continue }
            let effects = session.apply(.begin, at: clock.now)
            sessions[name] = session
            if let turn = session.leadingTurn { runner.prepare(name, turn: turn) }
            for effect in effects { carryOut(effect, name) }
            // Those that ask for something else come after everybody else.
            if sessions[name]?.canBegin == true { queue.append(name) }
        }
    }

    private func carryOut(_ effect: GrantEffect, _ name: GrantName) {
        switch effect {
        case .store(let change, let operation):
            store(operation) { [weak self] failure in self?.apply(.stored(change: change, failure), to: name)
            }
        case .send(let flight, let refreshToken): runner.spend(name, flight, refreshToken)
        case .deliver(_, let turns): runner.deliver(name, to: turns)
        case .fail(let turns, let failure):
            for turn in turns { runner.finish(turn, .failure(failure)) }
        case .drop: runner.drop(name)
        case .revoke(_, let token):
            runner.revokeOrphan(name, token)
            runner.drop(name)
        case .answer(let waiter, let failure): answered?(waiter, failure)
        case .announce(let change): changed?(name, change)
        }
    }
}
