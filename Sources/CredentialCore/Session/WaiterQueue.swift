/// Whoever waits for a refresh, and until when.
struct Waiter: Sendable {
    enum Wish: Sendable {
        /// A token; with `isForced` one that a refresh brings, not the one that is there.
        case token(minValid: Milliseconds, isForced: Bool)
        case refresh
    }
    let id: WaiterID
    let wish: Wish
    let deadline: BootTime
}

/// The waiters of one account: answered in the order in which they came, given up in the order of their deadlines.
///
/// A binary heap by deadline, because ten thousand callers with ten thousand deadlines must not be looked at ten thousand
/// times each. Most wait equally long, so that a new one usually has the latest deadline and costs one comparison.
struct WaiterQueue: Sendable {
    private struct Place: Sendable {
        let waiter: Waiter
        /// Counts arrivals.
        let order: UInt64

        func isBefore(_ other: Place) -> Bool {
            waiter.deadline == other.waiter.deadline
                ? order < other.order : waiter.deadline < other.waiter.deadline
        }
    }

    private var heap: [Place] = []
    private var arrivals: UInt64 = 0

    var isEmpty: Bool { heap.isEmpty }
    var count: Int { heap.count }
    var earliestDeadline: BootTime? { heap.first?.waiter.deadline }

    mutating func append(_ waiter: Waiter) {
        arrivals += 1
        heap.append(Place(waiter: waiter, order: arrivals))
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].isBefore(heap[parent]) else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    /// Takes out one whose deadline has come, the earliest first.
    mutating func removeExpired(at now: BootTime) -> Waiter? {
        guard let first = heap.first, first.waiter.deadline <= now else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        sink(0)
        return first.waiter
    }

    /// Takes out those who will not hear an answer.
    mutating func remove(_ gone: Set<WaiterID>) {
        let count = heap.count
        heap.removeAll { gone.contains($0.waiter.id) }
        guard heap.count < count else { return }
        for place in (0..<heap.count / 2).reversed() { sink(place) }
    }

    /// Moves a place behind those below it that are earlier.
    private mutating func sink(_ place: Int) {
        var parent = place
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
                if heap[child].isBefore(heap[least]) { least = child }
            }
            guard least != parent else { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }

    /// Takes out those that `isDone` says, in the order in which they came.
    mutating func removeAll(where isDone: (Waiter) -> Bool = { _ in true }) -> [Waiter] {
        let places = heap.sorted { $0.order < $1.order }
        heap = places.filter { !isDone($0.waiter) }.sorted { $0.isBefore($1) }
        return places.map(\.waiter).filter(isDone)
    }
}
