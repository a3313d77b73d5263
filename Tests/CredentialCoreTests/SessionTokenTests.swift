import CredentialCore
import Glibc
import Testing

@Suite struct `Asking for a token` {
    @Test func `a fresh one is answered at once`() {
        let bench = SessionBench.fetched()
        #expect(bench.session.isFresh(at: bench.now, minValid: .seconds(60)))
        let waiter = bench.get(minValid: 60)
        #expect(bench.answer(waiter) == .token(.none))
        #expect(bench.starts.count == 1)
        #expect(bench.state == .fresh)
    }

    @Test func `R31: past refresh_at it is answered at once and refreshed behind it`() {
        let bench = SessionBench.fetched()
        bench.advance(3570)
        #expect(bench.state == .due)
        #expect(!bench.session.isFresh(at: bench.now, minValid: .zero))
        let waiter = bench.get(minValid: 30)
        #expect(bench.answer(waiter) == .token(.none))
        #expect(bench.starts.count == 2)
        #expect(bench.starts.last?.reason == .expiring)
        #expect(bench.starts.last?.ticket.generation == Generation(1))
        #expect(bench.state == .refreshing)
    }

    @Test func `short of min_valid it waits for the one refresh`() {
        let bench = SessionBench.fetched(lifetime: 600)
        bench.advance(400)
        let waiter = bench.get(minValid: 300)
        #expect(bench.answer(waiter) == nil)
        bench.succeed("second", lifetime: 600)
        #expect(bench.answer(waiter) == nil)
        bench.commit()
        #expect(bench.answer(waiter) == .token(.none))
        #expect(bench.session.generation == Generation(2))
    }

    @Test func `expired it waits, and without time to wait is told to come back`() {
        let bench = SessionBench.fetched()
        bench.advance(3600)
        #expect(bench.state == .expired)
        let hurried = bench.get(wait: 0)
        #expect(bench.answer(hurried) == .failure(.deadlineExceeded(retryAfter: .seconds(1))))
        #expect(bench.starts.count == 2)
        let patient = bench.get()
        bench.succeed("second")
        bench.commit()
        #expect(bench.answer(patient) == .token(.none))
    }

    @Test func `short of min_valid and without time to wait it is the one that there is`() {
        let bench = SessionBench.fetched(lifetime: 600)
        bench.advance(400)
        let waiter = bench.get(minValid: 300, wait: 0)
        #expect(bench.answer(waiter) == .token(TokenRemarks(isShortLived: true)))
        #expect(bench.starts.count == 2)
    }

    @Test(arguments: [300, 301, 3600] as [Int64])
    func `a min_valid that the source never gives costs one refresh a generation`(_ minValid: Int64) {
        let bench = SessionBench.fetched(lifetime: 300)
        bench.advance(10)
        let short = TokenRemarks(isShortLived: true)
        let first = bench.get(minValid: minValid)
        bench.advance(milliseconds: 700)
        bench.succeed("second", lifetime: 300)
        bench.advance(milliseconds: 5)
        bench.commit()
        #expect(bench.answer(first) == .token(short))
        bench.advance(5)
        for _ in 0..<20 {
            let waiter = bench.get(minValid: minValid)
            #expect(bench.answer(waiter) == .token(short))
            bench.advance(5)
        }
        #expect(bench.starts.count == 2)
        // What a refresh can give is still fetched.
        let modest = bench.get(minValid: 250)
        #expect(bench.answer(modest) == nil)
        #expect(bench.starts.count == 3)
        bench.succeed("third", lifetime: 300)
        bench.advance(milliseconds: 5)
        bench.commit()
        #expect(bench.answer(modest) == .token(.none))
        // The next generation is no longer either, and nobody asks once more to see it.
        bench.advance(2)
        #expect(bench.answer(bench.get(minValid: 3600)) == .token(short))
        #expect(bench.starts.count == 3)
    }

    @Test func `after a failed refresh an unexpired one is stale, and answered at once`() {
        let bench = SessionBench.fetched()
        bench.advance(3570)
        bench.wake()
        bench.fail(.unreachable)
        let remarks = TokenRemarks(refreshError: RefreshFailure(.unreachable))
        #expect(bench.state == .stale)
        #expect(bench.answer(bench.get()) == .token(remarks))
        // Short of min_valid as well, and while backing off nobody waits.
        let short = TokenRemarks(refreshError: RefreshFailure(.unreachable), isShortLived: true)
        #expect(bench.answer(bench.get(minValid: 100)) == .token(short))
        #expect(bench.starts.count == 2)
    }

    @Test func `nothing valid and a source that fails is an error that says when to come back`() {
        let bench = SessionBench()
        let waiter = bench.get()
        bench.fail(.tls, retryAfter: 17)
        let failure = RefreshFailure(.tls, retryAfter: .seconds(17))
        #expect(bench.answer(waiter) == .failure(.refresh(failure, retryAfter: .seconds(17))))
        bench.advance(7)
        #expect(bench.answer(bench.get()) == .failure(.refresh(failure, retryAfter: .seconds(10))))
        #expect(bench.starts.count == 1)
    }

