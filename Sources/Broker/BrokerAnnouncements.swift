package import CredentialCore
import Log
import Providers

/// What is said of changes: each once, and in order.
extension Broker {
    /// Tells whoever listens that a platform's machine is in another state; says nothing where it is the same, unless it began anew.
    package func report(
        _ topic: PlatformChange.Topic, _ state: PlatformChange.Word, cause: PlatformChange.Word,
        of account: Account, isAnew: Bool = false
    ) {
        let old = account.reported[topic]
        guard old != state || isAnew, !account.isGone else { return }
        account.reported[topic] = state
        // An account comes and goes in one sentence, which says how it is.
        guard account.isTold || topic != .auth else { return }
        observer?.broker(
            reports: PlatformChange(topic, from: old, to: state, cause: cause), of: account)
    }

    func tellStates(of account: Account, _ now: Instant) {
        guard account.isTold else { return }
        let old = account.told
        account.told.state = account.session.state(at: now)
        account.told.auth = account.session.auth(at: now)
        if account.told.state != old.state {
            observer?.broker(reports: account, movedFrom: old.state)
        }
        // Whoever was told may have changed it again.
        if account.told.auth != old.auth {
            observer?.broker(reports: account, authMovedFrom: old.auth)
        }
    }

    /// Tells of an account that was not there before, with all that it comes with.
    func tellAppearance(of account: Account, _ now: Instant) {
        account.isTold = true
        account.told = Account.Told(account.session, at: now)
        observer?.broker(reports: account, movedFrom: nil)
        observer?.broker(reports: account, authMovedFrom: nil)
        observer?.broker(reports: account, credentialReplaced: nil)
    }

    /// Tells of a credential that the store had.
    func tellGeneration(of account: Account) {
        let old = account.told.generation
        guard account.isTold, account.session.generation != old else { return }
        account.told.generation = account.session.generation
        observer?.broker(reports: account, credentialReplaced: old)
    }

    func announce(_ change: SessionChange, _ account: Account) {
        switch change {
        case .replaced(let generation):
            spread(account)
            noteRepeatedToken(of: account)
            identityReplaced(account)
            log.log(
                .notice, "Credential replaced", id: MessageID.credentialReplaced,
                (.account, .public(account.name.text)), (.generation, .integer(generation.number)))
        case .expiryChanged: spread(account)
        case .deleted:
            spread(account)
            forgetIdentity(account)
            rememberForgetting(of: account)
            log.log(
                .notice, "Credential deleted", id: MessageID.credentialDeleted,
                (.account, .public(account.name.text)))
        case .refreshFailed(let failure):
            log.log(
                .warning, "Refresh failed", id: MessageID.refreshFailed,
                (.account, .public(account.name.text)),
                (.kind, .public(failure.kind.rawValue)), (.status, .integer(Int64(failure.httpStatus ?? 0))))
        case .recovered:
            log.log(
                .notice, "Refresh works again", id: MessageID.refreshRecovered,
                (.account, .public(account.name.text)))
        case .notStored:
            log.log(
                .error, "Credential is served from memory, the store refused it", id: MessageID.storeRefused,
                (.account, .public(account.name.text)))
        }
        tellGeneration(of: account)
        tellWarnings(of: account)
        if case .notStored(let failure) = change { observer?.broker(reports: failure, of: account) }
        if case .refreshFailed(let failure) = change, account.socialPlus?.state.isSession == true {
            observer?.broker(reports: account, renewalFailed: failure)
        }
        if case .expiryChanged = change { observer?.broker(reportsExpiryOf: account) }
        // Behind the token that it is of, and before whoever waits for that is served.
        if case .replaced = change { sessionInstalled(account) }
    }

    // R14: sent beside itself it would fail an authentication that is good.
    private func noteRepeatedToken(of account: Account) {
        guard let credential = account.session.held?.credential, credential.idToken != nil,
            credential.accessToken != nil, credential.companion == nil
        else { return }
        log.log(
            .debug, "The access token is the ID token once more and is not sent beside it",
            (.account, .public(account.name.text)))
    }
}
