package import CredentialCore
package import Providers

/// What is remembered of logins and renewals that came to nothing, for whoever explains them; only in memory.
extension Broker {
    /// Remembers that a login was refused before anybody was asked.
    package func loginWasRefused(_ account: Account, _ failure: RefreshFailure, _ kind: SocialPlusKind) {
        note(failure, .request, kind, account)
    }

    func note(
        _ failure: RefreshFailure, _ step: SocialPlusSetback.Step, _ kind: SocialPlusKind, _ account: Account
    ) {
        account.platform?.work.loginSetback = SocialPlusSetback(failure, step, kind, at: clock.now.wall)
    }

    /// Remembers what whoever logs in is told, where that is a failure of the login itself.
    func noteLogin(_ reply: SocialPlusReply, _ turn: SessionTurn, _ account: Account) {
        let kind = turn.before.kindUnderway
        switch reply {
        case .failure(.handlerRequired):
            note(RefreshFailure(.handlerRequired), .request, turn.step.event.loginKind ?? kind, account)
        case .failure(.loginTimeout): note(RefreshFailure(.timeout), .timeout, kind, account)
        case .failure(.exchange(let failure)) where turn.step.event.loginKind != nil:
            note(failure, .request, turn.step.event.loginKind ?? kind, account)
        case .failure(.exchange(let failure)) where turn.before.state == .establishing:
            guard let step = step(turn, kind, account) else { return }
            note(failure, step, kind, account)
        default: break
        }
    }

    func noteRenewal(_ end: SocialPlusRenewalEnd, _ turn: SessionTurn, _ account: Account) {
        let kind = turn.before.kind
        switch end {
        case .accepted:
            account.platform?.work.renewalSetback = nil
            account.renewals.succeeded += 1
        case .failed(let failure):
            account.renewals.failed += 1
            guard let step = step(turn, kind, account) else { return }
            account.platform?.work.renewalSetback = SocialPlusSetback(failure, step, kind, at: clock.now.wall)
        case .unable: account.renewals.failed += 1
        case .declined: break
        }
    }

    /// Where what is under way ended; nil: it was given up here, and nobody failed.
    private func step(
        _ turn: SessionTurn, _ kind: SocialPlusKind, _ account: Account
    ) -> SocialPlusSetback.Step? {
        switch turn.step.reason {
        case nil: break
        case .store: return .store
        default: return nil
        }
        return switch turn.step.event {
        case .offered: account.platform?.work.asked == .source ? .source : .handler
        case .exchangeFailed: kind == .default ? .session : .verification
        default: nil
        }
    }
}

extension SocialPlusEvent {
    /// Of which kind the session is that somebody wants; nil: nobody does.
    fileprivate var loginKind: SocialPlusKind? {
        switch self {
        case .loginRequested: .default
        case .accessTokenLoginRequested: .accessToken
        default: nil
        }
    }
}
