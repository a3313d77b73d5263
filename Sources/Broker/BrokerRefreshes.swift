import CredentialCore
import Log
import Providers

/// Refreshes that are out.
extension Broker {
    func startRefresh(_ ticket: RefreshTicket, _ reason: RefreshReason, _ account: Account) {
        if case .socialPlus = account.definition.platform {
            return startRenewal(ticket, reason, account)
        }
        guard let source = liveSource(of: account), !isShuttingDown, !account.isGone else {
            apply(.refreshFailed(ticket, RefreshFailure(.sourceUnavailable)), to: account)
            return
        }
        counters.refreshesStarted += 1
        log.log(
            .info, "Refresh started", (.account, .public(account.name.text)),
            (.reason, .public(reason.rawValue)))
        let attempt = Attempt()
        account.flight = (attempt, ticket)
        flightCount += 1
        ask(source, reason, ticket, account, attempt)
    }

    private func ask(
        _ source: SourceDefinition, _ reason: RefreshReason, _ ticket: RefreshTicket, _ account: Account,
        _ attempt: Attempt, isAgain: Bool = false
    ) {
        withContext(account, reason) { [weak self] outcome in
            guard let self, !attempt.isOver else { return }
            switch outcome {
            case .failure(let failure):
                attempt.end()
                refreshDidEnd(ticket, account, .failure(failure))
            case .success(let context):
                run(source, context, ticket, account, attempt) { [weak self] outcome in
                    guard let self, !attempt.isOver else { return }
                    // The platform gave the chat another name, or a client brought another: the source is told that one (R5).
                    if case .failure(let failure) = outcome, failure.cause == .chatReplaced, !isAgain {
                        return ask(source, reason, ticket, account, attempt, isAgain: true)
                    }
                    attempt.end()
                    refreshDidEnd(ticket, account, outcome)
                }
            }
        }
    }

    private func run(
        _ source: SourceDefinition, _ context: SourceContext, _ ticket: RefreshTicket, _ account: Account,
        _ attempt: Attempt,
        _ completion: @escaping (Result<SourceAnswer.Reading, RefreshFailure>) -> Void
    ) {
        let id = runner.start(source, context) { [weak self] outcome in
            guard let self, !attempt.isOver else { return }
            switch outcome {
            case .failure(let failure): completion(.failure(failure))
            case .success(let reading):
                if account.platform != nil { apply(.sourceAnswered(ticket), to: account) }
                exchange(reading, account, context, attempt, completion: completion)
            }
        }
        if runner.isRunning(id) { attempt.proceed { [runner] in runner.cancel(id) } }
    }

    /// What a source is told: a chat is named before anybody hears of it (R5).
    private func withContext(
        _ account: Account, _ reason: RefreshReason,
        _ completion: @escaping (Result<SourceContext, RefreshFailure>) -> Void
    ) {
        let name = account.name
        let limit = account.definition.callbackTimeout
        guard case .kindly = account.definition.platform else {
            return completion(.success(SourceContext(account: name, reason: reason, limit: limit)))
        }
        withChat(of: account) { outcome in
            completion(
                outcome.map { SourceContext(account: name, reason: reason, chatID: $0.id, limit: limit) }
                    .mapError { RefreshFailure(.storeFull, cause: .store($0)) })
        }
    }

    func refreshDidEnd(
        _ ticket: RefreshTicket, _ account: Account, _ outcome: Result<SourceAnswer.Reading, RefreshFailure>
    ) {
        if account.flight?.ticket == ticket { forgetFlight(account) }
        switch outcome {
        case .success(let answer):
            counters.refreshesSucceeded += 1
            if answer.hasImplausibleExpiry {
                log.log(
                    .warning, "An expiry from the source is no moment and counts as unknown",
                    id: MessageID.implausibleExpiry, (.account, .public(account.name.text)))
            }
            apply(.refreshSucceeded(ticket, answer.fresh), to: account)
        case .failure(let failure):
            counters.refreshesFailed += 1
            account.platform?.pendingIdentity = nil
            apply(.sourceFailed(failure), toBindingOf: account)
            apply(.refreshFailed(ticket, failure), to: account)
        }
    }

    /// A refresh makes way for something else, and comes back after a pause.
    func deferRefresh(
        _ ticket: RefreshTicket, _ account: Account, _ reason: SessionFailure, pause: Milliseconds
    ) {
        if account.flight?.ticket == ticket { forgetFlight(account) }
        apply(.refreshDeferred(ticket, reason, pause: pause), to: account)
    }

    func cancelRefresh(_ ticket: RefreshTicket, _ account: Account) {
        guard let flight = account.flight, flight.ticket == ticket else { return }
        forgetFlight(account)
        flight.attempt.cancel()
    }

    private func forgetFlight(_ account: Account) {
        account.flight = nil
        flightCount -= 1
    }
}
