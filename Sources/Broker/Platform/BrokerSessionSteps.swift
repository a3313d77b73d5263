import CredentialCore
import Providers
import Secrets

/// What a session asks of others: suppliers for tokens, the platform for sessions.
extension Broker {
    /// The step of that number; one before it, a question whose answer somebody else gave, is over.
    func beginStep(_ id: UInt64, _ account: Account) -> Attempt {
        account.platform?.work.attempts.removeValue(forKey: id)?.cancel()
        let attempt = Attempt()
        account.platform?.work.attempts[id] = attempt
        return attempt
    }

    /// Ends a step; false: it was given up, and what came of it is nobody's business.
    func endStep(_ id: UInt64, _ attempt: Attempt, _ account: Account) -> Bool {
        guard !attempt.isOver else { return false }
        attempt.end()
        account.platform?.work.attempts[id] = nil
        return true
    }

    // MARK: Suppliers

    func ask(_ question: SocialPlusQuestion, _ account: Account) {
        let attempt = beginStep(question.id, account)
        account.platform?.work.asked = question.supplier
        let reason = question.isRenewal ? account.platform?.work.reason ?? .expiring : .authenticate
        let context = SourceContext(
            account: account.name, reason: reason, userID: question.userID, wish: question.wish,
            limit: account.definition.callbackTimeout)
        let offer: (SocialPlusOffer) -> Void = { [weak self] offer in
            guard let self, endStep(question.id, attempt, account) else { return }
            apply(.offered(nil, question.id, offer), toSessionOf: account)
        }
        switch question.supplier {
        case .handler: askHandler(question, context, account, attempt, offer)
        case .source: askSource(question, context, account, attempt, offer)
        case .nobody: offer(.failed(RefreshFailure(.handlerRequired)))
        }
    }

    private func askHandler(
        _ question: SocialPlusQuestion, _ context: SourceContext, _ account: Account, _ attempt: Attempt,
        _ offer: @escaping (SocialPlusOffer) -> Void
    ) {
        let sentAt = clock.now.wall
        let kind = question.handlerKind
        let id = desk.ask(
            kind, context, limit: account.definition.callbackTimeout,
            renewalID: question.isRenewal ? question.id : nil
        ) { outcome in
            switch outcome {
            case .success(let result):
                offer(SocialPlusOffer(answer: result, to: kind, for: question.kind, sentAt: sentAt))
            // It has no token now (R187); whoever logs in is told of the refusal itself.
            case .failure(let failure)
            where failure == RefreshFailure(ofHandler: .rejected) && question.isRenewal:
                offer(.unable)
            case .failure(let failure): offer(.failed(failure))
            }
        }
        attempt.proceed { [desk] in desk.cancel(id) }
    }

    private func askSource(
        _ question: SocialPlusQuestion, _ context: SourceContext, _ account: Account, _ attempt: Attempt,
        _ offer: @escaping (SocialPlusOffer) -> Void
    ) {
        guard let source = account.definition.source else {
            return offer(.failed(RefreshFailure(.sourceUnavailable)))
        }
        let id = runner.start(source, context) { outcome in
            switch outcome {
            case .success(let reading):
                offer(SocialPlusOffer(reading.fresh.credential, for: question.kind))
            case .failure(let failure): offer(.failed(failure))
            }
        }
        if runner.isRunning(id) { attempt.proceed { [runner] in runner.cancel(id) } }
    }

    // MARK: The platform

    func makeSession(_ id: UInt64, _ user: SocialPlusUser, authToken: SecretBytes?, _ account: Account) {
        guard case .socialPlus(let network) = account.definition.platform else { return }
        let attempt = beginStep(id, account)
        let purpose = purpose(account)
        withDevice(of: account) { [weak self, version] outcome in
            guard let self, !attempt.isOver else { return }
            let device: DeviceID
            switch outcome {
            case .success(let known): device = known
            case .failure(let failure):
                return exchangeEnded(
                    id, attempt, account, .failure(RefreshFailure(.storeFull, cause: .store(failure))),
                    reason: .store(failure))
            }
            caller.send(to: .socialPlus(network), for: account.name, in: attempt) {
                secrets throws(RefreshFailure) in
                guard let key = secrets.first else { throw RefreshFailure(.sourceUnavailable) }
                return try SocialPlusRequests.session(
                    network, apiKey: key, user: user, device: device, authToken: authToken, version: version)
            } read: { response throws(RefreshFailure) in
                try SocialPlusAnswer.session(response, purpose, of: network)
            } completion: { [weak self] outcome in
                self?.exchangeEnded(id, attempt, account, outcome)
            }
        }
    }

