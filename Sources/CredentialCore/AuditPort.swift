/// One decision for the audit log: who asked, for what, and what was decided; never a token.
package struct AuditEntry: Equatable, Sendable {
    /// When it was decided.
    package let time: WallTime
    /// The peer's process.
    package let pid: Int32
    /// The peer's user.
    package let uid: UInt32
    /// The system unit that the peer's process runs in; nil where that is not known.
    package let unit: SystemUnit?
    /// The connection's number, never used twice while the daemon runs.
    package let connection: UInt64
    /// The method's name on the wire.
    package let method: String
    /// Nil where the call is not about one, or the name is none.
    package let account: AccountName?
    /// Which credential; nil where none was handed out.
    package let generation: Generation?
    /// What was decided.
    package let decision: Decision
    /// Why, as a word of our own.
    package let reason: String?

    /// What was decided, and how often.
    package enum Decision: Equatable, Sendable {
        /// The first time that this generation goes to this connection.
        case handedOut
        /// How often it went there again since the last entry.
        case repeated(count: Int64)
        case denied
        /// How often this uid was denied since the last entry.
        case deniedSummary(count: Int64)

        /// The word in the log, and how often.
        package var word: (text: String, count: Int64) {
            switch self {
            case .handedOut: ("handed_out", 1)
            case .repeated(let count): ("repeated", count)
            case .denied: ("denied", 1)
            case .deniedSummary(let count): ("denied_summary", count)
            }
        }
    }

    /// What `peer` asked for on a connection, and what it got.
    package init(
        time: WallTime, peer: Peer, unit: SystemUnit? = nil, connection: UInt64, method: String,
        account: AccountName? = nil,
        generation: Generation? = nil, decision: Decision, reason: String? = nil
    ) {
        self.time = time
        pid = peer.pid
        uid = peer.uid
        self.unit = unit
        self.connection = connection
        self.method = method
        self.account = account
        self.generation = generation
        self.decision = decision
        self.reason = reason
    }
}

/// The audit log as the broker sees it, from the loop.
package protocol AuditPort: AnyObject {
    /// Queues an entry; where there is a token, `auditDidWrite` comes later, on the loop, exactly once, never from within this
    /// call.
    func record(_ entry: AuditEntry, token: UInt64?)
}

/// What the audit log tells the broker, on the loop.
package protocol AuditObserver: AnyObject {
    /// The entry of `token` was given to the kernel, or could not be: then what it was for must not happen.
    func auditDidWrite(_ token: UInt64, isWritten: Bool)
}
