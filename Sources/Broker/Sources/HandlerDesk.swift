import CredentialCore
import Secrets

/// Asks connected clients, and waits for each answer as long as it may take.
///
/// Every question ends once: with an answer, a refusal, at its deadline, or by `cancel`. What comes behind that is nobody's business.
final class HandlerDesk {
    /// What a question came to: the answer as one JSON value, or why there is none.
    typealias Completion = (Result<SecretBytes, RefreshFailure>) -> Void

    private struct Question {
        let deadline: BootTime
        let completion: Completion
    }

    private let clock: any Clock
    private var questions: [UInt64: Question] = [:]
    private var lastID: UInt64 = 0
    /// The clients; none before the server is there.
    weak var port: (any HandlerPort)?
    /// Called when `nextWakeUp` may have changed.
    var waitChanged: () -> Void = {}

    init(clock: any Clock) { self.clock = clock }

    /// Whether somebody is registered for such questions of an account.
    func hasHandler(for account: AccountName, _ kind: HandlerQuestion.Kind) -> Bool {
        port?.hasHandler(for: account, kind) ?? false
    }

    /// Asks; `completion` is called later, or from within this call where nobody is there.
    ///
    /// - Returns: what `cancel` takes.
    @discardableResult
    func ask(
        _ kind: HandlerQuestion.Kind, _ context: SourceContext, limit: Milliseconds,
        renewalID: UInt64? = nil, completion: @escaping Completion
    ) -> UInt64 {
        lastID += 1
        let id = lastID
        guard let port else {
            completion(.failure(RefreshFailure(.handlerRequired)))
            return id
        }
        questions[id] = Question(deadline: clock.now.boot + limit, completion: completion)
        port.ask(
            HandlerQuestion(id: id, kind: kind, context: context, limit: limit, renewalID: renewalID))
        waitChanged()
        return id
    }

    /// Gives a question up; its completion is not called.
    func cancel(_ id: UInt64) {
        guard questions.removeValue(forKey: id) != nil else { return }
        port?.withdraw(id)
    }

    func handlerDidAnswer(_ id: UInt64, _ outcome: Result<SecretBytes, HandlerFailure>) {
        questions.removeValue(forKey: id)?.completion(outcome.mapError { RefreshFailure(ofHandler: $0) })
    }

    /// When the first question has waited long enough; nil: none is out.
    var nextWakeUp: BootTime? { questions.values.lazy.map(\.deadline).min() }

    /// Ends the questions that have waited long enough (R7).
    func wakeUp() {
        let now = clock.now.boot
        for (id, question) in questions.filter({ $0.value.deadline <= now }).sorted(by: { $0.key < $1.key })
        where questions.removeValue(forKey: id) != nil {
            port?.withdraw(id)
            question.completion(.failure(RefreshFailure(.callbackTimeout)))
        }
    }
}
