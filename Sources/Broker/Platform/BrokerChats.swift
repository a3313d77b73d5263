package import CredentialCore
package import Providers
import Secrets

/// Chats with Kindly's bots: each account has one, made once and kept until somebody wants another (R52, R57, R59).
extension Broker {
    /// The account's chat, made where there is none: `completion` comes once its name is on disk, within this call where it is.
    package func withChat(
        of account: Account, completion: @escaping (Result<KindlyChat, StoreFailure>) -> Void
    ) {
        if let chat = account.chat { return completion(.success(chat)) }
        guard let platform = account.platform, storeState == .open else {
            return completion(.failure(.sealed))
        }
        if let pending = platform.chatsBeingStored.last { return pending.waiting.append(completion) }
        let pending = AccountPlatform.PendingChat(newChat())
        pending.waiting = [completion]
        store(pending, of: account, at: platform)
    }

    /// Takes a chat that a client has made, once its row is on disk; what is held is bound to it then.
    ///
    /// One that is the account's already stays as it is, and keeps the token that it has where the client brings none.
    package func attach(
        _ chat: KindlyChat, to account: Account,
        completion: @escaping (Result<KindlyChat, StoreFailure>) -> Void
    ) {
        guard let platform = account.platform else { return completion(.failure(.sealed)) }
        let pending = platform.chatsBeingStored.last
        if let known = pending?.chat ?? account.chat, known.isKnownToPlatform, known.covers(chat) {
            if let pending { return pending.completions.append(completion) }
            // Whoever brings it once more wants what was refused for it to be tried again.
            if account.session.isRefused || platform.binding?.isRefused == true { begin(known, of: account) }
            return completion(.success(known))
        }
        store(AccountPlatform.PendingChat(chat, completion), of: account, at: platform)
    }

    /// Gives the chat up and begins another, once that is on disk (R57).
    package func resetChat(
        of account: Account, completion: @escaping (Result<KindlyChat, StoreFailure>) -> Void
    ) {
        guard let platform = account.platform else { return completion(.failure(.sealed)) }
        store(AccountPlatform.PendingChat(newChat(), completion), of: account, at: platform)
    }

    private func newChat() -> KindlyChat {
        let id = DeviceID(high: ports.draw(), low: ports.draw()).text.lowercased()
        guard let chat = KindlyChat(id: id) else { preconditionFailure("a UUID can stand in a header") }
        return chat
    }

    // MARK: Storing

    /// Has a chat become the account's once its row is on disk: what no disk has seen is shown to nobody, and where the disk refuses, the
    /// one before stays.
    ///
    /// Several may be on their way; each takes its turn in the order in which they came.
    private func store(
        _ pending: AccountPlatform.PendingChat, of account: Account, at platform: AccountPlatform
    ) {
        let chat = pending.chat
        platform.chatsBeingStored.append(pending)
        rememberPlatform(of: account) { [weak self] failure in
            platform.chatsBeingStored.removeAll { $0 === pending }
            guard let self else { return }
            if let failure {
                if account.platform === platform { rememberPlatform(of: account) }
                for completion in pending.completions + pending.waiting { completion(.failure(failure)) }
                return
            }
            if account.platform === platform { take(chat, of: account, at: platform) }
            for completion in pending.completions { completion(.success(chat)) }
            // Another is about to come: whoever wants no particular one gets that.
            if let next = platform.chatsBeingStored.last, account.platform === platform {
                next.waiting += pending.waiting
            } else {
                for completion in pending.waiting { completion(.success(chat)) }
            }
        }
    }

    private func take(_ chat: KindlyChat, of account: Account, at platform: AccountPlatform) {
        let isFirst = account.chat == nil
        platform.state = .kindly(chat)
        platform.boundAhead = nil
        // Whoever needed the first one goes on with it.
        if !isFirst || chat.isKnownToPlatform { begin(chat, of: account) }
    }

    private func begin(_ chat: KindlyChat, of account: Account) {
        // What a platform refused for another chat says nothing for this one.
        account.platform?.bindFailure = nil
        apply(.refusalOutlived, to: account)
        apply(chat.isKnownToPlatform ? .chatAttached : .chatReset, toBindingOf: account)
    }

    // MARK: Requests

    /// Makes a chat known once more that the platform does not know any more, or under another token: the same chat, so that it has its
    /// history still (R48).
    func reconnect(
        _ account: Account, _ attempt: Attempt, _ completion: @escaping (RefreshFailure?) -> Void
    ) {
        connect(account, attempt) { [weak self] failure in
            // Whatever was bound is bound no more.
            if failure == nil { self?.apply(.chatAttached, toBindingOf: account) }
            completion(failure)
        }
    }

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
            connectInTurn(account, bot, chat, attempt) { outcome in
                switch outcome {
                case .failure(let failure): completion(failure)
                case .success(let connected) where account.chat?.id == chat.id:
                    account.platform?.state = .kindly(connected)
                    completion(nil)
                case .success(let connected) where account.chat?.id == connected.id: completion(nil)
                // Another chat was attached or begun meanwhile: this one is nobody's.
                case .success: completion(RefreshFailure(.sourceUnavailable, party: .platform))
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
            // Whoever made it at the same time has told the binding.
            if account.platform?.binding?.hasChat == false {
                self?.apply(.chatAttached, toBindingOf: account)
            }
            completion(.success(true))
        }
    }
}

extension Account {
    /// Whether that failure is one that ends when the chat is made known again; a chat that a client brought is the client's to connect.
    func mayReconnect(after failure: RefreshFailure) -> Bool {
        guard case .kindly(let bot) = definition.platform, failure.cause == .chatUnknown else { return false }
        return bot.connecting == .broker && chat?.isAttached == false
    }

    /// The chat, where it has one.
    package var chat: KindlyChat? {
        guard case .kindly(let chat) = platform?.state else { return nil }
        return chat
    }
}
