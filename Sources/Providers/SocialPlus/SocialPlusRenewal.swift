package import CredentialCore
import Secrets

/// How sessions go on, and how they end because the platform wants it.
extension SocialPlusSession {
    /// Why no renewal would be begun now; nil: one would (R202, R205).
    package func refusal(_ supplier: SocialPlusSupplier, isForced: Bool, at now: BootTime)
        -> SocialPlusRefusal?
    {
        guard state.isSession else { return .stateInvalid(state) }
        switch flight {
        case .renewal: return .alreadyRunning
        case .revocation: return .signingOut
        case .login, .none: break
        }
        if isRevocationOwed { return .signingOut }
        guard supplier != .nobody else { return .handlerRequired }
        if let pausedUntil, now < pausedUntil, !isForced { return .paused(until: pausedUntil) }
        return nil
    }

    mutating func renew(
        _ supplier: SocialPlusSupplier, _ isForced: Bool, _ now: Instant, _ effects: inout [SocialPlusEffect]
    ) {
        if let refusal = refusal(supplier, isForced: isForced, at: now.boot) {
            effects.append(.endRenewal(.declined(refusal)))
            return
        }
        ask(supplier, &effects)
    }

    private mutating func ask(_ supplier: SocialPlusSupplier, _ effects: inout [SocialPlusEffect]) {
        guard let user else { preconditionFailure("a session has a user") }
        let id = issueNumber()
        flight = .renewal(Renewal(id: id, isAsking: true))
        effects.append(
            .ask(
                SocialPlusQuestion(
                    id: id, supplier: supplier, kind: kind, userID: user.id, isRenewal: true)))
    }

    /// Another supplier's question is not the last one's: that one is invalid, and the new one is asked.
    mutating func change(to supplier: SocialPlusSupplier, _ effects: inout [SocialPlusEffect]) {
        if supplier != .nobody { pausedUntil = nil }
        if case .renewal(let renewal) = flight, renewal.isAsking {
            effects.append(.cancel(renewal.id))
            if supplier == .nobody {
                flight = .none
                effects.append(.endRenewal(.declined(.handlerRequired)))
            } else {
                ask(supplier, &effects)
            }
        } else if supplier != .nobody {
            wantRenewal(&effects)
        }
    }

    // MARK: What suppliers give

    mutating func take(
        _ offer: SocialPlusOffer, _ id: UInt64, _ caller: WaiterID?, _ now: Instant,
        _ effects: inout [SocialPlusEffect]
    ) {
        let sessionKind: SocialPlusKind
        let sessionUser: SocialPlusUser?
        switch flight {
        case .login(let login) where login.id == id && login.isAsking:
            (sessionKind, sessionUser) = (login.kind, login.user)
        case .renewal(let renewal) where renewal.id == id && renewal.isAsking:
            (sessionKind, sessionUser) = (kind, user)
        case .none, .login, .renewal, .revocation:
            if let caller { effects.append(.answer(caller, .failure(.renewalUnknown))) }
            return
        }
        guard let sessionUser else { preconditionFailure("a session has a user") }
        let effect: SocialPlusEffect
        do throws(RefreshFailure) {
            effect = try use(offer, id, sessionKind, sessionUser, now)
        } catch {
            declined(offer, id, error, now, &effects)
            if let caller { effects.append(.answer(caller, reply(to: offer, error))) }
            return
        }
        switch flight {
        case .login(var login):
            login.isAsking = false
            flight = .login(login)
            effects.append(effect)
            if let caller { effects.append(.answer(caller, .offerTaken)) }
        case .renewal(var renewal):
            renewal.isAsking = false
            renewal.giver = caller
            flight = .renewal(renewal)
            if case .acceptUnverified = effect {
                finishRenewal(renewal, effect, &effects)
            } else {
                effects.append(effect)
            }
        case .none, .revocation: break
        }
    }

    /// What is done with what was given; a failure is what the flight comes to.
    private func use(
        _ offer: SocialPlusOffer, _ id: UInt64, _ kind: SocialPlusKind, _ user: SocialPlusUser,
        _ now: Instant
    ) throws(RefreshFailure) -> SocialPlusEffect {
        switch (offer, kind) {
        case (.authToken(let token), .default):
            do throws(SocialPlusFieldFailure) {
                try SocialPlusUser.check(authToken: token)
            } catch {
                throw RefreshFailure(.malformed)
            }
            return .makeSession(id, user, authToken: token)
        case (.bare, .default):
            // In secure mode the platform would say "unauthorised", which during a renewal is the end of the session.
            guard !rules.isSecureMode else { throw RefreshFailure(.empty, cause: .token(.missing)) }
            return .makeSession(id, user, authToken: nil)
        case (.accessToken(let token), .accessToken):
            do throws(SocialPlusAccessToken.Failure) {
                try SocialPlusAccessToken.checkRenewed(token.bearer, for: user.id, now: now.wall)
            } catch {
                throw error.refreshFailure
            }
            return rules.verifiesAccessToken ? .verify(id, token) : .acceptUnverified(id, token)
        case (.unable, _): throw RefreshFailure(.rejected)
        case (.failed(let failure), _): throw failure
        case (.authToken, .accessToken), (.bare, .accessToken): throw RefreshFailure(.malformed)
        case (.accessToken, .default): throw RefreshFailure(.malformed)
        }
    }

