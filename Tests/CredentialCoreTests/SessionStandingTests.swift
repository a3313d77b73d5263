import CredentialCore
import Testing

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

    @Test func `R58: stopped it has no tokens, and without them it does not start`() throws {
        let bench = SessionBench.fetched()
        let bearer = try #require(bench.session.held?.credential?.bearer)
        var session = bench.session
        _ = session.apply(.stopped, at: bench.now, draw: 0)
        #expect(session.isShelved && session.schedule == bench.session.schedule)
        let effects = session.apply(.started, at: bench.now, draw: 0)
        #expect(effects.isEmpty && session.standing == .stopped)
        let account = try #require(AccountName("bot"))
        func isTaken(_ generation: Int64) -> Bool {
            session.unshelve(
                StoredCredential(
                    account: account, generation: Generation(generation), held: bench.session.held))
        }
        // The row of another generation is not what is held.
        #expect(!isTaken(2))
        #expect(session.isShelved)
        #expect(isTaken(1))
        _ = session.apply(.started, at: bench.now, draw: 0)
        #expect(session.standing == .active && session.held?.credential?.bearer === bearer)
        #expect(session.isFresh(at: bench.now, minValid: .zero))
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

    @Test func `whoever signs in replaces what is parked, and nothing is fetched because of one who failed`()
    {
        let bench = SessionBench.fetched()
        let elsewhere = SessionBench.traits(destination: Destination("elsewhere"))
        bench.note(bench.session.reconfigure(elsewhere, sourceChanged: false, at: bench.now))
        bench.advance(2)
        for age in [0, 7200] as [Int64] {
            bench.advance(age)
            let failed = bench.refresh(signsIn: true)
            bench.fail(.rejected)
            #expect(
                bench.answer(failed)
                    == .failure(.refresh(RefreshFailure(.rejected), retryAfter: .seconds(1))))
            #expect(bench.state == .parked && bench.nextWakeUp == nil)
            bench.advance(2)
        }
        let waiter = bench.refresh(signsIn: true)
        // Another client is asked now.
        bench.note(bench.session.reconfigure(elsewhere, sourceChanged: true, at: bench.now))
        #expect(bench.answer(waiter) == nil)
        bench.advance(1)
        bench.wake()
        bench.succeed("of the new place")
        bench.commit()
        #expect(bench.answer(waiter) == .refreshed)
        #expect(bench.state == .fresh && bench.session.held?.destination == Destination("elsewhere"))
    }

    @Test func `whoever signs in at one place does not do so at another`() {
        let bench = SessionBench.fetched()
        bench.advance(2)
        let waiter = bench.refresh(signsIn: true)
        let elsewhere = SessionBench.traits(destination: Destination("elsewhere"))
        bench.note(bench.session.reconfigure(elsewhere, sourceChanged: false, at: bench.now))
        #expect(bench.answer(waiter) == .failure(.parked))
        bench.advance(2)
        bench.wake()
        #expect(bench.starts.count == 2 && bench.nextWakeUp == nil)
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
