package import CredentialCore
package import Log
package import Secrets

/// What only the whole program can do or knows.
package protocol DaemonControl: AnyObject {
    /// Reads the configuration again; `completion` is called on the loop.
    func reload(_ completion: @escaping (ReloadOutcome) -> Void)
    /// Reads the configuration without taking it; `completion` is called on the loop with what would be refused, each with file and line.
    func checkConfiguration(_ completion: @escaping ([String]) -> Void)
    /// Sets what is logged from now on, until the configuration is read again.
    func setLogLevel(_ level: LogLevel)
    /// Opens a sealed store with a master key of 32 bytes; `completion` is called on the loop once the broker knows what came of it.
    func unseal(with key: SecretBytes, _ completion: @escaping () -> Void)
    /// Reads the parameters of `account.add`, a JSON object, and turns the names of its rules into numbers; `completion` is called on the
    /// loop, perhaps at once. False when too many are waiting: then it is not called.
    func readAccount(
        _ parameters: SecretBytes,
        _ completion: @escaping (Result<AccountDefinition, AccountDefinitionJSON.Failure>) -> Void
    ) -> Bool
    /// A short keyed digest that tells tokens apart and gives nothing away.
    func fingerprint(of secret: SecretBytes) -> String
    /// What the daemon says of itself now.
    var facts: DaemonFacts { get }
    /// What the store says of itself now.
    var storeFacts: StoreFacts { get }
}

/// How a reload ended.
///
/// What was refused changed nothing.
package enum ReloadOutcome: Sendable {
    case done(accounts: Int)
    /// Each with file and line.
    case refused([String])
}

/// What the daemon says of itself.
package struct DaemonFacts: Sendable {
    /// The number of the release.
    package var version: String
    /// When this process began to serve.
    package var startedAt: WallTime
    /// `running` or `idle`: it is started when first needed.
    package var worker: String
    /// `child` or `unit`: whether the broker starts it, or systemd does, as another user and in a sandbox of its own.
    package var workerKind: String
    /// Whether first hand-outs can be written down; without that there are none.
    package var isAuditWritable: Bool
    /// Audit entries that found no room since the start: denials and repeats, for which nobody waits.
    package var lostAuditEntries: Int64
    /// Whether the log's key was missing at the start and is another now.
    package var isAuditKeyRemade: Bool
    /// Whether no page of the process can reach the swap.
    package var isMemoryLocked: Bool
    /// What this instance cannot protect against, for people.
    package var remarks: [String]

    /// All that the daemon says of itself at this moment.
    package init(
        version: String, startedAt: WallTime, worker: String, workerKind: String, isAuditWritable: Bool,
        lostAuditEntries: Int64 = 0, isAuditKeyRemade: Bool = false, isMemoryLocked: Bool, remarks: [String]
    ) {
        self.version = version
        self.startedAt = startedAt
        self.worker = worker
        self.workerKind = workerKind
        self.isAuditWritable = isAuditWritable
        self.lostAuditEntries = lostAuditEntries
        self.isAuditKeyRemade = isAuditKeyRemade
        self.isMemoryLocked = isMemoryLocked
        self.remarks = remarks
    }
}

/// What the store says of itself.
package struct StoreFacts: Sendable {
    /// Path of the database.
    package var path: String
    /// Version of the format; 0 while it is sealed.
    package var format: Int64
    /// Commits since the store was made; 0 while it is sealed.
    package var epoch: Int64
    /// Sealed rows, of all tables.
    package var rows: Int64
    /// Whether the store's keys lie in memory that is never swapped.
    package var isMemoryLocked: Bool
    /// Whether the space for what a spent grant brings is kept free; nil while no grant has needed it.
    package var hasBallast: Bool?

    /// All that the store says of itself at this moment.
    package init(
        path: String, format: Int64, epoch: Int64, rows: Int64, isMemoryLocked: Bool, hasBallast: Bool?
    ) {
        self.path = path
        self.format = format
        self.epoch = epoch
        self.rows = rows
        self.isMemoryLocked = isMemoryLocked
        self.hasBallast = hasBallast
    }
}

/// What the server has done since it started; numbers only grow.
package struct ServerCounters: Sendable {
    var connectionsOpened: Int64 = 0
    var connectionsRefused: Int64 = 0
    var frames: Int64 = 0
    var badFrames: Int64 = 0
    var slowFrames: Int64 = 0
    var unreadClosed: Int64 = 0
    var calls: Int64 = 0
    var callsFailed: Int64 = 0
    var strayResponses: Int64 = 0
    /// Questions to handlers, and those of them that were refused.
    var questions: Int64 = 0
    var questionsRefused: Int64 = 0
    /// Hand-outs that needed a call of their own.
    var calledHandouts: Int64 = 0
    /// Calls for a fresh token, answered in the turn in which they came.
    var answeredAtOnce: Int64 = 0

    var handouts: Int64 { calledHandouts + answeredAtOnce }
    var denials: Int64 = 0
    var eventsSent: Int64 = 0
    var eventOverflows: Int64 = 0
}
