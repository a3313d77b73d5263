import CredentialCore
import Testing

@Suite struct `Saving and deleting` {
    @Test func `a save is answered when it is on disk, and replaces wholesale`() {
        let bench = SessionBench.fetched(lifetime: 600)
        let waiter = bench.save()
        #expect(bench.answer(waiter) == nil)
        #expect(bench.session.generation == Generation(1))
        #expect(bench.persisted.last?.expected == Generation(1))
        bench.commit()
        #expect(bench.answer(waiter) == .saved(Generation(2)))
        // The expiry of the one before is not inherited.
        #expect(bench.session.schedule?.expiresAt == nil)
        #expect(bench.session.held?.origin == .saved)
        #expect(bench.sleep == nil)
    }

    @Test func `a save that the disk refuses is an error and changes nothing`() {
        let bench = SessionBench.fetched()
        bench.advance(5)
        let waiter = bench.save()
        bench.commit(.full)
        #expect(bench.answer(waiter) == .failure(.store(.full)))
        #expect(bench.session.generation == Generation(1))
        #expect(bench.session.held?.origin == .source)
        #expect(bench.answer(bench.get()) == .token(.none))
        #expect(!bench.session.isOnlyInMemory)
    }

    @Test func `a save wins over the refresh that is out`() {
        let bench = SessionBench()
        let waiter = bench.get()
        bench.save()
        #expect(bench.cancelled.count == 1)
        bench.succeed("late")
        #expect(bench.persisted.count == 1)
        // Nothing begins while it is on its way, or its answer would replace what was saved.
        let second = bench.get()
        bench.advance(2)
        bench.wake()
        #expect(bench.starts.count == 1)
        bench.commit()
        #expect(bench.answer(waiter) == .token(.none))
        #expect(bench.answer(second) == .token(.none))
        #expect(bench.session.held?.origin == .saved)
    }

