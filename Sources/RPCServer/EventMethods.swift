package import Broker
import ChatAuthAPI
package import CredentialCore
import JSON
import JSONRPC
import Secrets

/// `events.*`, and the notifications that follow.
///
/// A subscriber gets the current state in the answer, then each change once and in order. One that does not read gets one overflow
/// marker and nothing more until it has read everything; then it asks again for the state.
extension RPCServer {
    /// What a subscriber may leave unread.
    private static var unreadEvents: Int { 256 * 1024 }

    // For one whom a rule names, and for anybody else: names are kept as long as the subscription.
    private static var mostNames: Int { 10_000 }
    private static var mostNamesOfStranger: Int { 64 }

    func eventsSubscribe(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        var topics: Topics = []
        for name in try parameters.texts("topics", limit: 16) ?? [] {
            guard let known = Topics.all.first(where: { "\($0.name)" == name }) else {
                topics = []
                break
            }
            topics.insert(known.topic)
        }
        guard !topics.isEmpty else {
            throw CallFailure(invalidParams: "topics must be some of token, auth, account, daemon")
        }
        var accounts: Set<AccountName>?
        let limit = call.client.isNamed ? Self.mostNames : Self.mostNamesOfStranger
        if let names = try parameters.texts("accounts", limit: limit) {
            accounts = Set(names.compactMap { AccountName($0) })
        }
        let client = call.client
        client.subscription = Subscription(topics: topics, accounts: accounts)
        if !client.isClosed { subscribers[client.connection.id] = client }
        call.answer { writer in
            writer.beginObject()
            writer.key("topics")
            writer.beginArray()
            for (name, topic) in Topics.all where topics.contains(topic) { writer.string(name) }
            writer.endArray()
            writer.key("accounts")
            writer.beginArray()
            for account in self.visibleAccounts(client) where accounts?.contains(account.name) ?? true {
                writer.beginObject()
                writer.key("account")
                writer.string(account.name.text)
                writer.key("state")
                writer.string(account.session.state(at: self.now).rawValue)
                writer.key("generation")
                writer.integer(account.session.generation.number)
                writer.endObject()
            }
            writer.endArray()
            writer.key("store")
            writer.string(self.broker.storeState == .open ? "open" : "sealed")
            writer.endObject()
        }
    }

    func eventsUnsubscribe(_ call: Call) {
        call.client.subscription = nil
        subscribers[call.client.connection.id] = nil
        call.answer { writer in
            writer.beginObject()
            writer.endObject()
        }
    }

    /// Tells every subscriber of the topic who may know of the account.
    private func publish(
        _ topic: Topics, _ method: StaticString, _ account: Account?, _ members: (inout JSONWriter) -> Void
    ) {
        guard !subscribers.isEmpty else { return }
        // Everybody is told the same: written once, for the first who wants it.
        var line: SecretBytes?
        for client in Array(subscribers.values) {
            guard let subscription = client.subscription, subscription.topics.contains(topic) else {
                continue
            }
            if let account {
                if let wanted = subscription.accounts, !wanted.contains(account.name) { continue }
                guard role(of: client, on: account) != nil else { continue }
            }
            guard hasRoom(client) else { continue }
            let text = line ?? Self.notification(method, account, members)
            line = text
            counters.eventsSent += 1
            var buffer = SecretBuffer(capacity: text.count)
            buffer.append(text)
            send(buffer, to: client)
        }
    }

    private static func notification(
        _ method: StaticString, _ account: Account?, _ members: (inout JSONWriter) -> Void
    ) -> SecretBytes {
        var writer = JSONWriter()
        writer.notification(method: method) { params in
            params.beginObject()
            if let account {
                params.key("account")
                params.string(account.name.text)
            }
            members(&params)
            params.endObject()
        }
        writer.endLine()
        return writer.finish().finish()
    }

    private func hasRoom(_ client: Client) -> Bool {
        if client.connection.unsentBytes == 0 {
            client.subscription?.hasOverflowed = false
            return true
        }
        guard client.subscription?.hasOverflowed == false else { return false }
        guard client.connection.unsentBytes > Self.unreadEvents else { return true }
        client.subscription?.hasOverflowed = true
        counters.eventOverflows += 1
        var writer = JSONWriter()
        writer.notification(method: "events.overflow")
        writer.endLine()
        send(writer.finish(), to: client)
        return false
    }
}

