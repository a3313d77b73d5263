import CredentialCore
import Secrets

/// Sends requests to platforms: collects the secrets that they take, and sends them in turn like all others.
final class PlatformCaller {
    typealias Outcome = Result<FetchResponse, RefreshFailure>

    private let requester: Requester
    private let runner: SourceRunner
    // Bytes of an answer that are read: a token, some members, and room for what is not read.
    private static let answerLimit = 1 << 20

    init(requester: Requester, runner: SourceRunner) {
        self.requester = requester
        self.runner = runner
    }

    /// Sends the request that `make` gives of the platform's secrets, as a step of `attempt`; `completion` is not called when that
    /// is given up.
    func send(
        to platform: PlatformDefinition, for account: AccountName, in attempt: Attempt,
        _ make: @escaping ([SecretBytes]) throws(RefreshFailure) -> PlatformRequest,
        completion: @escaping (Outcome) -> Void
    ) {
        runner.secrets(platform.references) { [self] outcome in
            guard !attempt.isOver else { return }
            do throws(RefreshFailure) {
                let request = try make(try outcome.get())
                send(request, platform.transport, account, attempt, completion)
            } catch {
                completion(.failure(error))
            }
        }
    }

    private func send(
        _ request: PlatformRequest, _ transport: PlatformTransport, _ account: AccountName,
        _ attempt: Attempt, _ completion: @escaping (Outcome) -> Void
    ) {
        let id = requester.send(to: request.url.origin) { id in
            FetchRequest(
                id: id, url: request.url, method: request.method, headers: request.headers,
                body: request.body, caFile: transport.caFile, proxy: transport.proxy,
                timeout: transport.timeout, bodyLimit: Self.answerLimit,
                partition: "platform " + account.text)
        } completion: { outcome in
            guard !attempt.isOver else { return }
            switch outcome {
            case .answered(let response, _): completion(.success(response))
            case .failed(let failure): completion(.failure(RefreshFailure(failure)))
            case .notSent(let failure): completion(.failure(failure))
            }
        }
        attempt.proceed { [requester] in requester.cancel(id) }
    }
}
