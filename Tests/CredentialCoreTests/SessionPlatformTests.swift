import CredentialCore
import Testing

@Suite struct `What a platform has to say` {
    private func after(_ seconds: Int64) -> WallTime { SessionBench.start.wall + .seconds(seconds) }

    @Test
    func `R35: the platform's expiry counts from when it is known, and is stored with the same generation`() {
        let bench = SessionBench.fetched()
        bench.apply(.bound(Generation(1), after(100)))
        #expect(bench.session.schedule?.expiresAt == after(100))
        #expect(bench.session.schedule?.source == .backend)
        #expect(bench.session.schedule?.refreshAt == after(70))
        #expect(bench.persisted.last?.generation == Generation(1))
        #expect(bench.persisted.last?.expected == Generation(1))
        #expect(bench.changes.last == .expiryChanged(Generation(1)))
        bench.commit()
        #expect(bench.state == .fresh)
    }

    @Test func `what the platform says of an older generation changes nothing`() {
        let bench = SessionBench.fetched()
        bench.save("newer", lifetime: 3600)
        bench.commit()
        bench.apply(.bound(Generation(1), after(1)))
        #expect(bench.session.schedule?.expiresAt == after(3600))
    }

    @Test func `R46: saving clears the platform's expiry`() {
        let bench = SessionBench.fetched()
        bench.apply(.bound(Generation(1), after(100)))
        bench.commit()
        bench.save("newer")
        bench.commit()
        #expect(bench.session.held?.expiries == .unknown)
    }

    @Test func `the platform's second word replaces its first, and none takes it back`() {
        let bench = SessionBench.fetched()
        bench.apply(.bound(Generation(1), after(100)))
        bench.apply(.bound(Generation(1), after(200)))
        #expect(bench.persisted.count == 2)
        bench.commit()
        // The second is stored behind the first.
        #expect(bench.persisted.count == 3)
        bench.apply(.bound(Generation(1), nil))
        #expect(bench.session.schedule?.source == .hint)
    }

    @Test
    func
        `R57: what was refused for something that is no more is usable again, and one more refusal is the first`()
    {
        let bench = SessionBench.fetched()
        bench.advance(5)
        bench.reject(role: .operate)
        bench.succeed("second")
        bench.commit()
        bench.advance(5)
        bench.reject(role: .operate)
        #expect(bench.session.signIn == .credentialRejected)
        bench.apply(.refusalOutlived)
        #expect(bench.state == .fresh)
        #expect(bench.changes.last == .recovered)
        #expect(bench.answer(bench.get()) == .token(.none))
        let starts = bench.starts.count
        bench.reject(role: .operate)
        #expect(bench.starts.count == starts + 1)
        #expect(bench.session.signIn == nil)
    }

    @Test func `R57: what failed for another reason is not forgotten with a refusal`() {
        let bench = SessionBench.fetched()
        bench.advance(5)
        bench.reject(role: .operate)
        bench.fail(.unreachable)
        bench.apply(.refusalOutlived)
        #expect(bench.session.failures.last == RefreshFailure(.unreachable))
        #expect(bench.state == .stale)
    }

    @Test func `R52: who signed out of a platform stays signed out, whoever asks for a token`() {
        let bench = SessionBench(staysSignedOut: true)
        bench.apply(.started)
        bench.succeed()
        bench.commit()
        bench.delete()
        bench.commit()
        let waiters = [bench.get(), bench.get(force: true, role: .operate), bench.refresh()]
        for waiter in waiters {
            #expect(bench.answer(waiter) == .failure(.signInNeeded(.signedOut, retryAfter: nil)))
        }
        #expect(bench.starts.count == 1)
        #expect(bench.nextWakeUp == nil)
        #expect(bench.state == .signInNeeded)
        bench.advance(2)
        let waiter = bench.refresh(signsIn: true)
        #expect(bench.starts.last?.reason == .authenticate)
        bench.succeed("again")
        bench.commit()
        #expect(bench.answer(waiter) == .refreshed)
        #expect(bench.state == .fresh)
    }