    @Test func `those who waited when a save failed are not left behind`() {
        let bench = SessionBench()
        let waiter = bench.get(wait: 60)
        bench.save()
        bench.advance(2)
        bench.commit(.busy)
        #expect(bench.starts.count == 2)
        bench.succeed()
        bench.commit()
        #expect(bench.answer(waiter) == .token(.none))
        // While backing off they are told so at once.
        let backing = SessionBench()
        backing.apply(.started)
        backing.fail(.unreachable, retryAfter: 600)
        backing.save()
        let unlucky = backing.get(wait: 900)
        backing.commit(.full)
        #expect(
            backing.answer(unlucky)
                == .failure(
                    .refresh(
                        RefreshFailure(.unreachable, retryAfter: .seconds(600)), retryAfter: .seconds(600))))
    }

    @Test func `what was forced goes on when a save failed, back-off or not`() {
        let bench = SessionBench()
        bench.apply(.started)
        bench.fail(.unreachable, retryAfter: 600)
        bench.advance(1)
        let waiter = bench.get(wait: 60, force: true, role: .operate)
        bench.save()
        bench.advance(1)
        bench.commit(.full)
        #expect(bench.starts.count == 3)
        #expect(bench.starts.last?.reason == .forced)
        bench.succeed()
        bench.commit()
        #expect(bench.answer(waiter) == .token(.none))
    }

    @Test func `a saved one that is too short for a waiter has it wait for a refresh`() {
        let bench = SessionBench()
        let waiter = bench.get(minValid: 300, wait: 60)
        let modest = bench.get(minValid: 50, wait: 60)
        bench.advance(2)
        bench.save(lifetime: 100)
        bench.commit()
        #expect(bench.answer(modest) == .token(.none))
        #expect(bench.answer(waiter) == nil)
        #expect(bench.starts.count == 2)
        bench.succeed("longer", lifetime: 600)
        bench.commit()
        #expect(bench.answer(waiter) == .token(.none))
    }

    @Test func `a saved one that has expired is replaced at once where there is a source`() {
        let bench = SessionBench()
        let waiter = bench.get(wait: 60)
        bench.advance(2)
        bench.save(lifetime: -10)
        bench.commit()
        #expect(bench.answer(waiter) == nil)
        #expect(bench.starts.count == 2)
        bench.succeed()
        bench.commit()
        #expect(bench.answer(waiter) == .token(.none))
    }

    @Test func `a sign-out wins over the refresh that is out`() {
        let bench = SessionBench.fetched()
        bench.advance(3570)
        bench.wake()
        let waiter = bench.get(minValid: 100)
        let deletion = bench.delete()
        #expect(bench.cancelled.count == 1)
        bench.succeed("late")
        bench.commit()
        #expect(bench.answer(deletion) == .deleted(Generation(2)))
        bench.succeed("later still")
        #expect(bench.session.held == nil)
        #expect(bench.persisted.count == 2)
        // Nobody who waited brings it back.
        #expect(
            bench.answer(waiter) == .failure(.signInNeeded(.signedOut, retryAfter: .seconds(1))))
        #expect(bench.nextWakeUp == nil)
        bench.advance(86_400)
        bench.wake()
        #expect(bench.starts.count == 2)
        // Who asks afterwards does.
        bench.get()
        #expect(bench.starts.count == 3)
        bench.succeed("new")
        bench.commit()
        #expect(bench.session.generation == Generation(3))
    }

    @Test func `a refresh whose result is being stored does not survive a sign-out`() {
        let bench = SessionBench()
        let waiter = bench.get()
        bench.succeed()
        bench.delete()
        bench.commit(generation: Generation(1))
        #expect(bench.session.held == nil)
        #expect(bench.answer(waiter) == nil)
        bench.commit(generation: Generation(2))
        #expect(bench.session.held == nil)
        #expect(bench.answer(waiter) == .failure(.signInNeeded(.signedOut, retryAfter: .seconds(1))))
        #expect(!bench.changes.contains(.replaced(Generation(1))))
    }

    @Test func `and counts after all when the disk refuses the sign-out`() {
        let bench = SessionBench()
        let waiter = bench.get()
        bench.succeed()
        let deletion = bench.delete()
        bench.commit(generation: Generation(1))
        bench.commit(.full, generation: Generation(2))
        #expect(bench.answer(deletion) == .failure(.store(.full)))
        #expect(bench.answer(waiter) == .token(.none))
        #expect(bench.session.generation == Generation(1))
    }

    @Test func `a sign-out forgets that the credential was refused`() {
        let bench = SessionBench.fetched()
        bench.reject(role: .operate)
        bench.advance(1)
        bench.wake()
        bench.succeed("second")
        bench.commit()
        bench.reject(role: .operate)
        bench.delete()
        bench.commit()
        #expect(bench.session.signIn == nil)
        bench.advance(1)
        bench.get()
        #expect(bench.starts.count == 3)
    }

    @Test func `several changes follow each other on disk`() {
        let bench = SessionBench.fetched()
        let first = bench.save("one")
        let second = bench.delete()
        let third = bench.save("three")
        #expect(bench.persisted.map(\.generation.number) == [1, 2, 3, 4])
        #expect(bench.persisted.map(\.expected.number) == [0, 1, 2, 3])
        for number: Int64 in 2...4 { bench.commit(generation: Generation(number)) }
        #expect(bench.answer(first) == .saved(Generation(2)))
        #expect(bench.answer(second) == .deleted(Generation(3)))
        #expect(bench.answer(third) == .saved(Generation(4)))
        #expect(bench.session.generation == Generation(4))
    }

    @Test func `the generation never goes back, in whatever order the disk answers`() {
        let bench = SessionBench.fetched()
        let first = bench.save("one")
        let second = bench.save("two")
        let third = bench.delete()
        let fourth = bench.save("four", lifetime: 600)
        bench.commit(generation: Generation(5))
        bench.commit(generation: Generation(3))
        bench.commit(generation: Generation(4))
        bench.commit(generation: Generation(2))
        #expect(bench.session.generation == Generation(5))
        #expect(bench.session.held?.generation == Generation(5))
        #expect(bench.changes == [.replaced(Generation(1)), .replaced(Generation(5))])
        #expect([first, second, third, fourth].allSatisfy { bench.answer($0) != nil })
    }

    @Test func `a change that was to follow one which failed is asked for again`() {
        let bench = SessionBench.fetched()
        let first = bench.save("one")
        let second = bench.save("two")
        bench.commit(.full, generation: Generation(2))
        bench.commit(.conflict(stored: Generation(1)), generation: Generation(3))
        #expect(bench.answer(first) == .failure(.store(.full)))
        #expect(bench.answer(second) == nil)
        #expect(bench.persisted.last?.generation == Generation(3))
        #expect(bench.persisted.last?.expected == Generation(1))
        bench.commit(generation: Generation(3))
        #expect(bench.answer(second) == .saved(Generation(3)))
    }

    @Test func `a conflict that does not end is an error`() {
        let bench = SessionBench.fetched()
        let waiter = bench.save()
        for _ in 0..<3 {
            bench.commit(.conflict(stored: Generation(0)))
            #expect(bench.answer(waiter) == nil)
        }
        bench.commit(.conflict(stored: Generation(0)))
        #expect(bench.answer(waiter) == .failure(.store(.conflict(stored: Generation(0)))))
    }

    @Test func `after a store that is further than we thought, numbers go on from there`() {
        let bench = SessionBench.fetched()
        let waiter = bench.save()
        bench.commit(.conflict(stored: Generation(9)))
        #expect(bench.answer(waiter) == nil)
        #expect(bench.persisted.last?.generation == Generation(10))
        #expect(bench.persisted.last?.expected == Generation(9))
        bench.commit()
        #expect(bench.answer(waiter) == .saved(Generation(10)))
        #expect(bench.session.held?.generation == Generation(10))
        bench.delete()
        bench.commit(.conflict(stored: Generation(20)))
        bench.commit()
        #expect(bench.session.generation == Generation(21))
    }

    @Test func `an answer to a change that nobody waits for changes nothing`() {
        let bench = SessionBench.fetched()
        bench.commit(nil, generation: Generation(1))
        bench.commit(.full, generation: Generation(7))
        #expect(bench.session.generation == Generation(1))
        #expect(bench.changes == [.replaced(Generation(1))])
    }
}

