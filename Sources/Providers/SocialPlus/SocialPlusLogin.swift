import CredentialCore
import Secrets

/// How sessions begin, and how they end because somebody wants it.
extension SocialPlusSession {
    mutating func logIn(
        _ caller: WaiterID, _ user: SocialPlusUser, _ proof: SocialPlusEvent.Proof, _ now: Instant,
        _ effects: inout [SocialPlusEffect]
    ) {
        guard state == .notLoggedIn else {
            effects.append(.answer(caller, .failure(.stateInvalid(state))))
            return
        }
        switch proof {
        case .authToken(let token):
            do throws(SocialPlusFieldFailure) {
                try SocialPlusUser.check(authToken: token)
            } catch {
                effects.append(.answer(caller, .failure(.field(error))))
                return
            }
            let id = begin(caller, user, .default, isAsking: false, now, &effects)
            effects.append(.makeSession(id, user, authToken: token))
        case .from(let supplier) where supplier != .nobody:
            let id = begin(caller, user, .default, isAsking: true, now, &effects)
            effects.append(.ask(Self.question(id, supplier, user)))
        case .from, .none:
            guard !rules.isSecureMode else {
                effects.append(.answer(caller, .failure(.handlerRequired)))
                return
            }
            let id = begin(caller, user, .default, isAsking: false, now, &effects)
            effects.append(.makeSession(id, user, authToken: nil))
        }
    }

    mutating func logIn(
        _ caller: WaiterID, _ user: SocialPlusUser, _ token: Credential, _ supplier: SocialPlusSupplier,
        _ now: Instant, _ effects: inout [SocialPlusEffect]
    ) {
        guard state == .notLoggedIn else {
            effects.append(.answer(caller, .failure(.stateInvalid(state))))
            return
        }
        guard supplier != .nobody else {
            effects.append(.answer(caller, .failure(.handlerRequired)))
            return
        }
        // Where the platform does not look at it, nobody else would say that it has ended.
        guard rules.verifiesAccessToken || !SocialPlusAccessToken.hasEnded(token.bearer, at: now.wall) else {
            let failure = SocialPlusAccessToken.Failure.expired.refreshFailure
            effects.append(.answer(caller, .failure(.exchange(failure))))
            return
        }
        let id = begin(caller, user, .accessToken, isAsking: false, now, &effects)
        if rules.verifiesAccessToken {
            effects.append(.verify(id, token))
        } else {
            effects.append(.acceptUnverified(id, token))
            complete(caller, user, .accessToken, &effects)
        }
    }

    private static func question(
        _ id: UInt64, _ supplier: SocialPlusSupplier, _ user: SocialPlusUser
    ) -> SocialPlusQuestion {
        SocialPlusQuestion(id: id, supplier: supplier, kind: .default, userID: user.id, isRenewal: false)
    }

    /// What the last one was asked is asked of the new one (R28), who has what is left of the login's time.
    ///
    /// Nobody is no one: whoever was asked may have been asked for the last time, and answers yet.
    mutating func changeLogin(to supplier: SocialPlusSupplier, _ effects: inout [SocialPlusEffect]) {
        guard case .login(var login) = flight, login.isAsking, supplier != .nobody else { return }
        effects.append(.cancel(login.id))
        login.id = issueNumber()
        flight = .login(login)
        effects.append(.ask(Self.question(login.id, supplier, login.user)))
    }

    private mutating func begin(
        _ caller: WaiterID, _ user: SocialPlusUser, _ kind: SocialPlusKind, isAsking: Bool, _ now: Instant,
        _ effects: inout [SocialPlusEffect]
    ) -> UInt64 {
        let id = issueNumber()
        flight = .login(
            Login(
                id: id, caller: caller, user: user, kind: kind, deadline: now.boot + rules.loginTimeout,
                isAsking: isAsking))
        move(to: .establishing, .loggingIn, &effects)
        return id
    }