    @Test func `R50: who fails to sign in is told why, and stays signed out`() {
        let bench = SessionBench(staysSignedOut: true)
        bench.apply(.started)
        bench.succeed()
        bench.commit()
        bench.delete()
        bench.commit()
        bench.advance(2)
        let waiter = bench.refresh(signsIn: true)
        bench.fail(.rejected, status: 401)
        #expect(
            bench.answer(waiter)
                == .failure(.refresh(RefreshFailure(.rejected, httpStatus: 401), retryAfter: .seconds(1))))
        #expect(bench.answer(bench.get()) == .failure(.signInNeeded(.signedOut, retryAfter: nil)))
        #expect(bench.nextWakeUp == nil)
    }

    @Test(arguments: [true, false])
    func `R50: a sign-in that fails leaves what is held as it was, and brings nothing behind it`(
        _ staysSignedOut: Bool
    ) {
        let bench = SessionBench(staysSignedOut: staysSignedOut)
        bench.apply(.started)
        bench.succeed()
        bench.commit()
        bench.advance(60)
        let schedule = bench.session.schedule
        let failure = RefreshFailure(.rejected, httpStatus: 401)
        for _ in 0..<4 {
            let waiter = bench.refresh(signsIn: true)
            #expect(bench.starts.last?.reason == .authenticate)
            bench.fail(.rejected, status: 401)
            #expect(bench.answer(waiter) == .failure(.refresh(failure, retryAfter: .seconds(1))))
            bench.advance(2)
        }
        #expect(bench.session.generation == Generation(1))
        #expect(bench.session.schedule == schedule)
        #expect(bench.session.signIn == nil && bench.session.failures.last == nil)
        #expect(bench.state == .fresh)
        #expect(bench.answer(bench.get()) == .token(.none))
        // Nothing is planned but what was planned before.
        #expect(bench.nextWakeUp == bench.now.boot + Milliseconds.seconds(3600 - 30 - 60 - 8))
        bench.advance(600)
        bench.wake()
        #expect(bench.starts.count == 5)
        bench.advance(2940)
        bench.wake()
        #expect(bench.starts.last?.reason == .expiring)
    }

    @Test func `R50: a sign-in that takes too long leaves what is held as it was, too`() {
        let bench = SessionBench.fetched()
        bench.advance(60)
        let waiter = bench.refresh(wait: 60, signsIn: true)
        bench.advance(15)
        bench.wake()
        #expect(bench.cancelled.count == 1)
        #expect(
            bench.answer(waiter) == .failure(.refresh(RefreshFailure(.timeout), retryAfter: .seconds(1))))
        #expect(bench.state == .fresh && bench.starts.count == 2)
    }

    @Test func `R50: who asked for another token while somebody signed in is told why there is none`() {
        let bench = SessionBench.fetched()
        bench.advance(60)
        bench.refresh(signsIn: true)
        let forced = bench.get(force: true, role: .operate)
        let longer = bench.get(minValid: 7200)
        bench.fail(.upstreamError, status: 503)
        let failure = RefreshFailure(.upstreamError, httpStatus: 503)
        #expect(bench.answer(forced) == .token(TokenRemarks(refreshError: failure)))
        #expect(bench.answer(longer) == .token(TokenRemarks(refreshError: failure, isShortLived: true)))
        bench.advance(2)
        bench.wake()
        #expect(bench.starts.count == 2)
    }

    @Test func `R50: what was refused is asked for after a sign-in that fails, as it was before`() {
        let bench = SessionBench.fetched()
        bench.advance(60)
        bench.reject(role: .operate)
        let waiting = bench.get()
        bench.refresh(signsIn: true)
        #expect(bench.cancelled.count == 1)
        bench.advance(1)
        bench.wake()
        bench.fail(.rejected, status: 401)
        #expect(bench.answer(waiting) == nil)
        bench.advance(1)
        bench.wake()
        #expect(bench.starts.map(\.reason) == [.initial, .rejected, .authenticate, .rejected])
        bench.succeed("second")
        bench.commit()
        #expect(bench.answer(waiting) == .token(.none))
    }

    @Test func `where nothing valid is held a sign-in that fails is a failure like any other`() {
        let bench = SessionBench()
        bench.advance(2)
        let waiter = bench.refresh(signsIn: true)
        bench.fail(.upstreamError, status: 503, retryAfter: 60)
        #expect(
            bench.answer(waiter)
                == .failure(
                    .refresh(
                        RefreshFailure(.upstreamError, httpStatus: 503, retryAfter: .seconds(60)),
                        retryAfter: .seconds(60))))
        #expect(bench.sleep == 60)
    }

    @Test func `signing in takes the place of a refresh that is out`() {
        let bench = SessionBench(staysSignedOut: true)
        bench.apply(.started)
        bench.advance(2)
        let waiter = bench.refresh(signsIn: true)
        #expect(bench.cancelled.count == 1)
        #expect(bench.starts.map(\.reason) == [.initial, .authenticate])
        bench.succeed("the other user")
        bench.commit()
        #expect(bench.answer(waiter) == .refreshed)
    }

    @Test func `R94: what has ended and cannot be renewed is kept, and says so`() {
        let bench = SessionBench(hasSource: false, staysSignedOut: true)
        #expect(bench.answer(bench.get()) == .failure(.signInNeeded(.signedOut, retryAfter: nil)))
        bench.save("identity", lifetime: 60)
        bench.commit()
        bench.advance(61)
        #expect(bench.answer(bench.get()) == .failure(.signInNeeded(.expired, retryAfter: nil)))
        #expect(bench.session.held != nil)
    }

    @Test(arguments: [SessionGate.notLoggedIn, .terminated])
    func `R166: behind a closed gate nothing is handed out and nothing fetched`(_ gate: SessionGate) {
        let bench = SessionBench()
        bench.apply(.started)
        let waiting = bench.get()
        bench.apply(.gated(gate))
        #expect(bench.answer(waiting) == .failure(.gated(gate)))
        #expect(bench.cancelled.count == 1)
        bench.advance(3600)
        bench.wake()
        #expect(bench.starts.count == 1)
        #expect(bench.answer(bench.get()) == .failure(.gated(gate)))
        bench.apply(.gated(nil))
        #expect(bench.starts.count == 2)
    }

    @Test func `R166: who asks during a login waits for its end`() {
        let bench = SessionBench(hasSource: false)
        bench.apply(.gated(.establishing))
        let waiter = bench.get()
        #expect(bench.answer(waiter) == nil)
        bench.save("session", lifetime: 3600)
        bench.commit()
        #expect(bench.answer(waiter) == nil)
        bench.apply(.gated(nil))
        #expect(bench.answer(waiter) == .token(.none))
    }

    @Test(arguments: [SessionGate.notLoggedIn, .terminated])
    func `R178, R179: who waits while a session ends is told when that can be seen, and of nothing else`(
        _ gate: SessionGate
    ) {
        let bench = SessionBench.fetched()
        bench.advance(2)
        let waiters = [bench.refresh(), bench.get(force: true, role: .operate)]
        bench.apply(.gated(.ending))
        #expect(bench.cancelled.count == 1)
        let late = bench.get()
        bench.delete()
        bench.commit()
        #expect((waiters + [late]).allSatisfy { bench.answer($0) == nil })
        bench.apply(.gated(gate))
        #expect((waiters + [late]).allSatisfy { bench.answer($0) == .failure(.gated(gate)) })
        #expect(bench.starts.count == 2)
    }

    @Test func `R173: who asks for a refresh during a login is answered by its end`() {
        let bench = SessionBench()
        bench.apply(.gated(.establishing))
        let waiters = [bench.refresh(), bench.get(minValid: 7200)]
        bench.save("session", lifetime: 3600)
        bench.commit()
        #expect(waiters.allSatisfy { bench.answer($0) == nil })
        bench.apply(.gated(nil))
        #expect(bench.answer(waiters[0]) == .refreshed)
        #expect(bench.starts.count == 1)
    }

    @Test func `R174: who waits for a login that fails is told that nobody is logged in`() {
        let bench = SessionBench(hasSource: false)
        bench.apply(.gated(.establishing))
        let waiter = bench.get()
        bench.apply(.gated(.notLoggedIn))
        #expect(bench.answer(waiter) == .failure(.gated(.notLoggedIn)))
    }
}
