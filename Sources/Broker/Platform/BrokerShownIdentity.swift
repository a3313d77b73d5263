package import CredentialCore
import Log
import Providers

/// Identities at Chatbase whose device became another one: the server took the token beside the old one, and has to see it beside the
/// new one before the two are sent together (R80, R87).
///
/// An identity says for which device it was verified, so that a reset, another setting `device` and a crash in between are one case.
/// Until the server has said something, nothing pairs the two: whoever wants headers waits. What it refuses there is no identity
/// any more.
extension Broker {
    /// Whether somebody is signed in whom the server has not seen on the device that is current now.
    package func isIdentityUnshown(_ account: Account) -> Bool {
        guard case .chatbase(let identity) = account.platform?.state, account.session.held != nil,
            !account.session.isParked, let verified = identity.verifiedDevice
        else { return false }
        return verified != device(of: account)
    }

    /// Shows the identities of all accounts that are one install to the platform; `completion` comes once each was looked at.
    func showIdentities(sharingDeviceWith account: Account, completion: @escaping () -> Void) {
        let unshown = accountsSharingDevice(with: account).filter(isIdentityUnshown)
        guard !unshown.isEmpty else { return completion() }
        var left = unshown.count
        for account in unshown {
            showIdentity(of: account) { _ in
                left -= 1
                if left == 0 { completion() }
            }
        }
    }

    /// Forgets what the server said of the old device: its user and its conversation are not those of the new one (R98).
    func deviceReplaced(of account: Account) {
        for account in accountsSharingDevice(with: account) {
            guard let platform = account.platform, case .chatbase(var identity) = platform.state else {
                continue
            }
            let old = identity
            identity.deviceReplaced()
            guard identity != old else { continue }
            platform.state = .chatbase(identity)
            rememberPlatform(of: account)
        }
    }

    /// Has the server see the identity beside the device that is current now, where it has not.
    ///
    /// `completion` gets `done` once that is decided, one way or the other, and else why it is not; at `deadline` that it is not yet.
    package func showIdentity(
        of account: Account, until deadline: BootTime = .distantFuture,
        completion: @escaping (BrokerAnswer) -> Void
    ) {
        guard let platform = account.platform, isIdentityUnshown(account) else { return completion(.done) }
        platform.showing.append((deadline, completion))
        guard !platform.isShowing else { return wakeShowing(of: account) }
        platform.isShowing = true
        let ended: (BrokerAnswer) -> Void = { answer in
            let waiting = platform.showing
            platform.showing = []
            platform.isShowing = false
            for one in waiting { one.completion(answer) }
        }
        command(account) { failure in
            ended(.session(.failure(failure)))
        } begin: { [weak self] attempt in
            self?.show(account, attempt, ended)
        }
        wakeShowing(of: account)
    }

    /// Sends away whoever has waited long enough.
    func wakeShowing(of account: Account) {
        guard let platform = account.platform, !platform.showing.isEmpty else { return }
        let now = clock.now.boot
        let late = platform.showing.filter { $0.deadline <= now }
        platform.showing.removeAll { $0.deadline <= now }
        scheduleWake(of: account)
        for one in late {
            one.completion(.session(.failure(.deadlineExceeded(retryAfter: .seconds(1)))))
        }
    }

    private func show(
        _ account: Account, _ attempt: Attempt, _ ended: @escaping (BrokerAnswer) -> Void
    ) {
        guard case .chatbase(let agent) = account.definition.platform, let held = account.session.held,
            let credential = held.credential, isIdentityUnshown(account)
        else {
            endCommand(of: account, attempt)
            return ended(.done)
        }
        // Alone: the header would be the very pair that the server has not seen.
        verify(account, agent, credential, isAlone: true, attempt) { [weak self] outcome in
            guard let self else { return }
            defer { endCommand(of: account, attempt) }
            // Another came meanwhile, and was shown itself.
            let isCurrent = account.session.generation == held.generation
            switch outcome {
            case .success(let verified):
                commandEnded(account, nil)
                if isCurrent { wasShown(account, agent, verified) }
                ended(.done)
            case .failure(let failure):
                commandEnded(account, failure)
                guard failure.isRefusalOfPlatform, isCurrent else {
                    let pause = SessionFailure.refresh(failure, retryAfter: .seconds(1))
                    return ended(.session(.failure(rest(of: account) ?? pause)))
                }
                wasRefused(account, held.generation, failure, ended)
            }
        }
    }

    private func wasShown(
        _ account: Account, _ agent: ChatbaseDefinition, _ verified: AccountPlatform.VerifiedToken
    ) {
        guard let platform = account.platform, case .chatbase(var identity) = platform.state else { return }
        identity.identified(
            on: verified.device, userID: agent.trustsVerifiedUserID ? verified.userID : nil)
        platform.state = .chatbase(identity)
        rememberPlatform(of: account)
    }

    // The token may only have ended: a source gives another, which is shown beside the new device before it counts.
    private func wasRefused(
        _ account: Account, _ generation: Generation, _ failure: RefreshFailure,
        _ ended: @escaping (BrokerAnswer) -> Void
    ) {
        guard account.session.traits.hasSource else { return drop(account, failure, ended) }
        reject(account, generation)
        let waiter = ownWaiter { [weak self] answer in
            guard let self, isIdentityUnshown(account) else { return ended(.done) }
            switch answer {
            case .session(.failure(.refresh(let failure, _))) where failure.isRefusalOfPlatform:
                drop(account, failure, ended)
            case .session(.failure(.signInNeeded(.refusedByPlatform, _))): drop(account, failure, ended)
            default: ended(answer)
            }
        }
        apply(.refreshRequested(waiter: waiter, wait: .seconds(20)), to: account)
    }

    private func drop(
        _ account: Account, _ failure: RefreshFailure, _ ended: @escaping (BrokerAnswer) -> Void
    ) {
        account.platform?.dropCause = failure
        log.log(
            .warning, "The identity was refused for the new device and is dropped",
            id: MessageID.credentialRefused, (.account, .public(account.name.text)),
            (.status, .integer(Int64(failure.httpStatus ?? 0))))
        let waiter = ownWaiter { answer in
            account.platform?.dropCause = nil
            guard case .session(.deleted) = answer else { return ended(answer) }
            ended(.done)
        }
        apply(.deleted(waiter: waiter), to: account)
    }
}
