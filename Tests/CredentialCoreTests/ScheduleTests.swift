import CredentialCore
import TestSupport
import Testing

@Suite struct `When a credential is due` {
    private let start = SessionBench.start

    private func schedule(_ lifetime: Int64) -> Schedule {
        Schedule(expiries: Expiries(hint: start.wall + .seconds(lifetime)), receivedAt: start, now: start)
    }

    @Test(
        arguments: [
            (3600, 30_000), (60, 30_000), (59, 29_500), (25, 12_500), (10, 5000), (1, 500), (0, 0), (-5, 0),
        ] as [(Int64, Int64)])
    func `R38: the leeway is thirty seconds or half the lifetime`(_ lifetime: Int64, _ leeway: Int64) throws {
        let schedule = schedule(lifetime)
        let expiresAt = try #require(schedule.expiresAt)
        let refreshAt = try #require(schedule.refreshAt)
        #expect(expiresAt - refreshAt == Milliseconds(leeway))
    }

    @Test func `R39: without an expiry it never ends and is never due`() {
        let schedule = Schedule(expiries: .unknown, receivedAt: start, now: start)
        let late = Instant(wall: WallTime(seconds: .max / 2000), boot: BootTime(milliseconds: .max / 2))
        #expect(!schedule.isExpired(at: late))
        #expect(!schedule.isDue(at: late))
        #expect(schedule.remaining(at: late) == .max)
        #expect(schedule.lifetime == .max)
    }

    @Test func `at equality it has expired`() {
        let schedule = schedule(100)
        #expect(!schedule.isExpired(at: start + Milliseconds(99_999)))
        #expect(schedule.isExpired(at: start + Milliseconds(100_000)))
        #expect(!schedule.isDue(at: start + Milliseconds(69_999)))
        #expect(schedule.isDue(at: start + Milliseconds(70_000)))
    }

    @Test func `R208: a wall clock that is set back does not revive it`() {
        let schedule = schedule(100)
        let now = Instant(wall: start.wall - .seconds(86_400), boot: start.boot + .seconds(100))
        #expect(schedule.isExpired(at: now))
        #expect(schedule.remaining(at: now) == .zero)
    }

    @Test func `a wall clock that is set back does not lengthen what remains`() {
        let schedule = schedule(100)
        let now = Instant(wall: start.wall - .seconds(86_400), boot: start.boot + .seconds(40))
        #expect(schedule.remaining(at: now) == .seconds(60))
        #expect(schedule.untilDue(at: now) == .seconds(30))
    }

    @Test func `a wall clock that jumps ahead ends it`() {
        let schedule = schedule(100)
        #expect(schedule.isExpired(at: Instant(wall: start.wall + .seconds(100), boot: start.boot)))
    }

    @Test func `R208: a suspended machine wakes up to an expired one`() {
        // The wall clock was not set after the suspend; the boot clock counted it.
        let schedule = schedule(100)
        #expect(schedule.isExpired(at: Instant(wall: start.wall, boot: start.boot + .seconds(7200))))
    }

    @Test func `after a reboot wall time decides`() {
        let now = Instant(wall: start.wall + .seconds(40), boot: BootTime(milliseconds: 3000))
        let schedule = Schedule(
            expiries: Expiries(hint: start.wall + .seconds(100)), receivedAt: start, isThisBoot: false,
            now: now)
        #expect(schedule.remaining(at: now) == .seconds(60))
        #expect(schedule.isExpired(at: now + .seconds(60)))
        #expect(schedule.lifetime == .seconds(100))
        // From here on the boot clock counts as well.
        #expect(schedule.isExpired(at: Instant(wall: now.wall, boot: now.boot + .seconds(60))))
    }

    @Test func `the spread only brings it forward, by a tenth at most, and does not add up`() {
        var schedule = schedule(3600)
        schedule.bringForward(by: .seconds(-50))
        #expect(schedule.untilDue(at: start) == .seconds(3570))
        schedule.bringForward(by: .seconds(100))
        #expect(schedule.untilDue(at: start) == .seconds(3470))
        schedule.bringForward(by: .seconds(100))
        #expect(schedule.untilDue(at: start) == .seconds(3470))
        schedule.bringForward(by: .seconds(10_000))
        #expect(schedule.untilDue(at: start) == .seconds(3570 - 360))
        #expect(schedule.refreshAt == start.wall + .seconds(3570))
    }

