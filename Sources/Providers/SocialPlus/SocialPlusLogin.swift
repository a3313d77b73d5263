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
            effects.append(
                .ask(
                    SocialPlusQuestion(
                        id: id, supplier: supplier, kind: .default, userID: user.id, isRenewal: false)))
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
        let id = begin(caller, user, .accessToken, isAsking: false, now, &effects)
        if rules.verifiesAccessToken {
            effects.append(.verify(id, token))
        } else {
            effects.append(.acceptUnverified(id, token))
            complete(caller, user, .accessToken, &effects)
        }
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
        flight = .none
        move(to: .notLoggedIn, .loginFailed, code: failure.providerCode, &effects)
        effects.append(.answer(login.caller, .failure(.exchange(failure))))
    }

    // MARK: Logout

    mutating func logOut(_ caller: WaiterID, _ effects: inout [SocialPlusEffect]) {
        if case .revocation(var revocation) = flight {
            // The account is held until the platform has answered.
            revocation.logouts.append(caller)
            flight = .revocation(revocation)
            return
        }
        end(.loggedOut, [caller], &effects)
    }

    mutating func logOutSecurely(_ caller: WaiterID, _ effects: inout [SocialPlusEffect]) {
        if case .revocation(var revocation) = flight {
            revocation.callers.append(caller)
            flight = .revocation(revocation)
            return
        }
        guard state != .start else {
            effects.append(.answer(caller, .failure(.stateInvalid(state))))
            return
        }
        // Without a session there is no token to revoke.
        guard state.isSession else { return end(.loggedOut, [caller], &effects) }
        var interruptedRenewal = false
        if case .renewal(let renewal) = flight {
            interruptedRenewal = true
            effects.append(.cancel(renewal.id))
            effects.append(.endRenewal(.declined(.signingOut)))
        }
        let id = issueNumber()
        flight = .revocation(
            Revocation(id: id, callers: [caller], interruptedRenewal: interruptedRenewal))
        effects.append(.revoke(id))
    }

    mutating func revoked(_ id: UInt64, _ effects: inout [SocialPlusEffect]) {
        guard case .revocation(let revocation) = flight, revocation.id == id else { return }
        flight = .none
        end(.revoked, revocation.callers + revocation.logouts, &effects)
    }

    /// The session is as it was (R164): what the revocation held up goes on.
    mutating func revocationFailed(
        _ id: UInt64, _ failure: RefreshFailure, _ effects: inout [SocialPlusEffect]
    ) {
        guard case .revocation(let revocation) = flight, revocation.id == id else { return }
        flight = .none
        if failure.kind == .terminated, state.isSession { terminate(failure.providerCode, &effects) }
        for caller in revocation.callers {
            effects.append(.answer(caller, .failure(.revokeFailed(failure))))
        }
        if !revocation.logouts.isEmpty {
            end(.loggedOut, revocation.logouts, &effects)
        } else if revocation.interruptedRenewal, state.isSession {
            effects.append(.wantRenewal)
        } else {
            wantRenewal(&effects)
        }
    }

    private mutating func end(
        _ cause: SocialPlusChange.Cause, _ callers: [WaiterID], _ effects: inout [SocialPlusEffect]
    ) {
        let wasLoggedOut = state == .notLoggedIn
        switch flight {
        case .login(let login):
            effects.append(.cancel(login.id))
            effects.append(.answer(login.caller, .failure(.loggedOut)))
        case .renewal(let renewal):
            effects.append(.cancel(renewal.id))
            effects.append(.endRenewal(.declined(.stateInvalid(.notLoggedIn))))
        case .none, .revocation: break
        }
        flight = .none
        kind = .default
        user = nil
        issuedAt = nil
        refreshToken = nil
        pausedUntil = nil
        if !wasLoggedOut {
            let wasStart = state == .start
            // Nothing was stored yet by a login that is given up.
            if state != .establishing { effects.append(.clearCredential) }
            move(to: .notLoggedIn, cause, &effects)
            if wasStart, let record { effects.append(.persist(record)) }
        }
        for caller in callers { effects.append(.answer(caller, .loggedOut(wasLoggedOut: wasLoggedOut))) }
    }
}
