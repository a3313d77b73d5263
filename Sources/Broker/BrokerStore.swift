package import CredentialCore
import JSON
import Log
package import Secrets

/// What the store says.
extension Broker: StoreObserver {
    /// Hands the end of a change to whoever waits for it.
    package func storeDidComplete(_ completion: StoreCompletion) { storeAnswered(completion) }

    /// Hands what was read to whoever asked for it.
    package func storeDidRead(_ id: UInt64, _ outcome: Result<StoredCredential?, StoreFailure>) {
        storeAnswered(id, outcome)
    }

    /// Gives the sessions what was kept for them; does nothing when the store is open already.
    package func storeDidOpen(_ contents: StoreContents) {
        // What is open is not opened again: the sessions know more than the disk.
        guard storeState != .open else { return }
        let now = clock.now
        lastWrittenAt = contents.lastWrittenAt
        if let lastWrittenAt, now.wall < lastWrittenAt {
            log.log(
                .warning, "The wall clock is earlier than the newest entry of the store, refreshing first")
        }
        for stored in contents.credentials where isSealedOrAbsent(stored.account) {
            dormant[stored.account] = stored
        }
        // Before any account is opened: what is due at once may need them.
        loadSecrets(contents.secrets)
        keeper.load(contents.grants)
        memory.load(contents.states)
        setStoreState(.open)
        for account in accounts.sorted() where account.session.standing == .sealed { open(account, now) }
        for stored in contents.accounts { addStored(stored) }
        observer?.brokerAccountsDidChange()
        log.log(
            .notice, "Store opened", id: MessageID.storeOpened,
            (.count, .integer(Int64(contents.credentials.count))))
    }

    private func isSealedOrAbsent(_ name: AccountName) -> Bool {
        accounts.find(name).map { $0.session.standing == .sealed } ?? true
    }

    private func addStored(_ stored: StoredAccount) {
        guard let definition = Self.read(stored) else {
            log.log(
                .error, "A stored account cannot be read and is not used",
                (.account, .public(stored.name.text)))
            return
        }
        added[stored.name] = definition
        guard let account = accounts.find(stored.name) else {
            add(definition)
            return
        }
        guard account.definition.origin == .configuration else { return }
        log.log(
            .warning, "An account that was added has the name of a configured one and is not used",
            (.account, .public(stored.name.text)))
    }

    private static func read(_ stored: StoredAccount) -> AccountDefinition? {
        stored.definition.withSpan { definition in
            stored.policy.withSpan { policy in
                var definitionDocument = JSONDocument()
                var policyDocument = JSONDocument()
                guard let definition = try? definitionDocument.parse(definition),
                    let policy = try? policyDocument.parse(policy)
                else { return nil }
                return try? AccountDefinitionJSON.stored(
                    name: stored.name, definition: definition, policy: policy)
            }
        }
    }

    /// Lets every call that needs the store be refused with `reason`.
    package func storeDidStaySealed(_ reason: StoreFailure) {
        log.log(.error, "The store is sealed", id: MessageID.storeSealed, (.reason, .public("\(reason)")))
        setStoreState(.sealed(reason))
    }
}

extension Broker: FetchObserver {
    /// Passes the end of an HTTP request on to the run that asked for it; unknown ids are dropped.
    package func fetchDidEnd(_ id: UInt64, _ outcome: Result<FetchResponse, FetchFailure>) {
        requester.fetchDidEnd(id, outcome)
        scheduleWake()
    }
}

extension Broker: FileObserver {
    /// Passes what files hold on to the run that asked for them; unknown ids are dropped.
    package func filesDidEnd(_ id: UInt64, _ outcome: Result<[SecretBytes], FileFailure>) {
        runner.filesDidEnd(id, outcome)
    }
}

extension Broker: SigningObserver {
    /// Passes a signature on to whoever asked for it; unknown ids are dropped.
    package func signingDidEnd(_ id: UInt64, _ outcome: Result<SecretBytes, SigningFailure>) {
        signer.signingDidEnd(id, outcome)
    }

    /// Passes a verdict on to whoever asked for it; unknown ids are dropped.
    package func verificationDidEnd(_ id: UInt64, _ outcome: Result<Void, VerificationFailure>) {
        signer.verificationDidEnd(id, outcome)
    }
}
