package import CredentialCore
import Log
package import Providers
package import Secrets

/// What callers want of sessions at social.plus, and what their accounts do by themselves.
extension Broker {
    /// Logs a user in (R161); without a token handler or source are asked for one.
    ///
    /// Answered once the session is on disk.
    /// Whoever waits longer than `patience` is told so; the login goes on.
    package func logIn(
        _ account: Account, _ user: SocialPlusUser, authToken: SecretBytes?, patience: Milliseconds?,
        waiter: WaiterID
    ) {
        guard mayLogIn(account, waiter) else { return }
        wait(account, waiter, patience)
        let proof = authToken.map { SocialPlusEvent.Proof.authToken($0) }
        apply(
            .loginRequested(waiter, user, proof ?? .from(loginSupplier(of: account.definition))),
            toSessionOf: account, caller: waiter)
    }

    /// Why no access token would be looked at now, whatever it is; nil: one would be (R191, R204).
    package func accessTokenRefusal(_ account: Account) -> SocialPlusSessionFailure? {
        guard let state = account.socialPlus?.state else { return nil }
        if state != .notLoggedIn { return .stateInvalid(state) }
        return supplier(of: account.definition, .accessToken) == .nobody ? .handlerRequired : nil
    }

    /// Logs the user in whom an access token names (R190); somebody must give the next one (R191).
    package func logIn(
        _ account: Account, _ user: SocialPlusUser, accessToken: Credential, patience: Milliseconds?,
        waiter: WaiterID
    ) {
        guard mayLogIn(account, waiter) else { return }
        wait(account, waiter, patience)
        apply(
            .accessTokenLoginRequested(
                waiter, user, accessToken, supplier(of: account.definition, .accessToken)),
            toSessionOf: account, caller: waiter)
    }

    /// Ends the session here, from any state (R163); one that is parked is forgotten, which is what whoever says so wants.
    package func endSession(_ account: Account, waiter: WaiterID) {
        guard mayChange(account, waiter) else { return }
        forgetLogin(of: account)
        apply(.logoutRequested(waiter), toSessionOf: account, caller: waiter)
    }

    /// Has the platform end the session, and ends it here only when that has (R164); one that is being made is ended once it is.
    ///
    /// Nobody is asked where nobody is logged in, and where the platform has ended it already. A session that is parked can be revoked
    /// nowhere: it stays as it is, whatever is under way beside it.
    package func revokeSession(_ account: Account, waiter: WaiterID) {
        guard mayAsk(account, waiter) else { return }
        guard !account.session.isParked else {
            return answer(waiter, account, .session(.failure(.parked)))
        }
        guard mayReach(account, waiter, from: \.isSession) else { return }
        forgetLogin(of: account)
        apply(.secureLogoutRequested(waiter), toSessionOf: account, caller: waiter)
    }

    /// Renews a session now; one that is being revoked has no use for another token.
    package func renewSession(_ account: Account, wait: Milliseconds, waiter: WaiterID) {
        guard account.session.standing != .active || account.socialPlus?.isRevocationOwed != true else {
            return answer(waiter, account, .session(.failure(.gated(.ending))))
        }
        apply(.refreshRequested(waiter: waiter, wait: wait), to: account)
    }

    /// Gives the token that a renewal waits for, in place of whoever was asked (R186, R187); nil: the one that is out.
    package func offer(
        _ account: Account, _ offer: SocialPlusOffer, to renewal: UInt64?, waiter: WaiterID
    ) {
        guard mayAsk(account, waiter) else { return }
        // No renewal has the number 0.
        let id = renewal ?? account.socialPlus?.renewalID ?? 0
        apply(.offered(waiter, id, offer), toSessionOf: account, caller: waiter)
    }

    /// Takes a code that a client saw (R178).
    package func report(_ account: Account, code: Int64, waiter: WaiterID) {
        guard mayChange(account, waiter) else { return }
        apply(.reported(waiter, code: code), toSessionOf: account, caller: waiter)
    }

    /// Takes a refusal that a client saw; a code that ends a session does so where the client may operate the account (R178).
    ///
    /// Who may only use it could end everybody's session with a word: what it saw is worth a renewal, in which the platform says it
    /// itself.
    package func reject(
        _ account: Account, _ generation: Generation?, code: Int64?, role: Role, waiter: WaiterID
    ) {
        if role >= .operate, let code, let machine = account.socialPlus, machine.state.isSession,
            machine.rules.ends(code, isRenewal: false), account.session.standingFailure == nil,
            generation ?? account.session.generation == account.session.generation
        {
            return report(account, code: code, waiter: waiter)
        }
        apply(.rejected(waiter: waiter, generation: generation, role: role), to: account)
    }

    private func mayChange(_ account: Account, _ waiter: WaiterID) -> Bool {
        let isOpen = account.session.standing != .sealed && account.socialPlus != nil
        if isShuttingDown || !isOpen {
            answer(waiter, account, .session(.failure(isShuttingDown ? .shuttingDown : .sealed)))
            return false
        }
        return true
    }

    private func mayAsk(_ account: Account, _ waiter: WaiterID) -> Bool {
        guard mayChange(account, waiter) else { return false }
        guard account.session.standing == .active else {
            answer(waiter, account, .session(.failure(.stopped)))
            return false
        }
        return true
    }

