import CredentialCore

/// The requests that a client has, by the number that each has on the wire.
///
/// A number is never used twice, so that a late answer can meet no other request.
struct RequestTable {
    struct Entry {
        let request: FetchRequest
        /// When its outcome must be told at the latest.
        let deadline: BootTime
        var isSent = false
    }

    /// What became of an answer.
    enum Owner {
        case entry(Entry)
        /// Its request was given up, or was late.
        case nobody
        /// There was no such request, it has been answered, or it has not been sent.
        case unknown
    }

    private var entries: [Int64: Entry] = [:]
    private var numbers: [UInt64: Int64] = [:]
    private var nextNumber: Int64 = 1
    // Sent and taken out since: the worker still owes an answer.
    private var owed: Set<Int64> = []

    var count: Int { entries.count }
    var isEmpty: Bool { entries.isEmpty }
    /// How many answers are owed that nobody waits for.
    var owedCount: Int { owed.count }
    var firstDeadline: BootTime? { entries.values.map { $0.deadline }.min() }

    func contains(_ id: UInt64) -> Bool { numbers[id] != nil }

    mutating func makeNumber() -> Int64 {
        defer { nextNumber += 1 }
        return nextNumber
    }

    mutating func add(_ request: FetchRequest, deadline: BootTime) {
        let number = makeNumber()
        numbers[request.id] = number
        entries[number] = Entry(request: request, deadline: deadline)
    }

    /// Calls `send` for each request that was not sent, in order, and counts it as sent.
    mutating func sendAll(_ send: (Int64, Entry) -> Void) {
        for (number, entry) in entries.sorted(by: { $0.key < $1.key }) where !entry.isSent {
            send(number, entry)
            entries[number]?.isSent = true
        }
    }

    /// Takes a request out because nobody wants its outcome.
    ///
    /// - Returns: its number, where the worker has it.
    mutating func giveUp(_ id: UInt64) -> Int64? {
        guard let number = numbers.removeValue(forKey: id), let entry = entries.removeValue(forKey: number),
            entry.isSent
        else { return nil }
        owed.insert(number)
        return number
    }

    /// Takes out what is due, in order.
    mutating func takeLate(_ now: BootTime) -> [Entry] {
        let late = entries.sorted { $0.key < $1.key }.filter { $0.value.deadline <= now }
        for (number, entry) in late {
            entries[number] = nil
            numbers[entry.request.id] = nil
            if entry.isSent { owed.insert(number) }
        }
        return late.map { $0.value }
    }

    /// Whose answer this is; an entry stays until `remove`.
    mutating func owner(of number: Int64) -> Owner {
        if owed.remove(number) != nil { return .nobody }
        guard let entry = entries[number], entry.isSent else { return .unknown }
        return .entry(entry)
    }

    mutating func remove(_ number: Int64) {
        guard let entry = entries.removeValue(forKey: number) else { return }
        numbers[entry.request.id] = nil
    }

    /// Forgets what a worker owes that is gone.
    mutating func forgetOwed() { owed = [] }

    /// Takes everything out, in order.
    mutating func takeAll() -> [(id: UInt64, isSent: Bool)] {
        let ids = entries.sorted { $0.key < $1.key }.map { ($0.value.request.id, $0.value.isSent) }
        entries = [:]
        numbers = [:]
        return ids
    }
}
