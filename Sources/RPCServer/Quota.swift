import CredentialCore

/// How much each user takes of what there is, so that none takes it from the others.
///
/// Users that some rule names have a share of their own; all others together have one. Counted before anything is parsed.
struct Quota {
    let limits: Limits
    let instance: InstanceKind

    private struct Usage {
        var connections = 0
        var calls = 0
        var bytes = 0
        var isEmpty: Bool { connections == 0 && calls == 0 && bytes == 0 }
    }

    private var usage: [UInt32: Usage] = [:]
    private var strangers = 0
    private var total = 0
    private let mostConnections: Int

    /// Keeps back what the store and the workers need of the `descriptors` that the process may have.
    init(limits: Limits, instance: InstanceKind, descriptors: Int) {
        self.limits = limits
        self.instance = instance
        // A peer of the machine's daemon takes two: its socket, and the one that pins its process.
        let each = if case .system = instance { 2 } else { 1 }
        mostConnections = max(1, min(limits.connectionsTotal, (descriptors - limits.spareDescriptors) / each))
    }

    /// Counts a connection, or refuses it.
    mutating func connectionBegan(_ uid: UInt32, isNamed: Bool) -> Bool {
        guard total < mostConnections else { return false }
        if isNamed {
            let limit = uid < 1000 ? limits.connectionsPerSystemUID : limits.connectionsPerUID
            guard usage[uid, default: Usage()].connections < limit else { return false }
        } else {
            guard strangers < limits.connectionsShared else { return false }
            strangers += 1
        }
        total += 1
        usage[uid, default: Usage()].connections += 1
        return true
    }

    mutating func connectionEnded(_ uid: UInt32, isNamed: Bool) {
        total -= 1
        if !isNamed { strangers -= 1 }
        change(uid) { $0.connections -= 1 }
    }

    /// Whether one more call may begin.
    func allowsCall(_ uid: UInt32) -> Bool {
        usage[uid]?.calls ?? 0 < limits.pendingPerUID
    }

    mutating func callBegan(_ uid: UInt32) { usage[uid, default: Usage()].calls += 1 }
    mutating func callEnded(_ uid: UInt32) { change(uid) { $0.calls -= 1 } }

    /// Counts bytes of unfinished frames; false when they are too many.
    mutating func bytesChanged(_ uid: UInt32, by difference: Int) -> Bool {
        guard difference != 0 else { return true }
        usage[uid, default: Usage()].bytes += difference
        let isWithin = usage[uid]?.bytes ?? 0 <= limits.uidBufferBytes
        change(uid) { _ in }
        return isWithin
    }

    private mutating func change(_ uid: UInt32, _ body: (inout Usage) -> Void) {
        guard var entry = usage[uid] else { return }
        body(&entry)
        usage[uid] = entry.isEmpty ? nil : entry
    }
}
