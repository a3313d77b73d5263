package import CredentialCore
import Log
package import Providers
import Secrets

/// Credentials that are shown to a platform behind their installation: Kindly's, and those of a platform that is described.
extension Broker {
    // MARK: Life

    /// Begins the binding of an account that was opened; `bound` is the generation that the platform took for the chat that there is.
    func openBinding(of account: Account, bound: Generation?) {
        guard let platform = account.platform else { return }
        platform.binding = Self.bindTraits(of: account.definition).map { traits in
            BindSession(
                traits: traits, hasChat: account.chat?.isKnownToPlatform ?? false,
                boundGeneration: bound)
        }
    }

    /// What is bound behind its installation, and how; nil: nothing is.
    static func bindTraits(of definition: AccountDefinition) -> BindSession.Traits? {
        switch definition.platform {
        case .kindly(let bot):
            // Its turn may come behind one that was given up, and that is not broken off.
            BindSession.Traits(chat: bot.connecting, deadline: deadline(of: bot.transport, requests: 2))
        case .described(let bind) where bind.order == .behind:
            BindSession.Traits(deadline: deadline(of: bind.transport))
        case .chatbase, .socialPlus, .described, nil: nil
        }
    }

    // A request waits at the worker for a while, and then takes what it may.
    private static func deadline(
        of transport: PlatformTransport, requests: Int64 = 1
    ) -> Milliseconds {
        Milliseconds(transport.timeout.count * requests + 2000)
    }

    /// Brings the binding in line with the session: whether it works, and what it holds.
    func settleBinding(_ account: Account) {
        guard account.platform?.binding != nil, !account.isGone else { return }
        let session = account.session
        // What a bind that is out would bring is nobody's any more.
        guard !isShuttingDown else {
            if session.standing != .active { apply(.stopped, toBindingOf: account) }
            return
        }
        if let held = session.held, !session.isParked, session.standing != .sealed {
            var isBound = false
            if let ahead = account.platform?.boundAhead, ahead.bearer === held.credential?.bearer {
                isBound = ahead.chatID == account.chat?.id
                account.platform?.boundAhead = nil
            }
            apply(
                .credentialReplaced(held.generation, isBound: isBound, end: end(of: account)),
                toBindingOf: account)
            // Somebody else may be bound, by a sign-in that came to nothing: what is held is bound anew.
            if let credential = held.credential, !session.hasUnderway,
                account.platform?.lane?.mayHaveAnother(than: credential) == true
            {
                apply(.doubted(held.generation), toBindingOf: account)
            }
        } else {
            apply(.credentialGone, toBindingOf: account)
        }
        apply(session.standing == .active ? .started : .stopped, toBindingOf: account)
    }

    /// Why what is held is good for nothing any more; nil: it is, or it is not known what comes of what is under way.
    private func end(of account: Account) -> BindCause? {
        let session = account.session
        guard !session.isUsable(at: clock.now), session.standing == .active else { return nil }
        guard !session.hasUnderway else { return account.platform?.binding?.end }
        if session.isHeldRejected {
            // Somebody else may have seen it.
            let said = account.platform?.bindFailure.flatMap { $0.isRefusalOfPlatform ? $0 : nil }
            return .rejected(said ?? RefreshFailure(.rejected, party: .platform))
        }
        guard let failure = session.failures.last, failure.party == .source else { return .expired }
        return .source(failure)
    }

    /// Gives up what is out for a binding, without telling the platform.
    func endBinding(of account: Account) {
        guard let platform = account.platform else { return }
        for attempt in platform.bindAttempts.values { attempt.cancel() }
        platform.bindAttempts = [:]
        platform.binding = nil
    }

    /// Gives an event to an account's binding and does what it decides.
    func apply(_ event: BindEvent, toBindingOf account: Account) {
        guard let platform = account.platform, var binding = platform.binding else { return }
        let effects = binding.apply(event, at: clock.now, draw: ports.draw())
        platform.binding = binding
        for effect in effects { carryOut(effect, for: account) }
        switch event {
        case .bound, .failed, .chatAttached, .chatReset: tellWarnings(of: account)
        default: break
        }
        scheduleWake(of: account)
    }

    private func carryOut(_ effect: BindEffect, for account: Account) {
        switch effect {
        case .connect(let ticket): connect(account, ticket)
        case .bind(let ticket, let generation): bind(account, ticket, generation)
        case .cancel(let ticket): account.platform?.bindAttempts.removeValue(forKey: ticket)?.cancel()
        case .bound(let generation, let expiresAt): bound(account, generation, expiresAt)
        case .rejected(let generation, let failure): refused(account, generation, failure)
        case .announce(let state, let cause):
            report(.auth, PlatformChange.Word(state), cause: Self.word(for: state, cause), of: account)
        case .explain(let cause):
            report(
                .auth, PlatformChange.Word(BindState.anonymous), cause: Self.word(for: .anonymous, cause),
                of: account, isAnew: true)
        case .persist: rememberPlatform(of: account)
        }
    }

