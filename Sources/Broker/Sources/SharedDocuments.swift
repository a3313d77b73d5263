import CredentialCore

/// Documents that are asked for once for all that want them, and believed for a while.
final class SharedDocuments<Value> {
    /// Where a document comes from, and by which trust: what one CA vouches for is not another's.
    struct Place: Hashable {
        let text: String
        let caFile: String?
        let proxy: String?

        init(_ text: String, _ source: OAuthSource) {
            self.text = text
            caFile = source.caFile
            proxy = source.proxy
        }
    }

    typealias Completion = (Result<Value, RefreshFailure>) -> Void

    private struct Document {
        var value: Value?
        var fetchedAt: BootTime?
        var failure: (RefreshFailure, at: BootTime)?
        var waiters: [Completion] = []
        var isOut = false
    }

    /// How long what could not be had is not asked for again.
    static var failurePause: Milliseconds { .seconds(5) }

    private let clock: any Clock
    // Whether what was known before is better than this failure.
    private let outlives: (RefreshFailure) -> Bool
    private var documents: [Place: Document] = [:]

    init(clock: any Clock, outlives: @escaping (RefreshFailure) -> Bool) {
        self.clock = clock
        self.outlives = outlives
    }

    /// Gives what is known, if it is no older than `age`; else what `fetch` brings, which is out once however many ask.
    func get(
        _ place: Place, noOlderThan age: Milliseconds, fetch: (@escaping Completion) -> Void,
        completion: @escaping Completion
    ) {
        var document = documents[place] ?? Document()
        if let value = document.value, let fetchedAt = document.fetchedAt, clock.now.boot < fetchedAt + age {
            return completion(.success(value))
        }
        if let (failure, at) = document.failure, clock.now.boot < at + Self.failurePause {
            return completion(outcome(document, failure))
        }
        document.waiters.append(completion)
        let isFirst = !document.isOut
        document.isOut = true
        documents[place] = document
        if isFirst { fetch { [self] in finish(place, $0) } }
    }

    private func finish(_ place: Place, _ outcome: Result<Value, RefreshFailure>) {
        guard var document = documents[place], document.isOut else { return }
        let waiters = document.waiters
        document.waiters = []
        document.isOut = false
        var told = outcome
        switch outcome {
        case .success(let value):
            document.value = value
            document.fetchedAt = clock.now.boot
            document.failure = nil
        case .failure(let failure):
            document.failure = (failure, clock.now.boot)
            told = self.outcome(document, failure)
        }
        documents[place] = document
        for waiter in waiters { waiter(told) }
    }

    private func outcome(_ document: Document, _ failure: RefreshFailure) -> Result<Value, RefreshFailure> {
        if let value = document.value, outlives(failure) { return .success(value) }
        return .failure(failure)
    }
}
