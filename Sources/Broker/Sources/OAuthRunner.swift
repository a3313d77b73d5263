import CredentialCore
import Log
import OAuth
import Providers
import Secrets

/// Runs `oauth` sources: finds the server, spends what there is to spend, and makes a credential of the answer.
///
/// A run that is given up ends without a completion; a refresh token that is out goes on its way all the same.
final class OAuthRunner {
    /// What a run came to.
    typealias Completion = (Result<SourceAnswer.Reading, RefreshFailure>) -> Void

    private struct Run {
        let account: AccountName
        let source: OAuthSource
        let client: OAuthClient?
        let completion: Completion
    }

    let directory: ServerDirectory
    let exchange: OAuthExchange
    let signer: Signer
    let clock: any Clock
    let log: Logger
    private var runs: [UInt64: Run] = [:]
    // Answers whose grant is on its way to the disk.
    private var answers: [GrantName: (answer: TokenAnswer, client: OAuthClient)] = [:]
    // Whose request is out for a grant: it stays, whoever asked for it may be gone.
    private var spenders: [GrantName: OAuthClient] = [:]
    /// The grants; set before the first run.
    weak var keeper: GrantKeeper?

    init(
        directory: ServerDirectory, exchange: OAuthExchange, signer: Signer, clock: any Clock, log: Logger
    ) {
        self.directory = directory
        self.exchange = exchange
        self.signer = signer
        self.clock = clock
        self.log = log
    }

    /// Begins a run under a number that no other has.
    func start(
        _ id: UInt64, _ source: OAuthSource, account: AccountName, secrets: [SecretBytes],
        completion: @escaping Completion
    ) {
        runs[id] = Run(account: account, source: source, client: nil, completion: completion)
        directory.endpoints(of: source) { [self] outcome in
            guard runs[id] != nil else { return }
            switch outcome {
            case .failure(let failure): finish(id, .failure(failure))
            case .success(let endpoints):
                // Before an intent is on disk that would have to be taken back.
                if let refusal = exchange.refusal(at: endpoints.token) {
                    finish(id, .failure(refusal))
                    return
                }
                let partition: String =
                    switch source.flow {
                    case .refreshToken(let grant): "grant " + grant.text
                    case .clientCredentials: "account " + account.text
                    }
                let client = OAuthClient(
                    source: source, endpoints: endpoints, secrets: secrets, partition: partition)
                runs[id] = Run(account: account, source: source, client: client, completion: completion)
                switch source.flow {
                case .clientCredentials: requestToken(id, client)
                case .refreshToken(let grant): keeper?.request(turn: id, grant, SpendKey(source))
                }
            }
        }
    }

    /// Asks what costs nothing: whether the server is there, and whether the grant could be sent.
    func check(_ source: OAuthSource, completion: @escaping (RefreshFailure?) -> Void) {
        directory.endpoints(of: source) { [self] outcome in
            switch (outcome, source.flow) {
            case (.failure(let failure), _): completion(failure)
            case (.success, .refreshToken(let grant)):
                completion(keeper?.refusal(of: grant, for: SpendKey(source)))
            case (.success, .clientCredentials): completion(nil)
            }
        }
    }

    /// Gives a run up.
    func cancel(_ id: UInt64) {
        guard let run = runs.removeValue(forKey: id) else { return }
        if case .refreshToken(let grant) = run.source.flow { keeper?.leave(turn: id, grant) }
    }

    func finish(_ id: UInt64, _ outcome: Result<SourceAnswer.Reading, RefreshFailure>) {
        runs.removeValue(forKey: id)?.completion(outcome)
    }

    // MARK: Client credentials

    private func requestToken(_ id: UInt64, _ client: OAuthClient) {
        exchange.send(client, to: client.endpoints.token) { request, proof, id in
            request.clientCredentials(at: client.endpoints.token, proof: proof, id: id)
        } completion: { [self] outcome in
            guard runs[id] != nil else { return }
            switch outcome {
            case .notSent(let failure): finish(id, .failure(failure))
            case .failed(let failure): finish(id, .failure(RefreshFailure(failure)))
            case .answered(let response, let sentAt):
                do throws(RefreshFailure) {
                    complete(try read(response, sentAt, client), client) { [self] in finish(id, $0) }
                } catch {
                    finish(id, .failure(error))
                }
            }
        }
    }

