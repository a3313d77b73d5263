/// How much of what a client has sent is taken in one turn.
///
/// Difficulty: what a call costs is known only when it is answered, and one piece may hold a thousand that cost much. So a client begins
/// with little, gets twice as much as long as that is done with quickly, and the least there is once it was not. A client that is slow
/// is served behind the others of its batch, and one such in each: nobody waits for more than one of them.
struct TurnShare {
    /// As many bytes are read at most.
    private(set) var bytes = Self.first

    private static let first = 512
    private static let least = 128
    private static let quick: Int64 = 2_000_000

    /// Whether what it sent took long, and not enough has been quick since.
    var isSlow: Bool { bytes < Self.first }

    /// Takes how long what was read took, in nanoseconds.
    mutating func take(nanoseconds: Int64) {
        if nanoseconds > Self.quick {
            bytes = Self.least
        } else if bytes < SocketServer.readSize {
            bytes *= 2
        }
    }
}

/// The slow ones of a batch, of whom one is served: each in its turn.
struct SlowClients {
    private var ready: [(token: UInt64, events: UInt32)] = []
    private var last: UInt64 = 0

    mutating func add(_ token: UInt64, _ events: UInt32) { ready.append((token, events)) }

    /// The one whose turn it is; the others are ready again in the next batch.
    mutating func take() -> (token: UInt64, events: UInt32)? {
        guard !ready.isEmpty else { return nil }
        defer { ready.removeAll(keepingCapacity: true) }
        let behind = ready.filter { $0.token > last }
        let next = (behind.isEmpty ? ready : behind).min { $0.token < $1.token }
        if let next { last = next.token }
        return next
    }
}
