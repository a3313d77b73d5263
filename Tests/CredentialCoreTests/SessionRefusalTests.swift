import CredentialCore
import Testing

@Suite struct `Reporting a token that was refused` {
    @Test func `R41: one forced refresh for a generation, while it is the current one`() {
        let bench = SessionBench.fetched()
        bench.advance(5)
        #expect(bench.answer(bench.reject(0)) == .rejection(isAccepted: false))
        #expect(bench.answer(bench.reject(2)) == .rejection(isAccepted: false))
        #expect(bench.answer(bench.reject(1)) == .rejection(isAccepted: true))
        #expect(bench.starts.last?.reason == .rejected)
        // Nobody gets it while a better one may come.
        let waiter = bench.get()
        #expect(bench.answer(waiter) == nil)
        // What a user said, an operator confirms: that costs no second refresh.
        #expect(bench.answer(bench.reject(1, role: .operate)) == .rejection(isAccepted: true))
        #expect(bench.answer(bench.reject(1, role: .operate)) == .rejection(isAccepted: false))
        bench.succeed("second")
        bench.commit()
        #expect(bench.answer(waiter) == .token(.none))
        #expect(bench.answer(bench.reject(1)) == .rejection(isAccepted: false))
        #expect(bench.starts.count == 2)
    }

    @Test func `without a number the current one is meant`() {
        let bench = SessionBench.fetched()
        #expect(bench.answer(bench.reject()) == .rejection(isAccepted: true))
        let empty = SessionBench()
        #expect(empty.answer(empty.reject()) == .rejection(isAccepted: false))
    }

    @Test func `on a user's word the same bytes again are stale, and handed out for want of better ones`() {
        let bench = SessionBench.fetched("same")
        bench.advance(5)
        bench.reject()
        bench.succeed("same")
        #expect(bench.persisted.count == 1)
        #expect(bench.session.failures.last == RefreshFailure(.stale))
        // It is the only one there is, and said to be stale.
        #expect(bench.answer(bench.get()) == .token(TokenRemarks(refreshError: RefreshFailure(.stale))))
        // And asked for again, although it is not due for an hour.
        #expect(bench.sleep == 1)
        bench.advance(1)
        bench.wake()
        #expect(bench.starts.last?.reason == .rejected)
        bench.succeed("second")
        bench.commit()
        #expect(bench.changes.suffix(2) == [.replaced(Generation(2)), .recovered])
    }