    @Test func `R45: without a source what is there is given, and nothing else`() {
        let bench = SessionBench(hasSource: false)
        #expect(bench.answer(bench.get()) == .failure(.noSource))
        #expect(bench.answer(bench.get(force: true)) == .failure(.noSource))
        #expect(bench.answer(bench.refresh()) == .failure(.noSource))
        bench.save(lifetime: 100)
        bench.commit()
        #expect(bench.answer(bench.get(minValid: 500)) == .token(TokenRemarks(isShortLived: true)))
        #expect(bench.sleep != 0)
        bench.advance(100)
        #expect(bench.answer(bench.get()) == .failure(.noSource))
        #expect(bench.starts.isEmpty)
        #expect(bench.state == .signInNeeded)
    }

    @Test func `ten thousand callers cost one refresh and are each answered once, in their order`() {
        let bench = SessionBench()
        let waiters = (0..<10_000).map { bench.get(wait: 20 + Int64($0) * 7919 % 100) }
        #expect(bench.starts.count == 1)
        bench.succeed()
        let effects = bench.apply(.committed(Generation(1), nil))
        var answered: [WaiterID] = []
        for case .answer(let waiter, _) in effects { answered.append(waiter) }
        #expect(answered == waiters)
    }

    @Test func `ten thousand deadlines do not cost ten thousand looks at everybody`() {
        let bench = SessionBench()
        var random: UInt64 = 1
        let took = Self.processorSeconds {
            for _ in 0..<10_000 {
                random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                let request = TokenRequest(
                    waiter: bench.waiter(), minValid: .zero, wait: Milliseconds(1 + Int64(random >> 50)),
                    force: false, role: .use)
                bench.apply(.tokenRequested(request))
            }
            var answers = 0
            while let next = bench.nextWakeUp, answers < 10_000, next < bench.now.boot + .seconds(15) {
                bench.now.boot = max(next, bench.now.boot)
                for case .answer in bench.wake() { answers += 1 }
            }
        }
        // A tenth of a second in a debug build; looking at everybody each time would be fifty million looks.
        #expect(took < 3)
        #expect(bench.answers.values.allSatisfy { $0.count == 1 })
    }

    private static func processorSeconds(_ work: () -> Void) -> Double {
        func reading() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
        let start = reading()
        work()
        return reading() - start
    }

    @Test func `a waiter is given up at its deadline and the refresh goes on`() {
        let bench = SessionBench()
        let hurried = bench.get(wait: 2)
        let patient = bench.get(wait: 5)
        #expect(bench.sleep == 2)
        bench.advance(2)
        bench.wake()
        #expect(bench.answer(hurried) == .failure(.deadlineExceeded(retryAfter: .seconds(1))))
        #expect(bench.answer(patient) == nil)
        #expect(bench.cancelled.isEmpty)
        #expect(bench.sleep == 3)
        bench.succeed()
        bench.commit()
        #expect(bench.answer(patient) == .token(.none))
    }

    @Test func `at its deadline a waiter gets what is unexpired, unless it wanted another`() {
        let bench = SessionBench.fetched(lifetime: 600)
        bench.advance(400)
        let plain = bench.get(minValid: 300, wait: 2)
        let forced = bench.get(wait: 2, force: true)
        let refresh = bench.refresh(wait: 2)
        bench.advance(2)
        bench.wake()
        #expect(bench.answer(plain) == .token(TokenRemarks(isShortLived: true)))
        #expect(bench.answer(forced) == .failure(.deadlineExceeded(retryAfter: .seconds(1))))
        #expect(bench.answer(refresh) == .failure(.deadlineExceeded(retryAfter: .seconds(1))))
    }

    @Test func `a refresh that hangs frees its slot at its deadline`() {
        let bench = SessionBench()
        let waiter = bench.get(wait: 60)
        #expect(bench.sleep == 15)
        bench.advance(15)
        bench.wake()
        #expect(bench.cancelled == bench.starts.map(\.ticket))
        guard case .failure(.refresh(let failure, _)) = bench.answer(waiter) else {
            Issue.record("not answered")
            return
        }
        #expect(failure.kind == .timeout)
        // Its answer comes after all, and changes nothing.
        bench.succeed()
        #expect(bench.persisted.isEmpty)
        bench.advance(1)
        bench.wake()
        #expect(bench.starts.count == 2)
        bench.succeed("late", ticket: bench.starts[0].ticket)
        #expect(bench.persisted.isEmpty)
    }