    private func mayLogIn(_ account: Account, _ waiter: WaiterID) -> Bool {
        mayAsk(account, waiter) && mayReach(account, waiter) { $0 == .notLoggedIn }
    }

    /// A platform in trouble, or that refused again and again, is left alone for a while; in the other states it would not be asked.
    private func mayReach(
        _ account: Account, _ waiter: WaiterID, from isAsked: (SocialPlusState) -> Bool
    ) -> Bool {
        guard let machine = account.socialPlus, isAsked(machine.state), !machine.isRevoking,
            let failure = rest(of: account)
        else { return true }
        answer(waiter, account, .session(.failure(failure)))
        return false
    }

    private func wait(_ account: Account, _ waiter: WaiterID, _ patience: Milliseconds?) {
        guard let patience, account.socialPlus?.state == .notLoggedIn else { return }
        account.platform?.work.patience = (waiter, clock.now.boot + patience)
    }

    private func forgetLogin(of account: Account) {
        account.platform?.work.nextLogin = nil
        account.platform?.work.waitsForSupplier = false
        account.platform?.work.signOuts += 1
    }

    // MARK: Life

    /// Goes on with what the store remembers, once credential and row are there (R170, R171).
    func openSession(of account: Account) {
        if account.socialPlus == nil, account.session.gate != nil {
            // It was an account at social.plus before.
            account.reported[.session] = nil
            apply(.gated(nil), to: account)
        }
        guard let platform = account.platform, case .socialPlus(let machine) = platform.state,
            machine.state == .start, account.session.standing != .sealed,
            case .socialPlus(let network) = account.definition.platform
        else { return }
        let now = clock.now
        var held = SocialPlusEvent.Held.nothing
        if account.session.held != nil, !account.session.isParked {
            held = account.session.schedule?.isExpired(at: now) == true ? .expired : .valid
        }
        if network.logsInOnStart { platform.work.nextLogin = now.boot }
        apply(.restored(platform.work.record, held), toSessionOf: account)
    }

    /// Ends what waits for a session whose account changes or goes; what is out for it is given up.
    func endSession(of account: Account, _ failure: SessionFailure) {
        guard let platform = account.platform, case .socialPlus = platform.state else { return }
        for attempt in platform.work.attempts.values { attempt.cancel() }
        platform.work.attempts = [:]
        platform.work.steps = []
        let callers = platform.work.callers
        platform.work.callers = []
        for caller in callers.sorted(by: { $0.number < $1.number }) {
            answer(caller, account, .session(.failure(failure)))
        }
    }

    /// Lets time pass for a session.
    func wakeSession(of account: Account) {
        guard let platform = account.platform, let machine = account.socialPlus else { return }
        let now = clock.now
        if let patience = platform.work.patience, patience.deadline <= now.boot {
            platform.work.patience = nil
            platform.work.callers.remove(patience.waiter)
            answer(
                patience.waiter, account, .session(.failure(.deadlineExceeded(retryAfter: .seconds(1)))))
        }
        guard !platform.work.isBusy else { return }
        if machine.isRevocationDue, account.session.standing == .active, !isShuttingDown,
            platform.work.finishing.notBefore.map({ $0 <= now.boot }) ?? true
        {
            apply(.revocationDue, toSessionOf: account)
        }
        if let moment = machine.nextWakeUp, moment <= now.boot { apply(.wokeUp, toSessionOf: account) }
        if machine.state == .established, account.session.held != nil,
            account.session.schedule?.isExpired(at: now) == true
        {
            apply(.tokenExpired, toSessionOf: account)
        }
        logInByItself(account)
        scheduleWake(of: account)
    }

    /// Logs in where the account is to be logged in from its start on; what fails is tried again after a growing pause.
    func logInByItself(_ account: Account) {
        guard let platform = account.platform, let moment = platform.work.nextLogin,
            moment <= clock.now.boot, !platform.work.isBusy, account.socialPlus?.state == .notLoggedIn,
            account.session.standing == .active, !account.session.isParked, !isShuttingDown,
            case .socialPlus(let network) = account.definition.platform, let userID = network.userID,
            let user = try? SocialPlusUser(id: userID, displayName: network.displayName)
        else { return }
        platform.work.nextLogin = nil
        let isNobodyThere = network.isSecureMode && loginSupplier(of: account.definition) == .nobody
        platform.work.waitsForSupplier = isNobodyThere
        guard !isNobodyThere else {
            log.log(
                .warning, "The account cannot log in: nobody gives an auth token",
                (.account, .public(account.name.text)))
            return
        }
        let signOuts = platform.work.signOuts
        let waiter = ownWaiter { [weak self] answer in
            guard let self, platform.work.signOuts == signOuts else { return }
            switch answer {
            case .socialPlus(.failure(.exchange)), .socialPlus(.failure(.loginTimeout)),
                .session(.failure), .storeFailed:
                break
            default:
                platform.work.failedLogins = 0
                return
            }
            let pause = Milliseconds.seconds(min(900, 30 << min(platform.work.failedLogins, 5)))
            platform.work.failedLogins += 1
            platform.work.nextLogin = clock.now.boot + pause
            log.log(.warning, "The account could not log in", (.account, .public(account.name.text)))
        }
        logIn(account, user, authToken: nil, patience: nil, waiter: waiter)
    }
}
