/// Device codes that wait for somebody to decide (RFC 8628).
struct DeviceCodes: Sendable {
    enum Decision: String, CaseIterable, Sendable {
        case approve, deny
    }

    private struct Pending: Sendable {
        let userCode: String
        let clientID: String
        let scope: String?
        /// Unix milliseconds.
        let until: Int64
        var interval: Int64
        var lastPoll: Int64?
        var decision: Decision?
        var subject: String?
    }

    /// What a poll finds.
    enum Poll: Equatable, Sendable {
        case granted(subject: String?, scope: String?)
        /// An error code of RFC 8628 §3.5, or `invalid_grant`.
        case refused(String)
    }

    private var pending: [String: Pending] = [:]

    // Who never comes back must not eat the machine.
    private static let limit = 1000

    mutating func add(
        _ code: String, userCode: String, clientID: String, scope: String?, until: Int64, interval: Int64
    ) {
        if pending.count >= Self.limit { pending = [:] }
        pending[code] = Pending(
            userCode: userCode, clientID: clientID, scope: scope, until: until, interval: interval)
    }

    /// Lets a person decide; false: nobody waits with that user code.
    mutating func decide(_ userCode: String, _ decision: Decision, subject: String?) -> Bool {
        guard let code = pending.first(where: { $0.value.userCode == userCode })?.key else { return false }
        pending[code]?.decision = decision
        pending[code]?.subject = subject
        return true
    }

    /// Asks for the decision; a code is spent by the answer that ends it.
    mutating func poll(_ code: String, clientID: String, now: Int64) -> Poll {
        guard var waiting = pending[code], waiting.clientID == clientID else {
            return .refused("invalid_grant")
        }
        guard now < waiting.until else {
            pending[code] = nil
            return .refused("expired_token")
        }
        switch waiting.decision {
        case .approve?:
            pending[code] = nil
            return .granted(subject: waiting.subject, scope: waiting.scope)
        case .deny?:
            pending[code] = nil
            return .refused("access_denied")
        case nil:
            let isHasty = waiting.lastPoll.map { now < $0 + waiting.interval * 1000 } ?? false
            // Five seconds more, for this and all that follow (§3.5).
            if isHasty { waiting.interval += 5 }
            waiting.lastPoll = now
            pending[code] = waiting
            return .refused(isHasty ? "slow_down" : "authorization_pending")
        }
    }
}
