import AuditLog
import Broker
import CLinux
import ChatAuthAPI
import Configuration
import CredentialCore
import EventLoop
import Glibc
import LocalFiles
import LocalSocket
import Log
import RPCServer
import SQLiteStore
import Secrets
import Signing
import SystemdSupport
import WorkerProtocol

/// Knows every part and joins them; decides nothing that one of them could.
final class Daemon {
    let arguments: Arguments
    let places: Places
    let loop: EventLoop
    let log: Logger
    let level: LogThreshold
    let clock: SystemClock
    let serviceManager: ServiceManager
    let store: SQLiteStore
    let audit: AuditLog
    let auditKey: AuditKey
    let files: FileReader
    let signing: SigningThread
    let worker: WorkerClient
    let broker: Broker
    var settings: DaemonSettings
    let lookup: NameLookup
    let startedAt: WallTime
    private(set) var isMemoryLocked = false
    private let waker: LoopWaker
    private var server: RPCServer?
    private(set) var sockets: SocketServer?
    var ownSockets: [String] = []
    private var signals: [LoopSource] = []
    private var clockWatch: DescriptorWatch?
    private let stopTimer: LoopTimer
    let keyTimer: LoopTimer
    var hasWaitedForKey = false
    private var stopBegan = BootTime.distantFuture
    let opening: StoreOpening
    let given: [ActivatedSockets.Socket]
    private let watchdogMicroseconds: Int64?
    private(set) var pulse: Pulse?
    let reloadMailbox: Mailbox<ReloadResult>
    var reloads: [Reading] = []
    var reloadThread: WorkerThread?

    /// Why the daemon does not start: a sentence for the operator.
    struct Failure: Error {
        let message: String
    }

    init(
        arguments: Arguments, places: Places, configuration: Configuration, sink: any LogSink,
        serviceManager: ServiceManager, watchdogMicroseconds: Int64?,
        sockets given: [ActivatedSockets.Socket], credentialsDirectory: String?
    ) throws {
        self.given = given
        self.arguments = arguments
        self.places = places
        self.serviceManager = serviceManager
        self.watchdogMicroseconds = watchdogMicroseconds
        settings = configuration.settings
        level = LogThreshold(arguments.logLevel ?? configuration.settings.logLevel)
        log = Logger(sink: sink, threshold: { [level] in level.value })
        loop = try EventLoop()
        clock = SystemClock(bootID: BootID(Process.bootID()))
        startedAt = clock.now.wall
        // Before any thread is started: threads inherit the mask.
        let relay = Relay<Int32>()
        for number in [SIGTERM, SIGINT, SIGHUP] {
            signals.append(try loop.watchSignal(number) { relay.handler?(number) })
        }
        let keySource: MasterKeySource =
            places.keyFile.map { .file(path: $0, mayCreate: !arguments.isSystem) } ?? .none
        // A migration may take longer than a start may.
        let patience = try StartExtension(serviceManager)
        defer { patience.end() }
        do throws(StoreFailure) {
            (store, opening) = try SQLiteStore.open(
                paths: StorePaths(
                    stateDirectory: places.stateDirectory, epochDirectory: places.epochDirectory),
                loop: loop, keySource: keySource, clock: clock)
        } catch {
            throw Failure(message: Self.words(for: error, places))
        }
        do {
            auditKey = try AuditKey.loadOrMake(
                in: places.stateDirectory, log: places.auditDirectory, logger: log)
            audit = try AuditLog(
                directory: places.auditDirectory, key: auditKey.bytes,
                segmentBytes: configuration.settings.audit.segmentBytes,
                segmentCount: configuration.settings.audit.segments, loop: loop, logger: log)
        } catch {
            throw Failure(message: "the audit log in \(places.auditDirectory) cannot be opened: \(error)")
        }
        files = try FileReader(loop: loop, owner: geteuid(), credentialsDirectory: credentialsDirectory)
        signing = try SigningThread(loop: loop)
        worker = try WorkerClient(
            loop: loop, clock: clock,
            launcher: Self.launcher(arguments, configuration.settings),
            logger: log)
        waker = try LoopWaker(loop: loop)
        lookup = try NameLookup(loop: loop, names: { SystemNames() })
        broker = Broker(
            ports: BrokerPorts(
                clock: clock, store: store, files: files, fetcher: worker, signer: signing, waker: waker,
                draw: Process.random),
            log: log, sharesDevices: !arguments.isSystem, version: Version.text
        )
        let outcome = Relay<ReloadResult>()
        reloadMailbox = try loop.makeMailbox { outcome.handler?($0) }
        // Made now: at the end there may be no descriptor left for it.
        let end = Relay<Void>()
        stopTimer = try loop.makeTimer { end.handler?(()) }
        let waited = Relay<Void>()
        keyTimer = try loop.makeTimer { waited.handler?(()) }
        end.handler = { [unowned self] _ in finishStopping() }
        waited.handler = { [unowned self] _ in stopWaitingForKey() }
        outcome.handler = { [unowned self] in finishReload($0) }
        relay.handler = { [unowned self] in receive(signal: $0) }
        waker.broker = broker
        store.observer = broker
        store.ballastDidChange = { [unowned self] in note(ballast: $0) }
        files.observer = broker
        worker.observer = broker
        signing.observer = broker
        clockWatch = try loop.watchClockChange { [unowned self] in broker.review() }
        broker.configure(configuration.accounts)
    }