    mutating func complete(
        _ caller: WaiterID, _ user: SocialPlusUser, _ kind: SocialPlusKind,
        _ effects: inout [SocialPlusEffect]
    ) {
        flight = .none
        self.user = user
        self.kind = kind
        move(to: .established, .loggedIn, &effects)
        effects.append(.answer(caller, .loggedIn(userID: user.id)))
    }

    mutating func giveUp(
        _ login: Login, _ failure: RefreshFailure, _ effects: inout [SocialPlusEffect]
    ) {
        giveUp(login, .exchange(failure), .loginFailed, code: failure.providerCode, &effects)
    }

    mutating func giveUp(
        _ login: Login, _ failure: SocialPlusSessionFailure, _ cause: SocialPlusChange.Cause,
        code: String? = nil, _ effects: inout [SocialPlusEffect]
    ) {
        flight = .none
        move(to: .notLoggedIn, cause, code: code, &effects)
        effects.append(.answer(login.caller, .failure(failure)))
        let mayBeMade =
            switch failure {
            case .exchange(let failure): !login.isAsking && failure.mayBeDone
            case .loginTimeout: !login.isAsking
            default: false
            }
        for caller in login.signOuts.secure {
            let reply: SocialPlusReply =
                mayBeMade ? .failure(.loginUnanswered) : .loggedOut(wasLoggedOut: true)
            effects.append(.answer(caller, reply))
        }
        for caller in login.signOuts.plain { effects.append(.answer(caller, .loggedOut(wasLoggedOut: true))) }
    }

    // MARK: Logout

    mutating func logOut(_ caller: WaiterID, _ effects: inout [SocialPlusEffect]) {
        switch flight {
        // The account is held until the platform has answered.
        case .revocation(var revocation):
            revocation.signOuts.plain.append(caller)
            flight = .revocation(revocation)
        // Somebody was promised that what comes of the login is revoked.
        case .login(var login) where !login.signOuts.secure.isEmpty:
            login.signOuts.plain.append(caller)
            flight = .login(login)
        case .none, .login, .renewal: end(.loggedOut, [caller], &effects)
        }
    }

    mutating func logOutSecurely(_ caller: WaiterID, _ effects: inout [SocialPlusEffect]) {
        switch flight {
        case .revocation(var revocation):
            revocation.signOuts.secure.append(caller)
            flight = .revocation(revocation)
        // The platform may have made a session already: there is something to revoke once it has said so.
        case .login(var login) where !login.isAsking:
            login.signOuts.secure.append(caller)
            flight = .login(login)
        case .none, .login, .renewal:
            guard state != .start else {
                effects.append(.answer(caller, .failure(.stateInvalid(state))))
                return
            }
            // Without a session there is no token to revoke.
            guard state.isSession else { return end(.loggedOut, [caller], &effects) }
            revoke(SignOuts(secure: [caller]), &effects)
        }
    }

    /// Has the platform revoke the token.
    ///
    /// That it is to is on disk first: what is cut short is finished at the next start.
    mutating func revoke(_ signOuts: SignOuts, _ effects: inout [SocialPlusEffect]) {
        var interruptedRenewal = false
        if case .renewal(let renewal) = flight {
            interruptedRenewal = true
            effects.append(.cancel(renewal.id))
            effects.append(.endRenewal(.declined(.signingOut)))
            if let giver = renewal.giver { effects.append(.answer(giver, .failure(.loggedOut))) }
        }
        let id = issueNumber()
        flight = .revocation(
            Revocation(
                id: id, signOuts: signOuts, isResumed: isRevocationOwed,
                interruptedRenewal: interruptedRenewal))
        if !isRevocationOwed {
            isRevocationOwed = true
            if let record { effects.append(.persist(record)) }
        }
        effects.append(.revoke(id))
    }

