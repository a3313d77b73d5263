import CredentialCore
import Log
import Providers

/// Refreshes of credentials that are sessions at social.plus: the credential session says when, the machine says how.
extension Broker {
    /// Begins a refresh; `endRenewal` ends it.
    func startRenewal(_ ticket: RefreshTicket, _ reason: RefreshReason, _ account: Account) {
        guard let platform = account.platform, let machine = account.socialPlus, !isShuttingDown,
            !account.isGone
        else {
            apply(.refreshFailed(ticket, RefreshFailure(.sourceUnavailable)), to: account)
            return
        }
        counters.refreshesStarted += 1
        log.log(
            .info, "Refresh started", (.account, .public(account.name.text)),
            (.reason, .public(reason.rawValue)))
        let attempt = Attempt()
        attempt.proceed { [weak self] in self?.cancelRenewal(ticket, account) }
        account.flight = (attempt, ticket)
        flightCount += 1
        platform.work.reason = reason
        apply(
            .renewalDue(
                supplier(of: account.definition, machine.kind),
                isForced: reason == .forced || reason == .authenticate),
            toSessionOf: account, ticket: ticket)
    }

    private func cancelRenewal(_ ticket: RefreshTicket, _ account: Account) {
        guard account.platform?.work.ticket == ticket else { return }
        account.platform?.work.ticket = nil
        giveUpSteps(of: account, nil)
    }

    /// Ends everything that is out for a session; whoever waits for it is told `reason`.
    func giveUpSteps(of account: Account, _ reason: SessionFailure?) {
        guard let attempts = account.platform?.work.attempts, !attempts.isEmpty else { return }
        account.platform?.work.attempts = [:]
        let failure = RefreshFailure(.sourceUnavailable)
        for (id, attempt) in attempts.sorted(by: { $0.key < $1.key }) {
            attempt.cancel()
            // Only the one that is expected under that number changes anything.
            apply(.offered(nil, id, .failed(failure)), toSessionOf: account, reason: reason)
            apply(.exchangeFailed(id, failure), toSessionOf: account, reason: reason)
            apply(.revocationCutShort(id, wasSent: true), toSessionOf: account, reason: reason)
        }
    }

    /// Tells the credential session what came of a refresh; what was accepted was told when it was installed.
    func endRenewal(
        _ end: SocialPlusRenewalEnd, _ turn: SessionTurn, _ platform: AccountPlatform, _ account: Account
    ) {
        noteRenewal(end, turn, account)
        let ticket = turn.step.ticket ?? platform.work.ticket
        if turn.step.ticket == nil { platform.work.ticket = nil }
        if let ticket, case .declined(.signingOut) = end {
            // As long as the platform is asked to revoke the token, and rests in between.
            let now = clock.now.boot
            let pause = max(.seconds(1), (platform.work.finishing.notBefore ?? now) - now)
            deferRefresh(ticket, account, .gated(.ending), pause: pause)
        } else if let ticket, let failure = end.failure(at: clock.now.boot) {
            refreshDidEnd(ticket, account, .failure(failure))
        }
        reviewTraits(of: account)
    }

    /// Has the credential session ask for a renewal, as its own rules allow.
    func wantRenewal(_ account: Account, after event: SocialPlusEvent) {
        switch event {
        case .reported, .callFailed:
            // A client saw the platform refuse it: the same as if it had rejected the token.
            apply(.rejected(waiter: ownWaiter { _ in }, generation: nil, role: .operate), to: account)
        case .wokeUp, .revocationFailed:
            let waiter = ownWaiter { _ in }
            apply(.refreshRequested(waiter: waiter, wait: .zero), to: account)
        default: apply(.wokeUp, to: account)
        }
    }

    // MARK: Suppliers

