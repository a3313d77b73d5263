import CredentialCore
import Secrets

/// Sends requests to platforms: collects the secrets that they take, sends them in turn like all others, and has the answers read.
///
/// Whatever goes wrong on the way is told as the platform's, so that nobody looks for it in the source.
final class PlatformCaller {
    private let requester: Requester
    private let runner: SourceRunner
    // Bytes of an answer that are read: a token, some members, and room for what is not read.
    private static let answerLimit = 1 << 20

    init(requester: Requester, runner: SourceRunner) {
        self.requester = requester
        self.runner = runner
    }

    /// Sends the request that `make` gives of the platform's secrets, as a step of `attempt`, and has `read` say what the answer
    /// means; `completion` is not called when the attempt is given up.
    ///
    /// When its turn has come and `isUnwanted` says so, it is not sent, and fails; a probe is sent to a platform that is down, too.
    func send<Value>(
        to platform: PlatformDefinition, for account: AccountName, in attempt: Attempt,
        unless isUnwanted: @escaping () -> Bool = { false }, isProbe: Bool = false,
        _ make: @escaping ([SecretBytes]) throws(RefreshFailure) -> PlatformRequest,
        read: @escaping (FetchResponse) throws(RefreshFailure) -> Value,
        completion: @escaping (Result<Value, RefreshFailure>) -> Void
    ) {
        runner.secrets(platform.references) { [self] outcome in
            guard !attempt.isOver else { return }
            do throws(RefreshFailure) {
                let request = try make(try outcome.get())
                send(request, platform.transport, account, attempt, isUnwanted, isProbe) { outcome in
                    let answer = outcome.flatMap { response in
                        Result { () throws(RefreshFailure) in try read(response) }
                    }
                    completion(answer.mapError(\.ofPlatform))
                }
            } catch {
                completion(.failure(error.ofPlatform))
            }
        }
    }

    private func send(
        _ request: PlatformRequest, _ transport: PlatformTransport, _ account: AccountName,
        _ attempt: Attempt, _ isUnwanted: @escaping () -> Bool, _ isProbe: Bool,
        _ completion: @escaping (Result<FetchResponse, RefreshFailure>) -> Void
    ) {
        let id = requester.send(to: request.url.origin, isProbe: isProbe) { id throws(RefreshFailure) in
            guard !isUnwanted() else { throw RefreshFailure(.sourceUnavailable) }
            return FetchRequest(
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
