import CredentialCore
import OAuth
import Secrets

/// Knows what issuers say of themselves: their endpoints and their keys, asked once for all that want to know, and kept for a while.
final class ServerDirectory {
    private struct Issuer: Hashable {
        let text: String
        let caFile: String?
        let proxy: String?
    }

    private struct Document<Value> {
        var value: Value?
        var fetchedAt: BootTime?
        var waiters: [(Result<Value, RefreshFailure>) -> Void] = []
        var isOut = false
    }

    private let requester: Requester
    private let clock: any Clock
    private var metadata: [Issuer: Document<ServerMetadata>] = [:]
    private var keys: [HTTPURL: Document<SecretBytes>] = [:]

    /// How long what was found is believed without asking again.
    static let lifetime = Milliseconds.seconds(3600)
    /// How soon keys are asked for again because a token names one that is not among them.
    static let keyRefetchPause = Milliseconds.seconds(60)

    init(requester: Requester, clock: any Clock) {
        self.requester = requester
        self.clock = clock
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
        let key = Issuer(text: issuer, caFile: source.caFile, proxy: source.proxy)
        let answer: (Result<ServerMetadata, RefreshFailure>) -> Void = { [self] outcome in
            switch outcome {
            case .success(let found): completion(endpoints(configured, found))
            // Everything that is needed for a token is configured: what the issuer could add is done without.
            case .failure where configured.token != nil: completion(endpoints(configured, nil))
            case .failure(let failure): completion(.failure(failure))
            }
        }
        var document = metadata[key] ?? Document()
        if let value = document.value, isFresh(document.fetchedAt, Self.lifetime) {
            answer(.success(value))
            return
        }
        document.waiters.append(answer)
        let isFirst = !document.isOut
        document.isOut = true
        metadata[key] = document
        if isFirst { ask(key, source, ServerMetadata.locations(of: issuer)[...], nil) }
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
        _ key: Issuer, _ source: OAuthSource, _ locations: ArraySlice<HTTPURL>, _ earlier: RefreshFailure?
    ) {
        guard let url = locations.first else {
            finish(key, .failure(earlier ?? RefreshFailure(.sourceUnavailable)))
            return
        }
        let request = OAuthRequest(source: source, partition: "issuer")
        requester.send(to: url.origin) { id in
            request.get(url, id: id)
        } completion: { [self] outcome in
            let failure: RefreshFailure
            switch outcome {
            case .answered(let response, _):
                do throws(RefreshFailure) {
                    finish(key, .success(try ServerMetadata.read(response, issuer: key.text)))
                    return
                } catch {
                    failure = error
                }
            case .failed(let cause): failure = RefreshFailure(cause)
            case .notSent(let cause): failure = cause
            }
            // A document that is not there says less than one that is wrong.
            let isTelling = earlier?.kind == .issuerMismatch
            ask(key, source, locations.dropFirst(), isTelling ? earlier : failure)
        }
    }

    private func finish(_ key: Issuer, _ outcome: Result<ServerMetadata, RefreshFailure>) {
        guard var document = metadata[key] else { return }
        let waiters = document.waiters
        document.waiters = []
        document.isOut = false
        var outcome = outcome
        switch outcome {
        case .success(let value):
            document.value = value
            document.fetchedAt = clock.now.boot
        case .failure(let failure):
            // What an issuer said an hour ago is better than nothing, unless it is another one that answers now.
            if let value = document.value, failure.kind != .issuerMismatch { outcome = .success(value) }
        }
        metadata[key] = document.value == nil ? nil : document
        for waiter in waiters { waiter(outcome) }
    }

    // MARK: Keys

    /// The key set at `url`; with `afterUnknownKey` it is asked for again, yet not more than once a minute.
    func keys(
        at url: HTTPURL, source: OAuthSource, afterUnknownKey: Bool,
        completion: @escaping (Result<SecretBytes, RefreshFailure>) -> Void
    ) {
        var document = keys[url] ?? Document()
        let pause = afterUnknownKey ? Self.keyRefetchPause : Self.lifetime
        if let value = document.value, isFresh(document.fetchedAt, pause) {
            completion(.success(value))
            return
        }
        document.waiters.append(completion)
        let isFirst = !document.isOut
        document.isOut = true
        keys[url] = document
        guard isFirst else { return }
        let request = OAuthRequest(source: source, partition: "issuer")
        requester.send(to: url.origin) { id in
            request.get(url, id: id)
        } completion: { [self] outcome in
            switch outcome {
            case .answered(let response, _) where (200..<300).contains(response.status):
                finish(url, .success(response.body))
            case .answered(let response, _):
                finish(
                    url,
                    .failure(
                        RefreshFailure(
                            .upstreamError, httpStatus: response.status, retryAfter: response.retryAfter)))
            case .failed(let cause): finish(url, .failure(RefreshFailure(cause)))
            case .notSent(let cause): finish(url, .failure(cause))
            }
        }
    }

    private func finish(_ url: HTTPURL, _ outcome: Result<SecretBytes, RefreshFailure>) {
        guard var document = keys[url] else { return }
        let waiters = document.waiters
        document.waiters = []
        document.isOut = false
        var outcome = outcome
        switch outcome {
        case .success(let value):
            document.value = value
            document.fetchedAt = clock.now.boot
        case .failure:
            // Keys change seldom: a server that cannot say which it has now most likely has those it had.
            if let value = document.value { outcome = .success(value) }
        }
        keys[url] = document.value == nil ? nil : document
        for waiter in waiters { waiter(outcome) }
    }

    private func isFresh(_ fetchedAt: BootTime?, _ lifetime: Milliseconds) -> Bool {
        guard let fetchedAt else { return false }
        return clock.now.boot < fetchedAt + lifetime
    }
}
