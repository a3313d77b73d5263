import EventLoop
import Glibc
import SystemdSupport
import Testing

/// The watchdog is fed while somebody works, and not a beat longer.
@Suite struct `The pulse` {
    /// A thread that answers when the test says so.
    private final class Worker {
        var questions: [() -> Void] = []
        var isFull = false
        func ask(_ answered: @escaping () -> Void) -> Bool {
            if !isFull { questions.append(answered) }
            return !isFull
        }
        func answer() {
            let waiting = questions
            questions = []
            for question in waiting { question() }
        }
    }

    private final class Bench {
        let listener: Listener
        let loop: EventLoop
        let worker = Worker()
        var now: Int64 = 1
        var line = "1 accounts fresh"
        var pulse: Pulse?

        init(watchdog: Int64?) throws {
            let path = "@chatauth-pulse-\(getpid())-\(UInt32.random(in: 0 ... .max))"
            listener = try #require(Listener(path))
            loop = try EventLoop()
            // Its clock is far behind the loop's: every beat is due at once, and one turn of the loop is one beat.
            pulse = try Pulse(
                loop: loop, serviceManager: ServiceManager(notifySocket: path),
                watchdogMicroseconds: watchdog,
                boot: { [unowned self] in now }, ask: { [worker] in worker.ask($0) },
                status: { [unowned self] in line })
        }

        /// Lets one beat pass; returns what was said.
        func beat() throws -> [String] {
            _ = try loop.runOnce(timeoutMilliseconds: 1000)
            var said: [String] = []
            while let message = listener.receive() { said.append(message) }
            return said
        }
    }

    @Test func `it is fed as long as each question is answered`() throws {
        let bench = try Bench(watchdog: 30_000_000)
        #expect(try bench.beat() == ["STATUS=1 accounts fresh", "WATCHDOG=1"])
        for _ in 0..<3 {
            bench.worker.answer()
            #expect(try bench.beat() == ["WATCHDOG=1"])
        }
    }

    @Test func `it starves while a question is open, and recovers with the answer`() throws {
        let bench = try Bench(watchdog: 30_000_000)
        _ = try bench.beat()
        for _ in 0..<3 { #expect(try bench.beat() == []) }
        #expect(bench.worker.questions.count == 1)
        bench.worker.answer()
        #expect(try bench.beat() == ["WATCHDOG=1"])
    }

    @Test func `a question that finds no room is one that is not answered, and is asked at the next beat`()
        throws
    {
        let bench = try Bench(watchdog: 30_000_000)
        bench.worker.isFull = true
        for _ in 0..<3 { #expect(try !bench.beat().contains("WATCHDOG=1")) }
        bench.worker.isFull = false
        #expect(try bench.beat() == ["WATCHDOG=1"])
        #expect(bench.worker.questions.count == 1)
    }

    @Test func `work that is known to be long is given its time, and no more`() throws {
        let bench = try Bench(watchdog: 30_000_000)
        _ = try bench.beat()
        bench.pulse?.expectLongWork()
        #expect(try bench.beat() == ["WATCHDOG=1"])
        bench.now += Pulse.longWork
        #expect(try bench.beat() == [])
        bench.pulse?.expectLongWork()
        #expect(try bench.beat() == ["WATCHDOG=1"])
        bench.pulse?.longWorkDidEnd()
        #expect(try bench.beat() == [])
    }

    @Test func `the status is said when it changes, and the watchdog is left alone where there is none`()
        throws
    {
        let bench = try Bench(watchdog: nil)
        #expect(try bench.beat() == ["STATUS=1 accounts fresh"])
        #expect(try bench.beat() == [])
        bench.line = "0 accounts fresh"
        #expect(try bench.beat() == ["STATUS=0 accounts fresh"])
        #expect(bench.worker.questions.isEmpty)
    }

    @Test func `the beat is a third of the watchdog's time and never slower than the status`() {
        #expect(Pulse.beat(watchdogMicroseconds: nil) == 5000)
        #expect(Pulse.beat(watchdogMicroseconds: 30_000_000) == 5000)
        #expect(Pulse.beat(watchdogMicroseconds: 2_000_000) == 666)
        #expect(Pulse.beat(watchdogMicroseconds: 1) == 1)
        #expect(Pulse.beat(watchdogMicroseconds: .max) == 5000)
    }

    @Test func `only a watchdog for this very process is one`() {
        #expect(Pulse.watchdog(microseconds: "30000000", pid: "7", own: 7) == 30_000_000)
        #expect(Pulse.watchdog(microseconds: "30000000", pid: nil, own: 7) == 30_000_000)
        for (time, pid) in [("30000000", "8"), ("0", "7"), ("-1", "7"), ("x", "7"), (nil, "7"), ("1", "")]
            as [(String?, String?)]
        {
            #expect(Pulse.watchdog(microseconds: time, pid: pid, own: 7) == nil)
        }
    }

    @Test func `a start that takes long asks for more time until it ends`() throws {
        let path = "@chatauth-start-\(getpid())"
        let listener = try #require(Listener(path))
        let patience = try StartExtension(ServiceManager(notifySocket: path), intervalMilliseconds: 1)
        var message = listener.receive()
        while message == nil {
            sched_yield()
            message = listener.receive()
        }
        #expect(message == "EXTEND_TIMEOUT_USEC=30000000")
        patience.end()
    }
}
