import CredentialCore

/// How often somebody may have an account's platform asked for something: one in trouble is left alone for a while, and so is one that
/// has refused again and again, whatever it was shown.
///
/// Callers give tokens of their own here, so that it is not enough to know one that was refused: of a row of others each would be a
/// request, as fast as somebody asks.
struct CommandPace {
    /// As many refusals in a minute are let happen.
    static let refusalLimit = 5
    static let window = Milliseconds.seconds(60)

    private var trouble = FailureRecord()
    // The newest refusals, the oldest first.
    private var refusals: [BootTime] = []

    /// Why nothing is asked now; nil: it is.
    func rest(at now: BootTime) -> SessionFailure? {
        if let last = trouble.last, let notBefore = trouble.notBefore, notBefore > now {
            return .refresh(last, retryAfter: notBefore - now)
        }
        if let oldest = refusals.first, refusals.count == Self.refusalLimit, oldest + Self.window > now {
            return .refusedTooOften(retryAfter: oldest + Self.window - now)
        }
        return nil
    }

    /// It did what it was asked for.
    mutating func succeed() { self = CommandPace() }

    /// It did not.
    mutating func fail(_ failure: RefreshFailure, at now: Instant, draw: UInt64) {
        switch failure.kind {
        // It is well, and did not take what it was shown: somebody else's is another thing.
        case .upstreamError where failure.isOfRequest: refuse(at: now.boot)
        case .unreachable, .timeout, .tls, .upstreamError, .overloaded:
            trouble.record(failure, at: now, remaining: .max, draw: draw)
        case .rejected, .terminated: refuse(at: now.boot)
        // What never reached the platform says nothing of it.
        default: break
        }
    }

    private mutating func refuse(at now: BootTime) {
        trouble = FailureRecord()
        refusals.append(now)
        if refusals.count > Self.refusalLimit { refusals.removeFirst() }
    }
}

extension RefreshFailure {
    /// Whether the answer is one to what was asked, and says nothing of whoever answers (RFC 9110 §15.5): a later one, and one that is
    /// asked less often, would be the same.
    fileprivate var isOfRequest: Bool {
        guard let httpStatus, (400..<500).contains(httpStatus) else { return false }
        return ![408, 421, 425, 429].contains(httpStatus) && retryAfter == nil
    }
}