    private func exchangeEnded(
        _ id: UInt64, _ attempt: Attempt, _ account: Account,
        _ outcome: Result<SocialPlusAnswer.Session, RefreshFailure>, reason: SessionFailure? = nil
    ) {
        guard endStep(id, attempt, account) else { return }
        switch outcome {
        case .failure(let failure):
            loginEnded(account, failure)
            apply(.exchangeFailed(id, failure), toSessionOf: account, reason: reason)
        case .success(let session):
            loginEnded(account, nil)
            // What the answer says of its end is the platform's own word.
            let expiries = Expiries(backend: session.expiries.hint, exp: session.expiries.exp)
            succeed(
                id, account,
                SessionWork.Brought(
                    credential: session.credential, expiries: expiries,
                    hasImplausibleExpiry: session.hasImplausibleExpiry),
                issuedAt: session.issuedAt, refreshToken: session.refreshToken)
        }
    }

    func verify(_ id: UInt64, _ token: Credential, _ account: Account) {
        guard case .socialPlus(let network) = account.definition.platform else { return }
        let attempt = beginStep(id, account)
        let purpose = purpose(account)
        caller.send(to: .socialPlus(network), for: account.name, in: attempt) { _ throws(RefreshFailure) in
            try SocialPlusRequests.verify(network, token: token)
        } read: { response throws(RefreshFailure) in
            try SocialPlusAnswer.verified(response, purpose, of: network)
        } completion: { [weak self] outcome in
            guard let self, endStep(id, attempt, account) else { return }
            if case .failure(let failure) = outcome {
                loginEnded(account, failure)
                return apply(.exchangeFailed(id, failure), toSessionOf: account)
            }
            loginEnded(account, nil)
            let exp = UnverifiedJWT(token.bearer)?.exp ?? .absent
            succeed(
                id, account,
                SessionWork.Brought(
                    credential: token, expiries: Expiries(exp: exp.moment),
                    hasImplausibleExpiry: exp == .implausible))
        }
    }

    // Renewals have a back-off of their own: that they fail says nothing of what somebody wants now.
    private func loginEnded(_ account: Account, _ failure: RefreshFailure?) {
        if failure == nil || purpose(account) == .login { commandEnded(account, failure) }
    }

    private func succeed(
        _ id: UInt64, _ account: Account, _ brought: SessionWork.Brought, issuedAt: WallTime? = nil,
        refreshToken: SecretBytes? = nil
    ) {
        let isRefused =
            account.session.isHeldRejected
            && account.session.held?.credential?.bearer.isEqual(to: brought.credential.bearer) == true
        let isOver = brought.expiries.earliest.map { $0.at <= clock.now.wall } ?? false
        if isRefused || isOver {
            return apply(
                .exchangeFailed(id, RefreshFailure(.stale, party: .platform)), toSessionOf: account)
        }
        apply(
            .exchangeSucceeded(id, issuedAt: issuedAt, refreshToken: refreshToken), toSessionOf: account,
            brought: brought)
    }

    private func purpose(_ account: Account) -> SocialPlusAnswer.Purpose {
        account.socialPlus?.state.isSession == true ? .renewal : .login
    }
}

extension SocialPlusOffer {
    /// Reads what a handler answered; one that is asked for any credential may give it in the usual form, too.
    fileprivate init(
        answer: SecretBytes, to question: HandlerQuestion.Kind, for kind: SocialPlusKind, sentAt: WallTime
    ) {
        if question == .credentialFetch,
            let reading = try? HandlerAnswer.credential(answer, for: kind.wish, sentAt: sentAt)
        {
            self.init(reading.fresh.credential, for: kind)
        } else {
            self = .read(answer, for: kind)
        }
    }
}
