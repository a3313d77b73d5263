import Broker
import ChatAuthAPI
import CredentialCore
import JSON
import JSONRPC
import Secrets

/// `events.*`, and the notifications that follow.
///
/// A subscriber gets the current state in the answer, then each change once and in order. One that does not read gets one overflow
/// marker and nothing more until it has read everything; then it asks again for the state.
extension RPCServer {
    /// What a subscriber may leave unread beside one whole reply: some hundred events.
    private static var unreadEvents: Int { 64 * 1024 }

    // For one whom a rule names, and for anybody else: names are kept as long as the subscription.
    private static var mostNames: Int { 10_000 }
    private static var mostNamesOfStranger: Int { 64 }

    func eventsSubscribe(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        // The state is in the answer, which a batch holds back while changes are told already.
        guard !call.isInBatch else {
            throw CallFailure(invalidRequest: "events.subscribe cannot be in a batch")
        }
        var topics: Topics = []
        for name in try parameters.texts("topics", limit: 16) ?? [] {
            guard let known = Topics.all.first(where: { "\($0.name)" == name }) else {
                topics = []
                break
            }
            topics.insert(known.topic)
        }
        guard !topics.isEmpty else {
            let known = Topics.all.map { "\($0.name)" }.joined(separator: ", ")
            throw CallFailure(invalidParams: "topics must be some of \(known)")
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
                self.writeState(of: account, topics, to: &writer)
            }
            writer.endArray()
            writer.key("store")
            writer.string(self.broker.storeState == .open ? "open" : "sealed")
            writer.endObject()
        }
    }

    /// What was told last, so that every later change begins with it.
    private func writeState(of account: Account, _ topics: Topics, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("account")
        writer.string(account.name.text)
        writer.key("state")
        writer.string(account.told.state.rawValue)
        writer.key("generation")
        writer.integer(account.told.generation.number)
        if topics.contains(.auth) {
            writer.key("auth")
            writer.string(account.reported[.auth]?.text ?? account.told.auth.rawValue)
            writer.warnings(account.warned)
        }
        if topics.contains(.handler) {
            writer.key("handler")
            writer.beginArray()
            for kind in HandlerQuestion.Kind.allCases
            where registry.registration(for: account.name, kind) != nil {
                writer.string(kind.method)
            }
            writer.endArray()
        }
        for (topic, name) in [(Topics.identity, PlatformChange.Topic.identity), (.session, .session)]
        where topics.contains(topic) {
            writer.key(named: name.rawValue)
            writer.word(account.reported[name])
        }
        writer.endObject()
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
    func publish(
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
        guard client.connection.unsentBytes - client.longestUnread > Self.unreadEvents else { return true }
        client.subscription?.hasOverflowed = true
        counters.eventOverflows += 1
        var writer = JSONWriter()
        writer.notification(method: "events.overflow")
        writer.endLine()
        send(writer.finish(), to: client)
        return false
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
