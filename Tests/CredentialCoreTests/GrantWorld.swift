import CredentialCore
import Secrets

/// A grant among a server with one-time refresh tokens, a disk and operators that do anything at any time, with a plain account
/// of what must be true.
///
/// The server is told of every request in the order in which it was sent, and each answer may be lost on the way there or back. The
/// disk keeps what it said that it keeps, and a crash loses everything else. A value, so that a search can go back to any step.
struct GrantWorld {
    enum Action: CaseIterable {
        /// Accounts come and go; `askNarrow` wants another scope.
        case ask, askNarrow, askParked, leave, begin
        /// The server answers, as it must; or something on the way does.
        case answer, answerKept, answerUnusable, neverArrives, answerLost, refusedBlindly, brokenGateway,
            unreachable
        /// The disk answers the oldest change.
        case commit, commitFull, commitBusy
        case importNew, delete, sleep, shutDown
        /// What the disk had not answered is not there, or all of it is.
        case crash, crashStored

        /// Those in whose mixture most of the trouble lies.
        static let core: [Action] = [
            .ask, .begin, .answer, .answerLost, .refusedBlindly, .commit, .commitFull, .importNew, .crash,
        ]
        static let sending: [Action] = [
            .answer, .answerKept, .answerUnusable, .neverArrives, .answerLost, .refusedBlindly,
            .brokenGateway,
            .unreachable,
        ]
    }

    struct Fault: Error { let text: String }

    static let name: GrantName = {
        guard let name = GrantName("g") else { preconditionFailure("a test's name is one") }
        return name
    }()
    static let here = Destination("here")

    private(set) var session = GrantSession(name: name)
    private var now = SessionBench.start

    // MARK: The server

    /// Tokens by number; what a token is worth is known here only.
    private var lastToken: Int64 = 0
    private var live: Set<Int64> = []
    /// Tokens that were spent at the server.
    private var spent: Set<Int64> = []
    /// How often the daemon sent a token without hearing what came of it.
    private var unheard: [Int64: Int] = [:]
    /// Tokens with whose intent on the disk the daemon crashed.
    private var intended: Set<Int64> = []
    /// Tokens after whose request something answered that was not the server.
    private var doubtful: Set<Int64> = []
    /// Tokens of which the server itself said that they are void.
    private var condemned: Set<Int64> = []
    private var revoked: Set<Int64> = []
    /// What came for a grant that had been deleted while it was out.
    private var orphans: Set<Int64> = []
    private(set) var sends = 0

    // MARK: The disk

    private var row = StoredGrant(name: name, generation: .none, held: nil)
    private var changes: [(id: UInt64, operation: StoreChange.Operation)] = []
    /// Tokens that the disk would not take.
    private var refused: Set<Int64> = []

    // MARK: What is out

    private var flight: (id: UInt64, token: Int64, isReplaced: Bool, isDeleted: Bool)?
    private var turns: Set<UInt64> = []
    private var lastTurn: UInt64 = 0
    private var operators: [WaiterID: Bool] = [:]
    private var lastWaiter: UInt64 = 0
    /// The successor that was heard of and must reach the disk or the next request.
    private var heard: Int64?
    private var isShuttingDown = false
    private(set) var delivered = 0
    private(set) var reuses = 0

    init(imported: Bool = true) throws(Fault) {
        guard imported else { return }
        try perform(.importNew)
        try perform(.commit)
    }

    private static func key(scope: [String], _ destination: Destination) -> SpendKey {
        let source = OAuthSource(
            endpoints: OAuthSource.Endpoints(issuer: destination.text), flow: .refreshToken(grant: name),
            clientID: "c", authentication: .none, scope: scope)
        return SpendKey(source)
    }

    static let wide = key(scope: [], here)
    static let narrow = key(scope: ["a"], here)
    static let elsewhere = key(scope: [], Destination("elsewhere"))

    // MARK: Doing

