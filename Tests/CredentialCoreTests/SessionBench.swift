import CredentialCore
import Secrets

/// A session with a clock that a test moves, and a list of all that it wanted done.
///
/// The store and the source are not there: a test says what they answer, and when.
final class SessionBench {
    var session: CredentialSession
    var now: Instant
    var draw: UInt64 = 0
    private var lastWaiter: UInt64 = 0
    private(set) var answers: [WaiterID: [SessionAnswer]] = [:]
    private(set) var starts: [(ticket: RefreshTicket, reason: RefreshReason)] = []
    private(set) var cancelled: [RefreshTicket] = []
    private(set) var persisted: [(generation: Generation, expected: Generation, isDeletion: Bool)] =
        []
    private(set) var changes: [SessionChange] = []
    private var disk = SessionDisk()

    static let bootID = BootID("this boot")
    static let destination = Destination("here")
    static let start = Instant(
        wall: WallTime(seconds: 1_800_000_000), boot: BootTime(milliseconds: 5_000_000))

    static func traits(
        hasSource: Bool = true, destination: Destination = destination, staysSignedOut: Bool = false
    ) -> CredentialSession.Traits {
        CredentialSession.Traits(
            hasSource: hasSource, destination: destination, bootID: bootID, staysSignedOut: staysSignedOut)
    }

    init(
        hasSource: Bool = true, standing: CredentialSession.Standing = .active, staysSignedOut: Bool = false
    ) {
        session = CredentialSession(
            traits: Self.traits(hasSource: hasSource, staysSignedOut: staysSignedOut), standing: standing)
        now = Self.start
    }

    // MARK: Time

    /// Lets time pass on both clocks.
    func advance(_ seconds: Int64) { advance(milliseconds: seconds * 1000) }

    func advance(milliseconds: Int64) { now = now + Milliseconds(milliseconds) }

    /// Sets the wall clock.
    func setWall(by seconds: Int64) {
        now.wall = WallTime(milliseconds: now.wall.milliseconds + seconds * 1000)
    }

    // MARK: Events

    @discardableResult
    func apply(_ event: SessionEvent) -> [SessionEffect] {
        if case .started = event { disk.unshelve(&session) }
        let effects = session.apply(event, at: now, draw: draw)
        note(effects)
        return effects
    }

    func note(_ effects: [SessionEffect]) {
        for effect in effects {
            switch effect {
            case .startRefresh(let ticket, let reason): starts.append((ticket, reason))
            case .cancelRefresh(let ticket): cancelled.append(ticket)
            case .persist(let held, let expected):
                disk.keep(held)
                persisted.append((held.generation, expected, false))
            case .persistDeletion(let generation, let expected):
                persisted.append((generation, expected, true))
            case .answer(let waiter, let answer): answers[waiter, default: []].append(answer)
            case .announce(let change): changes.append(change)
            }
        }
    }

    func waiter() -> WaiterID {
        lastWaiter += 1
        return WaiterID(lastWaiter)
    }

    @discardableResult
    func get(
        minValid: Int64 = 0, wait: Int64 = 20, force: Bool = false, role: Role = .use
    ) -> WaiterID {
        let waiter = waiter()
        apply(
            .tokenRequested(
                TokenRequest(
                    waiter: waiter, minValid: .seconds(minValid), wait: .seconds(wait), force: force,
                    role: role)))
        return waiter
    }

    @discardableResult
    func refresh(wait: Int64 = 20, signsIn: Bool = false) -> WaiterID {
        let waiter = waiter()
        apply(.refreshRequested(waiter: waiter, wait: .seconds(wait), signsIn: signsIn))
        return waiter
    }

    @discardableResult
    func reject(_ generation: Int64? = nil, role: Role = .use) -> WaiterID {
        let waiter = waiter()
        apply(.rejected(waiter: waiter, generation: generation.map { Generation($0) }, role: role))
        return waiter
    }

    @discardableResult
    func save(_ token: StaticString = "saved", lifetime: Int64? = nil) -> WaiterID {
        let waiter = waiter()
        apply(.saved(waiter: waiter, Self.credential(token), expiries(lifetime)))
        return waiter
    }

    @discardableResult
    func delete() -> WaiterID {
        let waiter = waiter()
        apply(.deleted(waiter: waiter))
        return waiter
    }

    @discardableResult
    func wake() -> [SessionEffect] { apply(.wokeUp) }

    /// The source answers the refresh that was begun last.
    func succeed(
        _ token: StaticString = "fresh", lifetime: Int64? = 3600, exp: WallTime? = nil,
        originDate: WallTime? = nil, ticket: RefreshTicket? = nil
    ) {
        guard let ticket = ticket ?? starts.last?.ticket else { return }
        var expiries = expiries(lifetime)
        expiries.exp = exp
        let fresh = FreshCredential(
            credential: Self.credential(token), expiries: expiries, originDate: originDate)
        apply(.refreshSucceeded(ticket, fresh))
    }

    func fail(
        _ kind: RefreshFailure.Kind = .unreachable, status: Int? = nil, retryAfter: Int64? = nil,
        ticket: RefreshTicket? = nil, of party: RefreshFailure.Party = .source
    ) {
        guard let ticket = ticket ?? starts.last?.ticket else { return }
        let failure = RefreshFailure(
            kind, httpStatus: status, retryAfter: retryAfter.map { .seconds($0) }, party: party)
        apply(.refreshFailed(ticket, failure))
    }

    /// The disk answers the change that was asked for last.
    func commit(_ failure: StoreFailure? = nil, generation: Generation? = nil) {
        guard let generation = generation ?? persisted.last?.generation else { return }
        apply(.committed(generation, failure))
    }

    /// A session that has fetched once: generation 1.
    static func fetched(_ token: StaticString = "first", lifetime: Int64? = 3600) -> SessionBench {
        let bench = SessionBench()
        bench.apply(.started)
        bench.succeed(token, lifetime: lifetime)
        bench.commit()
        return bench
    }

    // MARK: Looking

    func answer(_ waiter: WaiterID) -> SessionAnswer? {
        guard let given = answers[waiter], given.count == 1 else { return nil }
        return given[0]
    }

    var isUsable: Bool { session.isUsable(at: now) }
    var state: SessionState { session.state(at: now) }
    var nextWakeUp: BootTime? { session.nextWakeUp(at: now) }

    /// Seconds until it wants to be woken.
    var sleep: Int64? { nextWakeUp.map { ($0 - now.boot).count / 1000 } }

    func expiries(_ lifetime: Int64?) -> Expiries {
        Expiries(hint: lifetime.map { now.wall + .seconds($0) })
    }

    static func credential(_ token: StaticString) -> Credential { credential(text: "\(token)") }

    static func credential(text: String) -> Credential {
        do {
            return try Credential(idToken: SecretBytes(copying: Array(text.utf8).span), accessToken: nil)
        } catch {
            preconditionFailure("the token of a test is one")
        }
    }
}

/// What sessions asked a disk to keep, for those that rest and begin to work again.
struct SessionDisk {
    private var kept: [Generation: HeldCredential] = [:]

    mutating func keep(_ held: HeldCredential) { kept[held.generation] = held }

    func unshelve(_ session: inout CredentialSession) {
        guard let account = AccountName("bot"), let held = session.held else { return }
        _ = session.unshelve(
            StoredCredential(account: account, generation: held.generation, held: kept[held.generation]))
    }
}