    @Test func `whatever the numbers, the two clocks agree with the rule`() {
        var random = SeededGenerator.announced(for: "schedule")
        for _ in 0..<3000 {
            func moment() -> WallTime? {
                switch random.next() % 4 {
                case 0: nil
                case 1: WallTime(milliseconds: Int64(bitPattern: random.next()))
                default: start.wall + .seconds(Int64(random.next() % 10_000) - 1000)
                }
            }
            let expiries = Expiries(backend: moment(), hint: moment(), exp: moment())
            let isThisBoot = random.next() % 2 == 0
            let schedule = Schedule(expiries: expiries, receivedAt: start, isThisBoot: isThisBoot, now: start)
            let known = [expiries.backend, expiries.hint, expiries.exp].compactMap(\.self)
            #expect(schedule.expiresAt == known.min())
            let now = Instant(
                wall: start.wall + .seconds(Int64(random.next() % 20_000) - 5000),
                boot: start.boot + .seconds(Int64(random.next() % 20_000)))
            let isExpired = schedule.isExpired(at: now)
            #expect(isExpired == (schedule.remaining(at: now) == .zero))
            #expect(schedule.isDue(at: now) == (schedule.untilDue(at: now) == .zero))
            #expect(!isExpired || schedule.isDue(at: now))
            if let expiresAt = schedule.expiresAt, expiresAt > start.wall, expiresAt.seconds < 1 << 40 {
                let leeway = min(30_000, (expiresAt - start.wall).count / 2)
                #expect(schedule.refreshAt == expiresAt - Milliseconds(leeway))
                #expect(
                    isExpired == (now.wall >= expiresAt || now.boot - start.boot >= expiresAt - start.wall))
            }
        }
    }
}

@Suite struct `Time` {
    @Test func `arithmetic saturates`() {
        #expect(Milliseconds.seconds(.max) == .max)
        #expect(Milliseconds.seconds(.min).count == .min)
        #expect(BootTime.distantFuture + .seconds(-5) == .distantFuture)
        #expect(WallTime(milliseconds: .max - 1) + .seconds(5) == .distantFuture)
        #expect(WallTime(milliseconds: .min) - .seconds(5) == WallTime(milliseconds: .min))
        #expect(WallTime(milliseconds: .min) - WallTime(milliseconds: .max) == Milliseconds(.min))
    }

    @Test(
        arguments: [
            (0, 0), (999, 0), (1000, 1), (-1, -1), (-1000, -1), (-1001, -2), (.min, -9_223_372_036_854_776),
            (.max, 9_223_372_036_854_775),
        ] as [(Int64, Int64)])
    func `seconds are floored`(_ milliseconds: Int64, _ seconds: Int64) {
        #expect(WallTime(milliseconds: milliseconds).seconds == seconds)
    }

    @Test(
        arguments: [(0, 0), (-5, 0), (1, 1), (1000, 1), (1001, 2), (.max, 9_223_372_036_854_776)]
            as [(Int64, Int64)])
    func `what a caller waits is rounded up`(_ milliseconds: Int64, _ seconds: Int64) {
        #expect(Milliseconds(milliseconds).secondsRoundedUp == seconds)
    }
}

@Suite struct `Due at a part of a life` {
    private static let start = SessionBench.start

    private func refreshAfter(_ lifetime: Int64, _ fraction: Double?) -> Int64? {
        let schedule = Schedule(
            expiries: Expiries(hint: Self.start.wall + .seconds(lifetime)), receivedAt: Self.start,
            now: Self.start, early: fraction.flatMap { EarlyFraction($0) })
        return schedule.refreshAt.map { ($0 - Self.start.wall).count }
    }

    @Test func `it is due at that part, or by the common rule where that is earlier`() {
        #expect(refreshAfter(3600, 0.8) == 2_880_000)
        #expect(refreshAfter(2_592_000, 0.8) == 2_073_600_000)
        #expect(refreshAfter(100, 0.8) == 70_000)
        #expect(refreshAfter(10, 0.8) == 5000)
        #expect(refreshAfter(10, 0.1) == 1000)
        #expect(refreshAfter(3600, 1) == 3_570_000)
        #expect(refreshAfter(3600, nil) == 3_570_000)
        #expect(refreshAfter(-5, 0.5) == -5000)
    }

    @Test func `a life of any length traps nowhere`() {
        for seconds in [Int64.min, -1, 0, 1, 253_402_300_799, .max] {
            let schedule = Schedule(
                expiries: Expiries(hint: WallTime(seconds: seconds)), receivedAt: Self.start, now: Self.start,
                early: EarlyFraction(0.1))
            #expect(schedule.refreshAt != nil)
        }
    }

    @Test func `only 0.1 to 1 is a part of a life`() {
        for fraction in [0, 0.0999, 1.001, -0.5, .nan, .infinity, 1e300] {
            #expect(EarlyFraction(fraction) == nil)
        }
        #expect(EarlyFraction(0.1)?.thousandths == 100)
        #expect(EarlyFraction(1)?.thousandths == 1000)
        #expect(EarlyFraction(0.8)?.value == 0.8)
    }
}
