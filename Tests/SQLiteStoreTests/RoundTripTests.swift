import CredentialCore
import Glibc
import Secrets
import Testing

import SQLiteStore

@Suite struct `Store contents` {
    @Test func `a new store is empty and has its first epoch`() throws {
        let bench = try StoreBench()
        let contents = try bench.openContents()
        #expect(summary(contents) == [])
        #expect(contents.epoch == 1)
        #expect(contents.lastWrittenAt == bench.clock.now.wall)
    }

    @Test func `R207: everything comes back as it was put`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        let long = String(repeating: "x", count: Credential.tokenLimit)
        let results = try bench.run(
            put("a", try held(1, token: "id", access: "access", issuer: "https://i.example"), expecting: 0),
            put("b", try held(7, token: "", access: long, expiries: .unknown, origin: .saved), expecting: 0),
            put(
                "c",
                try held(
                    2,
                    expiries: Expiries(
                        backend: WallTime(milliseconds: .max), hint: WallTime(milliseconds: 0),
                        exp: WallTime(milliseconds: -5)), destination: ""), expecting: 0),
            .deleteCredential(account: name("d"), generation: Generation(3), expected: .none),
            .putAccount(
                name: name("e"), definition: secret("{\"provider\":\"kindly\"}"), policy: secret("{}")),
            .putAccount(name: name("f"), definition: secret(""), policy: secret("")))
        #expect(results == [nil, nil, nil, nil, nil, nil])
        let commits = try #require(bench.store?.status.commits)
        let seen = try bench.openContents()
        let date =
            "Instant(wall: CredentialCore.WallTime(milliseconds: 1800000000123), "
            + "boot: CredentialCore.BootTime(milliseconds: 77))"
        let boot = "BootID(text: \"9f0e3d5c-0000-4000-8000-000000000001\")"
        #expect(
            summary(seen) == [
                "c a 1 1 id access https://i.example "
                    + "\(Expiries(hint: WallTime(seconds: 1_800_003_600))) \(date) \(boot) source "
                    + "kindly https://example.com",
                "c b 7 7 - \(long) - \(Expiries.unknown) \(date) \(boot) saved kindly https://example.com",
                "c c 2 2 token - - "
                    + "\(Expiries(backend: WallTime(milliseconds: .max), hint: WallTime(milliseconds: 0), exp: WallTime(milliseconds: -5))) "
                    + "\(date) \(boot) source ",
                "c d 3 -1 - - - - -",
                "a e {\"provider\":\"kindly\"} {}",
                "a f  ",
            ])
        #expect(seen.epoch == 1 + commits)
    }

    @Test func `the time of the newest write is kept`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        bench.clock.now.wall = WallTime(milliseconds: 1_800_000_777_000)
        try bench.run(put("a", try held(1), expecting: 0))
        // A clock that was ahead is not believed for ever: the newest write counts, not the latest time.
        #expect(try bench.openContents().lastWrittenAt == WallTime(milliseconds: 1_800_000_777_000))
        bench.clock.now.wall = WallTime(milliseconds: 1_800_000_001_000)
        try bench.run(put("a", try held(2), expecting: 1))
        #expect(try bench.openContents().lastWrittenAt == WallTime(milliseconds: 1_800_000_001_000))
    }
}

