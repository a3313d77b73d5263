package import CredentialCore
import OAuth
import Secrets

/// Signing accounts out, and telling those elsewhere who believe that somebody is signed in.
extension Broker {
    /// Signs an account out: forgets its credential and, where no other account spends it, its grant, and ends both at the server.
    ///
    /// What is here is forgotten whatever platform and server say; what they say is told afterwards (R54, RFC 7009). Whom the platform
    /// may have bound by a sign-in or a bind that is out is forgotten there as well.
    package func deauthenticate(_ account: Account, waiter: WaiterID) {
        // Whoever is told needs the token, also where the account rests.
        withTokens(of: account) { [weak self] failure in
            guard let self else { return }
            if let failure {
                observer?.broker(answers: waiter, for: account, .storeFailed(failure))
            } else {
                signOut(account, waiter)
            }
        }
    }

    private func signOut(_ account: Account, _ waiter: WaiterID) {
        let source = oauthSource(of: account)
        let isParked = account.session.held != nil && account.session.isParked
        var tokens: [(SecretBytes, OAuthRequest.TokenKind)] = []
        var grant: GrantName?
        if let source, case .refreshToken(let name) = source.flow, let held = keeper.session(name)?.held,
            held.destination == source.destination, accountsSpending(name).count == 1
        {
            grant = name
        }
        if source != nil, let credential = account.session.held?.credential, !isParked {
            tokens.append((credential.accessToken ?? credential.bearer, .accessToken))
        }
        endCommands(of: account, .signInNeeded(.signedOut, retryAfter: nil))
        let mayBeBound = account.platform?.lane?.mayHaveSomebody ?? false
        guard grant != nil || account.session.mayBeSignedIn || mayBeBound else {
            observer?.broker(answers: waiter, for: account, .alreadyAnonymous)
            return
        }
        // It is shown to its platform once more when it is gone from here: to be unbound.
        // Where it was bound is where it is unbound, whatever the configuration says by then.
        let binding = account.bindingToEnd
        // Of what was for another destination nobody can be told, where somebody would be.
        var isUntold = isParked && source != nil
        if case .kindly = account.definition.platform { isUntold = isParked }
        ownWaiter { [weak self] inner in
            self?.apply(.deleted(waiter: inner), to: account)
        } completion: { [weak self] failure in
            guard let self else { return }
            if let failure {
                observer?.broker(answers: waiter, for: account, .storeFailed(failure))
                return
            }
            let ending = SignOut(isUntold: isUntold) { [weak self] answer in
                self?.observer?.broker(answers: waiter, for: account, answer)
            }
            // At once: whoever signs in from now on comes behind it.
            unbindInTurn(account, binding) { ending.platformAnswered($0) }
            endGrant(grant, tokens, of: source) { ending.serverAnswered($0, $1) }
        }
    }

    // The grant goes after the credential: nothing may be fetched again with one that is about to go. Which refresh token goes with it
    // is known only then: one that is out may have been replaced meanwhile.
    private func endGrant(
        _ grant: GrantName?, _ tokens: [(SecretBytes, OAuthRequest.TokenKind)], of source: OAuthSource?,
        _ completion: @escaping (StoreFailure?, RefreshFailure?) -> Void
    ) {
        let revoke: ([(SecretBytes, OAuthRequest.TokenKind)]) -> Void = { [weak self] tokens in
            guard let source, !tokens.isEmpty else { return completion(nil, nil) }
            self?.revoke(tokens, of: source) { completion(nil, $0) }
        }
        guard let grant else { return revoke(tokens) }
        let refreshToken = keeper.session(grant)?.held?.refreshToken
        ownWaiter { [weak self] inner in
            self?.keeper.delete(grant, waiter: inner)
        } completion: { failure in
            if let failure { return completion(failure, nil) }
            revoke((refreshToken.map { [($0, .refreshToken)] } ?? []) + tokens)
        }
    }

    /// Ends tokens at the server that issued them; `completion` gets the first failure (RFC 7009).
    func revoke(
        _ tokens: [(SecretBytes, OAuthRequest.TokenKind)], of source: OAuthSource,
        _ completion: @escaping (RefreshFailure?) -> Void
    ) {
        runner.secrets(SourceDefinition.oauth(source).references) { [self] outcome in
            switch outcome {
            case .failure(let failure): completion(failure)
            case .success(let secrets):
                oauth.client(of: source, secrets: secrets, partition: "client " + source.clientID) {
                    [self] outcome in
                    switch outcome {
                    case .failure(let failure): completion(failure)
                    case .success(let client): revoke(tokens[...], client, nil, completion)
                    }
                }
            }
        }
    }

    private func revoke(
        _ tokens: ArraySlice<(SecretBytes, OAuthRequest.TokenKind)>, _ client: OAuthClient,
        _ earlier: RefreshFailure?, _ completion: @escaping (RefreshFailure?) -> Void
    ) {
        guard let (token, kind) = tokens.first else { return completion(earlier) }
        oauth.revoke(token, kind, client) { [self] failure in
            revoke(tokens.dropFirst(), client, earlier ?? failure, completion)
        }
    }
}

/// A sign-out of which platform and server are told, each at its own pace; whoever asked is answered when both have answered.
private final class SignOut {
    private let isUntold: Bool
    private let answer: (BrokerAnswer) -> Void
    private var missing = 2
    private var storeFailure: StoreFailure?
    private var failure: RefreshFailure?

    /// `isUntold`: what is forgotten was for another destination than the configured one, so that nobody can be told.
    init(isUntold: Bool, _ answer: @escaping (BrokerAnswer) -> Void) {
        self.isUntold = isUntold
        self.answer = answer
    }

    func platformAnswered(_ failure: RefreshFailure?) {
        self.failure = failure ?? self.failure
        end()
    }

    func serverAnswered(_ storeFailure: StoreFailure?, _ failure: RefreshFailure?) {
        self.storeFailure = storeFailure
        self.failure = self.failure ?? failure
        end()
    }

    private func end() {
        missing -= 1
        guard missing == 0 else { return }
        if let storeFailure { return answer(.storeFailed(storeFailure)) }
        answer(isUntold ? .forgottenUntold : .revoked(failure))
    }
}