    /// Serves until a signal ends it; returns the exit status.
    func run() throws -> Int32 {
        let server = try RPCServer(
            broker: broker, policy: { [unowned self] in policy }, audit: audit, control: self,
            limits: settings.limits, descriptors: Process.raiseDescriptorLimit(), loop: loop, log: log)
        audit.observer = server
        let sockets = try SocketServer(loop: loop, handler: server, log: log)
        sockets.pinsPeersAtOnce = arguments.isSystem && !SocketServer.canPinLater
        sockets.hidden = UserNamespace.hidden()
        self.server = server
        self.sockets = sockets
        switch opening {
        case .open(let contents): broker.storeDidOpen(contents)
        case .sealed(let reason): broker.storeDidStaySealed(reason)
        }
        try listen(sockets)
        log.log(
            .notice, "Started", id: MessageID.started, (.version, .public(Version.text)),
            (.count, .integer(Int64(broker.accountCount))))
        Process.forgetStart()
        isMemoryLocked = Process.lockMemory()
        pulse = try Pulse(
            loop: loop, serviceManager: serviceManager, watchdogMicroseconds: watchdogMicroseconds,
            ask: { [store] in store.ping($0) }, status: { [unowned self] in statusLine })
        serviceManager.ready(status: statusLine)
        return try loop.run()
    }

    var policy: Policy {
        Policy(instance: arguments.isSystem ? .system(admins: settings.admins) : .user(uid: geteuid()))
    }

    // MARK: Signals

    private func receive(signal number: Int32) {
        switch number {
        case SIGHUP: reload { _ in }
        default: stop()
        }
    }

    /// Takes no more clients, sends those away who wait, lets the disk finish, and ends.
    private func stop() {
        guard !broker.isShuttingDown else { return }
        log.log(.notice, "Stopping", id: MessageID.stopping)
        serviceManager.stopping()
        sockets?.stopListening()
        // Not those that systemd listens on: it would wait for clients at a path that is gone.
        for path in ownSockets { unlink(path) }
        broker.shutDown()
        stopBegan = clock.now.boot
        stopTimer.set(bootMilliseconds: 0)
    }

    private func finishStopping() {
        // All together less than the TimeoutStopSec=20 of the units: a grant that is at its server is waited for as long as that may take.
        let patience = Milliseconds.seconds(broker.pendingGrants == 0 ? 5 : 13)
        guard broker.pendingChanges == 0 || clock.now.boot >= stopBegan + patience else {
            stopTimer.set(bootMilliseconds: clock.now.boot.milliseconds + 10)
            return
        }
        server?.close()
        sockets?.closeAll()
        worker.shutdown()
        if !store.close(withinMilliseconds: 3000) {
            log.log(.warning, "The store's thread did not end in time")
        }
        if !audit.close(withinMilliseconds: 2000) {
            log.log(.warning, "The audit log's thread did not end in time")
        }
        // It was told to end before the disk was waited for, and holds nothing that lasts.
        worker.killChildren()
        loop.stop(code: 0)
    }

    private func note(ballast isThere: Bool) {
        if isThere {
            log.log(.notice, "Disk space for spent grants is reserved again", id: MessageID.ballastPresent)
        } else {
            log.log(
                .error, "The disk is full, no grant is spent until there is room again",
                id: MessageID.ballastMissing)
        }
    }

    // MARK: Words

    var statusLine: String {
        guard broker.storeState == .open else {
            return "sealed: the store is not open; chatauth status says why"
        }
        let counts = broker.stateCounts()
        let fresh = (counts[.fresh] ?? 0) + (counts[.due] ?? 0)
        return "\(fresh) accounts fresh, \(counts[.refreshing] ?? 0) refreshing, "
            + "\(counts[.signInNeeded] ?? 0) need sign-in"
    }

    private static func launcher(_ arguments: Arguments, _ settings: DaemonSettings) -> any WorkerLauncher {
        if let path = arguments.fetchSocket { return ConnectingLauncher(path: path) }
        return SpawningLauncher(path: settings.fetchWorker ?? workerPath())
    }

    private static func workerPath() -> String {
        let own = Process.ownDirectory()
        let installed = own + "/../lib/chatauth/chatauth-fetch"
        return access(installed, X_OK) == 0 ? installed : own + "/chatauth-fetch"
    }

    private static func words(for failure: StoreFailure, _ places: Places) -> String {
        switch failure {
        case .inUse:
            "another daemon holds the store in \(places.stateDirectory); end it, or use another --state-directory"
        case .full: "no space in \(places.stateDirectory)"
        case .io(let code) where code < 0:
            "the store in \(places.stateDirectory) cannot be used: \(String(cString: strerror(-code)))"
        default: "the store in \(places.stateDirectory) cannot be used: \(failure)"
        }
    }
}

/// Hands what the loop says to a daemon that is made after it was asked to say so.
private final class Relay<Argument> {
    var handler: ((Argument) -> Void)?
}
