import JSON

/// Every request that arrived, newest last, as far as there is room; the counters never forget.
struct Journal: Sendable {
    private var entries: [JournalEntry] = []
    private var size = 0
    private var sequence: Int64 = 0
    private(set) var dropped: Int64 = 0
    private(set) var all = Counters()
    private(set) var unknownRoutes: Int64 = 0
    private(set) var owners: [Owner: Counters] = [:]

    // Enough for any test; a soak test that forgets to clear must not eat the machine.
    private static let entryLimit = 10_000
    private static let sizeLimit = 64 << 20

    /// Numbers go on behind `sequence`, so that no two requests of a run ever have the same.
    init(continuing sequence: Int64 = 0) {
        self.sequence = sequence
    }

    /// How many requests came, and what they got.
    struct Counters: Sendable {
        var requests: Int64 = 0
        var faults: Int64 = 0
        var statuses: [Int: Int64] = [:]

        mutating func count(_ status: Int?, _ fault: String?) {
            requests += 1
            if fault != nil { faults += 1 }
            if let status { statuses[status, default: 0] += 1 }
        }

        func writeMembers(_ json: inout JSONWriter) {
            json.key("requests")
            json.integer(requests)
            json.key("faults")
            json.integer(faults)
            json.key("statuses")
            json.beginObject()
            for (status, count) in statuses.sorted(by: { $0.key < $1.key }) {
                json.key(named: String(status))
                json.integer(count)
            }
            json.endObject()
        }
    }

    mutating func record(_ request: Request, owner: Owner?, time: Int64, status: Int?, fault: String?) {
        sequence += 1
        let entry = JournalEntry(
            sequence: sequence, time: time, owner: owner, request: request, status: status, fault: fault)
        all.count(status, fault)
        if let owner { owners[owner, default: Counters()].count(status, fault) } else { unknownRoutes += 1 }
        entries.append(entry)
        size += entry.size
        // A quarter at once, so that a full journal does not move its whole array for each request.
        guard entries.count > Self.entryLimit || size > Self.sizeLimit else { return }
        let count = max(1, entries.count / 4)
        size -= entries.prefix(count).reduce(0) { $0 + $1.size }
        entries.removeFirst(count)
        dropped += Int64(count)
    }

    /// Forgets entries and counters of one owner, or of everybody.
    mutating func clear(_ owner: Owner?) {
        guard let owner else {
            self = Journal(continuing: sequence)
            return
        }
        entries.removeAll { $0.owner == owner }
        size = entries.reduce(0) { $0 + $1.size }
        owners[owner] = nil
    }

    /// How many requests of one owner, or of everybody, arrived since the journal was last cleared.
    func count(_ owner: Owner?) -> Int64 {
        guard let owner else { return all.requests }
        return owners[owner]?.requests ?? 0
    }

    func write(_ owner: Owner?, _ json: inout JSONWriter) {
        json.beginObject()
        json.key("dropped")
        json.integer(dropped)
        json.key("entries")
        json.beginArray()
        for entry in entries where owner == nil || entry.owner == owner { entry.write(&json) }
        json.endArray()
        json.endObject()
    }

    func writeCounters(_ json: inout JSONWriter) {
        json.beginObject()
        all.writeMembers(&json)
        json.key("unknown_routes")
        json.integer(unknownRoutes)
        for noun in Set(owners.keys.map(\.noun)).sorted() {
            json.key(named: noun)
            json.beginObject()
            for owner in owners.keys.filter({ $0.noun == noun }).sorted(by: { $0.name < $1.name }) {
                json.key(named: owner.name)
                json.beginObject()
                owners[owner]?.writeMembers(&json)
                json.endObject()
            }
            json.endObject()
        }
        json.endObject()
    }
}
