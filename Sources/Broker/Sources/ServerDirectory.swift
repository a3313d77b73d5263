import CredentialCore
import OAuth
import Secrets

/// Knows what issuers say of themselves: their endpoints and their keys, asked once for all that want to know, and kept for a while.
final class ServerDirectory {
    private let requester: Requester
    private let metadata: SharedDocuments<ServerMetadata>
    private let keys: SharedDocuments<SecretBytes>

    /// How long what was found is believed without asking again.
    static let lifetime = Milliseconds.seconds(3600)
    /// How soon keys are asked for again because a token names one that is not among them.
    static let keyRefetchPause = Milliseconds.seconds(60)

    init(requester: Requester, clock: any Clock) {
        self.requester = requester
        // What an issuer said an hour ago is better than nothing, unless it is another one that answers now.
        metadata = SharedDocuments(clock: clock) { $0.kind != .issuerMismatch }
        // Keys change seldom: a server that cannot say which it has now most likely has those it had.
        keys = SharedDocuments(clock: clock) { _ in true }
    }

    // MARK: Endpoints

    /// Finds a client's endpoints; asks its issuer where the configuration does not name what is needed.
    func endpoints(
        of source: OAuthSource, completion: @escaping (Result<ServerEndpoints, RefreshFailure>) -> Void
    ) {
        let configured = source.endpoints
        guard let issuer = configured.issuer, !isComplete(configured) else {
            completion(endpoints(configured, nil))
            return
        }
        metadata.get(SharedDocuments.Place(issuer, source), noOlderThan: Self.lifetime) { [self] fetched in
            ask(issuer, source, ServerMetadata.locations(of: issuer)[...], nil, fetched)
        } completion: { [self] outcome in
            switch outcome {
            case .success(let found): completion(endpoints(configured, found))
            // Everything that is needed for a token is configured: what the issuer could add is done without. But for the keys of ID
            // tokens: without them a grant would be spent for what cannot be believed.
            case .failure
            where configured.token != nil && (configured.keys != nil || source.flow == .clientCredentials):
                completion(endpoints(configured, nil))
            case .failure(let failure): completion(.failure(failure))
            }
        }
    }

    private func endpoints(
        _ configured: OAuthSource.Endpoints, _ found: ServerMetadata?
    ) -> Result<ServerEndpoints, RefreshFailure> {
        ServerEndpoints(configured, found).map { .success($0) }
            ?? .failure(RefreshFailure(.sourceUnavailable))
    }

    private func isComplete(_ endpoints: OAuthSource.Endpoints) -> Bool {
        endpoints.token != nil && endpoints.introspection != nil && endpoints.revocation != nil
            && endpoints.keys != nil
    }

    private func ask(
        _ issuer: String, _ source: OAuthSource, _ locations: ArraySlice<HTTPURL>,
        _ earlier: RefreshFailure?, _ fetched: @escaping SharedDocuments<ServerMetadata>.Completion
    ) {
        guard let url = locations.first else {
            return fetched(.failure(earlier ?? RefreshFailure(.sourceUnavailable)))
        }
        get(url, source) { [self] outcome in
            do throws(RefreshFailure) {
                fetched(.success(try ServerMetadata.read(try outcome.get(), issuer: issuer)))
            } catch {
                // A document that is not there says less than one that is wrong.
                let isTelling = earlier?.kind == .issuerMismatch
                ask(issuer, source, locations.dropFirst(), isTelling ? earlier : error, fetched)
            }
        }
    }

    // MARK: Keys

    /// The key set at `url`; with `afterUnknownKey` it is asked for again, yet not more than once a minute.
    func keys(
        at url: HTTPURL, source: OAuthSource, afterUnknownKey: Bool,
        completion: @escaping (Result<SecretBytes, RefreshFailure>) -> Void
    ) {
        let age = afterUnknownKey ? Self.keyRefetchPause : Self.lifetime
        keys.get(SharedDocuments.Place(url.text, source), noOlderThan: age) { [self] fetched in
            get(url, source) { outcome in
                fetched(
                    outcome.flatMap { response in
                        (200..<300).contains(response.status)
                            ? .success(response.body)
                            : .failure(
                                RefreshFailure(
                                    .upstreamError, httpStatus: response.status,
                                    retryAfter: response.retryAfter))
                    })
            }
        } completion: {
            completion($0)
        }
    }

    private func get(
        _ url: HTTPURL, _ source: OAuthSource,
        _ completion: @escaping (Result<FetchResponse, RefreshFailure>) -> Void
    ) {
        let request = OAuthRequest(source: source, partition: "issuer")
        requester.send(to: url.origin) { id in
            request.get(url, id: id)
        } completion: { outcome in
            switch outcome {
            case .answered(let response, _): completion(.success(response))
            case .failed(let cause): completion(.failure(RefreshFailure(cause)))
            case .notSent(let cause): completion(.failure(cause))
            }
        }
    }
}
