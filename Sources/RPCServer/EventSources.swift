package import Broker
package import CredentialCore
import JSON
import Providers

/// What the broker reports, as notifications: `from` and `to` of what changed, and why.
extension RPCServer: BrokerObserver {
    /// Answers the call that waits; nobody may wait any more.
    package func broker(answers waiter: WaiterID, for account: Account?, _ answer: BrokerAnswer) {
        guard let waiting = waiters.removeValue(forKey: waiter) else { return }
        waiting.call.client.waits[waiter] = nil
        waiting.finish(answer)
    }

    /// Tells subscribers that an account went from one state to another, or came.
    package func broker(reports account: Account, movedFrom old: SessionState?) {
        publish(.account, "account.changed", account) { writer in
            writer.change(
                from: old?.rawValue, to: account.told.state.rawValue,
                EventCause.of(account, movedFrom: old))
        }
        // Answers that were prepared have its token.
        if account.told.state == .stopped {
            for client in clients.values { forgetPrepared(client, of: account) }
        }
        guard old == nil else { return }
        for kind in registeredKinds(for: account) {
            publishHandler(account, kind, from: nil, to: "registered", cause: "added")
        }
    }

    /// Tells subscribers that an account was signed in, or is not any more.
    package func broker(reports account: Account, authMovedFrom old: AuthState?) {
        // Where the platform has a machine of its own, that tells.
        guard old == nil || account.reported[.auth] == nil else { return }
        let platform = account.reported[.auth]?.text
        publish(.auth, "auth.changed", account) { writer in
            writer.change(
                from: old.map { platform ?? $0.rawValue }, to: platform ?? account.told.auth.rawValue,
                EventCause.of(account, authMovedFrom: old))
            if account.told.auth == .failing, let failure = account.session.failures.last {
                writer.key("error")
                writer.refreshFailure(failure)
            }
        }
    }

    /// Tells subscribers that an account has another credential, or none any more.
    package func broker(reports account: Account, credentialReplaced old: Generation?) {
        let isHeld = account.session.held != nil
        publish(.token, "token.changed", account) { writer in
            writer.key("from")
            if let old { writer.integer(old.number) } else { writer.null() }
            writer.key("to")
            writer.integer(account.told.generation.number)
            writer.key("cause")
            writer.string(old == nil ? "added" : isHeld ? "replaced" : "deleted")
            writer.key("generation")
            writer.integer(account.told.generation.number)
            if isHeld { writer.moment("expires_at", account.session.schedule?.expiresAt) }
        }
    }

    /// Tells subscribers until when the platform honours a credential: the same one, with another end.
    package func broker(reportsExpiryOf account: Account) {
        publish(.token, "token.changed", account) { writer in
            for key: StaticString in ["from", "to"] {
                writer.key(key)
                writer.integer(account.told.generation.number)
            }
            writer.key("cause")
            writer.string("bound")
            writer.key("generation")
            writer.integer(account.told.generation.number)
            writer.moment("expires_at", account.session.schedule?.expiresAt)
        }
    }

    /// Tells subscribers that the disk refused a credential.
    package func broker(reports failure: StoreFailure, of account: Account) {
        publish(.daemon, "daemon.changed", account) { writer in
            writer.key("cause")
            writer.string(CallFailure(failure).kindText)
        }
    }

    /// Tells subscribers what a platform's machine reports.
    package func broker(reports change: PlatformChange, of account: Account) {
        let (topic, method) = change.topic.event
        publish(topic, method, account) { writer in
            writer.change(from: change.from?.text, to: change.to.text, change.cause.text)
        }
    }

    /// Tells subscribers that a session could not be renewed, and when that is tried again (R177).
    package func broker(reports account: Account, renewalFailed failure: RefreshFailure) {
        let outlook = broker.outlookOnSession(of: account)
        publish(.session, "session.renewal_failed", account) { writer in
            if let outlook {
                writer.key("state")
                writer.string(outlook.state.rawValue)
                writer.moment("next_renewal_at", outlook.nextRenewal)
            }
            writer.key("error")
            writer.refreshFailure(failure)
        }
    }