    private func reply(to offer: SocialPlusOffer, _ failure: RefreshFailure) -> SocialPlusReply {
        switch offer {
        case .unable, .failed: .offerTaken
        case .authToken, .bare, .accessToken: .failure(.exchange(failure))
        }
    }

    /// Nothing came of the question; the session is as it was (R177), and rests where the supplier said that it has no token.
    private mutating func declined(
        _ offer: SocialPlusOffer, _ id: UInt64, _ failure: RefreshFailure, _ now: Instant,
        _ effects: inout [SocialPlusEffect]
    ) {
        if case .login(let login) = flight { return giveUp(login, failure, &effects) }
        flight = .none
        guard case .unable = offer else {
            effects.append(.endRenewal(.failed(failure)))
            return
        }
        let until = now.boot + rules.renewalPause
        pausedUntil = until
        effects.append(.endRenewal(.unable(until: until)))
    }

    // MARK: What the platform answered

    mutating func succeed(
        _ id: UInt64, _ issuedAt: WallTime?, _ refreshToken: SecretBytes?,
        _ effects: inout [SocialPlusEffect]
    ) {
        switch flight {
        case .login(let login) where login.id == id && !login.isAsking:
            self.issuedAt = issuedAt
            self.refreshToken = refreshToken
            effects.append(.accept(id))
            complete(login.caller, login.user, login.kind, &effects)
            if !login.signOuts.secure.isEmpty { revoke(login.signOuts, &effects) }
        case .renewal(let renewal) where renewal.id == id && !renewal.isAsking:
            self.issuedAt = issuedAt
            self.refreshToken = refreshToken
            finishRenewal(renewal, .accept(id), &effects)
        case .none, .login, .renewal, .revocation: break
        }
    }

    private mutating func finishRenewal(
        _ renewal: Renewal, _ acceptance: SocialPlusEffect, _ effects: inout [SocialPlusEffect]
    ) {
        flight = .none
        pausedUntil = nil
        if state == .tokenExpired {
            move(to: .established, .renewed, accepting: acceptance, &effects)
        } else {
            if let record { effects.append(.persist(record)) }
            effects.append(acceptance)
        }
        effects.append(.endRenewal(.accepted))
        if let giver = renewal.giver { effects.append(.answer(giver, .offerTaken)) }
    }

    mutating func fail(_ id: UInt64, _ failure: RefreshFailure, _ effects: inout [SocialPlusEffect]) {
        switch flight {
        case .login(let login) where login.id == id && !login.isAsking: giveUp(login, failure, &effects)
        case .renewal(let renewal) where renewal.id == id && !renewal.isAsking:
            flight = .none
            if failure.kind == .terminated { terminate(failure.providerCode, &effects) }
            effects.append(.endRenewal(.failed(failure)))
            if let giver = renewal.giver { effects.append(.answer(giver, .failure(.exchange(failure)))) }
        case .none, .login, .renewal, .revocation: break
        }
    }

    mutating func expire(
        _ cause: SocialPlusChange.Cause, _ code: String?, _ effects: inout [SocialPlusEffect]
    ) {
        guard state == .established else { return }
        move(to: .tokenExpired, cause, code: code, &effects)
        if pausedUntil == nil { wantRenewal(&effects) }
    }

    mutating func report(_ caller: WaiterID, _ code: Int64, _ effects: inout [SocialPlusEffect]) {
        var isAccepted = false
        if state.isSession, rules.ends(code, isRenewal: false) {
            isAccepted = true
            terminate(String(code), &effects)
        } else if state == .established, code == SocialPlusCode.unauthorized {
            isAccepted = true
            expire(.unauthorized, String(code), &effects)
        }
        effects.append(.answer(caller, .reported(isAccepted: isAccepted)))
    }

    mutating func callFailed(_ failure: RefreshFailure, _ effects: inout [SocialPlusEffect]) {
        guard state.isSession else { return }
        if failure.kind == .terminated {
            terminate(failure.providerCode, &effects)
        } else if SocialPlusRules.isTokenRefused(failure) {
            expire(.unauthorized, failure.providerCode, &effects)
        }
    }

    /// Ends the session for good; no supplier is asked any more (R198), and a revocation under way is still answered.
    mutating func terminate(_ code: String?, _ effects: inout [SocialPlusEffect]) {
        var interrupted: Renewal?
        if case .renewal(let renewal) = flight {
            flight = .none
            interrupted = renewal
            effects.append(.cancel(renewal.id))
        }
        pausedUntil = nil
        issuedAt = nil
        refreshToken = nil
        isRevocationOwed = false
        effects.append(.clearCredential)
        move(to: .terminated, .terminated, code: code, &effects)
        if let interrupted {
            let failure = RefreshFailure(.terminated, providerCode: code)
            effects.append(.endRenewal(.failed(failure)))
            if let giver = interrupted.giver { effects.append(.answer(giver, .failure(.exchange(failure)))) }
        }
    }
}