    @Test func `R32: when the new one is refused as well, an operator's word ends it for an hour`() {
        let bench = SessionBench.fetched()
        bench.advance(5)
        bench.reject(role: .operate)
        bench.succeed("second")
        bench.commit()
        bench.advance(5)
        #expect(bench.answer(bench.reject(2, role: .operate)) == .rejection(isAccepted: true))
        #expect(bench.state == .signInNeeded)
        #expect(bench.session.signIn == .credentialRejected)
        #expect(
            bench.answer(bench.get())
                == .failure(.signInNeeded(.credentialRejected, retryAfter: .seconds(3600))))
        #expect(bench.answer(bench.reject(2, role: .operate)) == .rejection(isAccepted: false))
        #expect(bench.sleep == 3600)
        #expect(bench.starts.count == 2)
        bench.advance(3600)
        bench.wake()
        #expect(bench.starts.count == 3)
        bench.fail()
        #expect(bench.sleep == 3600)
        bench.save()
        bench.commit()
        #expect(bench.state == .fresh)
    }

    @Test func `a new one that stood for a minute is refused for the first time`() {
        let bench = SessionBench.fetched()
        bench.advance(5)
        bench.reject(1, role: .operate)
        bench.succeed("second")
        bench.commit()
        bench.advance(milliseconds: CredentialSession.trialPeriod.count - 1)
        var early = bench.session
        _ = early.apply(
            .rejected(waiter: bench.waiter(), generation: Generation(2), role: .operate), at: bench.now,
            draw: 0)
        #expect(early.signIn == .credentialRejected)
        bench.advance(milliseconds: 1)
        #expect(bench.answer(bench.reject(2, role: .operate)) == .rejection(isAccepted: true))
        #expect(bench.session.signIn == nil)
        #expect(bench.starts.map(\.reason) == [.initial, .rejected, .rejected])
        bench.succeed("third")
        bench.commit()
        #expect(bench.state == .fresh)
        #expect(bench.answer(bench.reject(3, role: .operate)) == .rejection(isAccepted: true))
        #expect(bench.session.signIn == .credentialRejected)
    }

    @Test func `a user's word about the new one costs a refresh, not the account`() {
        let bench = SessionBench.fetched()
        bench.advance(5)
        bench.reject(1)
        bench.succeed("second")
        bench.commit()
        bench.advance(30)
        #expect(bench.answer(bench.reject(2)) == .rejection(isAccepted: true))
        #expect(bench.session.signIn == nil)
        // An operator who says the same of it while it is new is heard all the same.
        #expect(bench.answer(bench.reject(2, role: .operate)) == .rejection(isAccepted: true))
        #expect(bench.session.signIn == .credentialRejected)
    }

    @Test func `a refresh that was out for another reason counts as the one that the rejection brought`() {
        let bench = SessionBench.fetched()
        bench.advance(3570)
        bench.wake()
        bench.reject(1, role: .operate)
        #expect(bench.starts.count == 2)
        bench.succeed("second")
        bench.commit()
        bench.reject(2, role: .operate)
        #expect(bench.session.signIn == .credentialRejected)
    }

    @Test func `one that was saved after a rejection is not one that the rejection brought`() {
        let bench = SessionBench.fetched()
        bench.advance(5)
        bench.reject(1, role: .operate)
        bench.save()
        bench.commit()
        bench.advance(5)
        #expect(bench.answer(bench.reject(2, role: .operate)) == .rejection(isAccepted: true))
        #expect(bench.session.signIn == nil)
        #expect(bench.starts.count == 3)
    }

    @Test(
        arguments: [
            (RefreshFailure(.stale), nil), (RefreshFailure(.unreachable), nil),
            (RefreshFailure(.rejected, httpStatus: 403), 403),
        ] as [(RefreshFailure, Int?)])
    func `what an operator reports is not handed out again, whatever comes of asking for another`(
        _ failure: RefreshFailure, _ status: Int?
    ) {
        let bench = SessionBench.fetched("same")
        bench.advance(5)
        bench.reject(role: .operate)
        let waiter = bench.get(minValid: 60)
        if failure.kind == .stale { bench.succeed("same") } else { bench.fail(failure.kind, status: status) }
        #expect(bench.answer(waiter) == .failure(.refresh(failure, retryAfter: .seconds(1))))
        #expect(bench.answer(bench.get()) == .failure(.refresh(failure, retryAfter: .seconds(1))))
        #expect(!bench.isUsable && bench.state == .expired)
        #expect(bench.session.auth(at: bench.now) == .unauthenticated)
        #expect(bench.session.held?.generation == Generation(1))
        bench.advance(1)
        bench.wake()
        #expect(bench.starts.last?.reason == .rejected)
        bench.succeed("second")
        bench.commit()
        #expect(bench.answer(bench.get()) == .token(.none))
    }

    @Test func `what a user reported is withdrawn once an operator says the same`() {
        let bench = SessionBench.fetched("same")
        bench.advance(5)
        bench.reject()
        bench.succeed("same")
        #expect(bench.answer(bench.get()) == .token(TokenRemarks(refreshError: RefreshFailure(.stale))))
        #expect(bench.answer(bench.reject(role: .operate)) == .rejection(isAccepted: true))
        #expect(
            bench.answer(bench.get()) == .failure(.refresh(RefreshFailure(.stale), retryAfter: .seconds(1))))
        #expect(bench.starts.count == 2)
    }

    @Test func `what was refused while its handler was away is asked for anew when one comes`() {
        let bench = SessionBench.fetched()
        var away = SessionBench.traits(hasSource: false)
        away.needsHandler = true
        bench.note(bench.session.reconfigure(away, sourceChanged: false, at: bench.now))
        bench.advance(5)
        #expect(bench.answer(bench.reject(role: .operate)) == .rejection(isAccepted: true))
        #expect(
            bench.answer(bench.get())
                == .failure(.refresh(RefreshFailure(.handlerRequired), retryAfter: .seconds(1))))
        bench.note(bench.session.reconfigure(SessionBench.traits(), sourceChanged: true, at: bench.now))
        bench.wake()
        #expect(bench.starts.last?.reason == .rejected)
        bench.succeed("second")
        bench.commit()
        #expect(bench.answer(bench.get()) == .token(.none))
    }

    @Test func `a source that is taken away leaves what was refused refused`() {
        let bench = SessionBench.fetched()
        bench.reject(role: .operate)
        let bare = SessionBench.traits(hasSource: false)
        bench.note(bench.session.reconfigure(bare, sourceChanged: true, at: bench.now))
        #expect(bench.answer(bench.get()) == .failure(.signInNeeded(.credentialRejected, retryAfter: nil)))
        bench.note(bench.session.reconfigure(SessionBench.traits(), sourceChanged: true, at: bench.now))
        bench.advance(1)
        let waiter = bench.get()
        bench.fail()
        #expect(
            bench.answer(waiter)
                == .failure(.refresh(RefreshFailure(.unreachable), retryAfter: .seconds(1))))
    }

    @Test func `R45: where somebody signs in, a saved one that is refused says that it was refused`() {
        let bench = SessionBench(hasSource: false, staysSignedOut: true)
        bench.save(lifetime: 3600)
        bench.commit()
        bench.reject(role: .operate)
        #expect(bench.session.signIn == .refused)
        #expect(bench.answer(bench.get()) == .failure(.signInNeeded(.refused, retryAfter: nil)))
    }

    @Test func `without a source an operator's word ends it and a user's does nothing`() {
        let bench = SessionBench(hasSource: false)
        bench.save()
        bench.commit()
        #expect(bench.answer(bench.reject()) == .rejection(isAccepted: false))
        #expect(bench.answer(bench.get()) == .token(.none))
        #expect(bench.answer(bench.reject(role: .operate)) == .rejection(isAccepted: true))
        #expect(bench.answer(bench.get()) == .failure(.signInNeeded(.credentialRejected, retryAfter: nil)))
        #expect(bench.nextWakeUp == nil)
        bench.save("another")
        bench.commit()
        #expect(bench.answer(bench.get()) == .token(.none))
    }

    @Test func `a save while it is out replaces it, and a failed save lets it go on`() {
        let bench = SessionBench.fetched()
        bench.advance(5)
        bench.reject(1)
        bench.save()
        #expect(bench.cancelled.count == 1)
        bench.commit(.full)
        #expect(bench.starts.count == 2)
        bench.advance(1)
        bench.wake()
        #expect(bench.starts.last?.reason == .rejected)
        bench.save()
        bench.commit()
        #expect(bench.state == .fresh)
        #expect(bench.sleep == nil)
    }
}
