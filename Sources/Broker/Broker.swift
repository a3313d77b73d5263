package import CredentialCore
package import Log
import Providers

/// Owns the live credentials: feeds events to the sessions and carries out what they decide.
///
/// It lives on the loop and never waits: whatever takes time is asked of a port, and the answer comes back as an event. Every
/// change of a session goes through `apply`, so that its timer, its rendered answer and whoever listens never lag behind it.
package final class Broker {
    /// The clock by which everything is judged.
    package let clock: any Clock
    /// Whoever is told of answers and changes; set before the first call.
    package weak var observer: (any BrokerObserver)?
    /// How the store is, as it said last; sealed until it says otherwise.
    package private(set) var storeState: StoreState
    /// Whether `shutDown` was called: nothing new is begun since.
    package private(set) var isShuttingDown = false
    /// What was done since the start.
    package internal(set) var counters = BrokerCounters()

    let ports: BrokerPorts
    let runner: SourceRunner
    let oauth: OAuthRunner
    let keeper: GrantKeeper
    let requester: Requester
    let signer: Signer
    /// Asks connected clients.
    let desk: HandlerDesk
    let log: Logger
    let memory: PlatformMemory
    let caller: PlatformCaller
    /// Whether all accounts at a platform are one install, as in a user's own instance.
    let sharesDevices: Bool
    /// Of this program, as platforms are told.
    let version: String
    // Devices that are on their way to the disk, and who waits for each.
    var devicesBeingStored: [PlatformStateName: DeviceBeingStored] = [:]
    var accounts = AccountTable()
    var accessVersion: UInt64 = 1
    var wakes = WakeQueue()
    var crowd = DueCrowd()
    var reconfiguration: Reconfiguration?
    // Credentials of accounts that are not configured now: kept as they are, in case they come back.
    var dormant: [AccountName: StoredCredential] = [:]
    var configured: [AccountDefinition] = []
    // What the store has of accounts that came over RPC, those included whose name configuration has taken.
    var added: [AccountName: AccountDefinition] = [:]
    var secrets: [SecretName: HeldSecret] = [:]
    var lastSecretGeneration = Generation.none
    // Names whose account is on its way to the disk.
    var adding: Set<AccountName> = []

    /// Refreshes that are out.
    package internal(set) var flightCount = 0
    // What sessions decided and is not carried out yet; the event loop of the sessions, so to speak.
    private var undone: [(account: Account, effects: [SessionEffect])] = []
    private var isCarryingOut = false
    private let changes: PendingChanges
    // Callers of our own that wait for a session or a grant, under numbers that no peer's caller has.
    var ownWaiters: [WaiterID: (BrokerAnswer) -> Void] = [:]
    var lastOwnWaiter = UInt64.max
    var lastReview: BootTime
    // Whom the review that is under way has not come to; it holds no account any more when it is at its end.
    var unreviewed: ArraySlice<Account> = []
    var announcedWake: BootTime?

    /// A broker without accounts whose store is not open yet.
    ///
    /// With `sharesDevices` all accounts at a platform are one install to it, unless they name a device (R78).
    package init(ports: BrokerPorts, log: Logger, sharesDevices: Bool, version: String) {
        self.ports = ports
        self.version = version
        self.log = log
        self.sharesDevices = sharesDevices
        changes = PendingChanges(store: ports.store)
        clock = ports.clock
        requester = Requester(fetcher: ports.fetcher, clock: ports.clock, draw: ports.draw)
        signer = Signer(port: ports.signer)
        desk = HandlerDesk(clock: ports.clock)
        let exchange = OAuthExchange(
            requester: requester, signer: signer, clock: ports.clock, draw: ports.draw)
        oauth = OAuthRunner(
            directory: ServerDirectory(requester: requester, clock: ports.clock), exchange: exchange,
            signer: signer, clock: ports.clock, log: log)
        runner = SourceRunner(
            files: ports.files, clock: ports.clock, requester: requester, signer: signer, oauth: oauth,
            desk: desk)
        let changes = changes
        keeper = GrantKeeper(clock: ports.clock, log: log, runner: oauth) { operation, completion in
            changes.submit(operation, completion)
        }
        memory = PlatformMemory(log: log, clock: ports.clock) { operation, completion in
            changes.submit(operation, completion)
        }
        caller = PlatformCaller(requester: requester, runner: runner)
        storeState = .sealed(.sealed)
        lastReview = ports.clock.now.boot
        scheduleWake()
        desk.waitChanged = { [unowned self] in scheduleWake() }
        runner.secret = { [unowned self] name in secrets[name]?.value }
        keeper.changed = { [unowned self] name, change in grantChanged(name, change) }
        keeper.answered = { [unowned self] waiter, failure in
            answer(waiter, nil, failure.map { .storeFailed($0) } ?? .done)
        }
        exchange.promoted = { [unowned self] source, index in secretPromoted(source, index) }
    }

    // MARK: Looking

    /// The account with that name, for whoever may know of it.
    package func account(named name: Span<UInt8>) -> Account? { accounts.find(name) }

    /// How many accounts there are, stopped and parked ones included.
    package var accountCount: Int { accounts.count }

    /// All accounts, in no order.
    package var allAccounts: [Account] { accounts.all }

    /// All accounts by name.
    package func accountsByName() -> [Account] { accounts.sorted() }

    /// How many accounts are in which state.
    package func stateCounts() -> [SessionState: Int] {
        let now = clock.now
        var counts: [SessionState: Int] = [:]
        for account in accounts.all { counts[account.session.state(at: now), default: 0] += 1 }
        return counts
    }

    // MARK: Events

    /// Gives an event to an account's session and does what it decides.
    package func apply(_ event: SessionEvent, to account: Account) {
        let now = clock.now
        let effects = account.session.apply(event, at: now, draw: ports.draw())
        settle(account, now)
        carryOut(effects, for: account)
    }

    /// Brings in line what depends on a session that may have changed.
    func settle(_ account: Account, _ now: Instant) {
        account.renderedToken = nil
        account.freshness = account.session.freshness
        account.didChange()
        guard !account.isGone else {
            keepDormant(account)
            return
        }
        wakes.schedule(account, at: isShuttingDown ? nil : account.nextWakeUp(at: now))
        tellStates(of: account, now)
        settleBinding(account)
        scheduleWake()
    }

    /// Does what a session decided, in the order of the decisions: what follows from doing it comes after it, not in between.
    func carryOut(_ effects: [SessionEffect], for account: Account) {
        guard !effects.isEmpty else { return }
        undone.append((account, effects))
        guard !isCarryingOut else { return }
        isCarryingOut = true
        var next = 0
        while next < undone.count {
            let (account, effects) = undone[next]
            next += 1
            for effect in effects { carryOut(effect, for: account) }
        }
        undone.removeAll()
        isCarryingOut = false
    }

    private func carryOut(_ effect: SessionEffect, for account: Account) {
        switch effect {
        case .startRefresh(let ticket, let reason): startRefresh(ticket, reason, account)
        case .cancelRefresh(let ticket): cancelRefresh(ticket, account)
        // Stored behind its removal, it would be what a later account of that name begins with.
        case .persist(let held, _) where account.isForgotten || account.isLeaving:
            apply(.committed(held.generation, .conflict(stored: .none)), to: account)
        case .persistDeletion(let generation, _) where account.isForgotten || account.isLeaving:
            apply(.committed(generation, .conflict(stored: .none)), to: account)
        case .persist(let held, let expected):
            submit(.putCredential(account: account.name, held, expected: expected)) { [weak self] failure in
                self?.apply(.committed(held.generation, failure), to: account)
            }
        case .persistDeletion(let generation, let expected):
            submit(.deleteCredential(account: account.name, generation: generation, expected: expected)) {
                [weak self] failure in
                self?.apply(.committed(generation, failure), to: account)
            }
        case .answer(let waiter, .rejection(isAccepted: true)) where account.socialPlus != nil:
            apply(.tokenRejected(waiter), toSessionOf: account, caller: waiter)
        case .answer(let waiter, let answer): self.answer(waiter, account, .session(answer))
        case .announce(let change):
            if !account.isGone { announce(change, account) }
        }
    }

    /// Makes an account due earlier where many would be due in the same second.
    func spread(_ account: Account) {
        let now = clock.now
        let second = account.session.schedule?.refreshAt?.seconds
        if let old = account.dueSecond { crowd.leave(old) }
        account.dueSecond = second
        guard let second, crowd.enter(second) else { return }
        let widest = UInt64(DueCrowd.widestSpread.count)
        account.session.bringForward(by: Milliseconds(Int64(ports.draw() % (widest + 1))))
        settle(account, now)
    }

    // MARK: The end

    /// Begins no refresh any more and sends everybody away who waits; changes that are on their way to the disk go on.
    package func shutDown() {
        isShuttingDown = true
        for account in accounts.sorted() {
            endCommands(of: account, .shuttingDown)
            apply(.shuttingDown, to: account)
            giveUpSteps(of: account, .shuttingDown)
            endCheck(of: account, .shuttingDown)
        }
        memory.storeAgain()
        keeper.shutDown()
        requester.close()
        ports.waker.wake(at: nil)
        announcedWake = nil
        if keeper.nextWakeUp != nil { scheduleWake() }
    }

    /// Changes that the store has not answered, and grants that are at their servers: what is lost by ending now.
    package var pendingChanges: Int { changes.count + keeper.busyCount }

    /// Grants that are at their servers, or whose successor is on its way to the disk.
    package var pendingGrants: Int { keeper.busyCount }

    // MARK: Store

    func submit(_ operation: StoreChange.Operation, _ completion: @escaping (StoreFailure?) -> Void) {
        changes.submit(operation, completion)
    }

    func storeAnswered(_ completion: StoreCompletion) {
        if completion.failure == nil { counters.commits += 1 }
        changes.take(completion)
        scheduleWake()
    }

    func readCredential(
        of account: AccountName, _ completion: @escaping (Result<StoredCredential?, StoreFailure>) -> Void
    ) {
        changes.read(account, completion)
    }

    func storeAnswered(_ id: UInt64, _ outcome: Result<StoredCredential?, StoreFailure>) {
        changes.take(id, outcome)
        scheduleWake()
    }

    /// The newest moment in the store when it was opened: a wall clock that is earlier is not trusted.
    var lastWrittenAt: WallTime?

    /// Puts back what the store held for an account.
    func restore(_ stored: StoredCredential, to account: Account, _ now: Instant) {
        account.session.restore(
            stored, at: now, trustsWallClock: lastWrittenAt.map { now.wall >= $0 } ?? true,
            lastWrittenAt: lastWrittenAt)
    }

    func setStoreState(_ state: StoreState) {
        guard state != storeState else { return }
        storeState = state
        observer?.brokerStoreDidChange()
    }
}
