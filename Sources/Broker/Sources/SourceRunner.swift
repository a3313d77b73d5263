import CredentialCore
import Log
import Providers
import Secrets

/// Runs sources: collects the secrets that a definition refers to, makes the requests that it asks for, and reads what comes back.
///
/// Every run ends once: with an outcome, or by `cancel`. It does not retry; the sessions decide that.
final class SourceRunner {
    /// What a run came to.
    typealias Completion = (Result<SourceAnswer.Reading, RefreshFailure>) -> Void

    private struct Run {
        let source: SourceDefinition
        let context: SourceContext
        let completion: Completion
        var request: UInt64?
        var question: UInt64?
    }

    private let files: any FilePort
    private let clock: any Clock
    private let requester: Requester
    private let signer: Signer
    private let oauth: OAuthRunner
    private let desk: HandlerDesk
    private var runs: [UInt64: Run] = [:]
    // Secrets that are being collected: those of the store are at hand, those in files come later.
    private var collections: [UInt64: (secrets: [SecretBytes?], completion: (SecretsOutcome) -> Void)] = [:]
    private var lastID: UInt64 = 0
    /// The secrets of the store.
    var secret: (SecretName) -> SecretBytes? = { _ in nil }

    typealias SecretsOutcome = Result<[SecretBytes], RefreshFailure>

    init(
        files: any FilePort, clock: any Clock, requester: Requester, signer: Signer, oauth: OAuthRunner,
        desk: HandlerDesk
    ) {
        self.files = files
        self.clock = clock
        self.requester = requester
        self.signer = signer
        self.oauth = oauth
        self.desk = desk
    }

    func isRunning(_ id: UInt64) -> Bool { runs[id] != nil }

    /// Begins a run; `completion` is called later, or from within this call where the origin may not be asked now.
    func start(
        _ source: SourceDefinition, _ context: SourceContext,
        completion: @escaping Completion
    ) -> UInt64 {
        lastID += 1
        let id = lastID
        runs[id] = Run(source: source, context: context, completion: completion)
        // Where nothing would be sent, no file is read either.
        if case .http(let source) = source, let refusal = requester.refusal(of: source.url.origin) {
            finish(id, .failure(refusal))
            return id
        }
        collect(source.references, id) { [self] outcome in
            guard let run = runs[id] else { return }
            switch outcome {
            case .failure(let failure): finish(id, .failure(failure))
            case .success(let secrets): begin(id, run, secrets)
            }
        }
        return id
    }

    /// Gives a run up; its completion is not called.
    func cancel(_ id: UInt64) {
        guard let run = runs.removeValue(forKey: id) else { return }
        collections[id] = nil
        if let request = run.request { requester.cancel(request) }
        if let question = run.question { desk.cancel(question) }
        if case .oauth = run.source { oauth.cancel(id) }
    }

    private func finish(_ id: UInt64, _ outcome: Result<SourceAnswer.Reading, RefreshFailure>) {
        runs.removeValue(forKey: id)?.completion(outcome)
    }

    // MARK: Secrets

    /// Collects secrets outside a run.
    func secrets(_ references: [SecretReference], completion: @escaping (SecretsOutcome) -> Void) {
        lastID += 1
        collect(references, lastID, completion)
    }

    private func collect(
        _ references: [SecretReference], _ id: UInt64, _ completion: @escaping (SecretsOutcome) -> Void
    ) {
        var found: [SecretBytes?] = []
        var inFiles: [SecretReference] = []
        for reference in references {
            guard case .secret(let name) = reference else {
                inFiles.append(reference)
                found.append(nil)
                continue
            }
            guard let value = secret(name) else {
                completion(.failure(RefreshFailure(.sourceUnavailable, cause: .secretMissing(name))))
                return
            }
            found.append(value)
        }
        collections[id] = (found, completion)
        if inFiles.isEmpty {
            filesDidEnd(id, .success([]))
        } else {
            files.read(id, inFiles)
        }
    }