    /// Tells subscribers what has become noticeable about a credential (R40).
    package func broker(warns warning: PlatformChange.Word, of account: Account) {
        publish(.auth, "credential.warning", account) { writer in
            writer.key("kind")
            writer.word(warning)
            writer.key("generation")
            writer.integer(account.session.generation.number)
        }
    }

    /// Tells subscribers that a list of conversations may miss some, and is worth being asked for again a moment later (R88).
    package func broker(hintsMergeOf account: Account) {
        publish(.identity, "identity.merge_hint", account) { writer in
            writer.key("merge")
            writer.string("pending")
            writer.key("suggestion")
            writer.string("list_conversations_again")
        }
    }

    /// Tells subscribers that an account goes.
    package func broker(removes account: Account) {
        publish(.account, "account.changed", account) { writer in
            writer.change(from: account.told.state.rawValue, to: nil, "removed")
        }
        for topic in PlatformChange.Topic.allCases {
            let state = account.reported[topic]?.text ?? (topic == .auth ? account.told.auth.rawValue : nil)
            guard let state else { continue }
            let (events, method) = topic.event
            publish(events, method, account) { $0.change(from: state, to: nil, "removed") }
        }
        publish(.token, "token.changed", account) { writer in
            writer.key("from")
            writer.integer(account.told.generation.number)
            writer.key("to")
            writer.null()
            writer.key("cause")
            writer.string("removed")
        }
        for kind in registeredKinds(for: account) {
            publishHandler(account, kind, from: "registered", to: nil, cause: "removed")
        }
    }

    private func registeredKinds(for account: Account) -> [HandlerQuestion.Kind] {
        HandlerQuestion.Kind.allCases.filter { registry.registration(for: account.name, $0) != nil }
    }

    /// Tells subscribers that a handler came or went.
    func tellHandlerChange(
        _ name: AccountName, _ kind: HandlerQuestion.Kind, from wasThere: Bool, to isThere: Bool,
        _ cause: HandlerCause
    ) {
        guard let account = broker.account(named: name.text.utf8.span) else { return }
        publishHandler(
            account, kind, from: wasThere ? "registered" : "absent", to: isThere ? "registered" : "absent",
            cause: cause.rawValue)
    }

    private func publishHandler(
        _ account: Account, _ kind: HandlerQuestion.Kind, from: String?, to: String?, cause: String
    ) {
        publish(.handler, "handler.changed", account) { writer in
            writer.key("kind")
            writer.string(kind.method)
            writer.change(from: from, to: to, cause)
        }
    }

    /// Counts whom the new account's rules name, and tells subscribers.
    package func broker(added account: Account) {
        named.add(account.definition.access)
        reviewHandlers()
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
        reviewHandlers()
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
            // It says so only when it is otherwise than before.
            let isOpen = self.broker.storeState == .open
            writer.key("from")
            writer.string(isOpen ? "sealed" : "open")
            writer.key("to")
            writer.string(isOpen ? "open" : "sealed")
        }
    }
}

extension PlatformChange.Topic {
    fileprivate var event: (topic: Topics, method: StaticString) {
        switch self {
        case .auth: (.auth, "auth.changed")
        case .identity: (.identity, "identity.changed")
        case .session: (.session, "session.changed")
        }
    }
}

extension JSONWriter {
    /// Writes what something was, what it is, and why; null where there was or is nothing.
    fileprivate mutating func change(from: String?, to: String?, _ cause: String) {
        key("from")
        if let from { string(from) } else { null() }
        key("to")
        if let to { string(to) } else { null() }
        key("cause")
        string(cause)
    }

    /// Writes a state that a platform reported, or null.
    mutating func word(_ word: PlatformChange.Word?) {
        if let word { string(word.text) } else { null() }
    }
}
