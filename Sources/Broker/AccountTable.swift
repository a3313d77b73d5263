import CredentialCore

/// Finds accounts by the bytes of a name as they stand in a request, without making a text of them.
///
/// Open addressing with linear probing, at most half full; removing closes the gap, so that no chain of probes is ever cut.
struct AccountTable {
    private var slots: [Account?] = Array(repeating: nil, count: 64)
    private(set) var count = 0
    private var byName: [Account]?

    /// All accounts, in no order; an array, since a lazy sequence is not specialised where another module walks it.
    var all: [Account] { slots.compactMap { $0 } }

    init() {}

    /// All accounts by name; sorted anew only after one came or went.
    mutating func sorted() -> [Account] {
        if let byName { return byName }
        let sorted = all.sorted { $0.name < $1.name }
        byName = sorted
        return sorted
    }

    func find(_ name: Span<UInt8>) -> Account? {
        var slot = home(of: name)
        while let account = slots[slot] {
            if Self.isSame(account.name.text.utf8.span, name) { return account }
            slot = following(slot)
        }
        return nil
    }

    func find(_ name: AccountName) -> Account? { find(name.text.utf8.span) }

    /// Adds an account whose name is not there yet.
    mutating func insert(_ account: Account) {
        if (count + 1) * 2 > slots.count { grow() }
        place(account)
        count += 1
        byName = nil
    }

    mutating func remove(_ name: AccountName) {
        var gap = home(of: name.text.utf8.span)
        while let account = slots[gap], account.name != name { gap = following(gap) }
        guard slots[gap] != nil else { return }
        slots[gap] = nil
        count -= 1
        byName = nil
        // Whoever was pushed past the gap moves back into it.
        var slot = following(gap)
        while let account = slots[slot] {
            let wanted = home(of: account.name.text.utf8.span)
            if distance(from: wanted, to: slot) >= distance(from: gap, to: slot) {
                slots[gap] = account
                slots[slot] = nil
                gap = slot
            }
            slot = following(slot)
        }
    }

    private mutating func grow() {
        let old = slots
        slots = Array(repeating: nil, count: old.count * 2)
        for account in old {
            if let account { place(account) }
        }
    }

    private mutating func place(_ account: Account) {
        var slot = home(of: account.name.text.utf8.span)
        while slots[slot] != nil { slot = following(slot) }
        slots[slot] = account
    }

    private func home(of name: Span<UInt8>) -> Int { Self.hash(name) & (slots.count - 1) }
    private func following(_ slot: Int) -> Int { (slot + 1) & (slots.count - 1) }
    private func distance(from: Int, to: Int) -> Int { (to - from) & (slots.count - 1) }

    // FNV-1a. Names come from the operator, so nobody else can choose ones that collide.
    private static func hash(_ bytes: Span<UInt8>) -> Int {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for index in 0..<bytes.count { hash = (hash ^ UInt64(bytes[index])) &* 0x100_0000_01b3 }
        return Int(truncatingIfNeeded: (hash ^ hash >> 32) & 0x7FFF_FFFF)
    }

    private static func isSame(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        for index in 0..<left.count where left[index] != right[index] { return false }
        return true
    }
}