    func filesDidEnd(_ id: UInt64, _ outcome: Result<[SecretBytes], FileFailure>) {
        guard let (secrets, completion) = collections.removeValue(forKey: id) else { return }
        switch outcome {
        case .success(let contents):
            var rest = contents[...]
            completion(.success(secrets.compactMap { $0 ?? rest.popFirst() }))
        case .failure(let failure):
            completion(.failure(RefreshFailure(.sourceUnavailable, cause: .file(failure))))
        }
    }

    // MARK: Kinds

    private func begin(_ id: UInt64, _ run: Run, _ secrets: [SecretBytes]) {
        switch run.source {
        case .static(let source): finish(id, Self.readStatic(source, secrets))
        case .file(let source): finish(id, readFile(source, run.context.wish, secrets))
        case .http(let source): request(id, run, source, secrets)
        case .oauth(let source):
            oauth.start(id, source, account: run.context.account, secrets: secrets) { [self] in finish(id, $0)
            }
        case .jwt(let source): mint(id, run.context.account, source, secrets)
        case .rpc: ask(id, run.context)
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
        _ source: FileSource, _ wish: SourceContext.Wish, _ secrets: [SecretBytes]
    ) -> Result<SourceAnswer.Reading, RefreshFailure> {
        Result { () throws(RefreshFailure) in
            guard let content = secrets.first else { throw RefreshFailure(.sourceUnavailable) }
            switch source.format {
            case .token: return try SourceAnswer.read(token: content)
            case .json(let fields):
                // What says nothing but the names that everything has is no map: what is wished for by name has others.
                let isUsual = fields == FieldMap() || fields == .usual && wish != .credentials
                return try SourceAnswer.read(
                    content, fields: isUsual ? nil : fields, for: wish, sentAt: nil)
            }
        }
    }

    private func request(_ id: UInt64, _ run: Run, _ source: HTTPSource, _ secrets: [SecretBytes]) {
        let request = requester.send(to: source.url.origin) { requestID throws(RefreshFailure) in
            try SourceRequest.make(
                id: requestID, source: source, context: run.context, secrets: secrets)
        } completion: { [self] outcome in
            guard runs[id] != nil else { return }
            switch outcome {
            case .notSent(let failure): finish(id, .failure(failure))
            case .failed(let failure): finish(id, .failure(RefreshFailure(failure)))
            case .answered(let response, let sentAt):
                finish(
                    id,
                    Result { () throws(RefreshFailure) in
                        try SourceAnswer.read(
                            response, answer: source.answer, fields: source.fields, for: run.context.wish,
                            sentAt: clock.now.wallTime(of: sentAt))
                    })
            }
        }
        runs[id]?.request = request
    }

    private func ask(_ id: UInt64, _ context: SourceContext) {
        let sentAt = clock.now.wall
        let question = desk.ask(.credentialFetch, context, limit: context.limit) { [self] outcome in
            finish(
                id,
                outcome.flatMap { answer in
                    Result { () throws(RefreshFailure) in
                        try HandlerAnswer.credential(answer, for: context.wish, sentAt: sentAt)
                    }
                })
        }
        runs[id]?.question = question
    }

    private func mint(_ id: UInt64, _ account: AccountName, _ source: JWTSource, _ secrets: [SecretBytes]) {
        guard let key = secrets.first else {
            return finish(id, .failure(RefreshFailure(.sourceUnavailable)))
        }
        let claims = JWTClaims.write(source, account: account, now: clock.now.wall)
        signer.sign(claims, key: key, algorithm: source.algorithm, keyID: source.keyID) { [self] outcome in
            switch outcome {
            case .success(let token):
                finish(id, Result { () throws(RefreshFailure) in try SourceAnswer.read(token: token) })
            case .failure(let failure):
                finish(id, .failure(RefreshFailure(.sourceUnavailable, cause: .signing(failure))))
            }
        }
    }
}
