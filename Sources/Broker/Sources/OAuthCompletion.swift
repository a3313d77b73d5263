import CredentialCore
import Log
import OAuth
import Providers
import Secrets

/// From a token endpoint's answer to a credential: ID tokens are verified, and opaque tokens asked about.
extension OAuthRunner {
    // The grant is safe by now: whatever fails from here on costs an access token and nothing else.
    func complete(_ answer: TokenAnswer, _ client: OAuthClient, _ completion: @escaping Completion) {
        verify(answer, client) { [self] failure in
            if let failure { return completion(.failure(failure)) }
            introspect(answer, client, completion)
        }
    }

    private func introspect(_ answer: TokenAnswer, _ client: OAuthClient, _ completion: @escaping Completion)
    {
        let fresh = answer.fresh
        let reading = SourceAnswer.Reading(fresh: fresh, hasImplausibleExpiry: answer.hasImplausibleExpiry)
        let isWanted =
            switch client.source.introspection {
            case .never: false
            case .always: true
            case .automatic: fresh.expiries.earliest == nil
            }
        guard isWanted, let url = client.endpoints.introspection else { return completion(.success(reading)) }
        // An ID token is no token of the server's resources: it is the access token that the server can tell about.
        let token = fresh.credential.accessToken ?? fresh.credential.bearer
        exchange.send(client, to: url) { request, proof, id in
            request.introspect(token, at: url, proof: proof, id: id)
        } completion: { [self] outcome in
            guard case .answered(let response, _) = outcome, let found = try? Introspection.read(response)
            else {
                log.log(
                    .warning, "A token could not be introspected, its expiry stays as it was given",
                    (.origin, .public(url.origin)))
                return completion(.success(reading))
            }
            switch found {
            case .inactive: completion(.failure(RefreshFailure(.stale)))
            case .active(let exp):
                var expiries = fresh.expiries
                expiries.backend = exp.moment
                let better = FreshCredential(
                    credential: fresh.credential, expiries: expiries, originDate: fresh.originDate)
                completion(
                    .success(
                        SourceAnswer.Reading(
                            fresh: better,
                            hasImplausibleExpiry: answer.hasImplausibleExpiry || exp == .implausible)))
            }
        }
    }

    // MARK: ID tokens

    private func verify(
        _ answer: TokenAnswer, _ client: OAuthClient, isSecondTry: Bool = false,
        _ completion: @escaping (RefreshFailure?) -> Void
    ) {
        guard let token = answer.fresh.credential.idToken, let issuer = client.source.endpoints.issuer else {
            return completion(nil)
        }
        guard let url = client.endpoints.keys else {
            return completion(RefreshFailure(.unverified, cause: .verification(.unknownKey)))
        }
        directory.keys(at: url, source: client.source, afterUnknownKey: isSecondTry) { [self] outcome in
            switch outcome {
            case .failure(let failure): completion(failure)
            case .success(let keys):
                signer.verify(
                    token, keys: keys, issuer: issuer, audience: client.source.clientID,
                    accessToken: answer.fresh.credential.accessToken, now: clock.now.wall
                ) { [self] outcome in
                    switch outcome {
                    case .success: completion(nil)
                    // The server may have begun to sign with another key since its keys were fetched.
                    case .failure(.unknownKey) where !isSecondTry:
                        verify(answer, client, isSecondTry: true, completion)
                    case .failure(.busy):
                        completion(RefreshFailure(.overloaded, cause: .verification(.busy)))
                    case .failure(let failure):
                        completion(RefreshFailure(.unverified, cause: .verification(failure)))
                    }
                }
            }
        }
    }
}