extension RPCServer: BrokerObserver {
    /// Answers the call that waits; nobody may wait any more.
    package func broker(answers waiter: WaiterID, for account: Account?, _ answer: BrokerAnswer) {
        guard let waiting = waiters.removeValue(forKey: waiter) else { return }
        waiting.call.client.waits[waiter] = nil
        waiting.finish(answer)
    }

    /// Tells subscribers what happened to a credential.
    package func broker(reports change: SessionChange, of account: Account) {
        switch change {
        case .replaced(let generation):
            publish(.token, "token.changed", account) { writer in
                writer.key("cause")
                writer.string("replaced")
                writer.key("generation")
                writer.integer(generation.number)
                writer.moment("expires_at", account.session.schedule?.expiresAt)
            }
        case .expiryChanged(let generation):
            publish(.token, "token.changed", account) { writer in
                writer.key("cause")
                writer.string("bound")
                writer.key("generation")
                writer.integer(generation.number)
                writer.moment("expires_at", account.session.schedule?.expiresAt)
            }
        case .deleted(let generation):
            publish(.token, "token.changed", account) { writer in
                writer.key("cause")
                writer.string("deleted")
                writer.key("generation")
                writer.integer(generation.number)
            }
        case .refreshFailed(let failure):
            publish(.auth, "auth.changed", account) { writer in
                writer.key("cause")
                writer.string("refresh_failed")
                writer.key("error")
                writer.refreshFailure(failure)
            }
        case .recovered:
            publish(.auth, "auth.changed", account) { writer in
                writer.key("cause")
                writer.string("recovered")
            }
        case .notStored(let failure):
            publish(.daemon, "daemon.changed", account) { writer in
                writer.key("cause")
                writer.string(CallFailure(failure).kindText)
            }
        }
    }

    /// Tells subscribers that an account went from one state to another.
    package func broker(reports account: Account, movedFrom old: SessionState, to new: SessionState) {
        publish(.account, "account.changed", account) { writer in
            writer.key("from")
            writer.string(old.rawValue)
            writer.key("to")
            writer.string(new.rawValue)
        }
        if old == .signInNeeded || new == .signInNeeded {
            publish(.auth, "auth.changed", account) { writer in
                writer.key("from")
                writer.string(old.rawValue)
                writer.key("to")
                writer.string(new.rawValue)
            }
        }
    }

    /// Counts whom the new account's rules name, and tells subscribers.
    package func broker(added account: Account) {
        named.add(account.definition.access)
        publishAccounts()
    }

    /// Forgets the account and whom its rules named, and tells subscribers.
    package func broker(removed account: Account) {
        named.remove(account.definition.access)
        for client in clients.values { client.forgetGrip(on: account) }
        publishAccounts()
    }

    /// Counts anew whom all rules name, and tells subscribers.
    package func brokerAccountsDidChange() {
        named = NamedPeers()
        for account in broker.allAccounts { named.add(account.definition.access) }
        for client in clients.values { client.forgetGrips { !$0.isGone } }
        publishAccounts()
    }

    private func publishAccounts() {
        publish(.daemon, "daemon.changed", nil) { writer in
            writer.key("cause")
            writer.string("accounts")
        }
    }

    /// Tells subscribers that the store was opened or sealed.
    package func brokerStoreDidChange() {
        publish(.daemon, "daemon.changed", nil) { writer in
            writer.key("cause")
            writer.string("store")
            writer.key("to")
            writer.string(self.broker.storeState == .open ? "open" : "sealed")
        }
    }
}

extension CallFailure {
    /// The kind as it stands on the wire.
    var kindText: String {
        switch code {
        case .specified(.parseError): "parse_error"
        case .specified(.invalidRequest): "invalid_request"
        case .specified(.methodNotFound): "method_not_found"
        case .specified(.invalidParams): "invalid_params"
        case .specified(.internalError): "internal_error"
        case .kind(let kind): kind.rawValue
        }
    }
}
