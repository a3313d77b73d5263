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
