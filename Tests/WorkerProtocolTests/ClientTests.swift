import CredentialCore
import EventLoop
import Glibc
import Log
import OriginSupport
import Secrets
import TestSupport
import Testing
import WorkerProtocol

/// Whatever a worker does, each request has one outcome, in time, and there is a worker for the next one.
@Suite struct `Worker client` {
    private final class Bench {
        let driver: Driver
        let client: WorkerClient
        let outcomes = Outcomes()

        init(_ launcher: any WorkerLauncher, adjust: (inout WorkerClient.Timing) -> Void = { _ in }) throws {
            driver = try Driver()
            var timing = WorkerClient.Timing()
            timing.grace = Milliseconds(200)
            timing.ping = Milliseconds(300)
            timing.firstDelay = Milliseconds(50)
            timing.longestDelay = Milliseconds(200)
            adjust(&timing)
            client = try WorkerClient(
                loop: driver.loop, clock: driver, launcher: launcher, logger: Logger(sink: NoLog()),
                timing: timing)
            client.observer = outcomes
        }

        convenience init(liar way: String) throws {
            try self.init(
                SpawningLauncher(path: "/usr/bin/python3", arguments: [Scripts.path("liar.py"), way]))
        }

        func fetch(_ id: UInt64, _ url: HTTPURL? = nil, timeout: Milliseconds = .seconds(8)) throws {
            client.fetch(.test(id, try url ?? HTTPURL("https://127.0.0.1/"), timeout: timeout))
        }

        func outcome(_ id: UInt64) throws {
            #expect(try driver.turn { outcomes.count(id) > 0 })
        }
    }

    private static func honestWorker() -> SpawningLauncher {
        SpawningLauncher(path: Programs.path("chatauth-fetch"))
    }

    @Test func `a request goes through two processes and comes back`() throws {
        guard let origin = Origin() else { return }
        let bench = try Bench(Self.honestWorker())
        #expect(bench.client.launches == 0)
        let request = FetchRequest.test(
            7, try origin.url(.good, "/echo"), method: .post, headers: [("X-Key", SecretBytes("é\t\"k\""))],
            body: SecretBytes("{\"a\":\"\\u00e9\"}\r\n"), caFile: origin.directory + "/ca.pem")
        bench.client.fetch(request)
        #expect(bench.outcomes.count(7) == 0)
        try bench.outcome(7)
        let text = try #require(bench.outcomes.response(7)).text
        #expect(text.contains("\r\nX-Key: é\t\"k\"\r\n"))
        #expect(text.hasSuffix("\r\n\r\n{\"a\":\"\\u00e9\"}\r\n"))
        bench.client.fetch(.test(8, try origin.url(.good, "/binary"), caFile: origin.directory + "/ca.pem"))
        try bench.outcome(8)
        #expect(bench.outcomes.response(8)?.bytes == (0...255).map { UInt8($0) })
        bench.client.fetch(.test(9, try origin.url(.good, "/ok"), caFile: origin.directory + "/other.pem"))
        try bench.outcome(9)
        #expect(bench.outcomes.failure(9) == .certificateUntrusted)
        #expect(bench.client.launches == 1)
    }

