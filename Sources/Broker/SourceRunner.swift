import CredentialCore
import Log
import Providers
import Secrets

/// Runs sources: reads the files and makes the requests that a definition asks for, and reads what comes back.
///
/// Every run ends once: with an outcome, or by `cancel`. It does not retry; the sessions decide that.
final class SourceRunner {
    /// What a run came to.
    typealias Completion = (Result<SourceAnswer.Reading, RefreshFailure>) -> Void

    private struct Run {
        let account: AccountName
        let source: SourceDefinition
        let reason: RefreshReason
        let completion: Completion
        var secrets: [SecretBytes] = []
        var sentAt: BootTime?
        var origin: String?
    }

    private let files: any FilePort
    private let fetcher: any FetchPort
    private let clock: any Clock
    private var runs: [UInt64: Run] = [:]
    private var gates: [String: OriginGate] = [:]
    private var lastID: UInt64 = 0
    private var turns: [UInt64] = []

    init(files: any FilePort, fetcher: any FetchPort, clock: any Clock) {
        self.files = files
        self.fetcher = fetcher
        self.clock = clock
    }

    func isRunning(_ id: UInt64) -> Bool { runs[id] != nil }

    /// Begins a run; `completion` is called later, or from within this call where the origin may not be asked now.
    func start(
        _ source: SourceDefinition, account: AccountName, reason: RefreshReason,
        completion: @escaping Completion
    ) -> UInt64 {
        lastID += 1
        let id = lastID
        runs[id] = Run(account: account, source: source, reason: reason, completion: completion)
        let references: [SecretReference] =
            switch source {
            case .static(let source): [source.idToken, source.accessToken].compactMap { $0 }
            case .file(let source): [source.file]
            case .http(let source): SourceRequest.references(of: source)
            case .oauth, .jwt: []
            }
        if references.isEmpty {
            filesDidEnd(id, .success([]))
        } else {
            files.read(id, references)
        }
        return id
    }

    /// Gives a run up; its completion is not called.
    func cancel(_ id: UInt64) {
        guard let run = runs.removeValue(forKey: id) else { return }
        if run.sentAt != nil { fetcher.cancel(id) }
        leaveGate(run, id, .unknown)
    }

    private func finish(_ id: UInt64, _ outcome: Result<SourceAnswer.Reading, RefreshFailure>) {
        runs.removeValue(forKey: id)?.completion(outcome)
    }

    // MARK: Files

    func filesDidEnd(_ id: UInt64, _ outcome: Result<[SecretBytes], FileFailure>) {
        guard let run = runs[id] else { return }
        let secrets: [SecretBytes]
        switch outcome {
        case .success(let contents): secrets = contents
        case .failure(let failure):
            finish(id, .failure(RefreshFailure(.sourceUnavailable, cause: .file(failure))))
            return
        }
        switch run.source {
        case .static(let source): finish(id, Self.readStatic(source, secrets))
        case .file(let source): finish(id, readFile(source, secrets))
        case .http(let source):
            runs[id]?.secrets = secrets
            enter(id, source)
        case .oauth, .jwt: finish(id, .failure(RefreshFailure(.sourceUnavailable)))
        }
    }

    private static func readStatic(
        _ source: StaticSource, _ secrets: [SecretBytes]
    ) -> Result<SourceAnswer.Reading, RefreshFailure> {
        Result { () throws(RefreshFailure) in
            var rest = secrets[...]
            func token(_ reference: SecretReference?) throws(RefreshFailure) -> SecretBytes? {
                guard reference != nil, let secret = rest.popFirst() else { return nil }
                return try SourceAnswer.read(token: secret).fresh.credential.bearer
            }
            let idToken = try token(source.idToken)
            let accessToken = try token(source.accessToken)
            return try SourceAnswer.assemble(
                idToken: idToken, accessToken: accessToken, issuer: source.issuer,
                hint: source.expiresAt.map { .at($0) } ?? .absent, originDate: nil, status: nil)
        }
    }

