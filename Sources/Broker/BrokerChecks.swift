package import CredentialCore
import Providers

/// Sources that are tried only to see whether they give something.
extension Broker {
    /// Asks the source and says how that went; nothing is kept.
    ///
    /// A source that gives something does no good where that is refused, or where nothing is fetched any more: that is said, too.
    /// Whoever asks while a check is out is told what that one finds.
    package func check(_ account: Account, waiter: WaiterID) {
        guard !account.isGone else {
            observer?.broker(answers: waiter, for: account, .session(.failure(.stopped)))
            return
        }
        guard let source = liveSource(of: account) else {
            observer?.broker(
                answers: waiter, for: account,
                account.definition.source == nil
                    ? .session(.failure(account.session.absenceOfSource(at: clock.now)))
                    : .checked(.source(RefreshFailure(.handlerRequired))))
            return
        }
        guard !isShuttingDown else {
            observer?.broker(answers: waiter, for: account, .shuttingDown)
            return
        }
        guard account.check == nil else {
            account.check?.waiters.append(waiter)
            return
        }
        let now = clock.now
        // What is asked has deadlines of its own; a file on a disk that hangs, or a turn that never comes, has none.
        account.check = (nil, [waiter], now.boot + traits(of: account.definition).refreshDeadline)
        account.lastCheck += 1
        let check = account.lastCheck
        defer { settle(account, now) }
        // A refresh token that can be used once is not spent to see whether it works.
        if case .oauth(let source) = source, case .refreshToken = source.flow {
            oauth.check(source) { [weak self, weak account] failure in
                guard let self, let account, account.lastCheck == check else { return }
                endCheck(of: account, .checked(failure.map { .source($0) } ?? obstacle(to: account)))
            }
            return
        }
        let id = runner.start(
            source,
            SourceContext(
                account: account.name, reason: .forced, chatID: account.chat?.id, userID: account.userToCheck,
                wish: account.socialPlus?.kind.wish ?? .credentials,
                limit: account.definition.callbackTimeout)
        ) {
            [weak self, weak account] outcome in
            guard let self, let account, account.lastCheck == check else { return }
            account.check?.id = nil
            switch outcome {
            case .success(let reading) where account.session.isStale(reading.fresh, clock.now):
                endCheck(of: account, .checked(.source(RefreshFailure(.stale))))
            case .success(let reading):
                checkPair(reading.fresh.credential, of: account) { [weak self] failure in
                    guard let self, account.lastCheck == check else { return }
                    endCheck(of: account, .checked(failure.map { .source($0) } ?? obstacle(to: account)))
                }
            case .failure(let failure): endCheck(of: account, .checked(.source(failure)))
            }
        }
        if runner.isRunning(id) { account.check?.id = id }
    }

    // What a source that works does not help against.
    private func obstacle(to account: Account) -> SessionFailure? {
        let now = clock.now
        let session = account.session
        if let obstacle = session.obstacle(at: now) { return obstacle }
        // The source gave it before, and the platform had its word.
        guard !session.isUsable(at: now), let last = session.failures.last,
            last.party == .platform
        else { return nil }
        return .source(last)
    }

    /// Tells those who wait for a check how it ended, and gives it up if it has not.
    func endCheck(of account: Account, _ answer: BrokerAnswer) {
        guard let check = account.check else { return }
        account.check = nil
        if let id = check.id { runner.cancel(id) }
        for waiter in check.waiters { observer?.broker(answers: waiter, for: account, answer) }
    }

    /// Ends a check that takes too long.
    func wakeCheck(of account: Account) {
        guard let deadline = account.check?.deadline, deadline <= clock.now.boot else { return }
        endCheck(of: account, .checked(.source(RefreshFailure(.timeout))))
        settle(account, clock.now)
    }
}