@Suite struct `Store changes` {
    @Test func `only the expected generation is replaced, by a later one or by itself`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        let stored = StoreFailure.conflict(stored: Generation(4))
        #expect(
            try bench.run(
                put("a", try held(4), expecting: 0), put("a", try held(5, token: "lost"), expecting: 3),
                put("a", try held(3, token: "older"), expecting: 4),
                put("a", try held(4, token: "same"), expecting: 4), put("b", try held(1), expecting: 1),
                .deleteCredential(account: name("a"), generation: Generation(9), expected: Generation(8)))
                == [nil, stored, stored, nil, .conflict(stored: .none), stored])
        let contents = try bench.openContents()
        #expect(contents.credentials.map(\.generation) == [Generation(4)])
        #expect(text(contents.credentials[0].held?.credential?.idToken) == "same")
    }

    @Test func `a deleted credential leaves its generation`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        try bench.run(
            put("a", try held(1), expecting: 0),
            .deleteCredential(account: name("a"), generation: Generation(2), expected: Generation(1)))
        let contents = try bench.openContents()
        #expect(summary(contents) == ["c a 2 -1 - - - - -"])
        #expect(try bench.run(put("a", try held(2), expecting: 0)) == [.conflict(stored: Generation(2))])
        #expect(try bench.run(put("a", try held(3), expecting: 2)) == [nil])
    }

    @Test func `an account goes with its policy and its credential`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        try bench.run(
            .putAccount(name: name("a"), definition: secret("1"), policy: secret("2")),
            put("a", try held(1), expecting: 0), put("b", try held(1, token: "other"), expecting: 0))
        #expect(try bench.run(.deleteAccount(name: name("a"))) == [nil])
        let contents = try bench.openContents()
        #expect(contents.accounts.isEmpty)
        #expect(contents.credentials.map(\.account) == [name("b")])
    }

    @Test func `what has nothing to do is no commit`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        #expect(try bench.run(.deleteAccount(name: name("nobody"))) == [nil])
        #expect(bench.store?.status.commits == 0)
        #expect(bench.store?.status.epoch == 1)
    }

    @Test func `many changes are few commits`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        let results = try bench.run(
            try (0..<2000).map { put("account-\($0)", try held(1, token: "token-\($0)"), expecting: 0) })
        #expect(results.allSatisfy { $0 == nil })
        let status = try #require(bench.store?.status)
        #expect(status.changes == 2000)
        #expect(status.commits < 1000)
        #expect(status.rows == 2000)
        #expect(bench.listener.order == Array(1...2000).map(UInt64.init))
        let seen = try bench.openContents()
        #expect(seen.credentials.count == 2000)
        #expect(seen.epoch == 1 + status.commits)
    }

    @Test func `one group is one commit, whatever is refused in it`() throws {
        let bench = try StoreBench()
        let engine = try bench.engine()
        _ = engine.open(now: bench.clock.now.wall)
        let operations = [
            put("a", try held(1), expecting: 0), put("a", try held(3), expecting: 2),
            put("a", try held(2), expecting: 1), put("b", try held(1), expecting: 0),
        ]
        var seen: [StoreFailure?] = []
        let group = operations.enumerated().map {
            TimedChange(change: StoreChange(id: UInt64($0.offset), $0.element), at: bench.clock.now.wall)
        }
        #expect(engine.commit(group) { seen = $0.map(\.failure) } == nil)
        #expect(seen == [nil, .conflict(stored: Generation(1)), nil, nil])
        #expect(engine.status.commits == 1)
        #expect(engine.status.changes == 3)
        #expect(engine.status.epoch == 2)
    }

    @Test func `the queue is bounded`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        let results = try bench.run(
            try (0..<(SQLiteStore.queueLimit * 4)).map { put("account-\($0)", try held(1), expecting: 0) })
        #expect(results.allSatisfy { $0 == nil || $0 == .busy })
        let written = results.count { $0 == nil }
        #expect(written >= SQLiteStore.queueLimit)
        #expect(try bench.openContents().credentials.count == written)
    }

    @Test func `a closed store answers that it is sealed`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        bench.store?.close()
        #expect(try bench.run(put("a", try held(1), expecting: 0)) == [.sealed])
    }

    @Test func `the thread answers a ping after what waits before it`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        var answered = false
        bench.store?.submit(StoreChange(id: 9000, put("a", try held(1), expecting: 0)))
        #expect(bench.store?.ping { answered = true } == true)
        try bench.wait { answered }
        #expect(bench.listener.completions[9000] == .some(nil))
    }
}
