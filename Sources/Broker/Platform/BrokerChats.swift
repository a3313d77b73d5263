package import CredentialCore
package import Providers
import Secrets

/// Chats with Kindly's bots: each account has one, made once and kept until somebody wants another (R52, R57, R59).
extension Broker {
    /// The account's chat, made where there is none: `completion` comes once its name is on disk, within this call where it is.
    package func withChat(
        of account: Account, completion: @escaping (Result<KindlyChat, StoreFailure>) -> Void
    ) {
        let place = PlatformStateName.account(account.name)
        if chatsBeingStored[place] != nil {
            chatsBeingStored[place]?.append(completion)
            return
        }
        if let chat = account.chat { return completion(.success(chat)) }
        guard storeState == .open else { return completion(.failure(.sealed)) }
        let id = DeviceID(high: ports.draw(), low: ports.draw()).text.lowercased()
        guard let chat = KindlyChat(id: id) else { preconditionFailure("a UUID can stand in a header") }
        chatsBeingStored[place] = [completion]
        account.platform?.state = .kindly(chat)
        rememberPlatform(of: account) { [weak self] failure in
            guard let self else { return }
            let waiting = chatsBeingStored.removeValue(forKey: place) ?? []
            // What no disk has seen is shown to nobody: the next attempt makes another.
            if failure != nil, account.chat?.id == id { account.platform?.state = .kindly(nil) }
            // Attached or reset meanwhile: whoever waits gets the chat that there is.
            if failure == nil, account.chat?.id != id, case .kindly = account.platform?.state {
                for completion in waiting { withChat(of: account, completion: completion) }
                return
            }
            for completion in waiting { completion(failure.map { .failure($0) } ?? .success(chat)) }
        }
    }

    /// Takes a chat that a client has made; what is held is bound to it.
    package func attach(
        _ chat: KindlyChat, to account: Account, completion: @escaping (StoreFailure?) -> Void
    ) {
        guard let platform = account.platform else { return completion(.sealed) }
        let old = chatToReturnTo(of: account)
        platform.state = .kindly(chat)
        platform.boundAhead = nil
        rememberPlatform(of: account, isUnbound: true) { [weak self] failure in
            // Another chat may have come meanwhile, or another platform: whoever brought it tells the binding.
            guard let self, account.platform === platform, account.chat?.id == chat.id else {
                return completion(failure)
            }
            if failure == nil {
                apply(.chatAttached, toBindingOf: account)
                forgiveRefusal(of: account)
            } else {
                // Whoever brought it was told that it is not taken.
                returnTo(old, of: account)
            }
            completion(failure)
        }
    }

    /// Gives the chat up and begins another (R57).
    package func resetChat(
        of account: Account, completion: @escaping (Result<KindlyChat, StoreFailure>) -> Void
    ) {
        guard let platform = account.platform else { return completion(.failure(.sealed)) }
        let old = chatToReturnTo(of: account)
        platform.state = .kindly(nil)
        platform.boundAhead = nil
        withChat(of: account) { [weak self] outcome in
            guard let self, account.platform === platform else { return completion(outcome) }
            switch outcome {
            // One that was attached meanwhile has told the binding itself.
            case .success(let chat) where account.chat?.id == chat.id && !chat.isAttached:
                apply(.chatReset, toBindingOf: account)
                forgiveRefusal(of: account)
            case .failure where account.chat == nil: returnTo(old, of: account)
            case .success, .failure: break
            }
            completion(outcome)
        }
    }

    // One that no disk has seen is none to go back to.
    private func chatToReturnTo(of account: Account) -> KindlyChat? {
        chatsBeingStored[.account(account.name)] == nil ? account.chat : nil
    }

    // What was bound meanwhile was bound to the chat that is given up.
    private func returnTo(_ old: KindlyChat?, of account: Account) {
        account.platform?.state = .kindly(old)
        rememberPlatform(of: account, isUnbound: true)
        apply(old?.isKnownToPlatform == true ? .chatAttached : .chatReset, toBindingOf: account)
    }