@Suite struct `A disk that refuses` {
    @Test func `a refreshed one is served from memory, said once, and stored later`() {
        let bench = SessionBench()
        let waiter = bench.get()
        bench.succeed()
        bench.commit(.full)
        #expect(bench.answer(waiter) == .token(.none))
        #expect(bench.session.isOnlyInMemory)
        #expect(bench.state == .fresh)
        for _ in 0..<5 {
            #expect(bench.sleep == 30)
            bench.advance(30)
            bench.wake()
            #expect(bench.persisted.last?.generation == Generation(1))
            #expect(bench.persisted.last?.expected == Generation.none)
            // Until the disk answers there is nothing to be woken for but the next refresh.
            #expect(bench.sleep.map { $0 > 60 } == true)
            bench.commit(.full)
        }
        bench.advance(30)
        bench.wake()
        bench.commit()
        #expect(!bench.session.isOnlyInMemory)
        #expect(bench.changes == [.notStored(.full), .replaced(Generation(1))])
        bench.save()
        #expect(bench.persisted.last?.expected == Generation(1))
    }

    @Test func `the next one that it refuses is the same trouble, not a new one`() {
        let bench = SessionBench()
        bench.apply(.started)
        bench.succeed()
        bench.commit(.full)
        bench.advance(5)
        bench.get(force: true)
        bench.succeed("second")
        bench.commit(.full)
        #expect(bench.changes == [.notStored(.full), .replaced(Generation(1)), .replaced(Generation(2))])
    }

    @Test func `a save or a sign-out that is stored ends it`() {
        for isSignOut in [false, true] {
            let bench = SessionBench()
            bench.apply(.started)
            bench.succeed()
            bench.commit(.full)
            #expect(bench.session.isOnlyInMemory)
            if isSignOut { bench.delete() } else { bench.save() }
            bench.commit()
            #expect(!bench.session.isOnlyInMemory)
            #expect(bench.nextWakeUp == nil)
        }
    }

