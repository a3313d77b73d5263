import Broker
import ChatAuthAPI
import CredentialCore
import JSON
import Log
import Secrets

/// `rpc.*`, `store.status` and `daemon.*`.
extension RPCServer {
    func rpcHello(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        _ = try parameters.text("client", limit: 128)
        _ = try parameters.text("version", limit: 64)
        let peer = call.client.peer
        call.answer { writer in
            writer.beginObject()
            writer.key("protocol_version")
            writer.string(OpenRPC.protocolVersion)
            writer.key("server_version")
            writer.string(self.control.facts.version)
            writer.key("peer")
            writer.beginObject()
            writer.key("uid")
            writer.integer(Int64(peer.uid))
            writer.key("gid")
            writer.integer(Int64(peer.gid))
            writer.key("pid")
            writer.integer(Int64(peer.pid))
            if let unit = call.client.unit(isSystem: self.isSystem) {
                writer.key("unit")
                writer.string(unit.text)
            }
            writer.key("admin")
            writer.bool(self.isAdmin(call.client))
            writer.endObject()
            writer.endObject()
        }
    }

    func rpcDiscover(_ call: Call) {
        call.answer { OpenRPC.write(to: &$0, serverVersion: self.control.facts.version) }
    }

    func storeStatus(_ call: Call) {
        let facts = control.storeFacts
        call.answer { writer in
            writer.beginObject()
            self.writeStoreState(to: &writer)
            writer.key("path")
            writer.string(facts.path)
            writer.key("format")
            writer.integer(facts.format)
            writer.key("epoch")
            writer.integer(facts.epoch)
            writer.key("rows")
            writer.integer(facts.rows)
            writer.key("keys_locked")
            writer.bool(facts.isMemoryLocked)
            writer.key("ballast")
            writer.string(facts.hasBallast.map { $0 ? "present" : "missing" } ?? "not_needed")
            writer.key("pending_changes")
            writer.integer(Int64(self.broker.pendingChanges))
            writer.endObject()
        }
    }

    /// Opens the store with the key that is handed over; what is open stays open, whatever the key.
    func storeUnseal(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        guard let text = try parameters.secret("key"), let key = text.fromHexadecimal(count: 32) else {
            throw CallFailure(invalidParams: "key must be 64 hexadecimal digits")
        }
        guard broker.storeState != .open else { return answerStoreState(call) }
        control.unseal(with: key) { [unowned self] in answerStoreState(call) }
    }

    private func answerStoreState(_ call: Call) {
        if case .sealed(let reason) = broker.storeState { return call.fail(CallFailure(reason)) }
        call.answer { writer in
            writer.beginObject()
            self.writeStoreState(to: &writer)
            writer.endObject()
        }
    }

    private func writeStoreState(to writer: inout JSONWriter) {
        writer.key("state")
        switch broker.storeState {
        case .open: writer.string("open")
        case .sealed(let reason):
            writer.string("sealed")
            let failure = CallFailure(reason)
            writer.key("kind")
            writer.string(failure.kindText)
            writer.key("reason")
            writer.string(failure.message)
        }
    }

    func daemonStatus(_ call: Call) {
        let facts = control.facts
        let isAdmin = isAdmin(call.client)
        call.answer { writer in
            writer.beginObject()
            writer.key("version")
            writer.string(facts.version)
            writer.key("instance")
            if case .user = self.policy().instance { writer.string("user") } else { writer.string("system") }
            writer.key("state")
            writer.string(self.broker.isShuttingDown ? "stopping" : "running")
            writer.key("accounts")
            self.writeCounts(call.client, to: &writer)
            writer.key("store")
            writer.beginObject()
            self.writeStoreState(to: &writer)
            writer.endObject()
            if isAdmin {
                writer.moment("started_at", facts.startedAt)
                writer.momentText("started_at_text", facts.startedAt)
                writer.key("worker")
                writer.beginObject()
                writer.key("state")
                writer.string(facts.worker)
                writer.key("kind")
                writer.string(facts.workerKind)
                writer.endObject()
                writer.key("audit")
                writer.beginObject()
                writer.key("state")
                writer.string(facts.isAuditWritable ? "writable" : "unwritable")
                writer.endObject()
                writer.key("memory_locked")
                writer.bool(facts.isMemoryLocked)
                writer.key("connections")
                writer.integer(Int64(self.clients.count))
                writer.key("remarks")
                writer.beginArray()
                for remark in facts.remarks { writer.string(remark) }
                writer.endArray()
            }
            writer.endObject()
        }
    }

    private func writeCounts(_ client: Client, to writer: inout JSONWriter) {
        var counts: [SessionState: Int64] = [:]
        var total: Int64 = 0
        for account in broker.allAccounts where role(of: client, on: account) != nil {
            counts[account.session.state(at: now), default: 0] += 1
            total += 1
        }
        writer.beginObject()
        writer.key("total")
        writer.integer(total)
        for state in SessionState.allCases {
            writer.key(named: state.rawValue)
            writer.integer(counts[state] ?? 0)
        }
        writer.endObject()
    }

