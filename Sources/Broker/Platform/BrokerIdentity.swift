package import CredentialCore
import Log
package import Providers
import Secrets

/// Identities at Chatbase: nothing counts before the server has seen it, and nothing changes where it refuses (R82 to R103).
extension Broker {
    /// Shows a token to the server and takes it for the account's identity once it is accepted (R82, R86).
    ///
    /// `switches` leaves the old identity out, as signing out first would (R103).
    package func identify(_ account: Account, _ token: Credential, switches: Bool, waiter: WaiterID) {
        guard case .chatbase(let agent) = account.definition.platform else { return }
        // The very token that was just refused would be refused again, as long as it is shown in the same way.
        let beside = switches || account.session.held == nil ? nil : account.session.generation
        if let last = account.platform?.refusedToken, clock.now.boot < last.at + Self.refusalInterval,
            last.beside == beside, last.bearer.isEqual(to: token.bearer),
            account.session.standingFailure == nil
        {
            return answer(waiter, account, .refused(last.failure))
        }
        command(account, takesParked: true) { [weak self] failure in
            self?.answer(waiter, account, .session(.failure(failure)))
        } begin: { [weak self] attempt in
            self?.verify(account, agent, token, isAlone: switches, attempt) { [weak self] outcome in
                guard let self else { return }
                switch outcome {
                case .failure(let failure):
                    commandEnded(account, failure)
                    apply(.signInFailed(failure), to: account)
                    if failure.isRefusalOfPlatform {
                        account.platform?.refusedToken = (token.bearer, beside, failure, clock.now.boot)
                    }
                    endCommand(of: account, attempt)
                    answer(waiter, account, .refused(failure))
                case .success(let verified):
                    commandEnded(account, nil)
                    take(account, token, verified, switches: switches, waiter, attempt)
                }
            }
        }
    }

    private static let refusalInterval = Milliseconds.seconds(5)

    private func take(
        _ account: Account, _ token: Credential, _ verified: AccountPlatform.VerifiedToken, switches: Bool,
        _ waiter: WaiterID, _ attempt: Attempt
    ) {
        // Decided: whoever signs out from now on comes behind it, and both are told what they did.
        attempt.end()
        account.platform?.pendingIdentity = AccountPlatform.PendingIdentity(
            verified: verified, isNew: true,
            isOther: switches || isOtherUser(token, than: account.session.held))
        let exp = UnverifiedJWT(token.bearer)?.exp ?? .absent
        let inner = ownWaiter { [weak self] answer in
            guard let self else { return }
            account.platform?.pendingIdentity = nil
            endCommand(of: account, attempt)
            self.answer(waiter, account, answer)
        }
        apply(.saved(waiter: inner, token, Expiries(exp: exp.moment)), to: account)
    }

    /// Drops the identity, here and nowhere else: no request is made (R100, R101).
    package func logOut(_ account: Account, waiter: WaiterID) {
        guard account.platform != nil else { return }
        // What is being verified was to be the identity of somebody who has left.
        endCommands(of: account, .signInNeeded(.signedOut, retryAfter: nil))
        guard account.session.mayBeSignedIn else {
            if account.session.standing == .sealed {
                return answer(waiter, account, .session(.failure(.sealed)))
            }
            forgetIdentity(account)
            return answer(waiter, account, .alreadyAnonymous)
        }
        let inner = ownWaiter { [weak self] answer in self?.answer(waiter, account, answer) }
        apply(.deleted(waiter: inner), to: account)
    }

    /// Takes what the chatting client learned (R98); `completion` comes once it is on disk.
    package func report(
        _ account: Account, userID: String?, conversationID: String?,
        completion: @escaping (StoreFailure?) -> Void
    ) throws(ChatbaseIdentity.Failure) {
        guard let platform = account.platform, case .chatbase(var identity) = platform.state else {
            return completion(nil)
        }
        let old = identity
        try identity.report(userID: userID, conversationID: conversationID)
        // What was told before may still be on its way to the disk.
        guard identity != old else { return whenRemembered(account, completion: completion) }
        platform.state = .chatbase(identity)
        rememberPlatform(of: account, completion: completion)
    }

