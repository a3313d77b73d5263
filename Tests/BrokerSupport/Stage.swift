package import Broker
package import CredentialCore
import EventLoop
import JSON
package import Log
package import RPCServer
package import Secrets
import TestSupport

/// The daemon's inside on one thread without a system: bytes in, bytes out, everything else a fake that the test holds.
package final class Stage {
    package let clock = ManualClock()
    package let store = MemoryStore()
    package let fetcher = FakeFetcher()
    package let files = FakeFiles()
    package let signer = DirectSigner()
    package let audit = FakeAudit()
    package let waker = ManualWaker()
    package let control = FakeControl()
    package let records = RecordingSink()
    package let broker: Broker
    package private(set) var alarms: [ManualAlarm] = []
    package var policy: Policy
    private var serving: RPCServer?
    private var lastConnection: UInt64 = 0

    /// One's own instance, with uid 1000, unless something else is said.
    package init(
        instance: InstanceKind = .user(uid: 1000), limits: Limits? = nil, isOpen: Bool = true,
        accounts: [AccountDefinition] = []
    ) throws {
        policy = Policy(instance: instance)
        let log = Logger(sink: records, threshold: { .debug })
        broker = Broker(
            ports: BrokerPorts(
                clock: clock, store: store, files: files, fetcher: fetcher, signer: signer,
                waker: waker, draw: { [drawing = Drawing()] in drawing.next() }),
            log: log, sharesDevices: instance.isUser, version: "1.2.3")
        var usual: Limits = .system
        if case .user = instance { usual = .user }
        let server = try RPCServer(
            broker: broker, policy: { [unowned self] in policy }, audit: audit, control: control,
            limits: limits ?? usual, descriptors: 65_536, log: log
        ) { [unowned self] handler in
            let alarm = ManualAlarm(handler)
            alarms.append(alarm)
            return alarm
        }
        serving = server
        store.observer = broker
        fetcher.observer = broker
        files.observer = broker
        signer.observer = broker
        audit.observer = server
        broker.configure(accounts)
        if isOpen { open() }
    }

    package var server: RPCServer {
        guard let serving else { preconditionFailure("a stage has a server") }
        return serving
    }

    /// Opens the store with what it holds.
    package func open() {
        broker.storeDidOpen(store.contents)
        run()
    }

    /// The account with that name.
    package func account(_ name: String) -> Account? { broker.account(named: name.utf8.span) }

    // MARK: Clients

    /// A client, or nil where no more are admitted.
    package func connect(
        uid: UInt32 = 1000, gid: UInt32? = nil, groups: [UInt32] = [], onAdminSocket: Bool = false
    ) -> MemoryConnection? {
        let peer = Peer(pid: 4711, uid: uid, gid: gid ?? uid, groups: groups)
        guard server.shouldAdmit(peer, isAdminSocket: onAdminSocket) else { return nil }
        lastConnection += 1
        let connection = MemoryConnection(
            id: lastConnection, peer: peer, isAdminSocket: onAdminSocket, handler: server)
        server.connectionDidOpen(connection)
        return connection
    }

    /// Bytes from a client, without anything else happening.
    package func receive(_ text: String, from connection: MemoryConnection) {
        receive(Array(text.utf8), from: connection)
    }

    package func receive(_ bytes: [UInt8], from connection: MemoryConnection) {
        server.connection(connection, didReceive: bytes.span)
        server.batchDidEnd()
    }

    /// Sends a line, lets everything happen that needs no time, and returns what came back.
    package func ask(_ connection: MemoryConnection, _ line: String) -> String {
        receive(line + "\n", from: connection)
        run()
        return connection.take()
    }

    /// Calls a method with the id 1 and returns what comes back, without its line end.
    package func call(_ connection: MemoryConnection, _ method: String, _ params: String? = nil) -> String {
        let rest = params.map { #","params":"# + $0 } ?? ""
        let answer = ask(connection, #"{"jsonrpc":"2.0","id":1,"method":"\#(method)"\#(rest)}"#)
        return answer.hasSuffix("\n") ? String(answer.dropLast()) : answer
    }

    // MARK: What happens

    /// Lets disk, files and audit log answer until they have nothing to say.
    package func run() {
        while store.completeOne() || files.completeOne() || audit.completeOne() || fetcher.completeOne()
            || signer.completeOne()
        {}
    }

    /// Lets time pass; whoever wants to be woken in between is.
    package func advance(_ length: Milliseconds) {
        let end = clock.now.boot + length
        var steps = 0
        while true {
            run()
            let moments = [waker.moment] + alarms.map(\.moment)
            guard let next = moments.compactMap({ $0 }).min(), next <= end else { break }
            if next > clock.now.boot { clock.now = clock.now + (next - clock.now.boot) }
            if waker.moment.map({ $0 <= clock.now.boot }) ?? false {
                waker.fire()
                broker.wakeUp()
            }
            for alarm in alarms where alarm.moment.map({ $0 <= clock.now.boot }) ?? false { alarm.ring() }
            steps += 1
            precondition(steps < 1_000_000, "somebody spins")
        }
        clock.now = clock.now + (end - clock.now.boot)
        run()
    }

    /// Ends the server, as the end of the program would.
    package func endServer() { serving = nil }
}

/// Numbers that look random and are the same in every run.
private final class Drawing {
    private var generator = SeededGenerator(seed: 1)
    func next() -> UInt64 { generator.next() }
}

/// What the program would do.
package final class FakeControl: DaemonControl {
    package var outcome = ReloadOutcome.done(accounts: 0)
    package private(set) var level: LogLevel?
    package var names: any NameResolver = NumberNames()
    package var facts = DaemonFacts(
        version: "1.2.3", startedAt: WallTime(seconds: 1_767_225_000), worker: "idle", workerKind: "child",
        isAuditWritable: true, isMemoryLocked: true, remarks: ["a remark"])
    package var storeFacts = StoreFacts(
        path: "/state/store.db", format: 1, epoch: 7, rows: 3, isMemoryLocked: true, hasBallast: true)

    package init() {}

    package func reload(_ completion: @escaping (ReloadOutcome) -> Void) { completion(outcome) }
    package func checkConfiguration(_ completion: @escaping ([String]) -> Void) {
        if case .refused(let faults) = outcome { completion(faults) } else { completion([]) }
    }
    package func readAccount(
        _ parameters: SecretBytes,
        _ completion: @escaping (Result<AccountDefinition, AccountDefinitionJSON.Failure>) -> Void
    ) -> Bool {
        completion(
            parameters.withSpan { bytes in
                var document = JSONDocument()
                guard let value = try? document.parse(bytes) else {
                    return .failure(AccountDefinitionJSON.Failure(faults: []))
                }
                do throws(AccountDefinitionJSON.Failure) {
                    return .success(try AccountDefinitionJSON.added(value, names: names))
                } catch {
                    return .failure(error)
                }
            })
        return true
    }
    /// What the store would become of a key: told what was handed over, says how that went.
    package var unsealing: ((SecretBytes) -> Void)?
    package func unseal(with key: SecretBytes, _ completion: @escaping () -> Void) {
        unsealing?(key)
        completion()
    }
    package func setLogLevel(_ level: LogLevel) { self.level = level }
    package func fingerprint(of secret: SecretBytes) -> String { "print-\(secret.count)" }
}

/// Users and groups whose names are `u7` and `g7`.
package struct NumberNames: NameResolver {
    package init() {}
    package func uid(of user: String) -> UInt32? { user.first == "u" ? UInt32(user.dropFirst()) : nil }
    package func gid(of group: String) -> UInt32? { group.first == "g" ? UInt32(group.dropFirst()) : nil }
}

/// Keeps what was logged.
package final class RecordingSink: LogSink, @unchecked Sendable {
    // Read and written under the lock only.
    private let lock = Lock()
    private var kept: [LogRecord] = []

    package init() {}

    package func write(_ record: LogRecord) { lock.withLock { kept.append(record) } }
    package var lines: [String] { lock.withLock { kept.map(\.line) } }
}
