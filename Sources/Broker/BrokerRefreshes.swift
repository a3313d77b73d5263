import CredentialCore
import Log
import Providers

/// Refreshes that are out.
extension Broker {
    func startRefresh(_ ticket: RefreshTicket, _ reason: RefreshReason, _ account: Account) {
        guard let source = account.definition.source, !isShuttingDown, !account.isGone else {
            apply(.refreshFailed(ticket, RefreshFailure(.sourceUnavailable)), to: account)
            return
        }
        counters.refreshesStarted += 1
        log.log(
            .info, "Refresh started", (.account, .public(account.name.text)),
            (.reason, .public(reason.rawValue)))
        let id = runner.start(source, SourceContext(account: account.name, reason: reason)) {
            [weak self] outcome in
            self?.refreshDidEnd(ticket, account, outcome)
        }
        // A run that ended within the call has been reported already and is not out.
        guard runner.isRunning(id) else { return }
        account.flight = (id, ticket)
        flightCount += 1
    }

    private func refreshDidEnd(
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
            apply(.refreshFailed(ticket, failure), to: account)
        }
    }

    func cancelRefresh(_ ticket: RefreshTicket, _ account: Account) {
        guard let flight = account.flight, flight.ticket == ticket else { return }
        forgetFlight(account)
        runner.cancel(flight.id)
    }

    private func forgetFlight(_ account: Account) {
        account.flight = nil
        flightCount -= 1
    }
}