    private func readFile(
        _ source: FileSource, _ secrets: [SecretBytes]
    ) -> Result<SourceAnswer.Reading, RefreshFailure> {
        Result { () throws(RefreshFailure) in
            guard let content = secrets.first else { throw RefreshFailure(.sourceUnavailable) }
            switch source.format {
            case .token: return try SourceAnswer.read(token: content)
            case .json(let fields):
                return try SourceAnswer.read(
                    content, fields: fields == FieldMap() ? nil : fields, sentAt: nil)
            }
        }
    }

    // MARK: Requests

    private func enter(_ id: UInt64, _ source: HTTPSource) {
        let origin = source.url.origin
        runs[id]?.origin = origin
        switch gates[origin, default: OriginGate()].enter(id, now: clock.now.boot) {
        case .go: send(id)
        case .queued: break
        case .refused(let retryAfter):
            runs[id]?.origin = nil
            finish(id, .failure(RefreshFailure(.overloaded, retryAfter: retryAfter)))
        }
    }

    private func send(_ id: UInt64) {
        guard let run = runs[id], case .http(let source) = run.source else { return }
        do throws(RefreshFailure) {
            let request = try SourceRequest.make(
                id: id, source: source, account: run.account, reason: run.reason, secrets: run.secrets)
            runs[id]?.secrets = []
            runs[id]?.sentAt = clock.now.boot
            fetcher.fetch(request)
        } catch {
            leaveGate(run, id, .unknown)
            finish(id, .failure(error))
        }
    }

    func fetchDidEnd(_ id: UInt64, _ outcome: Result<FetchResponse, FetchFailure>) {
        guard let run = runs[id], case .http(let source) = run.source, let sentAt = run.sentAt else { return }
        switch outcome {
        case .success(let response):
            leaveGate(run, id, response.status >= 500 ? .down : .answered)
            finish(
                id,
                Result { () throws(RefreshFailure) in
                    try SourceAnswer.read(
                        response, fields: source.fields, sentAt: clock.now.wallTime(of: sentAt))
                })
        case .failure(let failure):
            leaveGate(run, id, Self.gateOutcome(failure))
            finish(id, .failure(RefreshFailure(Self.kind(failure), cause: .fetch(failure))))
        }
    }

    private func leaveGate(_ run: Run, _ id: UInt64, _ outcome: OriginGate.Outcome) {
        guard let origin = run.origin, var gate = gates[origin] else { return }
        let turn = gate.leave(id, outcome: outcome, now: clock.now.boot)
        gates[origin] = gate.isIdle ? nil : gate
        switch turn {
        case .nobody: break
        case .one(let next): take(turn: next)
        case .refused(let dismissed, let retryAfter):
            for id in dismissed {
                runs[id]?.origin = nil
                finish(id, .failure(RefreshFailure(.overloaded, retryAfter: retryAfter)))
            }
        }
    }

    // One that cannot be sent gives its turn to the next, and so on: a loop, since that may be thousands.
    private func take(turn id: UInt64) {
        turns.append(id)
        guard turns.count == 1 else { return }
        var index = 0
        while index < turns.count {
            send(turns[index])
            index += 1
        }
        turns.removeAll()
    }

    private static func gateOutcome(_ failure: FetchFailure) -> OriginGate.Outcome {
        switch failure {
        case .workerLost, .tooManyRequests, .badRequest, .caFileUnreadable, .proxyFailed: .unknown
        case .tooLarge, .malformedResponse: .answered
        default: .down
        }
    }

    private static func kind(_ failure: FetchFailure) -> RefreshFailure.Kind {
        switch failure {
        case .nameNotResolved, .connectionFailed, .connectionLost, .proxyFailed: .unreachable
        case .timeout, .connectTimeout: .timeout
        case .certificateExpired, .certificateWrongHost, .certificateUntrusted, .tlsFailed: .tls
        case .tooLarge: .tooLarge
        case .malformedResponse: .upstreamError
        case .caFileUnreadable, .workerLost, .badRequest: .sourceUnavailable
        case .tooManyRequests: .overloaded
        }
    }
}
