import CredentialCore
import Log
import Providers
import Secrets

/// Drives the sessions at social.plus: gives events to their machines and carries out what those decide, in order.
extension Broker {
    /// Gives an event to an account's session, behind those that are not done yet.
    func apply(
        _ event: SocialPlusEvent, toSessionOf account: Account, caller: WaiterID? = nil,
        ticket: RefreshTicket? = nil, brought: SessionWork.Brought? = nil, reason: SessionFailure? = nil
    ) {
        guard let platform = account.platform, case .socialPlus = platform.state else { return }
        if let caller { platform.work.callers.insert(caller) }
        platform.work.steps.append(
            SessionWork.Step(event: event, ticket: ticket, brought: brought, reason: reason))
        proceed(platform, account)
    }

    func proceed(_ platform: AccountPlatform, _ account: Account) {
        while !platform.work.isBusy, !platform.work.steps.isEmpty, account.platform === platform {
            let step = platform.work.steps.removeFirst()
            // The refresh that it was for was given up before its turn came.
            if let ticket = step.ticket, account.flight?.ticket != ticket { continue }
            guard case .socialPlus(var machine) = platform.state else { return }
            let turn = SessionTurn(step, before: machine)
            let effects = machine.apply(step.event, at: clock.now)
            platform.state = .socialPlus(machine)
            platform.work.isBusy = true
            let isDeclined = effects.contains { if case .endRenewal = $0 { true } else { false } }
            if let ticket = step.ticket, !isDeclined { platform.work.ticket = ticket }
            // Who was banned or has left gets nothing while the disk is still asked to forget; whoever waits is told when it is told.
            if machine.state != turn.before.state,
                machine.state == .terminated || machine.state == .notLoggedIn
            {
                apply(.gated(.ending), to: account)
            }
            carryOut(effects[...], turn, platform, account)
        }
    }

    private func carryOut(
        _ effects: ArraySlice<SocialPlusEffect>, _ turn: SessionTurn, _ platform: AccountPlatform,
        _ account: Account
    ) {
        var rest = effects
        while let effect = rest.popFirst() {
            guard account.platform === platform else { return }
            let later = rest
            let goOn = { [weak self] in
                guard let self, account.platform === platform else { return }
                carryOut(later, turn, platform, account)
                proceed(platform, account)
            }
            switch effect {
            case .accept:
                guard let brought = turn.step.brought else { continue }
                return install(brought, turn, platform, account, goOn)
            case .acceptUnverified(_, let token):
                let exp = UnverifiedJWT(token.bearer)?.exp ?? .absent
                let brought = SessionWork.Brought(
                    credential: token, expiries: Expiries(exp: exp.moment),
                    hasImplausibleExpiry: exp == .implausible)
                return install(brought, turn, platform, account, goOn)
            case .clearCredential: return clearCredential(of: account, turn, goOn)
            case .persist(let record):
                platform.work.record = record
                return rememberPlatform(of: account) { failure in
                    turn.storeFailure = turn.storeFailure ?? failure.map { .store($0) }
                    goOn()
                }
            case .answer(let waiter, .loggedOut(wasLoggedOut: true))
            where account.session.held != nil:
                // The disk did not forget it when it was asked to, or it was parked: whoever signs out means that, too.
                let wasParked = account.session.isParked
                return clearCredential(of: account, turn) { [weak self] in
                    self?.reply(waiter, .loggedOut(wasLoggedOut: !wasParked), turn, account)
                    goOn()
                }
            default: carryOut(effect, turn, platform, account)
            }
        }
        platform.work.isBusy = false
        scheduleWake(of: account)
    }

    /// Carries out what takes no time.
    private func carryOut(
        _ effect: SocialPlusEffect, _ turn: SessionTurn, _ platform: AccountPlatform, _ account: Account
    ) {
        switch effect {
        case .ask(let question): ask(question, account)
        case .makeSession(let id, let user, let token): makeSession(id, user, authToken: token, account)
        case .verify(let id, let token): verify(id, token, account)
        case .revoke(let id): revoke(id, account)
        case .cancel(let id): platform.work.attempts.removeValue(forKey: id)?.cancel()
        case .announce(let change): announce(change, platform, account)
        case .wantRenewal: wantRenewal(account, after: turn.step.event)
        case .endRenewal(let end): endRenewal(end, turn, platform, account)
        case .answer(let waiter, let reply): self.reply(waiter, reply, turn, account)
        case .accept, .acceptUnverified, .clearCredential, .persist: break
        }
    }

    private func announce(
        _ change: SocialPlusChange, _ platform: AccountPlatform, _ account: Account
    ) {
        if change.cause == .loggedIn { platform.work.loginSetback = nil }
        if !change.to.isSession { platform.work.renewalSetback = nil }
        if let machine = account.socialPlus {
            platform.work.supplier = supplier(of: account.definition, machine.kind)
        }
        reviewTraits(of: account)
        if change.to == .established, change.from == .establishing, platform.work.supplier == .nobody {
            log.log(
                .warning, "Nobody gives the next token of the session: it ends with its token",
                (.account, .public(account.name.text)))
        }
        if change.to != .notLoggedIn, change.to != .establishing { platform.work.nextLogin = nil }
        tell(change.to, cause: PlatformChange.Word(change.cause), platform, account)
    }

