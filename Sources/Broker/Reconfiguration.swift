package import CredentialCore

/// A configuration that is being taken over: what is left to do of it.
struct Reconfiguration {
    /// Accounts of the configuration before, which are looked at for whether they are in this one.
    var before: ArraySlice<AccountDefinition>
    let names: Set<AccountName>
    /// Accounts that are to be added or changed.
    var coming: ArraySlice<AccountDefinition>
    let completion: () -> Void
}

/// The accounts of the configuration.
///
/// There may be thousands, so that a new configuration is taken over a few accounts at a time, and clients have their turns in between.
/// Until `completion` an account is as it was before or as it will be, and nothing else.
extension Broker {
    /// Takes the accounts that the configuration describes, instead of those that it described before.
    ///
    /// A name that an added account has is configuration's from now on; the added one is back when configuration lets go of it.
    package func configure(_ definitions: [AccountDefinition]) {
        begin(definitions) {}
        while reconfiguration != nil { goOnConfiguring() }
        scheduleWake()
    }

    /// The same a few accounts now and the rest in the turns that follow; `completion` is called behind the last of them.
    package func reconfigure(_ definitions: [AccountDefinition], completion: @escaping () -> Void) {
        begin(definitions, completion)
        goOnConfiguring()
        scheduleWake()
    }

    private func begin(_ definitions: [AccountDefinition], _ completion: @escaping () -> Void) {
        // One after the other: what was begun is brought to its end.
        while reconfiguration != nil { goOnConfiguring() }
        reconfiguration = Reconfiguration(
            before: configured[...], names: Set(definitions.map(\.name)), coming: definitions[...],
            completion: completion)
        configured = definitions
        // Who is an administrator may have changed as well, so every verdict is to be reached again.
        accessVersion += 1
        for account in accounts.all { account.accessVersion = accessVersion }
    }

    /// Takes over some more accounts.
    func goOnConfiguring() {
        guard var left = reconfiguration else { return }
        let old = left.before.prefix(Self.configuredPerTurn)
        left.before.removeFirst(old.count)
        let new = left.coming.prefix(Self.configuredPerTurn - old.count)
        left.coming.removeFirst(new.count)
        let isDone = left.before.isEmpty && left.coming.isEmpty
        reconfiguration = isDone ? nil : left
        for definition in old where !left.names.contains(definition.name) { letGo(of: definition.name) }
        for definition in new { take(definition) }
        guard isDone else { return }
        observer?.brokerAccountsDidChange()
        left.completion()
    }

    private func letGo(of name: AccountName) {
        if let added = added[name], let account = accounts.find(name) {
            change(account, to: added)
        } else {
            drop(name)
        }
    }

    private func take(_ definition: AccountDefinition) {
        if let account = accounts.find(definition.name) {
            change(account, to: definition)
        } else {
            add(definition)
        }
    }
}