    mutating func perform(_ action: Action) throws(Fault) {
        switch action {
        case .ask: try ask(Self.wide)
        case .askNarrow: try ask(Self.narrow)
        case .askParked: try ask(Self.elsewhere)
        case .leave:
            guard let turn = turns.min() else { break }
            turns.remove(turn)
            try apply(.left(turn: turn))
        case .begin: if session.canBegin { try apply(.begin) }
        case .answer, .answerKept, .answerUnusable, .neverArrives, .answerLost, .refusedBlindly,
            .brokenGateway, .unreachable:
            try answer(action)
        case .commit: try commit(nil)
        case .commitFull: try commit(.full)
        case .commitBusy: try commit(.busy)
        case .importNew:
            lastToken += 1
            live.insert(lastToken)
            lastWaiter += 1
            operators[WaiterID(lastWaiter)] = true
            try apply(
                .imported(
                    waiter: WaiterID(lastWaiter), refreshToken: Self.secret(lastToken), Self.wide.destination,
                    scope: nil))
        case .delete:
            lastWaiter += 1
            operators[WaiterID(lastWaiter)] = false
            try apply(.deleted(waiter: WaiterID(lastWaiter)))
        case .sleep:
            now = now + .seconds(2)
            try apply(.wokeUp)
        case .crash: crash(keeping: 0)
        case .crashStored: crash(keeping: changes.count)
        case .shutDown:
            isShuttingDown = true
            try apply(.shuttingDown)
        }
        try check()
    }

    private mutating func ask(_ key: SpendKey) throws(Fault) {
        lastTurn += 1
        turns.insert(lastTurn)
        try apply(.requested(turn: lastTurn, key))
    }

    /// Everything in memory is gone.
    private mutating func crash(keeping kept: Int) {
        for change in changes.prefix(kept) { _ = store(change.operation) }
        changes = []
        if let flight { unheard[flight.token, default: 0] += 1 }
        // Nobody who finds an intent can know whether it was carried out.
        if let held = row.held, held.state == .spending { intended.insert(Self.number(held.refreshToken)) }
        flight = nil
        heard = nil
        orphans = []
        turns = []
        operators = [:]
        isShuttingDown = false
        session = GrantSession(row)
    }

    // MARK: Answers

    private mutating func answer(_ action: Action) throws(Fault) {
        guard let (id, token, isReplaced, isDeleted) = flight else { return }
        flight = nil
        let said: SpendAnswer
        switch action {
        case .neverArrives:
            unheard[token, default: 0] += 1
            said = .failed(RefreshFailure(.timeout), .lost)
        case .unreachable: said = .failed(RefreshFailure(.unreachable), .notSpent)
        case .brokenGateway:
            doubtful.insert(token)
            said = .failed(RefreshFailure(.upstreamError, httpStatus: 502), .open)
        case .refusedBlindly:
            said = .failed(RefreshFailure(.rejected, httpStatus: 400), .notSpent)
        default:
            if !live.contains(token) {
                if spent.contains(token) { reuses += 1 }
                // Whoever comes with what was spent is taken for a thief: the whole line ends.
                if spent.contains(token) { live = live.filter { !descends($0, from: token) } }
                if action == .answerLost {
                    unheard[token, default: 0] += 1
                    said = .failed(RefreshFailure(.unreachable), .lost)
                } else {
                    condemned.insert(token)
                    said = .failed(RefreshFailure(.grantDead, httpStatus: 400), .notSpent)
                }
            } else if action == .answerKept {
                unheard[token] = nil
                doubtful.remove(token)
                if !isReplaced { heard = token }
                said = .spent(successor: nil, scope: "s", failure: nil)
            } else {
                lastToken += 1
                live.remove(token)
                spent.insert(token)
                live.insert(lastToken)
                parents[lastToken] = token
                if action == .answerLost {
                    unheard[token, default: 0] += 1
                    said = .failed(RefreshFailure(.unreachable), .lost)
                } else {
                    if !isReplaced { heard = lastToken }
                    if isDeleted { orphans.insert(lastToken) }
                    said = .spent(
                        successor: Self.secret(lastToken), scope: nil,
                        failure: action == .answerUnusable ? RefreshFailure(.empty) : nil)
                }
            }
        }
        try apply(.answered(flight: id, said))
    }

