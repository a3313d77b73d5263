import Broker
import ChatAuthAPI
import CredentialCore

/// Refusals, as the audit log gets them.
extension RPCServer {
    /// Notes that a peer was refused: the first at once, then one summary for each user and second.
    func noteDenial(_ call: Call, _ account: AccountName?, _ reason: AuditReason) {
        counters.denials += 1
        if denials.isFirst(call.client.peer.uid, now: now.boot) {
            audit.record(
                AuditEntry(
                    time: now.wall, peer: call.client.peer, unit: call.client.unit(isSystem: isSystem),
                    connection: call.client.connection.id,
                    method: call.method.rawValue, account: account, decision: .denied, reason: reason.rawValue
                ),
                token: nil)
        }
        needTick()
    }

    /// Writes the summaries of the seconds that are over at `moment`.
    func noteDenials(until moment: BootTime) {
        for summary in denials.takeSummaries(now: moment) {
            audit.record(
                AuditEntry(
                    time: broker.clock.now.wall,
                    peer: Peer(pid: 0, uid: summary.uid, gid: summary.uid, groups: []), connection: 0,
                    method: "*", decision: .deniedSummary(count: summary.count)),
                token: nil)
        }
    }
}

/// Why a peer was refused.
enum AuditReason: String {
    /// There is no such account.
    case noAccount = "no_account"
    /// No rule admits it.
    case noRule = "no_rule"
    /// A rule admits it to less than it asked for.
    case role
    case notAdmin = "not_admin"
}

/// Counts refusals for each user, so that a flood of them is one line a second.
struct DenialLog {
    private var counts: [UInt32: (since: BootTime, more: Int64)] = [:]
    // More users than this at once are one entry: a flood of uids must not become a flood of memory.
    static let mostUsers = 1024
    // The kernel's word for no user at all.
    static let others = UInt32.max

    var isEmpty: Bool { counts.isEmpty }

    /// Whether this is the user's first refusal for a second; others are counted.
    mutating func isFirst(_ uid: UInt32, now: BootTime) -> Bool {
        if let count = counts[uid] {
            counts[uid] = (count.since, count.more + 1)
            return false
        }
        guard counts.count < Self.mostUsers else {
            let count = counts[Self.others] ?? (now, 0)
            counts[Self.others] = (count.since, count.more + 1)
            return false
        }
        counts[uid] = (now, 0)
        return true
    }

    /// Ends the seconds that are over; those with more refusals are reported, and another second begins for their users.
    mutating func takeSummaries(now: BootTime) -> [(uid: UInt32, count: Int64)] {
        let over = counts.filter { $0.value.since + .seconds(1) <= now }
        for (uid, count) in over { counts[uid] = count.more > 0 && uid != Self.others ? (now, 0) : nil }
        return over.filter { $0.value.more > 0 }.map { ($0.key, $0.value.more) }.sorted { $0.0 < $1.0 }
    }
}