    @Test func `sixty-four requests are in flight and no more`() throws {
        guard let origin = Origin() else { return }
        let bench = try Bench(Self.honestWorker())
        let url = try origin.url(.plain, "/size/100000")
        for id in 0..<64 { try bench.fetch(UInt64(id), url) }
        try bench.fetch(64, url)
        for id in 0...64 { try bench.outcome(UInt64(id)) }
        #expect(bench.outcomes.failure(64) == .tooManyRequests)
        for id in 0..<64 { #expect(bench.outcomes.response(UInt64(id))?.body.count == 100_000) }
        #expect(bench.outcomes.byID.values.allSatisfy { $0.count == 1 })
    }

    @Test func `a proxy in the worker's environment is not used`() throws {
        guard let origin = Origin() else { return }
        let proxy = "http://127.0.0.1:\(origin.port(.refused))"
        let bench = try Bench(
            SpawningLauncher(
                path: Programs.path("chatauth-fetch"),
                environment: [
                    "HTTPS_PROXY=" + proxy, "https_proxy=" + proxy, "http_proxy=" + proxy,
                    "ALL_PROXY=" + proxy,
                    "SSLKEYLOGFILE=" + origin.directory + "/keys",
                ]))
        bench.client.fetch(.test(1, try origin.url(.good, "/ok"), caFile: origin.directory + "/ca.pem"))
        try bench.fetch(2, try origin.url(.plain, "/ok"))
        try bench.outcome(1)
        try bench.outcome(2)
        #expect(bench.outcomes.response(1)?.status == 200)
        #expect(bench.outcomes.response(2)?.status == 200)
        #expect(access(origin.directory + "/keys", F_OK) != 0)
    }

    @Test func `a worker that is killed loses its requests once and is replaced for the next one`() throws {
        guard let origin = Origin() else { return }
        let bench = try Bench(Self.honestWorker())
        try bench.fetch(1, try origin.url(.plain, "/silent"))
        try bench.fetch(2, try origin.url(.plain, "/silent"))
        #expect(try bench.driver.turn { origin.connections() == 2 })
        let pid = try #require(bench.client.workerPID)
        kill(pid, SIGKILL)
        try bench.outcome(1)
        try bench.outcome(2)
        try bench.fetch(3, try origin.url(.plain, "/ok"))
        try bench.outcome(3)
        #expect(bench.outcomes.failure(1) == .workerLost && bench.outcomes.failure(2) == .workerLost)
        #expect(bench.outcomes.response(3)?.status == 200)
        #expect(bench.client.launches == 2)
        try bench.driver.turn(for: Milliseconds(300))
        #expect(bench.outcomes.byID.values.allSatisfy { $0.count == 1 })
        // Reaped: there is no such process any more, not even as a zombie.
        #expect(kill(pid, 0) == -1 && errno == ESRCH)
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func `a worker that is told to end carries on for its daemon`(number: Int32) throws {
        guard let origin = Origin() else { return }
        let bench = try Bench(Self.honestWorker())
        try bench.fetch(1, try origin.url(.plain, "/ok"))
        try bench.outcome(1)
        let pid = try #require(bench.client.workerPID)
        kill(pid, number)
        try bench.fetch(2, try origin.url(.plain, "/ok"))
        try bench.outcome(2)
        #expect(bench.outcomes.response(2)?.status == 200)
        #expect(bench.client.workerPID == pid)
        #expect(bench.client.launches == 1)
    }

    @Test func `a worker that stands still is late, then killed and replaced`() throws {
        guard let origin = Origin() else { return }
        let bench = try Bench(Self.honestWorker())
        try bench.fetch(1, try origin.url(.plain, "/ok"))
        try bench.outcome(1)
        let pid = try #require(bench.client.workerPID)
        kill(pid, SIGSTOP)
        let start = bench.driver.now.boot
        try bench.fetch(2, try origin.url(.plain, "/ok"), timeout: Milliseconds(300))
        try bench.fetch(3, try origin.url(.plain, "/ok"))
        try bench.outcome(2)
        #expect(bench.outcomes.failure(2) == .timeout)
        #expect(bench.driver.now.boot - start < .seconds(1))
        try bench.outcome(3)
        #expect(bench.outcomes.failure(3) == .workerLost)
        try bench.fetch(4, try origin.url(.plain, "/ok"))
        try bench.outcome(4)
        #expect(bench.outcomes.response(4)?.status == 200)
        #expect(bench.client.launches == 2)
        #expect(try bench.driver.turn { kill(pid, 0) == -1 && errno == ESRCH })
    }

    @Test func `a worker that is late but alive stays`() throws {
        let bench = try Bench(liar: "pings")
        try bench.fetch(1, timeout: Milliseconds(100))
        try bench.outcome(1)
        #expect(bench.outcomes.failure(1) == .timeout)
        try bench.driver.turn(for: Milliseconds(600))
        try bench.fetch(2, timeout: Milliseconds(100))
        try bench.outcome(2)
        #expect(bench.outcomes.failure(2) == .timeout)
        #expect(bench.client.launches == 1)
    }

    @Test(arguments: [
        "garbage", "unknown", "endless", "deep", "status", "fraction", "retry", "date", "body", "type",
        "media",
        "base64", "lost", "call", "exit",
    ])
    func `a worker that lies is dropped and costs the requests that it had`(_ way: String) throws {
        let bench = try Bench(liar: way)
        try bench.fetch(1)
        try bench.fetch(2)
        try bench.outcome(1)
        try bench.outcome(2)
        #expect(bench.outcomes.failure(1) == .workerLost && bench.outcomes.failure(2) == .workerLost)
        #expect(bench.client.launches == 1 && bench.client.workerPID == nil)
        try bench.fetch(3)
        try bench.outcome(3)
        #expect(bench.outcomes.failure(3) == .workerLost)
        #expect(bench.client.launches == 2)
        #expect(bench.outcomes.byID.values.allSatisfy { $0.count == 1 })
    }

    @Test func `an answer given twice is believed once`() throws {
        let bench = try Bench(liar: "twice")
        try bench.fetch(1)
        try bench.outcome(1)
        #expect(bench.outcomes.response(1)?.status == 200)
        #expect(try bench.driver.turn { bench.client.workerPID == nil })
        #expect(bench.outcomes.count(1) == 1)
    }

    @Test func `an answer to what was given up is read by nobody`() throws {
        let bench = try Bench(liar: "cancelled")
        try bench.fetch(1, timeout: Milliseconds(400))
        try bench.fetch(2, timeout: Milliseconds(400))
        bench.client.cancel(1)
        try bench.outcome(2)
        #expect(bench.outcomes.failure(2) == .timeout)
        #expect(bench.outcomes.count(1) == 0)
        #expect(bench.client.launches == 1)
    }

    @Test func `workers are replaced ever more slowly, and quickly again after one that answered`() throws {
        final class Launcher: WorkerLauncher {
            var way = "exit"
            var times: [Milliseconds] = []
            let driver: () -> BootTime
            init(_ driver: @escaping () -> BootTime) { self.driver = driver }
            func launch() throws(WorkerLaunchFailure) -> WorkerEndpoint {
                times.append(Milliseconds(driver().milliseconds))
                return try SpawningLauncher(
                    path: "/usr/bin/python3", arguments: [Scripts.path("liar.py"), way]
                ).launch()
            }
        }
        let clock = try Driver()
        let launcher = Launcher { clock.now.boot }
        let bench = try Bench(launcher) { $0.longestDelay = Milliseconds(150) }
        for id in 1...4 {
            try bench.fetch(UInt64(id))
            try bench.outcome(UInt64(id))
        }
        let gaps = zip(launcher.times.dropFirst(), launcher.times).map { $0.count - $1.count }
        #expect(gaps.count == 3)
        #expect(gaps[0] >= 50 && gaps[1] >= 100 && gaps[2] >= 150)
        launcher.way = "honest"
        try bench.fetch(5)
        try bench.outcome(5)
        #expect(bench.outcomes.response(5)?.text == "truth")
    }

    @Test func `a worker that cannot be started fails requests, and later than their call`() throws {
        let bench = try Bench(SpawningLauncher(path: "/nonexistent/chatauth-fetch"))
        try bench.fetch(1)
        #expect(bench.outcomes.count(1) == 0)
        try bench.outcome(1)
        // It cannot have arrived anywhere: what it carried is worth what it was.
        #expect(bench.outcomes.failure(1) == .workerNotStarted)
        #expect(bench.client.launches == 0)
    }

    @Test func `a request that no worker may see never reaches one`() throws {
        let bench = try Bench(liar: "honest")
        bench.client.fetch(
            .test(1, try HTTPURL("https://127.0.0.1/"), headers: [("X-A", SecretBytes("a\r\nX-B: b"))]))
        try bench.outcome(1)
        #expect(bench.outcomes.failure(1) == .badRequest)
        #expect(bench.client.launches == 0)
    }

    @Test func `shutting down ends the worker and what it had`() throws {
        guard let origin = Origin() else { return }
        let bench = try Bench(Self.honestWorker())
        try bench.fetch(1, try origin.url(.plain, "/silent"))
        #expect(try bench.driver.turn { origin.connections() == 1 })
        let pid = try #require(bench.client.workerPID)
        bench.client.shutdown()
        try bench.outcome(1)
        #expect(bench.outcomes.failure(1) == .workerLost)
        // By itself: it is not killed before two seconds are over.
        #expect(try bench.driver.turn(within: .seconds(1)) { kill(pid, 0) == -1 && errno == ESRCH })
        try bench.fetch(2)
        try bench.outcome(2)
        #expect(bench.outcomes.failure(2) == .workerNotStarted)
    }

    @Test func `a worker that stands still at the end is ended`() throws {
        guard let origin = Origin() else { return }
        let bench = try Bench(Self.honestWorker()) { $0.farewell = Milliseconds(200) }
        try bench.fetch(1, try origin.url(.plain, "/ok"))
        try bench.outcome(1)
        let pid = try #require(bench.client.workerPID)
        kill(pid, SIGSTOP)
        bench.client.shutdown()
        #expect(kill(pid, 0) == 0)
        #expect(try bench.driver.turn { kill(pid, 0) == -1 && errno == ESRCH })
    }

    @Test func `a worker that stands still outlives nobody who will not turn the loop again`() throws {
        guard let origin = Origin() else { return }
        let bench = try Bench(Self.honestWorker())
        try bench.fetch(1, try origin.url(.plain, "/ok"))
        try bench.outcome(1)
        let pid = try #require(bench.client.workerPID)
        kill(pid, SIGSTOP)
        bench.client.shutdown()
        bench.client.killChildren()
        // Waits for its end and leaves it to be reaped.
        var info = siginfo_t()
        #expect(waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) == 0)
        #expect(info.si_code == CLD_KILLED)
    }

    @Test func `requests may be given up without end while the worker says so`() throws {
        guard let origin = Origin() else { return }
        let bench = try Bench(Self.honestWorker())
        for round in 0..<6 {
            for id in 1...50 {
                let id = UInt64(round * 100 + id)
                try bench.fetch(id, try origin.url(.plain, "/silent"))
                bench.client.cancel(id)
            }
            // The worker answers in order where it need not wait: with this one all of those are answered.
            let last = UInt64(round * 100 + 99)
            try bench.fetch(last, try origin.url(.plain, "/ok"))
            try bench.outcome(last)
            #expect(bench.outcomes.response(last)?.status == 200)
        }
        #expect(bench.client.launches == 1 && bench.outcomes.byID.count == 6)
    }

    @Test func `a worker that owes too many answers is replaced`() throws {
        let bench = try Bench(liar: "pings")
        for id in 1...128 {
            try bench.fetch(UInt64(id))
            bench.client.cancel(UInt64(id))
        }
        #expect(bench.client.workerPID != nil)
        try bench.fetch(129)
        try bench.fetch(130)
        bench.client.cancel(129)
        #expect(bench.client.workerPID == nil)
        try bench.outcome(130)
        #expect(bench.outcomes.failure(130) == .workerLost && bench.outcomes.byID.count == 1)
    }

    @Test func `each request has one outcome, however often the worker is killed`() throws {
        guard let origin = Origin() else { return }
        var random = SeededGenerator.announced(for: "worker kills")
        let bench = try Bench(Self.honestWorker()) {
            $0.firstDelay = Milliseconds(5)
            $0.longestDelay = Milliseconds(10)
        }
        var given: UInt64 = 0
        for _ in 0..<30 {
            for _ in 0..<Int.random(in: 1...20, using: &random) {
                given += 1
                try bench.fetch(given, try origin.url(.plain, Bool.random(using: &random) ? "/ok" : "/short"))
            }
            try bench.driver.turn(for: Milliseconds(Int64.random(in: 0...30, using: &random)))
            if let pid = bench.client.workerPID { kill(pid, SIGKILL) }
        }
        #expect(try bench.driver.turn { bench.outcomes.byID.count == Int(given) })
        try bench.driver.turn(for: Milliseconds(200))
        #expect(bench.outcomes.byID.values.allSatisfy { $0.count == 1 })
        let failures = bench.outcomes.byID.values.compactMap { outcomes -> FetchFailure? in
            if case .failure(let failure)? = outcomes.first { failure } else { nil }
        }
        #expect(failures.contains(.workerLost))
        #expect(failures.allSatisfy { [.workerLost, .connectionLost, .tooManyRequests].contains($0) })
        #expect(bench.client.launches > 5)
    }
}