    private var parents: [Int64: Int64] = [:]

    private func descends(_ token: Int64, from ancestor: Int64) -> Bool {
        var next: Int64? = token
        while let current = next {
            if current == ancestor { return true }
            next = parents[current]
        }
        return false
    }

    // MARK: The disk

    private mutating func commit(_ failure: StoreFailure?) throws(Fault) {
        guard !changes.isEmpty else { return }
        let (id, operation) = changes.removeFirst()
        if failure != nil, case .putGrant(let grant, _) = operation {
            refused.insert(Self.number(grant.refreshToken))
        }
        try apply(.stored(change: id, failure ?? store(operation)))
    }

    private mutating func store(_ operation: StoreChange.Operation) -> StoreFailure? {
        switch operation {
        case .putGrant(let grant, let expected):
            guard row.generation == expected, row.generation <= grant.generation else {
                return .conflict(stored: row.generation)
            }
            row = StoredGrant(name: Self.name, generation: grant.generation, held: grant)
        case .deleteGrant(_, let generation, let expected):
            guard row.generation == expected, row.generation < generation else {
                return .conflict(stored: row.generation)
            }
            row = StoredGrant(name: Self.name, generation: generation, held: nil)
        default: return .busy
        }
        return nil
    }

    // MARK: Effects

    private mutating func apply(_ event: GrantEvent) throws(Fault) {
        for effect in session.apply(event, at: now) {
            switch effect {
            case .store(let id, let operation): changes.append((id, operation))
            case .send(let id, let secret): try send(id, Self.number(secret))
            case .deliver(_, let turns):
                delivered += 1
                try checkDelivery()
                for turn in turns { try answered(turn) }
            case .fail(let turns, let failure):
                for turn in turns { try answered(turn) }
                try checkFailure(failure)
            case .drop: break
            case .revoke(_, let secret): revoked.insert(Self.number(secret))
            case .answer(let waiter, let failure):
                guard let isImport = operators.removeValue(forKey: waiter) else {
                    throw Fault(text: "an operator was answered twice")
                }
                if failure == nil, isImport ? row.held == nil : row.held != nil, changes.isEmpty {
                    throw Fault(text: "an operator was told of what the disk does not have")
                }
                guard failure == nil else { break }
                heard = nil
                flight?.isReplaced = true
                if !isImport { flight?.isDeleted = true }
            case .announce: break
            }
        }
    }

    private mutating func send(_ id: UInt64, _ token: Int64) throws(Fault) {
        sends += 1
        if flight != nil { throw Fault(text: "two requests are out") }
        guard let held = row.held, held.state == .spending, Self.number(held.refreshToken) == token else {
            throw Fault(text: "it was sent without its intent being on disk")
        }
        if isShuttingDown { throw Fault(text: "it was sent while the daemon was ending") }
        if unheard[token, default: 0] > 1 {
            throw Fault(text: "a lost answer was followed by a second retry")
        }
        if condemned.contains(token) { throw Fault(text: "what the server had declared void was sent again") }
        if spent.contains(token), !isOpen(token) {
            throw Fault(text: "what had been spent, and heard of, was sent again")
        }
        flight = (id, token, false, false)
    }

    private mutating func answered(_ turn: UInt64) throws(Fault) {
        // One that left may be named once more.
        turns.remove(turn)
    }

    private func checkDelivery() throws(Fault) {
        guard let heard, !refused.contains(heard) else { return }
        guard let held = row.held, Self.number(held.refreshToken) == heard else {
            throw Fault(text: "it was delivered before its successor was on disk")
        }
    }

