import CredentialCore
import Testing

import SQLiteStore

/// One credential out of a store that is open (R58).
@Suite struct `Reading one credential` {
    private func read(_ bench: StoreBench, _ account: String, id: UInt64) throws
        -> Result<StoredCredential?, StoreFailure>
    {
        let store = try #require(bench.store)
        store.read(id, credentialOf: name(account))
        try bench.wait { bench.listener.answers[id] != nil }
        return try #require(bench.listener.answers[id])
    }

    @Test func `what was written is read, with everything that belongs to it`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        let first = try held(3, token: "a", access: "b", issuer: "https://issuer.example", origin: .saved)
        try bench.run(
            put("bot", try held(1, token: "old"), expecting: 0), put("bot", first, expecting: 1),
            .deleteCredential(account: name("gone"), generation: Generation(4), expected: .none))
        let found = try #require(try read(bench, "bot", id: 1001).get())
        #expect(found.account == name("bot") && found.generation == Generation(3))
        let held = try #require(found.held)
        #expect(text(held.credential?.idToken) == "a" && text(held.credential?.accessToken) == "b")
        #expect(held.credential?.issuer == "https://issuer.example")
        #expect(held.expiries == first.expiries && held.origin == .saved)
        #expect(held.receivedAt == first.receivedAt && held.destination == first.destination)
        let deleted = try #require(try read(bench, "gone", id: 1002).get())
        #expect(deleted.generation == Generation(4) && deleted.held == nil)
        #expect(try read(bench, "never", id: 1003).get() == nil)
    }

    @Test func `what was asked for before is seen, written or not`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        let store = try #require(bench.store)
        store.submit(StoreChange(id: 501, put("bot", try held(1, token: "new"), expecting: 0)))
        let found = try read(bench, "bot", id: 502).get()
        #expect(text(found?.held?.credential?.idToken) == "new")
        #expect(bench.listener.completions[501] == .some(nil))
    }

    @Test func `a store that is closed or sealed answers so`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        let store = try #require(bench.store)
        store.close()
        guard case .failure(.sealed) = try read(bench, "a", id: 1001) else {
            Issue.record("it answered something else")
            return
        }
    }
}