    @Test func `storing it again holds nobody up`() {
        let bench = SessionBench.fetched()
        bench.advance(3570)
        bench.wake()
        bench.succeed("second")
        bench.commit(.full)
        bench.advance(30)
        bench.wake()
        let waiter = bench.get(force: true)
        #expect(bench.starts.count == 3)
        bench.succeed("third")
        #expect(bench.persisted.last?.expected == Generation(2))
        bench.commit(.full, generation: Generation(2))
        bench.commit(.conflict(stored: Generation(1)), generation: Generation(3))
        #expect(bench.persisted.last?.expected == Generation(1))
        bench.commit(generation: Generation(3))
        #expect(bench.answer(waiter) == .token(.none))
        #expect(!bench.session.isOnlyInMemory)
    }

    @Test func `what was stored although the disk said otherwise is not stored twice`() {
        let bench = SessionBench()
        bench.apply(.started)
        bench.succeed()
        bench.commit(.io(code: 10))
        bench.advance(30)
        bench.wake()
        bench.commit(.conflict(stored: Generation(1)))
        #expect(!bench.session.isOnlyInMemory)
        // A saved one whose outcome was in doubt does not lend its number to the next.
        let doubtful = bench.save("doubtful")
        bench.commit(.io(code: 10))
        #expect(bench.answer(doubtful) == .failure(.store(.io(code: 10))))
        let next = bench.save("next")
        #expect(bench.persisted.last?.generation == Generation(3))
        bench.commit(.conflict(stored: Generation(2)))
        #expect(bench.persisted.last?.expected == Generation(2))
        bench.commit()
        #expect(bench.answer(next) == .saved(Generation(3)))
    }
}

@Suite struct `Resting, sealed, parked, ending` {
    private func requests(_ bench: SessionBench) -> [SessionAnswer?] {
        let waiters = [
            bench.get(), bench.get(force: true, role: .operate), bench.refresh(),
            bench.reject(role: .operate),
        ]
        return waiters.map { bench.answer($0) }
    }

    @Test func `stopped it answers so, fetches nothing, and takes no credential (R43)`() {
        let bench = SessionBench()
        let waiter = bench.get()
        bench.apply(.stopped)
        #expect(bench.cancelled.count == 1)
        #expect(bench.answer(waiter) == .failure(.stopped))
        bench.succeed("late")
        #expect(bench.persisted.isEmpty)
        #expect(requests(bench).allSatisfy { $0 == .failure(.stopped) })
        let save = bench.save()
        #expect(bench.answer(save) == .failure(.stopped))
        #expect(bench.nextWakeUp == nil)
        #expect(bench.state == .stopped)
        bench.advance(2)
        bench.apply(.started)
        #expect(bench.starts.count == 2)
    }

    @Test func `what was being stored when it was stopped is there when it starts again`() {
        let bench = SessionBench()
        bench.apply(.started)
        bench.succeed()
        bench.apply(.stopped)
        bench.commit()
        #expect(!bench.isUsable)
        #expect(bench.session.failures.last == nil)
        bench.apply(.started)
        #expect(bench.state == .fresh)
        #expect(bench.starts.count == 1)
    }

    @Test func `stopped it can still be signed out`() {
        let bench = SessionBench.fetched()
        bench.apply(.stopped)
        let waiter = bench.delete()
        bench.commit()
        #expect(bench.answer(waiter) == .deleted(Generation(2)))
        #expect(bench.session.held == nil)
    }

    @Test func `sealed it answers so, whatever happens`() {
        let bench = SessionBench(standing: .sealed)
        #expect(requests(bench).allSatisfy { $0 == .failure(.sealed) })
        #expect(bench.answer(bench.save()) == .failure(.sealed))
        #expect(bench.answer(bench.delete()) == .failure(.sealed))
        bench.apply(.started)
        bench.apply(.stopped)
        bench.wake()
        #expect(bench.state == .sealed)
        #expect(bench.nextWakeUp == nil)
        #expect(bench.starts.isEmpty && bench.persisted.isEmpty)
        bench.session.unseal(standing: .active)
        bench.wake()
        #expect(bench.starts.count == 1)
    }

