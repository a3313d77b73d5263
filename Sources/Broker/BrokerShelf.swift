package import CredentialCore
import Log
import Providers
import Secrets

/// Accounts that rest: their tokens are on disk only (R58), and come back for a start, and for the length of a look.
extension Broker {
    /// Lets an account rest: what is under way for it is given up, its tokens are forgotten here, and what is stored of it stays.
    package func stop(_ account: Account) {
        account.stops += 1
        let held = account.session.held
        let doubted = account.platform?.lane?.mayHaveAnother(beside: held?.credential) == true ? held : nil
        endCommands(of: account, .stopped)
        apply(.stopped, to: account)
        giveUpSteps(of: account, .stopped)
        if let doubted { apply(.doubted(doubted.generation), toBindingOf: account) }
        account.platform?.forgetTokens(besides: held)
    }

    /// Lets an account work again, once its tokens are read; `completion` gets why it rests on, within this call where nothing is read.
    package func start(_ account: Account, completion: @escaping (SessionFailure?) -> Void = { _ in }) {
        let stops = account.stops
        withTokens(of: account) { [weak self] failure in
            guard let self else { return }
            guard account.stops == stops, !account.isGone else { return completion(.stopped) }
            if let failure {
                log.log(
                    .error, "An account rests on, what is stored of it cannot be read",
                    (.account, .public(account.name.text)), (.reason, .public("\(failure)")))
                return completion(.store(failure))
            }
            apply(.started, to: account)
            tellWarnings(of: account)
            completion(nil)
        }
    }

    /// Has the tokens of what an account holds be there for the length of `body`, which comes within this call where they are; `body`
    /// gets why they cannot be read.
    package func withTokens(of account: Account, _ body: @escaping (StoreFailure?) -> Void) {
        guard account.session.isShelved else { return body(nil) }
        readCredential(of: account.name) { outcome in
            // What became of the account meanwhile counts: it may hold nothing any more, or work again.
            switch outcome {
            // One that was removed meanwhile has no row, and nothing is wrong with that.
            case .success(let stored):
                body(account.session.unshelve(stored) || account.isGone ? nil : .corrupt(detail: .row))
            case .failure(let failure): body(account.session.isShelved ? failure : nil)
            }
            account.session.shelve()
        }
    }
}

extension AccountPlatform {
    /// Forgets tokens that are kept beside the credential.
    ///
    /// Where nothing is held, the platform may have somebody bound whom only a sign-out can end, and that needs the token.
    fileprivate func forgetTokens(besides held: HeldCredential?) {
        boundAhead = nil
        refusedToken = nil
        guard let held else {
            expiryFlaw = nil
            return
        }
        expiryFlaw = expiryFlaw.flatMap { $0.bearer.isOf(held) ? (.held(held.generation), $0.flaw) : nil }
        lane?.forget()
    }
}