    private func checkFailure(_ failure: RefreshFailure) throws(Fault) {
        guard let held = session.held else { return }
        let token = Self.number(held.refreshToken)
        switch failure.kind {
        case .grantDead where held.state == .dead:
            if !condemned.contains(token) {
                throw Fault(text: "it was called dead without the server's word")
            }
            if unheard[token] != nil { throw Fault(text: "it was called dead though its answer was lost") }
        case .grantPossiblySpent where held.state == .possiblySpent:
            if !isOpen(token) {
                throw Fault(text: "it was called possibly spent though every answer was heard")
            }
        default: break
        }
    }

    // MARK: What must be true

    private func check() throws(Fault) {
        // What was heard of is here: on disk, or in memory with the disk being asked for it.
        if let heard {
            let known = session.held.map { Self.number($0.refreshToken) }
            let isOnDisk = row.held.map { Self.number($0.refreshToken) } == heard
            // An import or a deletion on its way to the disk decides about it.
            if known != heard, !isOnDisk, operators.isEmpty, session.held != nil {
                throw Fault(text: "a successor was forgotten")
            }
            if known == heard, !isOnDisk, changes.isEmpty, session.nextWakeUp == nil {
                throw Fault(text: "nobody stores the successor")
            }
            if !isOnDisk, changes.isEmpty == false || session.nextWakeUp != nil, !session.isBusy {
                throw Fault(text: "the daemon could end without the successor being stored")
            }
        }
        if flight != nil, !session.isBusy { throw Fault(text: "the daemon could end with a token out") }
        if let held = session.held, held.uncertainAttempts > 2 { throw Fault(text: "too many attempts") }
    }

    /// Lets everything come to its end: afterwards nobody waits, and the disk has what counts.
    mutating func settle() throws(Fault) {
        for _ in 0..<200 {
            if !changes.isEmpty {
                try perform(.commit)
            } else if flight != nil {
                try perform(.answer)
            } else if session.canBegin {
                try perform(.begin)
            } else if session.nextWakeUp != nil {
                try perform(.sleep)
            } else {
                break
            }
        }
        guard turns.isEmpty else { throw Fault(text: "\(turns.count) wait for ever") }
        guard operators.isEmpty else { throw Fault(text: "an operator waits for ever") }
        guard !session.isBusy else { throw Fault(text: "it is busy for ever") }
        guard orphans.isSubset(of: revoked) else {
            throw Fault(text: "what came for a deleted grant was not revoked")
        }
        guard
            row.held.map({ Self.number($0.refreshToken) })
                == session.held.map({ Self.number($0.refreshToken) })
        else { throw Fault(text: "disk and memory have different tokens") }
        guard row.held?.state == session.held?.state || row.held?.state == .spending else {
            throw Fault(text: "disk and memory have different states")
        }
        guard
            row.held?.state != .spending || session.held?.state == .usable && isOpen(number ?? 0)
                || session.held?.state == .possiblySpent
        else { throw Fault(text: "the disk has an intent that nobody carries out") }
        if let held = session.held, held.state == .usable, let number, !isOpen(number), spent.contains(number)
        {
            throw Fault(text: "the grant was lost without anybody having been told")
        }
    }

    /// Whether the daemon cannot know what became of a token.
    private func isOpen(_ token: Int64) -> Bool {
        unheard[token] != nil || doubtful.contains(token) || intended.contains(token)
    }

    private var number: Int64? { session.held.map { Self.number($0.refreshToken) } }

    // MARK: Tokens

    static func secret(_ number: Int64) -> SecretBytes {
        var buffer = SecretBuffer(capacity: 24)
        buffer.append("t\(number)")
        return buffer.finish()
    }

    static func number(_ secret: SecretBytes) -> Int64 {
        secret.withSpan { bytes in
            var number: Int64 = 0
            for index in 1..<bytes.count { number = number * 10 + Int64(bytes[index] - UInt8(ascii: "0")) }
            return number
        }
    }
}