    @Test func `parked it is neither used nor refreshed nor deleted, until the destination is back`() {
        let bench = SessionBench.fetched()
        bench.advance(3570)
        let waiter = bench.get(minValid: 1000)
        let elsewhere = SessionBench.traits(destination: Destination("elsewhere"))
        bench.note(bench.session.reconfigure(elsewhere, sourceChanged: false, at: bench.now))
        #expect(bench.cancelled.count == 1)
        #expect(bench.answer(waiter) == .failure(.parked))
        bench.succeed("for the old place")
        #expect(bench.persisted.count == 1)
        #expect(requests(bench).allSatisfy { $0 == .failure(.parked) })
        #expect(!bench.session.isFresh(at: bench.now, minValid: .zero) && !bench.isUsable)
        #expect(bench.state == .parked)
        bench.advance(7200)
        bench.wake()
        #expect(bench.starts.count == 2)
        #expect(bench.nextWakeUp == nil)
        bench.note(bench.session.reconfigure(SessionBench.traits(), sourceChanged: false, at: bench.now))
        #expect(bench.session.held?.generation == Generation(1))
        bench.wake()
        #expect(bench.starts.count == 3)
    }

    @Test func `what was being stored for the old destination is parked`() {
        let bench = SessionBench()
        let waiter = bench.get()
        bench.succeed()
        let elsewhere = SessionBench.traits(destination: Destination("elsewhere"))
        bench.note(bench.session.reconfigure(elsewhere, sourceChanged: true, at: bench.now))
        bench.commit()
        #expect(bench.state == .parked)
        #expect(bench.answer(waiter) == .failure(.parked))
        // Saving a new one is the operator's decision.
        bench.save()
        bench.commit()
        #expect(bench.state == .fresh)
    }

    @Test func `a changed source gives up the refresh and the failures of the old one`() {
        let bench = SessionBench()
        let waiter = bench.get(wait: 60)
        bench.note(bench.session.reconfigure(SessionBench.traits(), sourceChanged: true, at: bench.now))
        #expect(bench.cancelled.count == 1)
        bench.succeed("from the old one")
        #expect(bench.persisted.isEmpty)
        bench.advance(1)
        bench.wake()
        #expect(bench.starts.count == 2)
        bench.fail(.unreachable, retryAfter: 3600)
        #expect(bench.answers[waiter]?.count == 1)
        bench.note(bench.session.reconfigure(SessionBench.traits(), sourceChanged: true, at: bench.now))
        #expect(bench.session.failures.last == nil)
        #expect(bench.sleep == 1)
    }

    @Test func `a source that is taken away answers those who waited for it`() {
        let bench = SessionBench()
        let waiter = bench.get()
        let bare = SessionBench.traits(hasSource: false)
        bench.note(bench.session.reconfigure(bare, sourceChanged: true, at: bench.now))
        #expect(bench.answer(waiter) == .failure(.noSource))
        #expect(bench.nextWakeUp == nil)
    }

    @Test func `shutting down it begins nothing, and serves what it has`() {
        let bench = SessionBench.fetched()
        bench.advance(3570)
        let waiter = bench.get(minValid: 1000)
        bench.apply(.shuttingDown)
        #expect(bench.answer(waiter) == .failure(.shuttingDown))
        #expect(bench.cancelled.count == 1)
        #expect(bench.answer(bench.get()) == .token(.none))
        #expect(bench.answer(bench.get(minValid: 1000)) == .token(TokenRemarks(isShortLived: true)))
        #expect(bench.answer(bench.get(force: true)) == .failure(.shuttingDown))
        #expect(bench.answer(bench.refresh()) == .failure(.shuttingDown))
        bench.advance(60)
        bench.wake()
        #expect(bench.answer(bench.get()) == .failure(.shuttingDown))
        #expect(bench.starts.count == 2)
        #expect(bench.nextWakeUp == nil)
    }
}

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