    /// Lets a state be seen: first to whoever listens, and then to whoever waits for what follows from it.
    private func tell(
        _ state: SocialPlusState, cause: PlatformChange.Word, _ platform: AccountPlatform, _ account: Account
    ) {
        platform.work.told = state
        report(.session, PlatformChange.Word(state), cause: cause, of: account)
        apply(.gated(state.gate), to: account)
    }

    /// Answers whoever asked.
    private func reply(
        _ waiter: WaiterID, _ reply: SocialPlusReply, _ turn: SessionTurn, _ account: Account
    ) {
        noteLogin(reply, turn, account)
        guard account.platform?.work.callers.remove(waiter) != nil else { return }
        if account.platform?.work.patience?.waiter == waiter { account.platform?.work.patience = nil }
        switch reply {
        case .failure(.exchange) where turn.step.reason != nil,
            .failure(.revokeFailed) where turn.step.reason != nil:
            if let reason = turn.step.reason { answer(waiter, account, .session(.failure(reason))) }
        // It waited for a login that was given up: whether the platform made a session of that is not known.
        case .loggedOut where turn.step.reason != nil && turn.before.state == .establishing:
            if let reason = turn.step.reason { answer(waiter, account, .session(.failure(reason))) }
        // The daemon would forget with its end what this answer says.
        case .loggedIn where turn.storeFailure != nil, .loggedOut where turn.storeFailure != nil,
            .reported(isAccepted: true)
        where turn.storeFailure != nil && account.socialPlus?.state == .terminated:
            if let failure = turn.storeFailure { answer(waiter, account, .session(.failure(failure))) }
        default: answer(waiter, account, .socialPlus(reply))
        }
    }

    // MARK: The credential

    /// Makes what an exchange brought the credential of the session, before anybody is told.
    private func install(
        _ brought: SessionWork.Brought, _ turn: SessionTurn, _ platform: AccountPlatform,
        _ account: Account, _ goOn: @escaping () -> Void
    ) {
        var isInstalled = false
        let goOn = {
            if !isInstalled { goOn() }
            isInstalled = true
        }
        platform.work.resume = goOn
        if turn.before.state.isSession, let ticket = platform.work.ticket, account.flight?.ticket == ticket {
            platform.work.ticket = nil
            refreshDidEnd(
                ticket, account,
                .success(
                    SourceAnswer.Reading(
                        fresh: FreshCredential(credential: brought.credential, expiries: brought.expiries),
                        hasImplausibleExpiry: brought.hasImplausibleExpiry)))
            // Unless it is on its way to the disk, nothing more comes of it.
            if account.session.state(at: clock.now) != .refreshing { sessionInstalled(account) }
            return
        }
        let waiter = ownWaiter { [weak self] answer in
            guard case .session(.failure(let failure)) = answer, !turn.before.state.isSession else {
                return goOn()
            }
            platform.work.resume = nil
            self?.undoLogin(failure, turn, platform, account)
        }
        apply(.saved(waiter: waiter, brought.credential, brought.expiries), to: account)
    }

    /// Goes on with what waited for a credential to be installed.
    func sessionInstalled(_ account: Account) {
        guard let resume = account.platform?.work.resume else { return }
        account.platform?.work.resume = nil
        resume()
    }

    /// A login whose credential could not be kept did not happen (R174).
    private func undoLogin(
        _ failure: SessionFailure, _ turn: SessionTurn, _ platform: AccountPlatform, _ account: Account
    ) {
        guard account.platform === platform else { return }
        platform.state = .socialPlus(turn.before)
        platform.work.isBusy = false
        switch turn.step.event {
        case .exchangeSucceeded(let id, _, _):
            // The platform made a session, which nobody would ever end; an access token is the customer's, and is left alone.
            if turn.before.kindUnderway == .default, let session = turn.step.brought?.credential {
                withdraw(session, id, account, failure)
            } else {
                platform.work.steps.insert(
                    SessionWork.Step(
                        event: .exchangeFailed(id, RefreshFailure(.storeFull)), reason: failure), at: 0)
            }
        case .accessTokenLoginRequested(let waiter, _, _, _):
            note(RefreshFailure(.storeFull), .store, .accessToken, account)
            tell(.notLoggedIn, cause: "login_failed", platform, account)
            if platform.work.callers.remove(waiter) != nil {
                answer(waiter, account, .session(.failure(failure)))
            }
        default: break
        }
        proceed(platform, account)
    }

    private func clearCredential(
        of account: Account, _ turn: SessionTurn, _ goOn: @escaping () -> Void
    ) {
        guard account.session.held != nil else { return goOn() }
        let waiter = ownWaiter { answer in
            if case .session(.failure(let failure)) = answer { turn.storeFailure = failure }
            goOn()
        }
        apply(.deleted(waiter: waiter), to: account)
    }
}
