import CredentialCore

/// Who is to be woken when: a heap of moments, in which an entry that was superseded is skipped when it comes up.
struct WakeQueue {
    private struct Entry {
        let at: BootTime
        let account: Account
    }

    private var heap: [Entry] = []
    // Accounts that are to be woken; the other entries were superseded.
    private var live = 0

    /// The earliest moment at which somebody may have to be woken.
    var next: BootTime? { heap.first?.at }

    /// Wakes `account` at `moment` and at no other; nil: not at all.
    mutating func schedule(_ account: Account, at moment: BootTime?) {
        guard account.scheduledWake != moment else { return }
        if account.scheduledWake != nil { live -= 1 }
        account.scheduledWake = moment
        if let moment {
            live += 1
            push(Entry(at: moment, account: account))
        }
        // Superseded entries are dropped when they are most of all there are, so that each pays for its own removal.
        if heap.count > 1024, heap.count > live * 4 { compact() }
    }

    /// Takes out who is due, earliest first, having looked at so many entries at most: `next` says whether some are left.
    mutating func take(dueAt now: BootTime, atMost limit: Int) -> [Account] {
        var due: [Account] = []
        var looked = 0
        while looked < limit, let first = heap.first, first.at <= now {
            looked += 1
            pop()
            if first.account.scheduledWake == first.at {
                first.account.scheduledWake = nil
                live -= 1
                due.append(first.account)
            }
        }
        return due
    }

    private mutating func compact() {
        var kept: Set<ObjectIdentifier> = []
        let entries = heap.filter {
            $0.account.scheduledWake == $0.at && kept.insert(ObjectIdentifier($0.account)).inserted
        }
        heap = []
        for entry in entries { push(entry) }
    }

    private mutating func push(_ entry: Entry) {
        heap.append(entry)
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].at < heap[parent].at else { break }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func pop() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && heap[child].at < heap[least].at {
                least = child
            }
            guard least != parent else { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}
