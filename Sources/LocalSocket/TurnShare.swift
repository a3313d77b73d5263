/// How much of what a client has sent is taken in one turn.
///
/// Difficulty: what a call costs is known only when it was answered, and one piece may hold a thousand that cost much. So a client begins
/// with little, gets twice as much as long as that is done with quickly, and the least there is once it was not. A client that is slow
/// is served behind the others of its batch, and one such in each.
struct TurnShare {
    /// As many bytes are read at most.
    private(set) var bytes = Self.first
    /// The slow one with the least has waited for longest.
    var turn: UInt64 = 0

    private static let first = 512
    private static let least = 128
    private static let quick: Int64 = 4_000_000

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

/// The slow ones of a batch, of whom the one is served that has waited for longest; the others are ready again in the next batch.
struct SlowClients {
    private var ready: [(connection: SocketConnection, events: UInt32)] = []

    mutating func add(_ connection: SocketConnection, _ events: UInt32) { ready.append((connection, events)) }

    mutating func take() -> (connection: SocketConnection, events: UInt32)? {
        guard !ready.isEmpty else { return nil }
        defer { ready.removeAll(keepingCapacity: true) }
        return ready.min { $0.connection.slowTurn < $1.connection.slowTurn }
    }
}
