package import CredentialCore
import Log
package import Secrets

/// Connected clients as sources.
extension Broker {
    /// Whoever knows which clients are registered; set before the first call, and not kept.
    package var handlers: (any HandlerPort)? {
        get { desk.port }
        set { desk.port = newValue }
    }

    /// Where the account's credentials come from now: a registered handler goes before the configured source (R28).
    ///
    /// Nil as well where the source is a handler and none is connected.
    func liveSource(of account: Account) -> SourceDefinition? { liveSource(of: account.definition) }

    func liveSource(of definition: AccountDefinition) -> SourceDefinition? {
        guard desk.hasHandler(for: definition.name, .credentialFetch) else {
            if case .rpc = definition.source { return nil }
            return definition.source
        }
        return .rpc
    }
}

extension Broker: HandlerObserver {
    /// Passes an answer on to whoever asked; unknown ids are dropped.
    package func handlerDidAnswer(_ id: UInt64, _ outcome: Result<SecretBytes, HandlerFailure>) {
        desk.handlerDidAnswer(id, outcome)
        scheduleWake()
    }

    /// Asks whoever is registered now: at once, where nothing valid is held and nobody signed out (R28).
    package func handlersDidChange(for name: AccountName, _ kind: HandlerQuestion.Kind, isNew: Bool) {
        guard let account = accounts.find(name) else { return }
        if case .socialPlus = account.definition.platform {
            return sessionHandlersDidChange(account, kind, isNew: isNew)
        }
        guard kind == .credentialFetch else { return }
        let now = clock.now
        let effects = account.session.reconfigure(
            traits(of: account.definition), sourceChanged: isNew, at: now)
        settle(account, now)
        carryOut(effects, for: account)
        apply(.wokeUp, to: account)
    }
}
