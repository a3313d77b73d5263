import CredentialCore

/// Sends requests through the gates of their origins; each ends once, with an outcome or by `cancel`.
final class Requester {
    /// What became of a request.
    enum Outcome {
        case answered(FetchResponse, sentAt: BootTime)
        case failed(FetchFailure)
        /// It was never sent: the origin may not be asked now, or the request cannot be made.
        case notSent(RefreshFailure)
    }

    private struct Request {
        let origin: String
        let make: (UInt64) throws(RefreshFailure) -> FetchRequest
        let completion: (Outcome) -> Void
        var sentAt: BootTime?
        /// It waited when its origin was given up, is out of the gate, and is told soon.
        var isDismissed = false
    }

    private let fetcher: any FetchPort
    private let clock: any Clock
    private let draw: () -> UInt64
    private var requests: [UInt64: Request] = [:]
    private var gates: [String: OriginGate] = [:]
    // How an origin that is down failed last: whoever is sent away is told that.
    private var troubles: [String: RefreshFailure.Trouble] = [:]
    private var lastID: UInt64 = 0
    private var turns: [UInt64] = []
    private var dismissed: ArraySlice<UInt64> = []
    private var dismissedFor = Milliseconds.zero

    /// As many that were sent away together are told so in one turn of the loop.
    static let toldPerTurn = 64
    private var isClosed = false

    init(fetcher: any FetchPort, clock: any Clock, draw: @escaping () -> UInt64) {
        self.fetcher = fetcher
        self.clock = clock
        self.draw = draw
    }

    /// Why nothing would be sent to an origin now; nil: it would be.
    ///
    /// Asked before anything is prepared that costs something.
    func refusal(of origin: String) -> RefreshFailure? {
        gates[origin]?.refusal(now: clock.now.boot).map { overloaded(origin, $0) }
    }

    // Those who are sent away come back one by one: the first of them finds out for all.
    private func overloaded(_ origin: String, _ retryAfter: Milliseconds) -> RefreshFailure {
        let spread = Int64(draw() % UInt64(max(1, retryAfter.count / 2 + 1)))
        return RefreshFailure(
            .overloaded, retryAfter: Milliseconds(retryAfter.count + spread),
            cause: troubles[origin].map { .origin($0) })
    }

    /// Sends what `make` gives, in turn; `completion` is called later, or from within this call where nothing can be sent now.
    ///
    /// A probe is sent to an origin that is down as well, where no other is out.
    @discardableResult
    func send(
        to origin: String, isProbe: Bool = false,
        _ make: @escaping (UInt64) throws(RefreshFailure) -> FetchRequest,
        completion: @escaping (Outcome) -> Void
    ) -> UInt64 {
        lastID += 1
        let id = lastID
        requests[id] = Request(origin: origin, make: make, completion: completion)
        switch gates[origin, default: OriginGate()].enter(id, now: clock.now.boot, isProbe: isProbe) {
        case .go: send(id)
        case .queued: break
        case .refused(let retryAfter): refuse(id, retryAfter)
        }
        return id
    }

    /// Sends nothing any more: what waits for its turn is refused, what is out comes back.
    func close() {
        isClosed = true
        for id in requests.filter({ $0.value.sentAt == nil }).keys.sorted() { refuseToSend(id) }
    }

    private func refuseToSend(_ id: UInt64) {
        guard let request = requests.removeValue(forKey: id) else { return }
        if !request.isDismissed { leaveGate(request.origin, id, .unknown) }
        request.completion(.notSent(RefreshFailure(.sourceUnavailable)))
    }

    /// Gives a request up; its completion is not called.
    func cancel(_ id: UInt64) {
        guard let request = requests.removeValue(forKey: id) else { return }
        if request.sentAt != nil { fetcher.cancel(id) }
        if !request.isDismissed { leaveGate(request.origin, id, .unknown) }
    }

    /// Whether some were sent away and have not been told.
    var owesRefusals: Bool { !dismissed.isEmpty }

    /// Tells some of those who were sent away, in the order in which they came.
    func tellDismissed() {
        let some = dismissed.prefix(Self.toldPerTurn)
        dismissed.removeFirst(some.count)
        if dismissed.isEmpty { dismissed = [] }
        for id in some { refuse(id, dismissedFor) }
    }

    /// Takes what came of a request; an unknown id is dropped.
    func fetchDidEnd(_ id: UInt64, _ outcome: Result<FetchResponse, FetchFailure>) {
        guard let request = requests[id], let sentAt = request.sentAt else { return }
        requests[id] = nil
        switch outcome {
        case .success(let response):
            let isDown = response.status >= 500
            troubles[request.origin] = isDown ? .status(response.status) : nil
            leaveGate(request.origin, id, isDown ? .down : .answered)
            request.completion(.answered(response, sentAt: sentAt))
        case .failure(let failure):
            let outcome = Self.gateOutcome(failure)
            if outcome == .down { troubles[request.origin] = .fetch(failure) }
            leaveGate(request.origin, id, outcome)
            request.completion(.failed(failure))
        }
    }

    private func send(_ id: UInt64) {
        guard let request = requests[id] else { return }
        if isClosed { return refuseToSend(id) }
        do throws(RefreshFailure) {
            let made = try request.make(id)
            requests[id]?.sentAt = clock.now.boot
            fetcher.fetch(made)
        } catch {
            requests[id] = nil
            leaveGate(request.origin, id, .unknown)
            request.completion(.notSent(error))
        }
    }

    private func refuse(_ id: UInt64, _ retryAfter: Milliseconds) {
        guard let request = requests.removeValue(forKey: id) else { return }
        request.completion(.notSent(overloaded(request.origin, retryAfter)))
    }

    private func leaveGate(_ origin: String, _ id: UInt64, _ outcome: OriginGate.Outcome) {
        // Changed where it is: a copy would be one of everybody who waits.
        guard let turn = gates[origin]?.leave(id, outcome: outcome, now: clock.now.boot) else { return }
        if gates[origin]?.isIdle ?? false {
            gates[origin] = nil
            troubles[origin] = nil
        }
        switch turn {
        case .nobody: break
        case .one(let next): take(turn: next)
        case .refused(let waiting, let retryAfter):
            for id in waiting { requests[id]?.isDismissed = true }
            dismissed += waiting
            dismissedFor = retryAfter
            tellDismissed()
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
        case .workerLost, .workerNotStarted, .tooManyRequests, .badRequest, .caFileUnreadable, .proxyFailed:
            .unknown
        case .tooLarge, .malformedResponse: .answered
        default: .down
        }
    }
}

extension RefreshFailure {
    /// What a request that brought no response means for a refresh.
    init(_ failure: FetchFailure) {
        let kind: Kind =
            switch failure {
            case .nameNotResolved, .connectionFailed, .connectionLost, .proxyFailed: .unreachable
            case .timeout, .connectTimeout: .timeout
            case .certificateExpired, .certificateWrongHost, .certificateUntrusted, .tlsFailed: .tls
            case .tooLarge: .tooLarge
            case .malformedResponse: .upstreamError
            case .caFileUnreadable, .workerLost, .workerNotStarted, .badRequest: .sourceUnavailable
            case .tooManyRequests: .overloaded
            }
        self.init(kind, cause: .fetch(failure))
    }
}
