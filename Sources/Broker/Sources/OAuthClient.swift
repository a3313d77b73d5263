import CredentialCore
import OAuth
import Secrets

/// One client at its server: what it needs for requests is at hand.
struct OAuthClient {
    let source: OAuthSource
    let endpoints: ServerEndpoints
    /// What the source refers to: client secrets, or a key.
    let secrets: [SecretBytes]
    /// Who shares connections with it.
    let partition: String
}

/// Carries out one request after another for OAuth clients: proves who they are, tries their secrets in turn, and reads what comes back.
final class OAuthExchange {
    /// What came back, and when the request that it answers was sent.
    typealias Completion = (Requester.Outcome) -> Void

    private let requester: Requester
    private let signer: Signer
    private let clock: any Clock
    private let draw: () -> UInt64
    // Which of several client secrets worked last: the others are tried only when that one is refused.
    private var preferred: [Destination: Int] = [:]
    /// Told when another client secret than before works.
    var promoted: ((OAuthSource, Int) -> Void)?

    init(requester: Requester, signer: Signer, clock: any Clock, draw: @escaping () -> UInt64) {
        self.requester = requester
        self.signer = signer
        self.clock = clock
        self.draw = draw
    }

    /// Why nothing would be sent to `url` now; nil: it would be.
    func refusal(at url: HTTPURL) -> RefreshFailure? { requester.refusal(of: url.origin) }

    /// Sends what `make` gives, with each client secret in turn while the server answers `invalid_client`.
    func send(
        _ client: OAuthClient, to url: HTTPURL,
        _ make: @escaping (OAuthRequest, ClientProof, UInt64) -> FetchRequest,
        completion: @escaping Completion
    ) {
        let count = max(1, client.secrets.count)
        let first = min(preferred[client.source.destination] ?? 0, count - 1)
        attempt(client, url, (0..<count).map { (first + $0) % count }[...], make, completion)
    }

    private func attempt(
        _ client: OAuthClient, _ url: HTTPURL, _ indices: ArraySlice<Int>,
        _ make: @escaping (OAuthRequest, ClientProof, UInt64) -> FetchRequest,
        _ completion: @escaping Completion
    ) {
        guard let index = indices.first else { return }
        let request = OAuthRequest(source: client.source, partition: client.partition)
        withProof(of: client, index, for: url) { [self] proof in
            switch proof {
            case .failure(let failure): completion(.notSent(failure))
            case .success(let proof):
                requester.send(to: url.origin) { id in
                    make(request, proof, id)
                } completion: { [self] outcome in
                    if case .answered(let response, _) = outcome {
                        if TokenAnswer.refusesClient(response) {
                            if indices.count > 1 {
                                attempt(client, url, indices.dropFirst(), make, completion)
                                return
                            }
                        } else if (200..<300).contains(response.status) {
                            prefer(index, of: client)
                        }
                    }
                    completion(outcome)
                }
            }
        }
    }

    private func prefer(_ index: Int, of client: OAuthClient) {
        guard client.secrets.count > 1 else { return }
        let old = preferred.updateValue(index, forKey: client.source.destination) ?? 0
        if old != index { promoted?(client.source, index) }
    }

    private func withProof(
        of client: OAuthClient, _ index: Int, for url: HTTPURL,
        _ body: @escaping (Result<ClientProof, RefreshFailure>) -> Void
    ) {
        switch client.source.authentication {
        case .none: body(.success(.none))
        case .basic: body(secret(client, index).map { .success(.basic($0)) } ?? Self.missing)
        case .form: body(secret(client, index).map { .success(.form($0)) } ?? Self.missing)
        case .privateKeyJWT(_, let algorithm, let keyID):
            guard let key = client.secrets.first else { return body(Self.missing) }
            let claims = ClientAssertion.claims(
                clientID: client.source.clientID, audience: client.endpoints.token.text, now: clock.now.wall,
                identifier: String(draw(), radix: 16) + String(draw(), radix: 16))
            signer.sign(claims, key: key, algorithm: algorithm, keyID: keyID) { outcome in
                switch outcome {
                case .success(let assertion): body(.success(.assertion(assertion)))
                case .failure(let failure):
                    body(.failure(RefreshFailure(.sourceUnavailable, cause: .signing(failure))))
                }
            }
        }
    }

    private static let missing = Result<ClientProof, RefreshFailure>.failure(
        RefreshFailure(.sourceUnavailable))

    // One line end after a secret in a file is not part of it.
    private func secret(_ client: OAuthClient, _ index: Int) -> SecretBytes? {
        guard index < client.secrets.count else { return nil }
        return client.secrets[index].withSpan { bytes in
            var end = bytes.count
            if end > 0, bytes[end - 1] == UInt8(ascii: "\n") { end -= 1 }
            if end > 0, bytes[end - 1] == UInt8(ascii: "\r") { end -= 1 }
            return end > 0 ? SecretBytes(copying: bytes.extracting(0..<end)) : nil
        }
    }
}