    // What a platform refused for another chat says nothing for this one.
    private func forgiveRefusal(of account: Account) {
        account.platform?.bindFailure = nil
        guard account.session.isRefused, account.session.traits.hasSource else { return }
        apply(.refreshRequested(waiter: ownWaiter { _ in }, wait: .seconds(20)), to: account)
    }

    // MARK: Requests

    func connect(_ account: Account, _ ticket: BindTicket) {
        let attempt = Attempt()
        account.platform?.bindAttempts[ticket] = attempt
        connect(account, attempt) { [weak self] failure in
            account.platform?.bindAttempts[ticket] = nil
            attempt.end()
            account.platform?.bindFailure = failure
            self?.apply(failure.map { .failed(ticket, $0) } ?? .connected(ticket), toBindingOf: account)
        }
    }

    /// Makes the chat known to the platform, and keeps what it answers; remembering that is the caller's.
    private func connect(
        _ account: Account, _ attempt: Attempt, _ completion: @escaping (RefreshFailure?) -> Void
    ) {
        guard case .kindly(let bot) = account.definition.platform else { return }
        withChat(of: account) { [weak self] outcome in
            guard let self, !attempt.isOver else { return }
            guard case .success(let chat) = outcome else { return completion(RefreshFailure(.storeFull)) }
            caller.send(to: .kindly(bot), for: account.name, in: attempt) { _ throws(RefreshFailure) in
                try KindlyRequests.connect(bot, chat: chat)
            } completion: { outcome in
                // Another chat was attached or begun meanwhile: this one is nobody's.
                guard account.chat?.id == chat.id else {
                    return completion(RefreshFailure(.sourceUnavailable))
                }
                do throws(RefreshFailure) {
                    account.platform?.state = .kindly(
                        try KindlyConnectAnswer.read(try outcome.get(), chat: chat))
                    completion(nil)
                } catch {
                    completion(error)
                }
            }
        }
    }

    /// Has the chat be there before somebody is signed in to it; `completion` gets false where a client is to bring it.
    func withKnownChat(
        of account: Account, _ attempt: Attempt,
        _ completion: @escaping (Result<Bool, RefreshFailure>) -> Void
    ) {
        guard case .kindly(let bot) = account.definition.platform else { return completion(.success(false)) }
        if account.chat?.isKnownToPlatform == true { return completion(.success(true)) }
        guard bot.connecting == .broker else { return completion(.success(false)) }
        connect(account, attempt) { [weak self] failure in
            if let failure { return completion(.failure(failure)) }
            self?.apply(.chatAttached, toBindingOf: account)
            completion(.success(true))
        }
    }

    /// Unbinds a credential that is forgotten already; the answer says whether the platform heard of it (R51, R54).
    func invalidate(
        _ account: Account, _ binding: BindingToEnd, _ completion: @escaping (RefreshFailure?) -> Void
    ) {
        caller.send(to: .kindly(binding.bot), for: account.name, in: Attempt()) { _ throws(RefreshFailure) in
            try KindlyRequests.invalidate(
                binding.bot, chat: binding.chat, credential: binding.credential)
        } completion: { outcome in
            switch outcome {
            case .failure(let failure): completion(failure)
            case .success(let response):
                guard !(200..<300).contains(response.status) || response.isPage else {
                    return completion(nil)
                }
                completion(
                    RefreshFailure(
                        .upstreamError, httpStatus: response.status, providerCode: response.errorCode))
            }
        }
    }
}

/// A credential that the platform is to forget, and where.
struct BindingToEnd {
    let bot: KindlyDefinition
    let chat: KindlyChat
    let credential: Credential
}

extension Account {
    /// What has to be unbound when somebody signs out; nil: the platform knows of nothing.
    var bindingToEnd: BindingToEnd? {
        guard case .kindly(let bot) = definition.platform, let chat, chat.isKnownToPlatform,
            let credential = session.held?.credential
        else { return nil }
        return BindingToEnd(bot: bot, chat: chat, credential: credential)
    }

    /// The chat, where it has one.
    package var chat: KindlyChat? {
        guard case .kindly(let chat) = platform?.state else { return nil }
        return chat
    }
}

extension KindlyChat {
    /// Whether the platform has heard of it: it was connected, or a client brought it.
    package var isKnownToPlatform: Bool { token != nil || isAttached }
}
