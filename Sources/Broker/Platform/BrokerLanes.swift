import CredentialCore
import Providers

/// Requests to Kindly that change whom it sees in a chat, each in its turn.
extension Broker {
    /// Makes the chat known to the platform, again where it has a token already; within this call where somebody else has done that by
    /// the time its turn comes.
    func connectInTurn(
        _ account: Account, _ bot: KindlyDefinition, _ chat: KindlyChat, _ attempt: Attempt,
        _ completion: @escaping (Result<KindlyChat, RefreshFailure>) -> Void
    ) {
        guard let lane = account.platform?.lane(of: chat) else { return completion(.failure(.platformGone)) }
        lane.enter(attempt) { [caller] leave in
            // The platform may have given it another name, or somebody else another token.
            if let known = account.chat, known.isKnownToPlatform,
                known.isAttached || known.token !== chat.token
            {
                leave()
                return completion(.success(known))
            }
            attempt.proceed {}
            caller.send(
                to: .kindly(bot), for: account.name, in: Attempt(), unless: { attempt.isOver }
            ) { _ throws(RefreshFailure) in
                try KindlyRequests.connect(bot, chat: chat)
            } read: { response throws(RefreshFailure) in
                try KindlyConnectAnswer.read(response, chat: chat)
            } completion: { outcome in
                if !attempt.isOver { completion(outcome) }
                leave()
            }
        }
    }

    /// Shows a credential to the platform for the account's chat.
    ///
    /// Giving the attempt up does not break the request off: who is bound is known when it has come back.
    func bindInTurn(
        _ account: Account, _ bot: KindlyDefinition, _ credential: Credential, _ attempt: Attempt,
        _ completion: @escaping (Result<BindAnswer, RefreshFailure>) -> Void
    ) {
        guard let chat = account.chat, let lane = account.platform?.lane(of: chat) else {
            return completion(.failure(.platformGone))
        }
        let binding = BindingToEnd(bot: bot, chat: chat, credential: credential)
        lane.enter(attempt) { [weak self, caller] leave in
            attempt.proceed {}
            lane.bindBegan()
            caller.send(
                to: .kindly(bot), for: account.name, in: Attempt(), unless: { attempt.isOver }
            ) { _ throws(RefreshFailure) in
                try KindlyRequests.bind(bot, chat: chat, credential: credential)
            } read: { response throws(RefreshFailure) in
                try BindAnswer.read(response, expiryField: bot.expiryField, ofChat: true)
            } completion: { outcome in
                lane.bindEnded(binding, outcome)
                if attempt.isOver { self?.settleBinding(account) } else { completion(outcome) }
                leave()
            }
        }
    }

    /// Has the platform forget whoever may be bound, the account's credential being forgotten already: `completion` gets why it may
    /// not have (R51, R54).
    ///
    /// What is out is waited for: an unbind that overtook a bind would be undone by it.
    func unbindInTurn(
        _ account: Account, _ held: BindingToEnd?, _ completion: @escaping (RefreshFailure?) -> Void
    ) {
        guard let lane = account.platform?.currentLane(or: held), held != nil || lane.mayHaveSomebody
        else { return completion(nil) }
        let unbinding = ChatLane.Unbinding()
        let earlier = lane.unbindingBegan(unbinding)
        lane.enter { [self] leave in
            let bindings = lane.takeShown(behind: held)
            let end: (RefreshFailure?) -> Void = { failure in
                unbinding.failure = failure
                lane.unbindingEnded(unbinding)
                completion(failure)
                leave()
            }
            guard !bindings.isEmpty else { return end(earlier?.failure) }
            invalidate(account.name, bindings[...], nil, end)
        }
    }

    // The platform forgets the chat's user, whoever that is: the first yes is enough.
    private func invalidate(
        _ account: AccountName, _ bindings: ArraySlice<BindingToEnd>, _ failure: RefreshFailure?,
        _ completion: @escaping (RefreshFailure?) -> Void
    ) {
        guard let binding = bindings.first else { return completion(failure) }
        caller.send(to: .kindly(binding.bot), for: account, in: Attempt()) { _ throws(RefreshFailure) in
            try KindlyRequests.invalidate(
                binding.bot, chat: binding.chat, credential: binding.credential)
        } read: { response throws(RefreshFailure) in
            guard (200..<300).contains(response.status), !response.isPage else {
                throw RefreshFailure(
                    .upstreamError, httpStatus: response.status, providerCode: response.errorCode)
            }
        } completion: { [self] outcome in
            switch outcome {
            case .success: completion(nil)
            case .failure(let failure): invalidate(account, bindings.dropFirst(), failure, completion)
            }
        }
    }
}

extension AccountPlatform {
    /// The lane of a chat; another chat's requests go on by themselves.
    func lane(of chat: KindlyChat) -> ChatLane {
        if let lane, lane.chatID == chat.id { return lane }
        let lane = ChatLane(chatID: chat.id)
        self.lane = lane
        return lane
    }

    /// The lane in which somebody is to be signed out: that of the chat that there is, else of what was held.
    fileprivate func currentLane(or held: BindingToEnd?) -> ChatLane? {
        if let held { return lane(of: held.chat) }
        guard let lane, case .kindly(let chat) = state, chat?.id == lane.chatID else { return nil }
        return lane
    }
}

extension Account {
    /// What has to be unbound when somebody signs out; nil: the platform knows of nothing.
    var bindingToEnd: BindingToEnd? {
        guard case .kindly(let bot) = definition.platform, let chat, chat.isKnownToPlatform,
            let credential = session.held?.credential, !session.isParked
        else { return nil }
        return BindingToEnd(bot: bot, chat: chat, credential: credential)
    }
}

extension RefreshFailure {
    // The account is at another platform by now.
    fileprivate static var platformGone: RefreshFailure {
        RefreshFailure(.sourceUnavailable, party: .platform)
    }
}
