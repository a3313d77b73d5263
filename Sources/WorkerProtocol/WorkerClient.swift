package import CredentialCore
package import EventLoop
import JSON
import JSONRPC
package import Log
import Secrets

/// The broker's side: requests to the worker, one outcome each, whatever the worker does.
///
/// The worker is believed nothing. It is started when there is something to fetch, every request has its deadline here, and a
/// worker that says what cannot be, or says nothing, is killed and replaced: after a second at first, then after twice as long each time, up to
/// half a minute, until one answers. Requests that it had end as `workerLost`; those that come meanwhile wait for the next one
/// as long as their own time allows. No outcome is told from within `fetch`.
package final class WorkerClient: FetchPort {
    /// How long things may take.
    package struct Timing: Sendable {
        /// What a worker has beyond a request's own time-out.
        package var grace = Milliseconds.seconds(1)
        /// What a worker that is late has to show that it lives.
        package var ping = Milliseconds.seconds(2)
        /// Between a worker that was lost and the next one.
        package var firstDelay = Milliseconds.seconds(1)
        /// What that delay doubles up to.
        package var longestDelay = Milliseconds.seconds(30)
        /// What a worker that is let go has to end by itself.
        package var farewell = Milliseconds.seconds(2)

        /// What a daemon uses.
        package init() {}
    }

    /// Gets every outcome.
    package weak var observer: (any FetchObserver)?
    /// How many workers have been started.
    package private(set) var launches = 0

    private struct Ping {
        let id: Int64
        let deadline: BootTime
    }
    private enum Loss {
        case launch(WorkerLaunchFailure)
        case loop(EventLoopFailure)
        case channel(LineChannel.End)
        case silent
        case tooFewAnswers
    }

    private let loop: EventLoop
    private let clock: any Clock
    private let launcher: any WorkerLauncher
    private let logger: Logger
    private let timing: Timing
    private var timer: LoopTimer?

    private var channel: LineChannel?
    private var process: WorkerProcess?
    // Every child that has not been reaped, the one in use among them.
    private var children: [Int32: WorkerProcess] = [:]
    private var notBefore = BootTime.distantPast
    private var delay: Milliseconds
    private var isShutDown = false

    private var requests = RequestTable()
    private var ping: Ping?
    // Outcomes that are told at the loop's next turn.
    private var deferred: [(id: UInt64, failure: FetchFailure)] = []

    private static let owedLimit = 2 * WireLimits.requestsInFlight
    private static let unsentLimit = 2 * WireLimits.frame

    /// A client without a worker; `launcher` makes one at the first request.
    package init(
        loop: EventLoop, clock: any Clock, launcher: any WorkerLauncher, logger: Logger,
        timing: Timing = Timing()
    ) throws(EventLoopFailure) {
        self.loop = loop
        self.clock = clock
        self.launcher = launcher
        self.logger = logger
        self.timing = timing
        delay = timing.firstDelay
        timer = try loop.makeTimer { [unowned self] in self.timerDidFire() }
    }

    /// The worker's process, where one is running as a child.
    package var workerPID: Int32? { process?.pid }

    /// Whether there is a worker now.
    package var isConnected: Bool { channel != nil }

    // MARK: FetchPort

    /// Sends `request`, whose id no request in flight has.
    ///
    /// Failures of this side are `badRequest` (against `RequestRules`), `tooManyRequests`, `workerLost` and `workerNotStarted`.
    package func fetch(_ request: FetchRequest) {
        precondition(!requests.contains(request.id), "an id is in use until its outcome")
        defer { schedule() }
        guard !isShutDown else { return deferred.append((request.id, .workerNotStarted)) }
        guard (try? RequestRules.check(request)) != nil else {
            return deferred.append((request.id, .badRequest))
        }
        guard requests.count < WireLimits.requestsInFlight, channel?.unsentBytes ?? 0 < Self.unsentLimit
        else { return deferred.append((request.id, .tooManyRequests)) }
        requests.add(request, deadline: clock.now.boot + request.timeout + timing.grace)
        sendWaiting()
    }

    /// Gives a request up, here and in the worker; an unknown one too.
    package func cancel(_ id: UInt64) {
        deferred.removeAll { $0.id == id }
        guard let number = requests.giveUp(id) else { return }
        var writer = JSONWriter()
        writer.notification(method: "cancel") { (writer: inout JSONWriter) in
            writer.beginObject()
            writer.key("id")
            writer.integer(number)
            writer.endObject()
        }
        channel?.send(writer.finish())
        checkOwed()
        schedule()
    }

    /// Lets the worker go: the end of its socket tells it to end; requests end as `workerLost` at the loop's next turn, should there be one.
    package func shutdown() {
        isShutDown = true
        dropWorker { $0.kill(after: timing.farewell) }
        failAll()
        schedule()
    }

    /// Ends every worker that has not ended yet, for when nobody turns the loop any more: one that stands still would outlive this process.
    package func killChildren() {
        for child in children.values { child.kill() }
    }

    // MARK: Worker

    private func sendWaiting() {
        guard !requests.isEmpty else { return }
        let now = clock.now.boot
        if channel == nil, now >= notBefore { start() }
        guard let channel else { return }
        requests.sendAll { number, entry in
            // What it waited for a worker is gone from its time.
            let left = (entry.deadline - now).count - timing.grace.count
            var writer = JSONWriter(capacity: 1024)
            writer.fetch(entry.request, id: number, timeout: Milliseconds(max(left, 1)))
            channel.send(writer.finish())
        }
    }

    private func start() {
        let endpoint: WorkerEndpoint
        do throws(WorkerLaunchFailure) {
            endpoint = try launcher.launch()
        } catch {
            return lose(.launch(error))
        }
        launches += 1
        do throws(EventLoopFailure) {
            channel = try LineChannel(
                loop: loop, descriptor: endpoint.channel,
                onLine: { [unowned self] line in self.handle(line) },
                onEnd: { [unowned self] end in self.channelDidEnd(end) })
            if let pid = endpoint.pid {
                process = try WorkerProcess(loop: loop, clock: clock, pid: pid) { [unowned self] _ in
                    self.children[pid] = nil
                }
                children[pid] = process
            }
        } catch {
            return lose(.loop(error))
        }
        if let pid = endpoint.pid {
            logger.log(.info, "Fetch worker started", (.pid, .integer(Int64(pid))))
        } else {
            logger.log(.info, "Fetch worker reached")
        }
    }

    private func channelDidEnd(_ end: LineChannel.End) {
        // A worker may end when it has nothing to do.
        guard end != .closedByPeer || !requests.isEmpty else {
            return dropWorker { $0.kill(after: timing.farewell) }
        }
        lose(.channel(end))
    }

    private func dropWorker(_ end: (WorkerProcess) -> Void) {
        channel?.close()
        channel = nil
        if let process { end(process) }
        process = nil
        requests.forgetOwed()
        ping = nil
    }

    private func lose(_ loss: Loss) {
        let reason =
            switch loss {
            case .launch(.socket), .loop: "descriptors"
            case .launch(.process): "not_started"
            case .launch(.unreachable): "unreachable"
            case .channel(.closedByPeer), .channel(.failed): "ended"
            case .channel(.frameTooLong), .channel(.refused): "unintelligible"
            case .silent: "silent"
            case .tooFewAnswers: "answers_missing"
            }
        logger.log(
            .warning, "Fetch worker lost", (.reason, .public(reason)),
            (.count, .integer(Int64(requests.count))),
            (.seconds, .integer(delay.secondsRoundedUp)))
        dropWorker { $0.kill() }
        failAll()
        notBefore = clock.now.boot + delay
        delay = min(Milliseconds(delay.count * 2), timing.longestDelay)
        schedule()
    }

    private func failAll() {
        deferred += requests.takeAll().map { ($0.id, $0.isSent ? .workerLost : .workerNotStarted) }
    }

    private func checkOwed() {
        if requests.owedCount > Self.owedLimit { lose(.tooFewAnswers) }
    }

    // MARK: Answers

    private func handle(_ line: Span<UInt8>) -> Bool {
        var document = JSONDocument(limits: JSONLimits(length: WireLimits.frame, depth: WireLimits.depth))
        guard let root = try? document.parse(line), case .response(let response) = JSONRPCMessage(root),
            let number = response.id.integer
        else { return false }
        if let ping, ping.id == number {
            self.ping = nil
            schedule()
            return !response.isError
        }
        switch requests.owner(of: number) {
        case .nobody: return true
        case .unknown: return false
        case .entry(let entry):
            guard let outcome = try? FetchOutcomeWire.read(response, bodyLimit: entry.request.bodyLimit)
            else {
                return false
            }
            requests.remove(number)
            delay = timing.firstDelay
            schedule()
            observer?.fetchDidEnd(entry.request.id, outcome)
            return true
        }
    }

    // MARK: Time

    private func schedule() {
        var next = BootTime.distantFuture
        if !deferred.isEmpty { next = .distantPast }
        if let deadline = requests.firstDeadline { next = min(next, deadline) }
        if let ping { next = min(next, ping.deadline) }
        if channel == nil, !requests.isEmpty { next = min(next, notBefore) }
        if next == .distantFuture { timer?.cancel() } else { timer?.set(bootMilliseconds: next.milliseconds) }
    }

    private func timerDidFire() {
        let now = clock.now.boot
        if let ping, ping.deadline <= now { lose(.silent) }
        expire(now)
        sendWaiting()
        let outcomes = deferred
        deferred = []
        schedule()
        for (id, failure) in outcomes { observer?.fetchDidEnd(id, .failure(failure)) }
    }

    private func expire(_ now: BootTime) {
        let late = requests.takeLate(now)
        for entry in late { deferred.append((entry.request.id, entry.isSent ? .timeout : .workerNotStarted)) }
        guard late.contains(where: { $0.isSent }), let channel else { return }
        if ping == nil {
            let ping = Ping(id: requests.makeNumber(), deadline: now + timing.ping)
            self.ping = ping
            var writer = JSONWriter()
            writer.request(id: ping.id, method: "ping")
            channel.send(writer.finish())
        }
        checkOwed()
    }
}
