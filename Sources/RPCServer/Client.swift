import Broker
import CredentialCore
import JSONRPC
import Secrets

/// What the server keeps for one connection.
final class Client {
    let connection: any Connection
    var framer: LineFramer
    /// When the unfinished frame began; nil: none is unfinished.
    var frameBegan: BootTime?
    /// Bytes of the unfinished frame, as counted for the uid.
    var countedBytes = 0
    /// Calls that are not answered yet.
    var pendingCalls = 0
    /// Those of them that wait for a refresh, and of what.
    var waits: [WaiterID: Account] = [:]
    var subscription: Subscription?
    /// The connection is closed.
    var isClosed = false {
        didSet { if isClosed { isEnding = true } }
    }
    /// Nothing is taken from it and nothing said to it any more; it is closed as soon as it has read what is on its way.
    var isEnding = false
    /// It sends nothing more, and still reads.
    var hasEndedInput = false
    /// It is among those whose frame is unfinished, or was when that was looked at last.
    var owesFrame = false
    /// Bytes of the longest reply since it had read everything.
    var longestUnread = 0
    /// It is among those that have something to note.
    var isRepeating = false
    /// Grips with something to note.
    var repeatedGrips: [Grip] = []
    /// Whether some rule names its user; decides which share of the connections it counts against.
    var isNamed = false

    /// What most of its requests are answered with: most clients ask for one account.
    var prepared: PreparedAnswer?

    private var grips: [ObjectIdentifier: Grip] = [:]

    init(connection: any Connection, frameLimit: Int) {
        self.connection = connection
        framer = LineFramer(limit: frameLimit)
    }

    var peer: Peer { connection.peer }

    /// The unit of the peer, for whoever reads who it was; a user's own instance has no use for it.
    func unit(isSystem: Bool) -> SystemUnit? {
        if isSystem, case .known(let unit) = connection.unit { unit } else { nil }
    }

    /// What this client and an account have to do with each other.
    func grip(on account: Account) -> Grip {
        let key = ObjectIdentifier(account)
        let grip = grips[key] ?? Grip(account: account)
        grips[key] = grip
        return grip
    }

    /// The same where there is one already.
    func heldGrip(on account: Account) -> Grip? { grips[ObjectIdentifier(account)] }

    /// Remembers what the client may do with an account.
    func keep(_ grip: Grip) { grips[ObjectIdentifier(grip.account)] = grip }

    /// How many accounts it has to do with.
    var gripCount: Int { grips.count }

    /// Counts what was handed out of the prepared answer on its grip; returns how often that was.
    func countPrepared() -> Int64 {
        guard let repeats = prepared?.takeRepeats(), let prepared else { return 0 }
        prepared.grip.repeats += repeats
        return repeats
    }

    /// Forgets grips on accounts that are gone, so that none is kept alive by a client.
    func forgetGrips(except isKnown: (Account) -> Bool) {
        grips = grips.filter { isKnown($0.value.account) }
        if let prepared, !isKnown(prepared.grip.account) { self.prepared = nil }
    }

    /// Forgets the grip on an account that is gone.
    func forgetGrip(on account: Account) {
        grips[ObjectIdentifier(account)] = nil
        if prepared?.grip.account === account { prepared = nil }
    }
}

/// One client's hold on one account: what it may do, and what it was handed already.
final class Grip {
    let account: Account
    private var role: Role?
    private var roleVersion: UInt64 = 0
    /// Whether the role is the client's only while the process that connected lives in its unit.
    private(set) var restsOnUnit = false

    /// The generation whose first hand-out to this connection is being written to the audit log, or is written.
    var auditedGeneration = Generation.none
    /// The same of a chat's own token.
    var chatToken: SecretBytes?
    var isWritten = false
    /// The hand-out that waits for that record.
    var handout: UInt64?
    /// Hand-outs since the last note in the audit log.
    var repeats: Int64 = 0
    /// Those of them that were whole headers.
    var headerRepeats: Int64 = 0
    /// Whole headers with a chat's own token and nobody's credential.
    var chatRepeats: Int64 = 0
    var hasRepeats: Bool { repeats > 0 || headerRepeats > 0 || chatRepeats > 0 }

    init(account: Account) { self.account = account }

    /// The role, asked of the policy again only when something could have changed it.
    @inline(__always)
    func role(_ evaluate: (AccessRules) -> Policy.Verdict) -> Role? {
        if roleVersion != account.accessVersion || restsOnUnit { judge(evaluate) }
        return role
    }

    @inline(never)
    private func judge(_ evaluate: (AccessRules) -> Policy.Verdict) {
        let verdict = evaluate(account.definition.access)
        role = verdict.role
        restsOnUnit = verdict.restsOnUnit
        roleVersion = account.accessVersion
    }
}

/// What a client wants to be told of.
struct Subscription {
    let topics: Topics
    /// Nil: all that it may use.
    let accounts: Set<AccountName>?
    /// Something was left out because the client does not read; it has been told so once.
    var hasOverflowed = false
}

/// What events are about.
struct Topics: OptionSet {
    let rawValue: Int

    static let token = Topics(rawValue: 1)
    static let auth = Topics(rawValue: 2)
    static let account = Topics(rawValue: 4)
    static let daemon = Topics(rawValue: 8)
    static let handler = Topics(rawValue: 16)
    static let identity = Topics(rawValue: 32)
    static let session = Topics(rawValue: 64)
    /// Nothing is said of it yet.
    static let push = Topics(rawValue: 128)

    /// Every topic with its name, by name.
    static let all: [(name: StaticString, topic: Topics)] = [
        ("account", .account), ("auth", .auth), ("daemon", .daemon), ("handler", .handler),
        ("identity", .identity), ("push", .push), ("session", .session), ("token", .token),
    ]
}

/// Which users and groups some rule of some account names: they have a share of the connections of their own.
struct NamedPeers {
    private struct Key: Hashable {
        let uid: UInt32?
        let gid: UInt32?
    }

    private var counts: [Key: Int] = [:]

    mutating func add(_ access: AccessRules) { change(access, by: 1) }
    mutating func remove(_ access: AccessRules) { change(access, by: -1) }

    private mutating func change(_ access: AccessRules, by difference: Int) {
        for rule in access.use + access.operate {
            let key = Key(uid: rule.uid, gid: rule.gid)
            let count = counts[key, default: 0] + difference
            counts[key] = count > 0 ? count : nil
        }
    }

    /// Whether a rule admits `peer`.
    func contains(_ peer: Peer) -> Bool {
        if counts[Key(uid: peer.uid, gid: nil)] != nil { return true }
        for gid in [peer.gid] + peer.groups
        where counts[Key(uid: nil, gid: gid)] != nil || counts[Key(uid: peer.uid, gid: gid)] != nil {
            return true
        }
        return false
    }
}
