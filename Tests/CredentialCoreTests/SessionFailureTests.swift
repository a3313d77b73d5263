import CredentialCore
import TestSupport
import Testing

@Suite struct `Failing refreshes` {
    @Test func `one failure event, one recovery event`() {
        let bench = SessionBench.fetched()
        bench.advance(3570)
        bench.wake()
        for _ in 0..<5 {
            bench.fail()
            bench.advance(300)
            bench.wake()
        }
        bench.succeed("second")
        bench.commit()
        #expect(
            bench.changes == [
                .replaced(Generation(1)), .refreshFailed(RefreshFailure(.unreachable)),
                .replaced(Generation(2)), .recovered,
            ])
    }

    @Test(arguments: [(0, 1), (1, 1), (17, 17), (3600, 3600), (86_400, 3600), (-5, 1)] as [(Int64, Int64)])
    func `Retry-After wins, within a second and an hour`(_ asked: Int64, _ slept: Int64) {
        let bench = SessionBench()
        bench.draw = 123_456_789
        bench.apply(.started)
        bench.fail(.upstreamError, status: 503, retryAfter: asked)
        #expect(bench.sleep == slept)
    }

    @Test func `back-off doubles to five minutes, with full jitter and never below a second`() {
        var random = SeededGenerator.announced(for: "back-off")
        for failures in 1...14 {
            var longest: Int64 = 0
            for draw in [0, UInt64.max, random.next(), random.next(), random.next()] {
                let bench = SessionBench()
                bench.draw = draw
                bench.apply(.started)
                for _ in 0..<failures {
                    bench.fail()
                    guard let next = bench.nextWakeUp else { break }
                    longest = max(longest, (next - bench.now.boot).count)
                    #expect((next - bench.now.boot).count >= 1000)
                    bench.now = bench.now + (next - bench.now.boot)
                    bench.wake()
                }
                #expect(bench.starts.count == failures + 1)
            }
            #expect(longest <= min(300_000, 1000 << Int64(failures - 1)))
        }
    }

    @Test func `while the credential is valid, half of what time is left passes at most`() {
        let bench = SessionBench.fetched()
        bench.draw = 300_000
        bench.advance(3570)
        bench.wake()
        var attempts = 0
        while bench.isUsable {
            bench.fail()
            guard let next = bench.nextWakeUp, let expiry = bench.session.schedule?.expiresAt else { break }
            let remaining = expiry - bench.now.wall
            #expect((next - bench.now.boot).count <= max(1000, remaining.count / 2))
            bench.now = bench.now + (next - bench.now.boot)
            bench.wake()
            attempts += 1
        }
        #expect((3...31).contains(attempts))
    }

    @Test func `an hour of failing costs less than sixty attempts`() {
        var random = SeededGenerator.announced(for: "an hour of failing")
        for kind in RefreshFailure.Kind.allCases {
            let bench = SessionBench()
            bench.apply(.started)
            var seconds: [Int64: Int] = [:]
            let end = bench.now.boot + .seconds(3600)
            while bench.now.boot < end {
                seconds[bench.now.boot.milliseconds / 1000, default: 0] += 1
                bench.draw = random.next()
                bench.fail(kind, status: kind == .rejected ? 403 : nil)
                for _ in 0..<3 { bench.get() }
                guard let next = bench.nextWakeUp, next > bench.now.boot else {
                    Issue.record("wants to be woken at once")
                    break
                }
                bench.now = bench.now + (next - bench.now.boot)
                bench.wake()
            }
            if kind == .overloaded {
                // Nothing was sent: it is only asked again each second whether it may be.
                #expect(bench.starts.count <= 3601)
            } else {
                #expect(bench.starts.count < 60, "\(kind)")
            }
            if kind == .rejected { #expect(bench.starts.count <= 4) }
            #expect(seconds.values.allSatisfy { $0 <= 2 })
        }
    }

    @Test func `three equal refusals end it until somebody acts, and it is tried once an hour`() {
        let bench = SessionBench.fetched()
        bench.advance(5)
        bench.get(force: true)
        for round in 1...3 {
            bench.fail(.rejected, status: 403)
            #expect((bench.session.signIn != nil) == (round == 3))
            if round < 3 {
                bench.advance(10)
                bench.wake()
            }
        }
        #expect(bench.session.signIn == .refusedWithoutReason)
        // What is still valid is handed out, and called stale.
        #expect(bench.state == .stale)
        #expect(
            bench.answer(bench.get())
                == .token(
                    TokenRemarks(refreshError: RefreshFailure(.rejected, httpStatus: 403))))
        // When it ends, whoever listens is told.
        #expect(bench.sleep == 3575)
        bench.advance(3575)
        bench.wake()
        #expect(bench.state == .signInNeeded)
        #expect(bench.starts.count == 4)
        #expect(bench.sleep == 25)
        bench.advance(25)
        bench.wake()
        let waiter = bench.get()
        bench.fail(.unreachable)
        #expect(
            bench.answer(waiter)
                == .failure(.signInNeeded(.refusedWithoutReason, retryAfter: .seconds(3600))))
        #expect(bench.state == .signInNeeded)
        #expect(bench.sleep == 3600)
        bench.advance(3600)
        bench.wake()
        bench.succeed("second")
        bench.commit()
        #expect(bench.session.signIn == nil)
        #expect(bench.state == .fresh)
        #expect(bench.changes.last == .recovered)
    }

    @Test func `refusals of the platform end it as those of the source do, and are not counted with them`() {
        let bench = SessionBench()
        bench.apply(.started)
        for party in [RefreshFailure.Party.source, .source, .platform, .platform, .platform] {
            #expect(bench.session.signIn == nil)
            bench.fail(.rejected, status: 401, of: party)
            bench.advance(20)
            bench.wake()
        }
        #expect(bench.session.signIn == .refusedByPlatform)
        #expect(bench.starts.count == 5)
        bench.advance(3600)
        bench.wake()
        #expect(bench.starts.count == 6)
    }

    @Test func `what takes too long once the source has answered is the platform's fault`() {
        for (hasAnswered, party) in [(false, RefreshFailure.Party.source), (true, .platform)] {
            let bench = SessionBench()
            bench.apply(.started)
            if hasAnswered, let start = bench.starts.last { bench.apply(.sourceAnswered(start.ticket)) }
            bench.advance(15)
            bench.wake()
            #expect(bench.session.failures.last == RefreshFailure(.timeout, party: party))
        }
    }

    @Test(
        arguments: [
            ([(.rejected, 401), (.rejected, 403), (.rejected, 401)], false),
            ([(.rejected, 403), (.timeout, nil), (.rejected, 403), (.rejected, 403)], false),
            ([(.rejected, 403), (.rejected, 403), (.upstreamError, 500), (.rejected, 403)], false),
            (
                [
                    (.rejected, 403), (.overloaded, nil), (.rejected, 403), (.overloaded, nil),
                    (.rejected, 403),
                ], true
            ),
            ([(.rejected, 401), (.rejected, 403), (.rejected, 403), (.rejected, 403)], true),
        ] as [([(RefreshFailure.Kind, Int?)], Bool)])
    func `only equal ones in a row count`(_ failures: [(RefreshFailure.Kind, Int?)], _ isEnough: Bool) {
        let bench = SessionBench()
        bench.apply(.started)
        for (kind, status) in failures {
            bench.fail(kind, status: status)
            bench.advance(20)
            bench.wake()
        }
        #expect((bench.session.signIn == .refusedWithoutReason) == isEnough)
    }

    @Test func `a token that had ended when it came is stale, and the old one kept`() {
        let bench = SessionBench.fetched()
        bench.advance(3575)
        for lifetime: Int64 in [0, -1, -3600] {
            bench.wake()
            bench.succeed("ended", lifetime: lifetime)
            #expect(bench.session.failures.last == RefreshFailure(.stale))
            #expect(bench.session.generation == Generation(1))
            bench.advance(1)
        }
        #expect(bench.persisted.count == 1)
        #expect(bench.isUsable)
    }

    @Test func `exp is judged by the origin's clock where ours is ahead`() {
        // Ours is an hour ahead. The token is good, although it has ended by our clock: kept, and backed off from.
        let bench = SessionBench()
        let waiter = bench.get()
        let theirs = bench.now.wall - .seconds(3600)
        bench.succeed("good", lifetime: nil, exp: theirs + .seconds(600), originDate: theirs)
        bench.commit()
        #expect(bench.session.generation == Generation(1))
        #expect(
            bench.answer(waiter)
                == .failure(.refresh(RefreshFailure(.stale), retryAfter: .seconds(1))))
        #expect(bench.changes.contains(.refreshFailed(RefreshFailure(.stale))))
        // By theirs it had ended as well: stale.
        bench.advance(1)
        bench.wake()
        bench.succeed("ended", lifetime: nil, exp: theirs, originDate: theirs + .seconds(1))
        #expect(bench.persisted.count == 1)
        // Ours is behind: it had not ended for us, and may be used.
        bench.advance(2)
        bench.wake()
        bench.succeed(
            "ours", lifetime: nil, exp: bench.now.wall + .seconds(60),
            originDate: bench.now.wall + .seconds(120))
        bench.commit()
        #expect(bench.state == .fresh)
    }

    @Test func `a clock that is ahead does not make a source be asked each second for ever`() {
        var random = SeededGenerator.announced(for: "clock ahead")
        let bench = SessionBench()
        bench.apply(.started)
        let end = bench.now.boot + .seconds(3600)
        while bench.now.boot < end {
            bench.draw = random.next()
            let theirs = bench.now.wall - .seconds(7200)
            bench.succeed("good", lifetime: nil, exp: theirs + .seconds(3600), originDate: theirs)
            bench.commit()
            guard let next = bench.nextWakeUp else { break }
            bench.now = bench.now + (next - bench.now.boot)
            bench.wake()
        }
        #expect((10..<60).contains(bench.starts.count))
        #expect(bench.changes.filter { $0 == .refreshFailed(RefreshFailure(.stale)) }.count == 1)
        #expect(!bench.changes.contains(.recovered))
    }

    @Test func `lifetimes of a second are asked for once a second`() {
        let bench = SessionBench()
        bench.apply(.started)
        for _ in 0..<60_000 {
            guard let next = bench.nextWakeUp else { break }
            bench.now = bench.now + max(.zero, next - bench.now.boot)
            if bench.now.boot > SessionBench.start.boot + .seconds(60) { break }
            let begun = bench.starts.count
            bench.wake()
            if bench.starts.count > begun || begun == 1 {
                bench.succeed("short", lifetime: 1)
                bench.commit()
            }
        }
        #expect((30...61).contains(bench.starts.count))
    }
}