    /// Why the platform sees whom it sees, in one word.
    package static func word(for state: BindState, _ cause: BindCause?) -> PlatformChange.Word {
        switch (state, cause) {
        case (.authenticated, _): "bound"
        case (.authenticating, _): "credential_replaced"
        case (_, .stopped?): "stopped"
        case (_, .signedOut?): "signed_out"
        case (_, .expired?): "expired"
        case (_, .rejected(let failure)?), (_, .source(let failure)?): word(for: failure)
        case (.anonymous, nil): "no_credential"
        }
    }

    private static func word(for failure: RefreshFailure) -> PlatformChange.Word {
        if failure.isRefusalOfPlatform { return "refused_by_platform" }
        return PlatformChange.Word(snakeCase(failure.kind.rawValue)) ?? "failed"
    }

    private static func snakeCase(_ text: String) -> String {
        var words = ""
        for scalar in text.unicodeScalars {
            if ("A"..."Z").contains(scalar) {
                words += "_" + String(scalar).lowercased()
            } else {
                words.unicodeScalars.append(scalar)
            }
        }
        return words
    }

    // MARK: What the platform said

    private func bound(_ account: Account, _ generation: Generation, _ expiresAt: WallTime?) {
        account.platform?.bindFailure = nil
        apply(.bound(generation, expiresAt), to: account)
    }

    /// Reads until when a bearer holds that the platform took, and remembers where that cannot be read.
    func end(_ answer: BindAnswer, of bearer: SecretBytes, _ account: Account) -> WallTime? {
        account.platform?.expiryFlaw = answer.flaw.map { (.shown(bearer), $0) }
        if let flaw = answer.flaw {
            log.log(
                .warning, "The platform does not say until when the credential holds, as it should",
                id: MessageID.implausibleExpiry, (.account, .public(account.name.text)),
                (.reason, .public(flaw.rawValue)))
        }
        return answer.end(at: clock.now.wall)
    }

    private func refused(_ account: Account, _ generation: Generation, _ failure: RefreshFailure) {
        account.platform?.bindFailure = failure
        log.log(
            .warning, "The platform refused the credential", id: MessageID.credentialRefused,
            (.account, .public(account.name.text)), (.generation, .integer(generation.number)),
            (.kind, .public(failure.kind.rawValue)), (.status, .integer(Int64(failure.httpStatus ?? 0))))
        reject(account, generation)
    }

    /// Takes a refusal that we saw ourselves: what follows is what follows a report of somebody who operates the account.
    func reject(_ account: Account, _ generation: Generation) {
        let waiter = ownWaiter { _ in }
        apply(.rejected(waiter: waiter, generation: generation, role: .operate), to: account)
    }

    // MARK: Requests

    private func bind(_ account: Account, _ ticket: BindTicket, _ generation: Generation) {
        guard let credential = account.session.held?.credential, account.session.generation == generation
        else { return apply(.failed(ticket, RefreshFailure(.sourceUnavailable)), toBindingOf: account) }
        let attempt = Attempt()
        account.platform?.bindAttempts[ticket] = attempt
        bind(account, credential, attempt) { [weak self] outcome in
            account.platform?.bindAttempts[ticket] = nil
            attempt.end()
            switch outcome {
            case .success(let answer):
                let end = self?.end(answer, of: credential.bearer, account)
                self?.apply(.bound(ticket, expiresAt: end), toBindingOf: account)
            case .failure(let failure):
                if failure.kind != .rejected { account.platform?.bindFailure = failure }
                self?.apply(
                    account.mayReconnect(after: failure)
                        ? .chatUnknown(ticket, failure) : .failed(ticket, failure), toBindingOf: account)
            }
        }
    }

    /// Shows a credential to the platform, whoever holds it.
    func bind(
        _ account: Account, _ credential: Credential, _ attempt: Attempt,
        _ completion: @escaping (Result<BindAnswer, RefreshFailure>) -> Void
    ) {
        let name = account.name
        switch account.definition.platform {
        case .kindly(let bot): bindInTurn(account, bot, credential, attempt, completion)
        case .described(let bind):
            caller.send(to: .described(bind), for: name, in: attempt) { secrets throws(RefreshFailure) in
                try DescribedBind.request(bind, account: name, credential: credential, secrets: secrets)
            } read: { response throws(RefreshFailure) in
                try BindAnswer.read(
                    response, expiryField: bind.expiryField, refusals: bind.refusals)
            } completion: {
                completion($0)
            }
        case .chatbase, .socialPlus, nil: break
        }
    }
}
