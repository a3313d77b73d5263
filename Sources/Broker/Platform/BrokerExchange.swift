package import CredentialCore
import Log
import Providers

/// What stands between a source's answer and the credential: the platform is shown it first, where it must be.
extension Broker {
    /// Has the platform say what it says of a fresh credential before that counts; `completion` comes later, or within this call
    /// where there is nothing to ask.
    func exchange(
        _ reading: SourceAnswer.Reading, _ account: Account, _ context: SourceContext, _ attempt: Attempt,
        completion: @escaping (Result<SourceAnswer.Reading, RefreshFailure>) -> Void
    ) {
        let reason = context.reason
        switch account.definition.platform {
        case .chatbase(let agent):
            let credential = reading.fresh.credential
            // Somebody was signed in by hand: what a source says of another signs nobody out.
            if reason != .authenticate, isOtherUser(credential, than: account.session.held) {
                return completion(.failure(RefreshFailure(.otherUser)))
            }
            let isNew = reason == .authenticate || account.session.held == nil
            let isOther = isOtherUser(credential, than: account.session.held)
            verify(account, agent, credential, isAlone: false, attempt) { outcome in
                completion(
                    outcome.map { verified in
                        account.platform?.pendingIdentity = AccountPlatform.PendingIdentity(
                            verified: verified, isNew: isNew, isOther: isOther)
                        return reading
                    })
            }
        case .kindly:
            checkPair(reading.fresh.credential, of: account) { [weak self] failure in
                guard let self, !attempt.isOver else { return }
                if let failure { return completion(.failure(failure)) }
                // Who signs in is told whether the platform took it (R50); everybody else is served meanwhile.
                let isForChat = { account.chat?.id == context.chatID }
                guard reason == .authenticate else {
                    return completion(isForChat() ? .success(reading) : .failure(.chatReplaced))
                }
                withKnownChat(of: account, attempt) { [weak self] outcome in
                    switch outcome {
                    case .failure(let failure): completion(.failure(failure))
                    case .success where !isForChat(): completion(.failure(.chatReplaced))
                    case .success(false): completion(.success(reading))
                    case .success(true): self?.bindAhead(reading, account, attempt, completion)
                    }
                }
            }
        case .described(let bind) where bind.order == .before:
            bindAhead(reading, account, attempt, completion)
        case .socialPlus, .described, nil: completion(.success(reading))
        }
    }

    private func bindAhead(
        _ reading: SourceAnswer.Reading, _ account: Account, _ attempt: Attempt, mayReconnect: Bool = true,
        _ completion: @escaping (Result<SourceAnswer.Reading, RefreshFailure>) -> Void
    ) {
        let chatID = account.chat?.id
        let bearer = reading.fresh.credential.bearer
        bind(account, reading.fresh.credential, attempt) { [weak self] outcome in
            guard let self else { return }
            switch outcome {
            case .success(let answer):
                let end = end(answer, of: bearer, account)
                if let end, end <= clock.now.wall {
                    return completion(
                        .failure(RefreshFailure(.stale, cause: .calledOver(end), party: .platform)))
                }
                account.platform?.boundAhead = (bearer, chatID)
                completion(.success(reading.bound(until: end)))
            case .failure(let failure) where mayReconnect && account.mayReconnect(after: failure):
                reconnect(account, attempt) { [weak self] failure in
                    if let failure { return completion(.failure(failure)) }
                    self?.bindAhead(reading, account, attempt, mayReconnect: false, completion)
                }
            case .failure(let failure): completion(.failure(failure))
            }
        }
    }

    /// Saves what a caller gives; where the platform must see it first, it does.
    package func save(
        _ account: Account, _ credential: Credential, _ expiries: Expiries, waiter: WaiterID
    ) {
        switch account.definition.platform {
        case .kindly:
            command(account, takesParked: true) { [weak self] failure in
                self?.answer(waiter, account, .session(.failure(failure)))
            } begin: { [weak self] attempt in
                self?.checkPair(credential, of: account) { [weak self] failure in
                    guard let self, !attempt.isOver else { return }
                    if let failure {
                        answer(waiter, account, .refused(failure))
                    } else {
                        apply(.saved(waiter: waiter, credential, expiries), to: account)
                    }
                    endCommand(of: account, attempt)
                }
            }
        case .described(let bind) where bind.order == .before:
            command(account, takesParked: true) { [weak self] failure in
                self?.answer(waiter, account, .session(.failure(failure)))
            } begin: { [weak self] attempt in
                self?.bind(account, credential, attempt) { [weak self] outcome in
                    guard let self else { return }
                    switch outcome {
                    case .failure(let failure):
                        commandEnded(account, failure)
                        endCommand(of: account, attempt)
                        self.answer(waiter, account, .refused(failure))
                    case .success(let answer):
                        commandEnded(account, nil)
                        endCommand(of: account, attempt)
                        var bound = expiries
                        bound.backend = end(answer, of: credential.bearer, account)
                        apply(.saved(waiter: waiter, credential, bound), to: account)
                    }
                }
            }
        case .chatbase, .socialPlus, .described, nil:
            apply(.saved(waiter: waiter, credential, expiries), to: account)
        }
    }

    /// Whether the two tokens are a pair, as far as they say themselves and Kindly looks at it (R16, R17); nil: nothing speaks
    /// against it.
    func checkPair(
        _ credential: Credential, of account: Account, _ completion: @escaping (RefreshFailure?) -> Void
    ) {
        guard case .kindly(let bot) = account.definition.platform else { return completion(nil) }
        switch CompanionCheck.of(credential) {
        case .passed: completion(nil)
        case .idTokenIsOpaque: completion(RefreshFailure(.companionInvalid))
        case .undecided(let hash):
            signer.halfHash(of: hash.accessToken, hash.digest.algorithm) { [log] outcome in
                guard case .success(let half) = outcome, !hash.isMatched(by: half) else {
                    return completion(nil)
                }
                log.log(
                    .warning, "The access token is not the ID token's by its at_hash",
                    (.account, .public(account.name.text)))
                completion(bot.isAtHashStrict ? RefreshFailure(.companionMismatch) : nil)
            }
        }
    }

    // A renewal of the same user's token goes on with the conversation; whoever signs in begins anew.
    func isOtherUser(_ credential: Credential, than held: HeldCredential?) -> Bool {
        guard let held = held?.credential, let user = ChatbaseClaims.user(of: credential.bearer),
            let known = ChatbaseClaims.user(of: held.bearer)
        else { return false }
        return user != known
    }
}

extension CompanionCheck.AccessTokenHash.Digest {
    /// The signature algorithm whose hash it is.
    var algorithm: SignatureAlgorithm {
        switch self {
        case .sha256: .hs256
        case .sha384: .hs384
        case .sha512: .hs512
        }
    }
}

extension RefreshFailure {
    // The backend, or the token itself, may name the chat.
    fileprivate static var chatReplaced: RefreshFailure {
        RefreshFailure(.stale, cause: .chatReplaced)
    }
}

extension SourceAnswer.Reading {
    /// The same, with what the platform said of its end.
    fileprivate func bound(until end: WallTime?) -> SourceAnswer.Reading {
        var expiries = fresh.expiries
        expiries.backend = end
        return SourceAnswer.Reading(
            fresh: FreshCredential(
                credential: fresh.credential, expiries: expiries, originDate: fresh.originDate),
            hasImplausibleExpiry: hasImplausibleExpiry)
    }
}
