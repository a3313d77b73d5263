import AuditLog
import Broker
import ChatAuthAPI
import Configuration
import CredentialCore
import EventLoop
import Glibc
import Log
import RPCServer
import SQLiteStore
import Secrets
import SystemdSupport
import WorkerProtocol

/// The configuration as a thread of its own read it: names may have to be looked up on another machine.
typealias ReloadResult = Result<Configuration, ConfigurationFailure>

/// What the server asks of the whole program.
extension Daemon: DaemonControl {
    func reload(_ completion: @escaping (ReloadOutcome) -> Void) {
        read(Reading(applies: true, completion: completion))
    }

    func checkConfiguration(_ completion: @escaping ([String]) -> Void) {
        read(
            Reading(applies: false) { outcome in
                if case .refused(let faults) = outcome { completion(faults) } else { completion([]) }
            })
    }

    /// A reading of the configuration that somebody waits for.
    struct Reading {
        /// Whether what was read counts from then on.
        let applies: Bool
        let completion: (ReloadOutcome) -> Void
    }

    private func read(_ reading: Reading) {
        reloads.append(reading)
        // One is on its way: it may have read the files before they were changed, so another follows it.
        guard reloads.count == 1 else { return }
        startReload()
    }

    private func startReload() {
        if reloads.first?.applies == true { serviceManager.reloading() }
        let request = ConfigurationRequest(arguments: arguments, places: places)
        do throws(EventLoopFailure) {
            reloadThread = try WorkerThread(name: "reload") { [reloadMailbox] in
                reloadMailbox.send(request.read())
            }
        } catch {
            // None is under way now, so nobody would answer those behind it either.
            let refused = reloads
            reloads = []
            serviceManager.ready(status: statusLine)
            for reading in refused {
                reading.completion(.refused(["no thread could be started to read it; try again"]))
            }
        }
    }

    func finishReload(_ result: ReloadResult) {
        // It has sent its message, so it is at its end.
        reloadThread?.join()
        reloadThread = nil
        switch result {
        case .success(let configuration) where reloads.first?.applies == true:
            settings = configuration.settings
            level.value = arguments.logLevel ?? configuration.settings.logLevel
            broker.reconfigure(configuration.accounts) { [unowned self] in
                log.log(
                    .notice, "Configuration loaded", id: MessageID.configurationLoaded,
                    (.count, .integer(Int64(configuration.accounts.count))))
                answerReload(.done(accounts: broker.accountCount))
            }
        case .success(let configuration): answerReload(.done(accounts: configuration.accounts.count))
        case .failure(let failure):
            for fault in failure.faults where reloads.first?.applies == true {
                log.log(
                    .error, "Configuration refused, the running one stays",
                    id: MessageID.configurationRefused,
                    (.reason, .public(fault.line)))
            }
            answerReload(.refused(failure.faults.map(\.line)))
        }
    }

    // Only now is there none under way: the next one would otherwise overtake what this one has left to do.
    private func answerReload(_ outcome: ReloadOutcome) {
        let reading = reloads.removeFirst()
        if reading.applies {
            reopenStore { reading.completion(outcome) }
            serviceManager.ready(status: statusLine)
        } else {
            reading.completion(outcome)
        }
        if !reloads.isEmpty { startReload() }
    }

    /// Tries a store that is sealed again; `done` comes when it is known what became of that, so that who is told finds it so.
    private func reopenStore(_ done: @escaping () -> Void) {
        guard broker.storeState != .open else { return done() }
        store.reopen()
        afterOpening(done)
    }

    /// Calls `done` behind the answer to an attempt to open the store, which takes long where the store is migrated.
    private func afterOpening(_ done: @escaping () -> Void) {
        pulse?.expectLongWork()
        let isAsked = store.ping { [pulse] in
            pulse?.longWorkDidEnd()
            done()
        }
        if !isAsked { done() }
    }

    func setLogLevel(_ level: LogLevel) { self.level.value = level }

    func unseal(with key: SecretBytes, _ completion: @escaping () -> Void) {
        store.unseal(with: key)
        afterOpening { [unowned self] in
            stopWaitingForKey()
            completion()
        }
    }

    func readAccount(_ parameters: SecretBytes, _ completion: @escaping (NameLookup.Answer) -> Void) -> Bool {
        lookup.read(parameters, completion)
    }

    func fingerprint(of secret: SecretBytes) -> String { auditKey.fingerprint(of: secret) }

    var facts: DaemonFacts {
        var remarks: [String] = []
        if arguments.fetchSocket == nil {
            remarks.append(
                "the fetch worker is a child of the broker: it runs as the same user, without a sandbox of its own"
            )
        }
        if !isMemoryLocked {
            remarks.append(
                "memory is not locked: credentials may reach the swap; raise LimitMEMLOCK to infinity")
        }
        return DaemonFacts(
            version: Version.text, startedAt: startedAt,
            worker: worker.isConnected ? "running" : "idle",
            workerKind: arguments.fetchSocket == nil ? "child" : "unit",
            isAuditWritable: audit.isWritable, lostAuditEntries: audit.dropped,
            isAuditKeyRemade: auditKey.isRemade, isMemoryLocked: isMemoryLocked, remarks: remarks)
    }

    var storeFacts: StoreFacts {
        StoreFacts(
            path: store.status.path, format: store.status.formatVersion ?? 0, epoch: store.status.epoch ?? 0,
            rows: Int64(store.status.rows), isMemoryLocked: store.status.isMemoryLocked,
            hasBallast: store.status.hasBallast)
    }
}

/// Reads the configuration from its files.
struct ConfigurationRequest: Sendable {
    let arguments: Arguments
    let places: Places

    func read() -> ReloadResult {
        let isSystem = arguments.isSystem
        return Result { () throws(ConfigurationFailure) in
            let files = try ConfigurationFiles.load(
                mainPath: places.configuration, accountsDirectory: places.accountsDirectory,
                trust: isSystem ? .system : .user(geteuid()), mainIsRequired: places.isConfigurationRequired)
            return try Configuration.read(files, defaults: isSystem ? .system : .user, names: SystemNames())
        }
    }
}
