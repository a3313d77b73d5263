import CredentialCore
import Providers

/// What stands between a source's answer and the credential: the platform is shown it first, where it must be.
extension Broker {
    /// Has the platform say what it says of a fresh credential before that counts; `completion` comes later, or within this call
    /// where there is nothing to ask.
    func exchange(
        _ reading: SourceAnswer.Reading, _ account: Account, _ reason: RefreshReason, _ attempt: Attempt,
        completion: @escaping (Result<SourceAnswer.Reading, RefreshFailure>) -> Void
    ) {
        switch account.definition.platform {
        case .chatbase(let agent):
            let credential = reading.fresh.credential
            let isNew = reason == .authenticate || !isSameUser(credential, as: account.session.held)
            verify(account, agent, credential, isAlone: false, attempt) { outcome in
                completion(
                    outcome.map { acceptance in
                        account.platform?.pendingIdentity = AccountPlatform.PendingIdentity(
                            userID: acceptance.userID, isNew: isNew)
                        return reading
                    })
            }
        case .kindly, .socialPlus, .described, nil: completion(.success(reading))
        }
    }

    // A renewal of the same user's token goes on with the conversation; whoever signs in begins anew.
    private func isSameUser(_ credential: Credential, as held: HeldCredential?) -> Bool {
        guard let held, let user = ChatbaseClaims.user(of: credential.bearer) else { return false }
        return ChatbaseClaims.user(of: held.credential.bearer) == user
    }
}
