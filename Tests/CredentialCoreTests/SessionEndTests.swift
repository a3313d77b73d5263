import CredentialCore
import Testing

@Suite struct `Credentials that end with nothing in their place` {
    private static let start = SessionBench.start.wall
    private static let past = start - .seconds(100)
    private static let failure = RefreshFailure(.stale, cause: .calledOver(past), party: .platform)

    /// The generation that is held is shown to the platform, which takes it and says that it ended long ago.
    private func callOver(_ bench: SessionBench) {
        bench.apply(.bound(bench.session.generation, Self.past))
    }

    private func goOn(_ bench: SessionBench, _ token: StaticString) {
        bench.succeed(token)
        bench.commit(generation: bench.persisted.last { !$0.isDeletion }?.generation)
    }

    @Test func `R72: what the platform calls over has ended, and it shows who says so`() {
        let bench = SessionBench.fetched()
        callOver(bench)
        #expect(bench.session.held?.expiries.backend == Self.past)
        #expect(bench.session.schedule?.source == .backend)
        #expect(bench.session.schedule?.isExpired(at: bench.now) == true)
        #expect(bench.session.signIn == nil && !bench.session.isHeldRejected)
        bench.commit()
        bench.advance(1)
        bench.wake()
        #expect(bench.starts.map(\.reason) == [.initial, .expiring])
    }

    @Test func `R72: the first brings another at once, from the second on the account backs off`() {
        let bench = SessionBench.fetched()
        callOver(bench)
        bench.commit()
        bench.advance(1)
        bench.wake()
        goOn(bench, "second")
        #expect(bench.state == .fresh)
        callOver(bench)
        bench.commit()
        #expect(bench.session.failures.last == Self.failure)
        #expect(bench.state == .expired)
        let waiter = bench.get()
        #expect(bench.answer(waiter) == .failure(.refresh(Self.failure, retryAfter: .seconds(1))))
        #expect(bench.starts.count == 2)
        #expect(bench.changes.contains(.refreshFailed(Self.failure)))
    }

    @Test func `R72: an hour of it costs no more than an hour of any failure, and it ends by itself`() {
        let bench = SessionBench.fetched()
        bench.draw = 4_999_999
        var attempts = 0
        let end = bench.now.boot + .seconds(3600)
        callOver(bench)
        bench.commit()
        while bench.now.boot < end, let next = bench.nextWakeUp {
            bench.now = bench.now + (next - bench.now.boot)
            let count = bench.starts.count
            bench.wake()
            guard bench.starts.count > count else { continue }
            attempts += 1
            goOn(bench, "another")
            callOver(bench)
            bench.commit()
        }
        #expect((5...40).contains(attempts))
        #expect(bench.changes.filter { $0 == .refreshFailed(Self.failure) }.count == 1)
        #expect(!bench.changes.contains(.recovered))
        #expect((bench.sleep ?? 0) <= 300)
        bench.advance(300)
        bench.wake()
        goOn(bench, "good")
        bench.apply(.bound(bench.session.generation, bench.now.wall + .seconds(900)))
        #expect(bench.state == .fresh)
        #expect(bench.changes.filter { $0 == .recovered }.count == 1)
        // The next one that is called over is a first one again.
        bench.commit()
        bench.apply(.bound(bench.session.generation, Self.past))
        #expect(bench.session.failures.last == nil)
    }

    @Test func `the same generation that is called over twice counts once`() {
        let bench = SessionBench.fetched()
        callOver(bench)
        callOver(bench)
        #expect(bench.session.failures.last == nil)
    }

    @Test func `R72: without a source what the platform calls over has ended, and says why`() {
        let bench = SessionBench(hasSource: false, staysSignedOut: true)
        bench.save(lifetime: 900)
        bench.commit()
        callOver(bench)
        #expect(bench.session.failures.last == Self.failure)
        #expect(bench.answer(bench.get()) == .failure(.signInNeeded(.expired, retryAfter: nil)))
        bench.commit()
        bench.save("another", lifetime: 900)
        bench.commit()
        #expect(bench.state == .fresh)
    }

    @Test func `who listens is told of the end, however long the source is left alone`() {
        let bench = SessionBench.fetched(lifetime: 100)
        bench.advance(80)
        bench.wake()
        bench.fail(.callbackTimeout, retryAfter: 3600)
        #expect(bench.session.auth(at: bench.now) == .failing)
        #expect(bench.sleep == 20)
        bench.advance(20)
        bench.wake()
        #expect(bench.session.auth(at: bench.now) == .unauthenticated)
        #expect(bench.sleep == 3580)
    }

    @Test func `R7: what fails before there was anything is failing`() {
        let bench = SessionBench()
        bench.apply(.started)
        #expect(bench.session.auth(at: bench.now) == .unauthenticated)
        bench.fail(.callbackTimeout)
        #expect(bench.session.auth(at: bench.now) == .failing)
    }
}