    private func read(
        _ response: FetchResponse, _ sentAt: BootTime, _ client: OAuthClient
    ) throws(RefreshFailure) -> TokenAnswer {
        try TokenAnswer.read(
            response, sentAt: clock.now.wallTime(of: sentAt), issuer: client.source.endpoints.issuer)
    }

    // MARK: Refresh tokens

    /// Remembers who spends a grant: the run may be gone when the intent is on disk.
    func prepare(_ grant: GrantName, turn: UInt64) { spenders[grant] = runs[turn]?.client }

    /// Sends a refresh token; the keeper is told what came of it.
    func spend(_ grant: GrantName, _ flight: UInt64, _ refreshToken: SecretBytes) {
        guard let client = spenders[grant] else {
            keeper?.answered(
                grant, flight, .failed(RefreshFailure(.sourceUnavailable), .notSpent))
            return
        }
        exchange.send(client, to: client.endpoints.token) { request, proof, id in
            request.refresh(refreshToken, at: client.endpoints.token, proof: proof, id: id)
        } completion: { [self] outcome in
            keeper?.answered(grant, flight, judge(outcome, grant, client))
        }
    }

    private func judge(
        _ outcome: Requester.Outcome, _ grant: GrantName, _ client: OAuthClient
    ) -> SpendAnswer {
        switch outcome {
        case .notSent(let failure): return .failed(failure, .notSpent)
        case .failed(let failure):
            return .failed(RefreshFailure(failure), SpendOutcome.certainty(of: failure))
        case .answered(let response, _) where TokenAnswer.hasUnusableSuccessor(response):
            return .failed(RefreshFailure(.malformed, httpStatus: response.status), .gone)
        case .answered(let response, let sentAt):
            do throws(RefreshFailure) {
                let answer = try read(response, sentAt, client)
                answers[grant] = (answer, client)
                return .spent(successor: answer.refreshToken, scope: answer.scope, failure: nil)
            } catch {
                if let successor = TokenAnswer.successor(in: response) {
                    return .spent(successor: successor, scope: nil, failure: error)
                }
                // An object of the server's own without a token is its word that it gave none.
                return .failed(error, SpendOutcome.certainty(of: response) ?? .notSpent)
            }
        }
    }

    /// Goes on with an answer whose successor is on disk, for all who wait for it.
    func deliver(_ grant: GrantName, to turns: [UInt64]) {
        spenders[grant] = nil
        guard let (answer, client) = answers.removeValue(forKey: grant) else { return }
        let waiting = turns.filter { runs[$0] != nil }
        guard !waiting.isEmpty else { return }
        complete(answer, client) { [self] outcome in
            for turn in waiting { finish(turn, outcome) }
        }
    }

    /// Forgets a flight that brought nothing.
    func drop(_ grant: GrantName) {
        spenders[grant] = nil
        answers[grant] = nil
    }

    /// Ends a token at the server that it came from (RFC 7009); without an endpoint there is nothing to be done.
    func revoke(
        _ token: SecretBytes, _ kind: OAuthRequest.TokenKind, _ client: OAuthClient,
        completion: @escaping (RefreshFailure?) -> Void
    ) {
        guard let url = client.endpoints.revocation else { return completion(nil) }
        exchange.send(client, to: url) { request, proof, id in
            request.revoke(token, kind, at: url, proof: proof, id: id)
        } completion: { outcome in
            switch outcome {
            case .answered(let response, _): completion(Revocation.read(response))
            case .failed(let failure): completion(RefreshFailure(failure))
            case .notSent(let failure): completion(failure)
            }
        }
    }

    /// Revokes the successor of a grant that is gone, as far as that can be done.
    func revokeOrphan(_ grant: GrantName, _ token: SecretBytes) {
        guard let client = spenders[grant] else { return }
        revoke(token, .refreshToken, client) { [self] failure in
            guard failure != nil else { return }
            log.log(
                .warning, "A refresh token that came for a deleted grant could not be revoked",
                (.grant, .public(grant.text)))
        }
    }

    /// Finds the server of a source, for requests outside a run.
    func client(
        of source: OAuthSource, secrets: [SecretBytes], partition: String,
        completion: @escaping (Result<OAuthClient, RefreshFailure>) -> Void
    ) {
        directory.endpoints(of: source) { outcome in
            completion(
                outcome.map {
                    OAuthClient(source: source, endpoints: $0, secrets: secrets, partition: partition)
                })
        }
    }
}
