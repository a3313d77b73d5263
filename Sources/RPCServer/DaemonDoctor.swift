import Broker
import CredentialCore
import Providers

/// What can be wrong with the daemon as a whole; functions of facts.
enum DaemonDoctor {
    static func store(_ state: StoreState, isBehind: Bool) -> [Finding] {
        var findings: [Finding] = []
        switch state {
        case .open:
            findings.append(Finding(.ok, .nothingFound, "the store is open, its key is the right one"))
        case .sealed(let failure):
            findings.append(
                Finding(.error, .storeSealed, CallFailure(failure).message, fix: fix(failure)))
        }
        if isBehind {
            findings.append(
                Finding(
                    .warning, .clockBehind,
                    "the clock is earlier than when the store was last written: it was set back, or has not been set yet",
                    fix: "set the clock (timedatectl); what is stored is refreshed before it is trusted"))
        }
        return findings
    }

    private static func fix(_ failure: StoreFailure) -> String {
        switch failure {
        case .keyMissing, .keyWrong, .sealed:
            "give the right key: chatauth store unseal, or put the key file back and run chatauth reload"
        case .keyFileUnsafe: "chmod 600 on the key file, and let it belong to the daemon's user"
        case .rolledBack:
            "put the newest store back; an older one on purpose comes in with chatauthd --restore"
        case .corrupt: "keep the file, and restore a backup with chatauthd --restore"
        case .full: "free space in the state directory, then chatauth reload"
        case .inUse: "end the other daemon, or give this one another state directory"
        case .tooNew: "run the newer version again"
        case .io, .conflict, .busy: "check owner and mode of the state directory, then chatauth reload"
        }
    }

    static func process(_ facts: DaemonFacts, _ store: StoreFacts) -> [Finding] {
        var findings: [Finding] = []
        if !facts.isAuditWritable {
            findings.append(
                Finding(
                    .error, .auditUnwritable,
                    "the audit log cannot be written, so that no new hand-out is made",
                    fix: "free space where the audit log is, or check its directory's owner and mode"))
        }
        if facts.isAuditKeyRemade {
            findings.append(
                Finding(
                    .warning, .auditKeyMissing,
                    "the audit log's key was missing when the daemon started, and another was made: what was logged before cannot be verified",
                    fix:
                        "put audit.key back from a backup of the state directory to verify the old segments; find out who removed it"
                ))
        }
        if facts.lostAuditEntries > 0 {
            findings.append(
                Finding(
                    .warning, .auditLossy,
                    "\(facts.lostAuditEntries) audit entries of denials and repeats found no room since the start and are lost",
                    fix: "let the audit log be on a faster disk, or look for whoever asks so often"))
        }
        if !facts.isMemoryLocked || !store.isMemoryLocked {
            findings.append(
                Finding(
                    .hint, .memoryUnlocked, "memory is not locked: credentials may reach the swap",
                    fix: "raise LimitMEMLOCK"))
        }
        if store.hasBallast == false {
            findings.append(
                Finding(
                    .warning, .ballastMissing,
                    "there is no room kept free for the successor of a grant: none is spent while the disk is full",
                    fix: "free space in the state directory"))
        }
        findings.append(
            facts.workerKind == "child"
                ? Finding(
                    .hint, .workerUnconfined,
                    "the fetch worker is a child of the broker, without a sandbox of its own; it is \(facts.worker)"
                )
                : Finding(.ok, .nothingFound, "the fetch worker is a unit of its own; it is \(facts.worker)"))
        return findings
    }

    static func accounts(_ accounts: [(name: AccountName, state: SessionState)], isOpen: Bool) -> [Finding] {
        guard isOpen else { return [] }
        guard !accounts.isEmpty else {
            return [
                Finding(
                    .hint, .noAccounts, "there is no account, or none that you may use",
                    fix: "chatauth account add adds one; rules say who may use it")
            ]
        }
        let troubled = accounts.filter {
            [.stale, .noToken, .expired, .signInNeeded, .parked].contains($0.state)
        }
        guard !troubled.isEmpty else {
            return [Finding(.ok, .nothingFound, "no account is in trouble, of \(accounts.count)")]
        }
        let shown = troubled.prefix(20).map { "\($0.name.text) (\($0.state.rawValue))" }
        let rest = troubled.count > shown.count ? ", and \(troubled.count - shown.count) more" : ""
        return [
            Finding(
                .warning, .accountsInTrouble,
                "not all accounts are well: " + shown.joined(separator: ", ") + rest,
                fix: "chatauth doctor \(troubled[0].name.text) explains one")
        ]
    }

    /// What reading the configuration again would say; nothing is changed by it.
    static func configuration(_ faults: [String]) -> [Finding] {
        guard !faults.isEmpty else {
            return [Finding(.ok, .nothingFound, "the configuration on the disk can be read")]
        }
        return faults.prefix(20).map { fault in
            Finding(
                .error, .configurationRefused, "the configuration on the disk would be refused: \(fault)",
                fix: "correct it there; until then the running one stays")
        }
    }
}
