import CredentialCore

/// Limits what goes to one origin: so many requests at a time, and few while it is down.
///
/// After five failures in a row that were the origin's and not an account's, the breaker opens: whoever waits is sent away, for half
/// a minute nothing is sent, then one request at a time probes, and the first success closes it. Whoever wants to know how things are now
/// may probe at once.
struct OriginGate {
    static let inFlightLimit = 8
    static let failuresToOpen = 5
    static let openFor = Milliseconds.seconds(30)
    // While a probe is out: about as long as it may take.
    static let probePause = Milliseconds.seconds(2)

    private(set) var inFlight = 0
    private var failuresInRow = 0
    private var openUntil: BootTime?
    // In the order of arrival, from `head` on; who is not in `waiting` any more was cancelled and is passed over.
    private var queue: [UInt64] = []
    private var head = 0
    private var waiting: Set<UInt64> = []

    enum Verdict: Equatable {
        case go
        /// Its turn comes later; `leave` names it.
        case queued
        case refused(retryAfter: Milliseconds)
    }

    /// Whose turn has come.
    enum Turn: Equatable {
        case nobody
        /// It counts as let in.
        case one(UInt64)
        /// The breaker opened: all that waited are sent away.
        case refused([UInt64], retryAfter: Milliseconds)
    }

    enum Outcome {
        /// The origin said something, whatever it was.
        case answered
        /// It could not be reached, or did not answer, or answered that it is broken.
        case down
        /// The request was given up here.
        case unknown
    }

    /// Whether nothing is known of the origin that is worth keeping.
    var isIdle: Bool { inFlight == 0 && waiting.isEmpty && failuresInRow == 0 }

    /// For how long nothing that is asked now would be sent; nil: it would be, or would wait for its turn.
    func refusal(now: BootTime) -> Milliseconds? {
        guard let openUntil else { return nil }
        if now < openUntil { return openUntil - now }
        return inFlight > 0 ? Self.probePause : nil
    }

    mutating func enter(_ id: UInt64, now: BootTime, isProbe: Bool = false) -> Verdict {
        if let retryAfter = refusal(now: now), !isProbe || inFlight > 0 {
            return .refused(retryAfter: retryAfter)
        }
        guard inFlight < Self.inFlightLimit else {
            queue.append(id)
            waiting.insert(id)
            return .queued
        }
        inFlight += 1
        return .go
    }

    /// Takes a request that was let in, or waits, out of the count.
    mutating func leave(_ id: UInt64, outcome: Outcome, now: BootTime) -> Turn {
        if waiting.remove(id) != nil { return .nobody }
        inFlight = max(0, inFlight - 1)
        switch outcome {
        case .answered:
            failuresInRow = 0
            openUntil = nil
        case .down:
            failuresInRow = min(failuresInRow + 1, Self.failuresToOpen)
            if failuresInRow == Self.failuresToOpen {
                openUntil = now + Self.openFor
                return dismissAll()
            }
        case .unknown: break
        }
        return openUntil == nil ? next() : .nobody
    }

    private mutating func next() -> Turn {
        guard inFlight < Self.inFlightLimit else { return .nobody }
        while head < queue.count {
            let id = queue[head]
            head += 1
            guard waiting.remove(id) != nil else { continue }
            inFlight += 1
            return .one(id)
        }
        queue.removeAll()
        head = 0
        return .nobody
    }

    private mutating func dismissAll() -> Turn {
        let dismissed = queue[head...].filter { waiting.contains($0) }
        queue.removeAll()
        head = 0
        waiting.removeAll()
        return dismissed.isEmpty ? .nobody : .refused(dismissed, retryAfter: Self.openFor)
    }
}
