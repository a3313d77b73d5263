import CredentialCore
import Log
import Providers

/// How access tokens are ended at the platform: because somebody signs out, and where nobody could keep what it made.
extension Broker {
    func revoke(_ id: UInt64, _ account: Account) {
        // The intent was on its way to the disk, and the account was stopped meanwhile.
        if let failure = isShuttingDown ? .shuttingDown : account.session.standingFailure {
            return apply(
                .revocationCutShort(id, wasSent: false), toSessionOf: account, reason: failure)
        }
        guard let token = account.session.held?.credential else {
            return apply(.revocationFailed(id, RefreshFailure(.empty)), toSessionOf: account)
        }
        let attempt = beginStep(id, account)
        revoke(token, account, attempt) { [weak self] outcome in
            guard let self, endStep(id, attempt, account) else { return }
            if account.socialPlus?.isFinishingRevocation == true { noteFinish(outcome, account) }
            // What nobody waits for says nothing to those who want something else.
            let isWaitedFor = account.socialPlus?.isRevocationWaitedFor == true
            switch outcome {
            case .success:
                commandEnded(account, nil)
                apply(.revoked(id), toSessionOf: account)
            case .failure(let failure):
                if isWaitedFor { commandEnded(account, failure) }
                apply(.revocationFailed(id, failure), toSessionOf: account)
            }
        }
    }

    private func noteFinish(_ outcome: Result<Void, RefreshFailure>, _ account: Account) {
        if case .failure(let failure) = outcome, SocialPlusRules.isUnanswered(failure) {
            account.platform?.work.finishing.record(
                failure, at: clock.now, remaining: .max, draw: ports.draw())
        } else {
            account.platform?.work.finishing = FailureRecord()
        }
        if case .failure(let failure) = outcome, !SocialPlusRules.isTokenRefused(failure) {
            log.log(
                .warning,
                SocialPlusRules.isUnanswered(failure)
                    ? "A secure logout that was cut short has no answer yet, and is tried again"
                    : "A secure logout that was cut short cannot be finished, and the session stays",
                (.account, .public(account.name.text)), (.kind, .public(failure.kind.rawValue)),
                (.status, .integer(Int64(failure.httpStatus ?? 0))))
        } else {
            log.log(
                .notice, "A secure logout that was cut short is finished",
                (.account, .public(account.name.text)))
        }
    }

    /// Has the platform end a session that the disk did not take; the login whose it is fails when that is over.
    ///
    /// A login that is given up meanwhile does not keep it from being ended.
    func withdraw(_ session: Credential, _ id: UInt64, _ account: Account, _ failure: SessionFailure) {
        let attempt = beginStep(id, account)
        revoke(session, account, Attempt()) { [weak self] outcome in
            guard let self else { return }
            if case .failure(let failure) = outcome {
                log.log(
                    .warning, "A session that the disk did not take stays open at the platform",
                    (.account, .public(account.name.text)), (.kind, .public(failure.kind.rawValue)),
                    (.status, .integer(Int64(failure.httpStatus ?? 0))))
            }
            guard endStep(id, attempt, account) else { return }
            apply(
                .exchangeFailed(id, RefreshFailure(.storeFull)), toSessionOf: account, reason: failure)
        }
    }

    /// Has the platform end an access token.
    func revoke(
        _ token: Credential, _ account: Account, _ attempt: Attempt,
        _ completion: @escaping (Result<Void, RefreshFailure>) -> Void
    ) {
        guard case .socialPlus(let network) = account.definition.platform else { return }
        caller.send(to: .socialPlus(network), for: account.name, in: attempt) { _ throws(RefreshFailure) in
            try SocialPlusRequests.revoke(network, token: token)
        } read: { response throws(RefreshFailure) in
            try SocialPlusAnswer.revoked(response, of: network)
        } completion: {
            completion($0)
        }
    }
}