    mutating func revoked(_ id: UInt64, _ effects: inout [SocialPlusEffect]) {
        guard case .revocation(let revocation) = flight, revocation.id == id else { return }
        flight = .none
        end(.revoked, revocation.signOuts.all, &effects)
    }

    /// The session is as it was (R164): what the revocation held up goes on; one that was cut short before is tried until it is answered.
    mutating func revocationFailed(
        _ id: UInt64, _ failure: RefreshFailure, _ effects: inout [SocialPlusEffect]
    ) {
        guard case .revocation(let revocation) = flight, revocation.id == id else { return }
        // It was sent before: the platform takes the token no more because it did what it was asked to.
        if revocation.isResumed, SocialPlusRules.isTokenRefused(failure) { return revoked(id, &effects) }
        // It was promised before, and nobody has said yet what becomes of it.
        isRevocationOwed = revocation.isResumed && state.isSession && SocialPlusRules.isUnanswered(failure)
        if failure.kind == .terminated, state.isSession {
            flight = .none
            terminate(failure.providerCode, &effects)
        }
        goOn(behind: revocation, failure, &effects)
    }

    /// What the platform made of it is asked again when the account works again; it is not where nothing was sent.
    mutating func revocationCutShort(
        _ id: UInt64, _ wasSent: Bool, _ effects: inout [SocialPlusEffect]
    ) {
        guard case .revocation(let revocation) = flight, revocation.id == id else { return }
        isRevocationOwed = state.isSession && (wasSent || revocation.isResumed)
        goOn(behind: revocation, RefreshFailure(.sourceUnavailable), &effects)
    }

    private mutating func goOn(
        behind revocation: Revocation, _ failure: RefreshFailure, _ effects: inout [SocialPlusEffect]
    ) {
        flight = .none
        if state.isSession, !isRevocationOwed, revocation.signOuts.plain.isEmpty, let record {
            effects.append(.persist(record))
        }
        // Nothing is as it was where the platform has ended the session meanwhile, or with its answer.
        let isOver = state == .terminated && failure.kind != .terminated
        let told = isOver ? RefreshFailure(.terminated, providerCode: terminationCode) : failure
        for caller in revocation.signOuts.secure {
            effects.append(.answer(caller, .failure(.revokeFailed(told))))
        }
        if !revocation.signOuts.plain.isEmpty {
            end(.loggedOut, revocation.signOuts.plain, &effects)
        } else if revocation.interruptedRenewal, state.isSession, !isRevocationOwed {
            effects.append(.wantRenewal)
        } else {
            wantRenewal(&effects)
        }
    }

    private mutating func end(
        _ cause: SocialPlusChange.Cause, _ callers: [WaiterID], _ effects: inout [SocialPlusEffect]
    ) {
        let wasLoggedOut = state == .notLoggedIn
        var told: [SocialPlusEffect] = []
        switch flight {
        case .login(let login):
            effects.append(.cancel(login.id))
            told.append(.answer(login.caller, .failure(.loggedOut)))
        case .renewal(let renewal):
            effects.append(.cancel(renewal.id))
            told.append(.endRenewal(.declined(.stateInvalid(.notLoggedIn))))
            if let giver = renewal.giver { told.append(.answer(giver, .failure(.loggedOut))) }
        case .none, .revocation: break
        }
        flight = .none
        kind = .default
        user = nil
        issuedAt = nil
        refreshToken = nil
        pausedUntil = nil
        isRevocationOwed = false
        if !wasLoggedOut {
            let wasStart = state == .start
            // Nothing was stored yet by a login that is given up.
            if state != .establishing { effects.append(.clearCredential) }
            move(to: .notLoggedIn, cause, &effects)
            if wasStart, let record { effects.append(.persist(record)) }
        }
        // Nobody is answered before it can be seen.
        effects += told
        for caller in callers { effects.append(.answer(caller, .loggedOut(wasLoggedOut: wasLoggedOut))) }
    }
}