    /// Shows a stored identity to the server again (R96); it is held meanwhile, and only the server's own word ends it.
    private func identifyOnStart(_ account: Account) {
        guard case .chatbase(let agent) = account.definition.platform, agent.identifiesOnStart,
            let held = account.session.held, let credential = held.credential,
            account.session.standingFailure == nil
        else { return }
        command(account) { _ in
        } begin: { [weak self] attempt in
            self?.verify(account, agent, credential, isAlone: false, attempt) { [weak self] outcome in
                self?.endCommand(of: account, attempt)
                if case .failure(let failure) = outcome, failure.isRefusalOfPlatform {
                    self?.reject(account, held.generation)
                }
            }
        }
    }

    /// Goes on with the identity that the store has, on the device that it has.
    func openIdentity(of account: Account) {
        guard case .chatbase(var identity) = account.platform?.state, account.session.held != nil else {
            return
        }
        if identity.verifiedDevice == nil, let device = device(of: account) {
            // Rows of earlier versions do not say it; there was no other device then.
            identity.renewed(on: device)
            account.platform?.state = .chatbase(identity)
            rememberPlatform(of: account)
        }
        guard isIdentityUnshown(account) else { return identifyOnStart(account) }
        showIdentity(of: account) { _ in }
    }

    // MARK: Steps

    /// Shows a token to the server; `isAlone`: without the one that is held.
    func verify(
        _ account: Account, _ agent: ChatbaseDefinition, _ token: Credential, isAlone: Bool,
        _ attempt: Attempt,
        _ completion: @escaping (Result<AccountPlatform.VerifiedToken, RefreshFailure>) -> Void
    ) {
        withDevice(of: account) { [weak self] outcome in
            guard let self, !attempt.isOver else { return }
            guard case .success(let device) = outcome else {
                return completion(.failure(RefreshFailure(.storeFull)))
            }
            let isKnown = !isAlone && !account.session.isParked && !isIdentityUnshown(account)
            let held = isKnown ? account.session.held?.credential : nil
            caller.send(to: .chatbase(agent), for: account.name, in: attempt) {
                _ throws(RefreshFailure) in
                try ChatbaseRequests.verify(agent, device: device, stored: held, token: token)
            } read: { response throws(RefreshFailure) in
                try ChatbaseAnswer.read(response)
            } completion: { verdict in
                if case .failure(let failure) = verdict {
                    account.platform?.bindFailure = failure
                } else {
                    account.platform?.bindFailure = nil
                }
                completion(
                    verdict.map { AccountPlatform.VerifiedToken(device: device, userID: $0.userID) })
            }
        }
    }

    /// Brings the identity in line with a credential that was just installed.
    func identityReplaced(_ account: Account) {
        guard let platform = account.platform, case .chatbase(var identity) = platform.state,
            let pending = platform.pendingIdentity, case .chatbase(let agent) = account.definition.platform
        else { return }
        platform.pendingIdentity = nil
        // Whoever shows messages clears them when somebody leaves, also where somebody else comes at once (R102, R103).
        if pending.isOther { report(.identity, "anonymous", cause: "switched", of: account) }
        report(.identity, "identified", cause: pending.isNew ? "identified" : "renewed", of: account)
        let old = identity
        let device = pending.verified.device
        if pending.isNew {
            identity.identified(
                on: device, userID: agent.trustsVerifiedUserID ? pending.verified.userID : nil)
        } else {
            identity.renewed(on: device)
        }
        platform.state = .chatbase(identity)
        if identity != old { rememberPlatform(of: account) }
        if pending.isNew { observer?.broker(hintsMergeOf: account) }
        // Another device may have come while the server looked at it.
        showIdentity(of: account) { _ in }
    }

    /// Brings it in line with a sign-out.
    func forgetIdentity(_ account: Account) {
        guard let platform = account.platform, case .chatbase(var identity) = platform.state else { return }
        let old = identity
        identity.loggedOut()
        platform.bindFailure = platform.dropCause
        platform.state = .chatbase(identity)
        platform.refusedToken = nil
        let cause: PlatformChange.Word = platform.dropCause == nil ? "logged_out" : "refused_by_platform"
        report(.identity, "anonymous", cause: cause, of: account)
        if identity != old { rememberPlatform(of: account) }
    }

    /// Says who is signed in, after the store was opened or the account changed.
    func tellIdentity(_ account: Account, cause: PlatformChange.Word) {
        guard case .chatbase = account.platform?.state else { return }
        let isIdentified = account.session.held != nil && !account.session.isParked
        report(.identity, isIdentified ? "identified" : "anonymous", cause: cause, of: account)
    }
}
