import CredentialCore
import Testing

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

    @Test func `R34: nobody gets what was fetched before the disk has answered`() {
        let bench = SessionBench()
        let waiter = bench.get()
        bench.succeed()
        #expect(bench.answer(waiter) == nil)
        bench.commit()
        #expect(bench.answer(waiter) == .token(.none))
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