    @Test func `within a second of an attempt a caller waits for the next one`() {
        let bench = SessionBench.fetched(lifetime: 1)
        bench.advance(milliseconds: 500)
        let waiter = bench.get(minValid: 1, wait: 20)
        #expect(bench.answer(waiter) == nil)
        #expect(bench.starts.count == 1)
        bench.advance(milliseconds: 500)
        bench.wake()
        #expect(bench.starts.count == 2)
    }

    @Test func `a wait beyond all time does not trap`() {
        let bench = SessionBench()
        let waiter = bench.waiter()
        bench.apply(
            .tokenRequested(
                TokenRequest(waiter: waiter, minValid: .max, wait: .max, force: false, role: .use)))
        bench.succeed()
        bench.commit()
        #expect(bench.answer(waiter) == .token(TokenRemarks(isShortLived: true)))
    }
}

@Suite struct `Forcing a refresh` {
    @Test func `R33: waits for a new one although the old one is fresh`() {
        let bench = SessionBench.fetched()
        bench.advance(5)
        let waiter = bench.get(force: true)
        #expect(bench.answer(waiter) == nil)
        #expect(bench.starts.last?.reason == .forced)
        #expect(bench.answer(bench.get()) == .token(.none))
        bench.succeed("second")
        bench.commit()
        #expect(bench.answer(waiter) == .token(.none))
        #expect(bench.session.generation == Generation(2))
    }

    @Test func `a peer that may only use the account does it once in thirty seconds`() {
        let bench = SessionBench.fetched()
        bench.advance(5)
        bench.get(force: true)
        bench.succeed("second")
        bench.commit()
        bench.advance(10)
        #expect(bench.answer(bench.get(force: true)) == .failure(.rateLimited(retryAfter: .seconds(20))))
        #expect(bench.answer(bench.reject()) == .failure(.rateLimited(retryAfter: .seconds(20))))
        bench.get(force: true, role: .operate)
        #expect(bench.starts.count == 3)
        bench.succeed("third")
        bench.commit()
        bench.advance(20)
        bench.get(force: true)
        #expect(bench.starts.count == 4)
    }

    @Test func `joins the refresh that is out, or whose result is being stored`() {
        let bench = SessionBench.fetched()
        bench.advance(3570)
        bench.wake()
        let first = bench.get(force: true)
        bench.succeed("second")
        let second = bench.get(force: true)
        let third = bench.refresh()
        #expect(bench.starts.count == 2)
        bench.commit()
        #expect(bench.answer(first) == .token(.none))
        #expect(bench.answer(second) == .token(.none))
        #expect(bench.answer(third) == .refreshed)
    }

    @Test func `keeps a second between two attempts, whoever asks`() {
        let bench = SessionBench.fetched()
        bench.advance(5)
        bench.get(force: true, role: .operate)
        bench.fail()
        for _ in 0..<50 { bench.get(force: true, role: .operate) }
        bench.refresh()
        #expect(bench.starts.count == 2)
        #expect(bench.sleep == 1)
        bench.advance(1)
        bench.wake()
        #expect(bench.starts.count == 3)
    }

    @Test func `an operator is not held up by a back-off, a user is`() {
        let bench = SessionBench.fetched()
        bench.advance(3570)
        bench.wake()
        bench.fail(.upstreamError, status: 429, retryAfter: 600)
        bench.advance(5)
        let failure = RefreshFailure(.upstreamError, httpStatus: 429, retryAfter: .seconds(600))
        #expect(bench.answer(bench.get(force: true)) == .token(TokenRemarks(refreshError: failure)))
        #expect(bench.starts.count == 2)
        let waiter = bench.get(force: true, role: .operate)
        #expect(bench.starts.count == 3)
        bench.succeed("second")
        bench.commit()
        #expect(bench.answer(waiter) == .token(.none))
    }

    @Test func `fails with the failure where nothing is valid`() {
        let bench = SessionBench()
        let waiter = bench.refresh()
        bench.fail(.empty)
        #expect(
            bench.answer(waiter)
                == .failure(.refresh(RefreshFailure(.empty), retryAfter: .seconds(1))))
    }

    @Test func `auth.refresh fails although the old one is still valid`() {
        let bench = SessionBench.fetched()
        bench.advance(5)
        let waiter = bench.refresh()
        bench.fail(.empty)
        #expect(
            bench.answer(waiter)
                == .failure(.refresh(RefreshFailure(.empty), retryAfter: .seconds(1))))
    }

    @Test func `with no time to wait it begins and says to come back`() {
        let bench = SessionBench.fetched()
        bench.advance(5)
        #expect(
            bench.answer(bench.get(wait: 0, force: true))
                == .failure(.deadlineExceeded(retryAfter: .seconds(1))))
        #expect(
            bench.answer(bench.refresh(wait: 0)) == .failure(.deadlineExceeded(retryAfter: .seconds(1))))
        #expect(bench.starts.count == 2)
    }
}
