import CredentialCore
import Testing

@Suite struct `Clocks and restarts` {
    private func stored(_ lifetime: Int64?, bootID: String = "boot before", boot: Int64 = 99_000_000)
        throws -> StoredCredential
    {
        let start = SessionBench.start
        let held = HeldCredential(
            credential: SessionBench.credential("stored"), generation: Generation(7),
            expiries: Expiries(hint: lifetime.map { start.wall + .seconds($0) }),
            receivedAt: Instant(wall: start.wall, boot: BootTime(milliseconds: boot)),
            bootID: BootID(bootID), origin: .source, destination: SessionBench.destination)
        let account = try #require(AccountName("a"))
        return StoredCredential(account: account, generation: Generation(7), held: held)
    }

    @Test func `after a reboot the wall clock says how long it is valid`() throws {
        let bench = SessionBench()
        bench.now = Instant(wall: bench.now.wall + .seconds(1000), boot: BootTime(milliseconds: 4000))
        bench.session.restore(try stored(3600), at: bench.now, trustsWallClock: true)
        bench.apply(.started)
        #expect(bench.starts.isEmpty)
        #expect(bench.sleep == 2570)
        bench.advance(2600)
        #expect(!bench.isUsable)
    }

    @Test func `a wall clock earlier than the store is not trusted: refresh first`() throws {
        let bench = SessionBench()
        bench.now = Instant(wall: WallTime(seconds: 100), boot: BootTime(milliseconds: 4000))
        bench.session.restore(
            try stored(3600), at: bench.now, trustsWallClock: false, lastWrittenAt: SessionBench.start.wall)
        #expect(!bench.session.isFresh(at: bench.now, minValid: .zero) && !bench.isUsable)
        let waiter = bench.get()
        #expect(bench.answer(waiter) == nil)
        bench.fail()
        guard case .failure(.refresh) = bench.answer(waiter) else {
            Issue.record("handed out although the clock is not trusted")
            return
        }
        // Once the clock has been set, the stored one may be judged.
        bench.now.wall = SessionBench.start.wall + .seconds(60)
        bench.wake()
        #expect(bench.isUsable)
    }

    @Test func `without a source it waits for the clock, and comes back with it`() throws {
        let bench = SessionBench(hasSource: false)
        bench.now = Instant(wall: WallTime(seconds: 100), boot: BootTime(milliseconds: 4000))
        bench.session.restore(
            try stored(3600), at: bench.now, trustsWallClock: false, lastWrittenAt: SessionBench.start.wall)
        #expect(bench.answer(bench.get()) == .failure(.noSource))
        bench.now.wall = SessionBench.start.wall
        bench.wake()
        #expect(bench.answer(bench.get()) == .token(.none))
    }

    @Test func `what has no expiry, or came in this boot, does not need the wall clock`() throws {
        let bench = SessionBench()
        bench.session.restore(try stored(nil), at: bench.now, trustsWallClock: false)
        #expect(bench.isUsable)
        bench.now.wall = bench.now.wall - .seconds(86_400)
        let thisBoot = try stored(3600, bootID: "this boot", boot: bench.now.boot.milliseconds - 600_000)
        bench.session.restore(thisBoot, at: bench.now, trustsWallClock: false)
        #expect(bench.isUsable)
        #expect(bench.session.schedule?.remaining(at: bench.now) == .seconds(3000))
        // A boot clock that is further in the store than here is not this one.
        let elsewhere = try stored(3600, bootID: "this boot", boot: bench.now.boot.milliseconds + 1)
        bench.session.restore(elsewhere, at: bench.now, trustsWallClock: false)
        #expect(!bench.isUsable)
    }

    @Test func `a deleted one leaves its number, and nothing is fetched until somebody asks`() throws {
        let bench = SessionBench()
        let account = try #require(AccountName("a"))
        bench.session.restore(
            StoredCredential(account: account, generation: Generation(7), held: nil), at: bench.now,
            trustsWallClock: true)
        bench.wake()
        #expect(bench.starts.isEmpty)
        #expect(bench.nextWakeUp == nil)
        bench.get()
        bench.succeed()
        #expect(bench.persisted.last?.generation == Generation(8))
        #expect(bench.persisted.last?.expected == Generation(7))
    }

    @Test func `a machine that slept wakes up to a refresh`() {
        let bench = SessionBench.fetched()
        bench.now.boot = bench.now.boot + .seconds(7200)
        #expect(bench.answer(bench.get(wait: 0)) == .failure(.deadlineExceeded(retryAfter: .seconds(1))))
        #expect(bench.starts.count == 2)
    }

    @Test func `a wall clock that is set back makes it due no later`() {
        let bench = SessionBench.fetched()
        bench.setWall(by: -86_400)
        #expect(bench.sleep == 3570)
        bench.setWall(by: 2 * 86_400)
        #expect(bench.sleep == 1)
        bench.advance(1)
        bench.wake()
        #expect(bench.starts.count == 2)
    }

    @Test func `a clock that is set while a refresh is out does not lengthen a life`() {
        let bench = SessionBench()
        bench.get()
        let sent = bench.now
        bench.advance(2)
        bench.setWall(by: -86_400)
        let hint = bench.now.wallTime(of: sent.boot) + .seconds(3600)
        bench.apply(
            .refreshSucceeded(
                bench.starts[0].ticket,
                FreshCredential(credential: SessionBench.credential("a"), expiries: Expiries(hint: hint))))
        bench.commit()
        #expect(bench.session.schedule?.remaining(at: bench.now) == .seconds(3598))
        bench.setWall(by: 86_400)
        #expect(!bench.isUsable)
    }
}