    func daemonReload(_ call: Call) {
        control.reload { outcome in
            switch outcome {
            case .done(let accounts):
                call.answer { writer in
                    writer.beginObject()
                    writer.key("accounts")
                    writer.integer(Int64(accounts))
                    writer.endObject()
                }
            case .refused(let faults):
                call.fail(
                    CallFailure(
                        .accountInvalid,
                        "the configuration was refused and the running one stays: "
                            + faults.joined(separator: "; ")))
            }
        }
    }

    func daemonSetLogLevel(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let name = try parameters.text("level", limit: 16)
        guard let level = LogLevel.allCases.first(where: { "\($0)" == name }), level != .fault else {
            throw CallFailure(invalidParams: "level must be error, warning, notice, info or debug")
        }
        control.setLogLevel(level)
        call.answer { writer in
            writer.beginObject()
            writer.key("level")
            writer.string("\(level)")
            writer.endObject()
        }
    }

    func daemonMetrics(_ call: Call) {
        countAllPrepared()
        let text = Metrics.text(self)
        call.answer { writer in
            writer.beginObject()
            writer.key("openmetrics")
            writer.string(text)
            writer.endObject()
        }
    }
}

/// The counters as OpenMetrics 1.0 text.
enum Metrics {
    static func text(_ server: RPCServer) -> String {
        let broker = server.broker
        let counters = server.counters
        var text = ""
        func counter(_ name: String, _ help: String, _ value: Int64) {
            text +=
                "# TYPE chatauth_\(name) counter\n# HELP chatauth_\(name) \(help)\nchatauth_\(name)_total \(value)\n"
        }
        func gauge(_ name: String, _ help: String, _ value: Int64) {
            text +=
                "# TYPE chatauth_\(name) gauge\n# HELP chatauth_\(name) \(help)\nchatauth_\(name) \(value)\n"
        }
        counter("handouts", "Tokens and header lists handed out.", counters.handouts)
        counter("calls", "Calls received.", counters.calls + counters.answeredAtOnce)
        counter("calls_failed", "Calls answered with an error.", counters.callsFailed)
        counter("denials", "Calls refused by policy.", counters.denials)
        counter("connections", "Connections accepted.", counters.connectionsOpened)
        counter("connections_refused", "Connections refused for lack of room.", counters.connectionsRefused)
        counter("frames_bad", "Frames that were no message.", counters.badFrames)
        counter(
            "frames_slow", "Connections closed for a frame that did not end in time.", counters.slowFrames)
        counter("connections_unread", "Connections closed for not reading.", counters.unreadClosed)
        counter("responses_stray", "Responses to no question.", counters.strayResponses)
        counter("questions", "Questions to handlers.", counters.questions)
        counter(
            "questions_refused", "Questions that a handler refused, or went away from.",
            counters.questionsRefused)
        counter("audit_lost", "Audit entries that found no room.", server.control.facts.lostAuditEntries)
        counter("events", "Event notifications sent.", counters.eventsSent)
        counter("events_overflowed", "Subscribers that did not read.", counters.eventOverflows)
        counter("refreshes", "Refreshes begun.", broker.counters.refreshesStarted)
        counter(
            "refreshes_succeeded", "Refreshes that brought a credential.", broker.counters.refreshesSucceeded)
        counter("refreshes_failed", "Refreshes that failed.", broker.counters.refreshesFailed)
        counter("commits", "Changes that reached the disk.", broker.counters.commits)
        gauge("connections_open", "Connections that are open.", Int64(server.clients.count))
        gauge("refreshes_out", "Refreshes that are out.", Int64(broker.flightCount))
        gauge("store_open", "Whether the store is open.", broker.storeState == .open ? 1 : 0)
        text += "# TYPE chatauth_accounts gauge\n# HELP chatauth_accounts Accounts by state.\n"
        let counts = broker.stateCounts()
        for state in SessionState.allCases {
            text += "chatauth_accounts{state=\"\(state.rawValue)\"} \(counts[state] ?? 0)\n"
        }
        let sessions = broker.accountsByName().filter { $0.definition.provider == .socialPlus }
        func renewals(_ name: String, _ help: String, _ count: (Account) -> Int64) {
            text += "# TYPE chatauth_\(name) counter\n# HELP chatauth_\(name) \(help)\n"
            for account in sessions {
                text += "chatauth_\(name)_total{account=\"\(account.name.text)\"} \(count(account))\n"
            }
        }
        renewals("session_renewals", "Renewals that brought a session another token.") {
            $0.renewals.succeeded
        }
        renewals("session_renewals_failed", "Renewals that brought none.") { $0.renewals.failed }
        return text + "# EOF\n"
    }
}

extension SecretBytes {
    /// The bytes that `2 * count` hexadecimal digits stand for; nil for anything else.
    fileprivate func fromHexadecimal(count: Int) -> SecretBytes? {
        guard self.count == 2 * count else { return nil }
        var bytes = SecretBuffer(capacity: count)
        let isValid = withSpan { text in
            for index in 0..<count {
                guard let high = Self.digit(text[2 * index]), let low = Self.digit(text[2 * index + 1])
                else { return false }
                bytes.append(high << 4 | low)
            }
            return true
        }
        return isValid ? bytes.withSpan { SecretBytes(copying: $0) } : nil
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
