import CLinux
package import CredentialCore
package import EventLoop
import Glibc
package import Log

/// Serves clients on Unix sockets: accepts, reads, writes, and knows who is there.
///
/// Clients are in the loop's set of descriptors, and a whole batch is served in a turn, those that take long one by one behind it. A
/// failed accept or a broken client never ends anything but itself.
package final class SocketServer: DescriptorHandler {
    private let loop: EventLoop
    private let handler: any ConnectionHandler
    private let log: Logger
    private let descriptors: DescriptorSet
    private var retryTimer: LoopTimer?
    private var listeners: [UInt64: Listener] = [:]
    // By the lower half of their ids: a batch finds its clients without hashing.
    private var slots: [SocketConnection?] = []
    private var freeSlots: [Int] = []
    // Closed as soon as they have read what they were told last; all have the same time for it.
    private var lingering: [(connection: SocketConnection, until: Int64)] = []
    private var lingerTimer: LoopTimer?
    private let room: UnsafeMutableRawBufferPointer
    // As much of `room` holds what clients of this batch have sent.
    private var unwiped = 0
    private var slow = SlowClients()
    private var lastTurn: UInt64 = 0
    // Nanoseconds, from any moment on; nil: what was done last was no client's.
    private var servedUntil: Int64?
    private let stopwatch: () -> Int64
    private var lastID: UInt64 = 0
    // Closed to make room for one accept when descriptors run out, so that the waiting client is told by a close.
    private var spare: Int32
    private var nextShortageNote: Int64 = 0

    static let readSize = 64 * 1024
    private static let lingerMilliseconds: Int64 = 5000
    private static let slotBits: UInt64 = 24

    private struct Listener {
        let descriptor: Int32
        let isAdmin: Bool
    }

    /// A server without sockets; `handler` hears of every client, on the loop.
    ///
    /// `stopwatch` says nanoseconds from any moment on.
    package init(
        loop: EventLoop, handler: any ConnectionHandler, log: Logger,
        stopwatch: @escaping () -> Int64 = cl_monotonic_nanoseconds
    ) throws(EventLoopFailure) {
        self.loop = loop
        self.handler = handler
        self.log = log
        self.stopwatch = stopwatch
        descriptors = loop.descriptors
        spare = cl_open("/dev/null", O_RDONLY, 0)
        room = .allocate(byteCount: Self.readSize, alignment: 16)
        precondition(descriptors.handler == nil)
        descriptors.handler = self
        retryTimer = try loop.makeTimer { [unowned self] in resumeListening() }
        lingerTimer = try loop.makeTimer { [unowned self] in endLingering() }
    }

    deinit {
        if let base = room.baseAddress { explicit_bzero(base, room.count) }
        room.deallocate()
        for listener in listeners.values { descriptors.remove(listener.descriptor) }
        for case let connection? in slots { descriptors.remove(connection.descriptor) }
        if spare >= 0 { close(spare) }
    }

    /// Whether peers are pinned when they connect; needed where a rule names a unit and the kernel has no SO_PEERPIDFD.
    package var pinsPeersAtOnce = false
    /// Who is nobody in particular, and is sent away.
    package var hidden = HiddenIdentity.nobody

    /// Whether this kernel can pin a peer at any time: asked of a socket pair of our own.
    package static let canPinLater: Bool = {
        var pair: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0 else { return false }
        defer {
            close(pair[0])
            close(pair[1])
        }
        let descriptor = cl_peer_pidfd(pair[0])
        guard descriptor >= 0 else { return false }
        close(descriptor)
        return true
    }()

    /// How many clients are connected.
    package private(set) var connectionCount = 0

    /// Serves clients of a listening socket from now on; the descriptor is ours from here.
    package func listen(on descriptor: Int32, isAdmin: Bool) throws(EventLoopFailure) {
        guard cl_set_nonblocking(descriptor) == 0 else { throw EventLoopFailure(code: errno) }
        let id = nextID(slot: Self.noSlot)
        guard descriptors.add(descriptor, Readiness.readable, token: id) else {
            throw EventLoopFailure(code: errno)
        }
        listeners[id] = Listener(descriptor: descriptor, isAdmin: isAdmin)
    }

    /// Takes no more clients.
    package func stopListening() {
        for listener in listeners.values {
            descriptors.remove(listener.descriptor)
            close(listener.descriptor)
        }
        listeners = [:]
    }

    /// Ends all connections, once what is queued for them has been tried.
    package func closeAll() {
        for connection in slots { connection?.close(flush: false) }
    }

    private static var noSlot: Int { (1 << slotBits) - 1 }

    /// A number that was never given, and that says where its connection is kept.
    private func nextID(slot: Int) -> UInt64 {
        lastID += 1
        return lastID << Self.slotBits | UInt64(slot)
    }

    private func connection(_ id: UInt64) -> SocketConnection? {
        let slot = Int(id & (1 << Self.slotBits - 1))
        guard slot < slots.count, let connection = slots[slot], connection.id == id else { return nil }
        return connection
    }

    // MARK: A batch

    /// Serves a client, or lets those in who wait.
    package func descriptorIsReady(_ token: UInt64, _ events: UInt32) {
        if let connection = connection(token) {
            if connection.isSlow { slow.add(connection, events) } else { serve(connection, events) }
        } else if let listener = listeners[token] {
            accept(listener)
        }
    }

    /// Serves one of those that take long, and wipes what the clients of the batch have sent: it was overwritten by each that followed.
    package func batchDidEnd() {
        if let (connection, events) = slow.take() { serve(connection, events) }
        servedUntil = nil
        handler.batchDidEnd()
        if unwiped > 0, let base = room.baseAddress { explicit_bzero(base, unwiped) }
        unwiped = 0
    }

    private func serve(_ connection: SocketConnection, _ events: UInt32) {
        if events & Readiness.writable != 0 {
            connection.flush()
            servedUntil = nil
        }
        guard events & ~Readiness.writable != 0, !connection.isClosed else { return }
        let start = servedUntil ?? stopwatch()
        unwiped = max(unwiped, connection.receive(events, into: room, handler))
        let end = stopwatch()
        servedUntil = end
        lastTurn += 1
        connection.took(nanoseconds: end - start, turn: lastTurn)
    }

    private func accept(_ listener: Listener) {
        defer { servedUntil = nil }
        // As many as one batch may hold: a storm of connections must not keep the clients that are served waiting.
        for _ in 0..<DescriptorSet.batchSize {
            let descriptor = cl_accept(listener.descriptor)
            if descriptor >= 0 {
                admit(descriptor, isAdmin: listener.isAdmin)
                continue
            }
            switch errno {
            case EAGAIN: return
            case EINTR, ECONNABORTED: continue
            case EMFILE, ENFILE:
                turnAway(listener)
                return
            default:
                pauseListening(code: errno)
                return
            }
        }
    }

    private func admit(_ descriptor: Int32, isAdmin: Bool) {
        guard let peer = PeerIdentity.read(descriptor, hidden) else {
            close(descriptor)
            return
        }
        let slot = freeSlots.popLast() ?? slots.count
        let id = nextID(slot: slot)
        // Asked last: what was admitted is counted until it is closed.
        guard slot < Self.noSlot, descriptors.add(descriptor, Readiness.readable, token: id),
            handler.shouldAdmit(peer, isAdminSocket: isAdmin)
        else {
            if slot < slots.count { freeSlots.append(slot) }
            close(descriptor)
            return
        }
        let connection = SocketConnection(
            id: id, descriptor: descriptor, peer: peer, isAdminSocket: isAdmin, server: self)
        if pinsPeersAtOnce { connection.pinNow() }
        if slot == slots.count { slots.append(connection) } else { slots[slot] = connection }
        connectionCount += 1
        handler.connectionDidOpen(connection)
    }

    // Out of descriptors: the one that is kept back lets one client in, only to be closed, so that it does not hang.
    private func turnAway(_ listener: Listener) {
        // Once for each minute of it.
        let now = cl_boot_milliseconds()
        if now >= nextShortageNote {
            nextShortageNote = now + 60_000
            log.log(
                .warning, "Descriptors ran out, turning clients away",
                (.count, .integer(Int64(connectionCount))))
        }
        if spare >= 0 {
            close(spare)
            let descriptor = cl_accept(listener.descriptor)
            if descriptor >= 0 { close(descriptor) }
            spare = cl_open("/dev/null", O_RDONLY, 0)
        }
        pauseListening(code: EMFILE)
    }

    // The listener stays readable, so watching it on would spin.
    private func pauseListening(code: Int32) {
        if code != EMFILE {
            log.log(.error, "Could not accept a client", (.code, .integer(Int64(code))))
        }
        for listener in listeners.values {
            descriptors.remove(listener.descriptor)
        }
        retryTimer?.set(bootMilliseconds: cl_boot_milliseconds() + 100)
    }

    private func resumeListening() {
        if spare < 0 { spare = cl_open("/dev/null", O_RDONLY, 0) }
        for (id, listener) in listeners {
            _ = descriptors.add(listener.descriptor, Readiness.readable, token: id)
        }
    }

    // MARK: For connections

    func setInterest(_ connection: SocketConnection, _ events: UInt32) {
        descriptors.modify(connection.descriptor, events, token: connection.id)
    }

    /// Gives a connection some time to read what is queued for it.
    func linger(_ connection: SocketConnection) {
        let until = cl_boot_milliseconds() + Self.lingerMilliseconds
        lingering.append((connection, until))
        if lingering.count == 1 { lingerTimer?.set(bootMilliseconds: until) }
    }

    private func endLingering() {
        let now = cl_boot_milliseconds()
        let due = lingering.prefix { $0.until <= now || $0.connection.isClosed }
        lingering.removeFirst(due.count)
        for (connection, _) in due { connection.end() }
        if let next = lingering.first { lingerTimer?.set(bootMilliseconds: next.until) }
    }

    func didClose(_ connection: SocketConnection) {
        let slot = Int(connection.id & (1 << Self.slotBits - 1))
        slots[slot] = nil
        freeSlots.append(slot)
        connectionCount -= 1
        descriptors.remove(connection.descriptor)
        close(connection.descriptor)
        handler.connectionDidClose(connection)
    }
}
