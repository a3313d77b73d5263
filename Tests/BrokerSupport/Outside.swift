package import CredentialCore
package import Secrets

/// The network of a test: keeps requests until the test answers them.
package final class FakeFetcher: FetchPort {
    package weak var observer: (any FetchObserver)?
    /// Requests that are out, in order.
    package private(set) var out: [FetchRequest] = []
    package private(set) var all: [FetchRequest] = []
    package private(set) var cancelled: [UInt64] = []
    /// A backend that answers at once; nil: the test answers.
    package var backend: ((FetchRequest) -> Result<FetchResponse, FetchFailure>)?

    package init() {}

    /// Lets the backend answer the oldest request; false when there is none, or no backend.
    package func completeOne() -> Bool {
        guard let backend, let request = out.first else { return false }
        end(backend(request))
        return true
    }

    package func fetch(_ request: FetchRequest) {
        out.append(request)
        all.append(request)
    }

    package func cancel(_ id: UInt64) {
        out.removeAll { $0.id == id }
        cancelled.append(id)
    }

    /// Answers the oldest request with a JSON body.
    package func answer(
        _ body: StaticString, status: Int = 200, retryAfter: Milliseconds? = nil, date: WallTime? = nil,
        contentType: String? = "application/json"
    ) {
        end(
            .success(
                FetchResponse(
                    status: status, retryAfter: retryAfter, date: date, contentType: contentType,
                    body: SecretBytes(body))))
    }

    /// Answers the oldest request with a failure.
    package func fail(_ failure: FetchFailure) { end(.failure(failure)) }

    /// Answers that request.
    package func end(_ outcome: Result<FetchResponse, FetchFailure>, of request: FetchRequest) {
        guard let index = out.firstIndex(where: { $0.id == request.id }) else { return }
        out.remove(at: index)
        observer?.fetchDidEnd(request.id, outcome)
    }

    /// Answers the oldest request of an account.
    package func end(_ outcome: Result<FetchResponse, FetchFailure>, of account: String? = nil) {
        guard let index = out.firstIndex(where: { account == nil || $0.partition == account }) else { return }
        let request = out.remove(at: index)
        observer?.fetchDidEnd(request.id, outcome)
    }
}

/// The files of a test.
package final class FakeFiles: FilePort {
    package weak var observer: (any FileObserver)?
    package var contents: [SecretReference: SecretBytes] = [:]
    package var failure: FileFailure?
    /// A disk that does not answer.
    package var isHung = false
    package private(set) var reads = 0
    private var waiting: [(id: UInt64, references: [SecretReference])] = []

    package init() {}

    package func read(_ id: UInt64, _ references: [SecretReference]) {
        waiting.append((id, references))
        reads += 1
    }

    /// Answers the oldest read; false when there is none.
    package func completeOne() -> Bool {
        guard !isHung, !waiting.isEmpty else { return false }
        let (id, references) = waiting.removeFirst()
        observer?.filesDidEnd(id, outcome(references))
        return true
    }

    private func outcome(_ references: [SecretReference]) -> Result<[SecretBytes], FileFailure> {
        if let failure { return .failure(failure) }
        var found: [SecretBytes] = []
        for (index, reference) in references.enumerated() {
            guard let content = contents[reference] else { return .failure(.missing(index: index)) }
            found.append(content)
        }
        return .success(found)
    }
}

/// An audit log in memory; while it is held, nothing counts as written.
package final class FakeAudit: AuditPort {
    package weak var observer: (any AuditObserver)?
    package private(set) var entries: [AuditEntry] = []
    package var isHeld = false
    package var isWritable = true
    private var waiting: [UInt64] = []

    package init() {}

    package func record(_ entry: AuditEntry, token: UInt64?) {
        entries.append(entry)
        if let token { waiting.append(token) }
    }

    /// Answers the oldest entry that somebody waits for; false when there is none, or it is held.
    package func completeOne() -> Bool {
        guard !isHeld, !waiting.isEmpty else { return false }
        observer?.auditDidWrite(waiting.removeFirst(), isWritten: isWritable)
        return true
    }

    /// What was decided, in order, for comparing: `denied user 7: bot no_rule`.
    package var lines: [String] {
        entries.map { entry in
            let (word, count) = entry.decision.word
            var line = "\(word) uid=\(entry.uid) \(entry.method)"
            if let account = entry.account { line += " \(account.text)" }
            if let generation = entry.generation { line += " g\(generation.number)" }
            if count != 1 { line += " x\(count)" }
            if let reason = entry.reason { line += " \(reason)" }
            return line
        }
    }

    package func forget() { entries = [] }
}
