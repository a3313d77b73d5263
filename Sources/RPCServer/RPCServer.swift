package import Broker
import ChatAuthAPI
package import CredentialCore
package import EventLoop
import JSON
import JSONRPC
package import Log
import Secrets

/// Speaks JSON-RPC with the clients: bytes to calls, calls to the broker, answers to bytes.
///
/// Everything runs on the loop. A cached token goes the whole way from the bytes of the request to those of the answer within
/// one call and without an allocation; what has to wait is a `Call` that is answered when the broker says so.
package final class RPCServer: ConnectionHandler {
    let broker: Broker
    let policy: () -> Policy
    let audit: any AuditPort
    let control: any DaemonControl
    let limits: Limits
    let log: Logger
    var quota: Quota
    /// What was done since the start.
    package internal(set) var counters = ServerCounters()

    var clients: [UInt64: Client] = [:]
    /// How many accounts the clients of each user have to do with.
    package var gripCounts: [UInt32: Int] {
        clients.values.reduce(into: [:]) { $0[$1.peer.uid, default: 0] += $1.gripCount }
    }
    var waiters: [WaiterID: Waiting] = [:]
    var handouts: [UInt64: Handout] = [:]
    var denials = DenialLog()
    // Clients that were given something again since the last note.
    var repeating: [Client] = []
    var subscribers: [UInt64: Client] = [:]
    var named = NamedPeers()
    var registry = HandlerRegistry()

    /// How nearly all requests for a token are written.
    let usualGet = PlainCall.Form(method: "token.get", text: "account", number: "min_valid")

    private var document: JSONDocument? = JSONDocument()
    private var lastWaiter: UInt64 = 0
    private var lastHandout: UInt64 = 0
    private var currentClient: Client?
    /// Answers for the client that is being served, sent together at the end of its turn.
    var output = SecretBuffer()
    var frameAlarm: (any Alarm)?
    private var tickAlarm: (any Alarm)?
    private var isTickSet = false
    // Clients that owe the rest of a frame.
    var unfinished: [UInt64: Client] = [:]
    var isFrameAlarmSet = false
    /// The time of this batch: what was ready at once is judged by one moment.
    private var batchNow: Instant?

    static let outputPiece = 64 * 1024

    /// A server for `broker`; `makeAlarm` makes the timers by which it closes slow clients and notes repeats.
    package init(
        broker: Broker, policy: @escaping () -> Policy, audit: any AuditPort, control: any DaemonControl,
        limits: Limits, descriptors: Int, log: Logger,
        makeAlarm: (@escaping () -> Void) throws(EventLoopFailure) -> any Alarm
    ) throws(EventLoopFailure) {
        self.broker = broker
        self.policy = policy
        self.audit = audit
        self.control = control
        self.limits = limits
        self.log = log
        quota = Quota(limits: limits, instance: policy().instance, descriptors: descriptors)
        frameAlarm = try makeAlarm { [unowned self] in closeSlowFrames() }
        tickAlarm = try makeAlarm { [unowned self] in tick() }
        broker.observer = self
        broker.handlers = self
    }

    /// A server whose alarms are timers of `loop`.
    package convenience init(
        broker: Broker, policy: @escaping () -> Policy, audit: any AuditPort, control: any DaemonControl,
        limits: Limits, descriptors: Int, loop: EventLoop, log: Logger
    ) throws(EventLoopFailure) {
        try self.init(
            broker: broker, policy: policy, audit: audit, control: control, limits: limits,
            descriptors: descriptors, log: log
        ) { handler throws(EventLoopFailure) in try loop.makeTimer(handler) }
    }

    /// Sends what is noted once a second, since there will be no other second.
    package func close() {
        noteAllRepeats()
        noteDenials(until: .distantFuture)
    }

    var now: Instant {
        if let batchNow { return batchNow }
        let now = broker.clock.now
        if currentClient != nil { batchNow = now }
        return now
    }

    // MARK: Connections

    /// Counts a new connection against the limits of its user, or refuses it.
    package func shouldAdmit(_ peer: Peer, isAdminSocket: Bool) -> Bool {
        let isAdmitted = quota.connectionBegan(peer.uid, isNamed: isNamed(peer, isAdminSocket))
        if !isAdmitted { counters.connectionsRefused += 1 }
        return isAdmitted
    }

    private func isNamed(_ peer: Peer, _ isAdminSocket: Bool) -> Bool {
        policy().namesAdmin(peer, isAdminSocket: isAdminSocket) || named.contains(peer)
    }

    /// Whether this is the machine's daemon, where units tell peers apart.
    var isSystem: Bool { if case .system = policy().instance { true } else { false } }

    /// Begins a client that has said nothing yet.
    package func connectionDidOpen(_ connection: any Connection) {
        counters.connectionsOpened += 1
        let client = Client(connection: connection, frameLimit: limits.frameBytes)
        client.isNamed = isNamed(connection.peer, connection.isAdminSocket)
        connection.state = client
        clients[connection.id] = client
    }

    /// Forgets a client; what it asked for goes on, since others may wait for the same.
    package func connectionDidClose(_ connection: any Connection) {
        guard let client = clients.removeValue(forKey: connection.id) else { return }
        client.isClosed = true
        // Each holds the other; what is left of the client goes with the last of its calls.
        connection.state = nil
        subscribers[connection.id] = nil
        unfinished[connection.id] = nil
        quota.connectionEnded(client.peer.uid, isNamed: client.isNamed)
        _ = quota.bytesChanged(client.peer.uid, by: -client.countedBytes)
        client.countedBytes = 0
        noteRepeats(of: client)
        abandonWaits(of: client)
        endRegistrations(of: client, because: .disconnected)
    }

    /// Ends what a client that is gone waits for, so that it takes nothing from the others of its user; the refresh goes on.
    private func abandonWaits(of client: Client) {
        let waits = client.waits
        guard !waits.isEmpty else { return }
        client.waits = [:]
        var gone: [ObjectIdentifier: (account: Account, waiters: Set<WaiterID>)] = [:]
        for (waiter, account) in waits {
            gone[ObjectIdentifier(account), default: (account, [])].waiters.insert(waiter)
            waiters.removeValue(forKey: waiter)?.call.abandon()
        }
        for (account, waiters) in gone.values { broker.apply(.waitersLeft(waiters), to: account) }
    }

    /// Ends a client that will say no more, once everything is answered.
    package func connectionDidEndInput(_ connection: any Connection) {
        guard let client = connection.state as? Client else { return }
        client.hasEndedInput = true
        // It cannot answer any more.
        endRegistrations(of: client, because: .disconnected)
        closeIfDone(client)
    }

    /// Ends a client that has said all and been told all.
    func closeIfDone(_ client: Client) {
        guard client.hasEndedInput, client.pendingCalls == 0, client.subscription == nil, !client.isEnding
        else { return }
        client.connection.close(flush: true)
    }

    /// Handles every whole frame in `bytes`; answers leave together at the end.
    package func connection(_ connection: any Connection, didReceive bytes: Span<UInt8>) {
        guard let client = connection.state as? Client else { return }
        currentClient = client
        // What was counted is what it owes.
        let repeats = client.countedBytes == 0 ? answerRepeats(bytes, client) : 0
        if repeats < bytes.count {
            take(bytes.extracting(repeats...), from: client)
            flush()
        }
        currentClient = nil
        if repeats < bytes.count, !client.isEnding { countPartialFrame(client) }
    }

    private func take(_ bytes: Span<UInt8>, from client: Client) {
        var document = self.document.take() ?? JSONDocument()
        do throws(FramingFailure<Never>) {
            try client.framer.push(bytes) { frame in
                guard !client.isEnding else { return }
                receive(frame, from: client, &document)
            }
        } catch {
            failFrame(
                client,
                CallFailure(invalidRequest: "the frame is too long; \(limits.frameBytes) bytes are allowed"))
        }
        self.document = consume document
    }

    /// Wipes what was answered: each client's answers left at the end of its turn, and those of the next overwrote them.
    package func batchDidEnd() {
        output.removeAll()
        output.shrink(to: 2 * Self.outputPiece)
        batchNow = nil
    }

    // MARK: Answers

    /// Sends a line to a client: at the end of the turn if it is the one that is being served, at once otherwise.
    func send(_ line: consuming SecretBuffer, to client: Client) {
        guard !client.isEnding else { return }
        guard client === currentClient else {
            line.withSpan { deliver($0, to: client) }
            return
        }
        output.append(copying: line)
        if output.count >= Self.outputPiece { flush() }
    }

    /// Hands what was gathered for the client that is being served to its connection.
    func flush() {
        guard !output.isEmpty else { return }
        if let currentClient { output.withSpan { deliver($0, to: currentClient) } }
        output.rewind()
    }

    func deliver(_ bytes: Span<UInt8>, to client: Client) {
        guard !client.isEnding else { return }
        // One whole answer may wait however long it is; a client that leaves more than that does not read.
        let unsent = client.connection.unsentBytes
        if unsent == 0 { client.longestUnread = 0 }
        if unsent - client.longestUnread > limits.unreadBytes {
            counters.unreadClosed += 1
            client.isEnding = true
            client.connection.close(flush: false)
            return
        }
        client.longestUnread = max(client.longestUnread, bytes.count)
        client.connection.send(bytes)
    }

    // MARK: Waiting

    /// Remembers what to do with the broker's answer, and names it.
    ///
    /// With an account it is a refresh of it that is waited for, and the wait ends with the client.
    func wait(
        _ call: Call, forRefreshOf account: Account? = nil, _ finish: @escaping (BrokerAnswer) -> Void
    ) -> WaiterID {
        lastWaiter += 1
        let id = WaiterID(lastWaiter)
        if let account { call.client.waits[id] = account }
        waiters[id] = Waiting(call: call, finish: finish)
        return id
    }

    /// Names a hand-out that waits for the audit log.
    func nextHandout() -> UInt64 {
        lastHandout += 1
        return lastHandout
    }

    // MARK: Once a second

    /// Sees to it that what is counted is noted within a second.
    func needTick() {
        guard !isTickSet else { return }
        isTickSet = true
        tickAlarm?.set(bootMilliseconds: broker.clock.now.boot.milliseconds + 1000)
    }

    private func tick() {
        isTickSet = false
        noteAllRepeats()
        noteDenials(until: broker.clock.now.boot)
        if !denials.isEmpty { needTick() }
    }
}

/// A call that waits for the broker.
struct Waiting {
    let call: Call
    let finish: (BrokerAnswer) -> Void
}

/// Calls its handler once for each setting, at a moment of the boot clock.
package protocol Alarm: AnyObject {
    func set(bootMilliseconds: Int64)
}

extension LoopTimer: Alarm {}