    /// Who gives the next token of a session of that kind: a client that registered for it, else the source (R185, R192).
    func supplier(of definition: AccountDefinition, _ kind: SocialPlusKind) -> SocialPlusSupplier {
        if desk.hasHandler(for: definition.name, kind.renewalQuestion) { return .handler }
        switch definition.source {
        case nil: return .nobody
        // Clients again, as in front of any other source.
        case .rpc: return desk.hasHandler(for: definition.name, .credentialFetch) ? .source : .nobody
        default: return .source
        }
    }

    /// What clients are asked where that supplier is; nil: nothing.
    private func question(
        to supplier: SocialPlusSupplier, _ kind: SocialPlusKind, _ definition: AccountDefinition
    ) -> HandlerQuestion.Kind? {
        switch (supplier, definition.source) {
        case (.handler, _): kind.renewalQuestion
        case (.source, .rpc): .credentialFetch
        case (.source, _), (.nobody, _): nil
        }
    }

    /// Who gives the token of a login.
    func loginSupplier(of definition: AccountDefinition) -> SocialPlusSupplier {
        if desk.hasHandler(for: definition.name, .credentialFetch) { return .handler }
        switch definition.source {
        case .rpc, nil: return .nobody
        default: return .source
        }
    }

    /// Whether a refresh of the account can bring anything, or is about to.
    func hasSupplier(_ definition: AccountDefinition) -> Bool {
        let account = accounts.find(definition.name)
        return supplier(of: definition, account?.socialPlus?.kind ?? .default) != .nobody
            || account?.flight != nil
    }

    /// Brings what the credential session knows of its source in line.
    func reviewTraits(of account: Account, sourceChanged: Bool = false) {
        let traits = traits(of: account.definition)
        guard traits != account.session.traits || sourceChanged else { return }
        let now = clock.now
        let effects = account.session.reconfigure(traits, sourceChanged: sourceChanged, at: now)
        settle(account, now)
        carryOut(effects, for: account)
    }

    /// Looks again at who supplies a session; `newcomer`: another client is asked such questions now.
    func reviewSupplier(of account: Account, newcomer: HandlerQuestion.Kind? = nil) {
        guard let platform = account.platform, let machine = account.socialPlus, machine.state != .start
        else { return }
        let supplier = supplier(of: account.definition, machine.kind)
        let isChanged =
            supplier != platform.work.supplier
            || newcomer != nil && newcomer == question(to: supplier, machine.kind, account.definition)
        platform.work.supplier = supplier
        guard isChanged else { return reviewTraits(of: account) }
        apply(.supplierChanged(supplier), toSessionOf: account)
        // A renewal that is out goes on with the new one's answer.
        reviewTraits(of: account, sourceChanged: supplier != .nobody && account.flight == nil)
        if supplier != .nobody {
            apply(.sourceRenewed(signsIn: false, outdatesHeld: false), to: account)
        }
    }

    /// Somebody registered as a handler, or is no more.
    func sessionHandlersDidChange(_ account: Account, _ kind: HandlerQuestion.Kind, isNew: Bool) {
        guard account.socialPlus != nil else { return }
        reviewSupplier(of: account, newcomer: isNew ? kind : nil)
        guard kind == .credentialFetch, isNew else { return }
        apply(.loginSupplierChanged(loginSupplier(of: account.definition)), toSessionOf: account)
        guard account.platform?.work.waitsForSupplier == true else { return }
        account.platform?.work.nextLogin = clock.now.boot
        logInByItself(account)
    }
}

extension SocialPlusRenewalEnd {
    /// What the credential session is told; nil: nothing more.
    fileprivate func failure(at now: BootTime) -> RefreshFailure? {
        switch self {
        case .accepted: nil
        case .failed(let failure): failure
        case .unable(let until), .declined(.paused(let until)):
            RefreshFailure(.callbackRejected, retryAfter: max(.zero, until - now))
        case .declined(.handlerRequired): RefreshFailure(.handlerRequired)
        case .declined(.stateInvalid), .declined(.alreadyRunning), .declined(.signingOut):
            RefreshFailure(.sourceUnavailable, retryAfter: .seconds(1))
        }
    }
}
