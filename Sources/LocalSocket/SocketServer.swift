import CLinux
package import CredentialCore
package import EventLoop
import Glibc
package import Log

/// Serves clients on Unix sockets: accepts, reads, writes, and knows who is there.
///
/// Difficulty: sd-event serves one source a turn, so a source for each client halves the speed at 16 clients and loses
/// nine tenths at 256. All clients are in one epoll set that is itself one source of the loop, and a whole batch is served in a turn.
/// A failed accept or a broken client never ends anything but itself.
package final class SocketServer {
    private let loop: EventLoop
    private let handler: any ConnectionHandler
    private let log: Logger
    private let epoll: Int32
    private var watch: DescriptorWatch?
    private var retryTimer: LoopTimer?
    private var listeners: [UInt64: Listener] = [:]
    // By the lower half of their ids: a batch finds its clients without hashing.
    private var slots: [SocketConnection?] = []
    private var freeSlots: [Int] = []
    // Closed as soon as they have read what they were told last; all have the same time for it.
    private var lingering: [(connection: SocketConnection, until: Int64)] = []
    private var lingerTimer: LoopTimer?
    private var ready: UnsafeMutableBufferPointer<cl_ready>
    private let room: UnsafeMutableRawBufferPointer
    private var lastID: UInt64 = 0
    // Closed to make room for one accept when descriptors run out, so that the waiting client is told by a close.
    private var spare: Int32
    private var nextShortageNote: Int64 = 0

    static let batchSize = 256
    static let batchesPerTurn = 8
    static let readSize = 64 * 1024
    private static let lingerMilliseconds: Int64 = 5000
    private static let slotBits: UInt64 = 24

    private struct Listener {
        let descriptor: Int32
        let isAdmin: Bool
    }

    /// A server without sockets; `handler` hears of every client, on the loop.
    package init(loop: EventLoop, handler: any ConnectionHandler, log: Logger) throws(EventLoopFailure) {
        self.loop = loop
        self.handler = handler
        self.log = log
        epoll = cl_epoll_create()
        guard epoll >= 0 else { throw EventLoopFailure(code: errno) }
        spare = cl_open("/dev/null", O_RDONLY, 0)
        ready = .allocate(capacity: Self.batchSize)
        room = .allocate(byteCount: Self.readSize, alignment: 16)
        watch = try loop.watch(epoll, events: Readiness.readable) { [unowned self] _ in serveBatch() }
        retryTimer = try loop.makeTimer { [unowned self] in resumeListening() }
        lingerTimer = try loop.makeTimer { [unowned self] in endLingering() }
    }

    deinit {
        if let base = room.baseAddress { explicit_bzero(base, room.count) }
        room.deallocate()
        ready.deallocate()
        close(epoll)
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
        guard cl_epoll_add(epoll, descriptor, Readiness.readable, id) == 0 else {
            throw EventLoopFailure(code: errno)
        }
        listeners[id] = Listener(descriptor: descriptor, isAdmin: isAdmin)
    }

    /// Takes no more clients.
    package func stopListening() {
        for listener in listeners.values {
            _ = cl_epoll_remove(epoll, listener.descriptor)
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

    private func serveBatch() {
        // What became ready meanwhile is served in the same turn of the loop, which costs more than a batch does; a few times only,
        // so that timers and answers from other threads have their turn.
        for _ in 0..<Self.batchesPerTurn {
            let count = cl_epoll_wait(epoll, ready.baseAddress, Int32(Self.batchSize), 0)
            guard count > 0 else { return }
            for index in 0..<Int(count) {
                let event = ready[index]
                if let connection = connection(event.token) {
                    serve(connection, event.events)
                } else if let listener = listeners[event.token] {
                    accept(listener)
                }
            }
            handler.batchDidEnd()
        }
    }

    private func serve(_ connection: SocketConnection, _ events: UInt32) {
        if events & Readiness.writable != 0 { connection.flush() }
        if events & ~Readiness.writable != 0, !connection.isClosed {
            connection.receive(events, into: room, handler)
        }
    }

    private func accept(_ listener: Listener) {
        // As many as one batch may hold: a storm of connections must not keep the clients that are served waiting.
        for _ in 0..<Self.batchSize {
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
        guard slot < Self.noSlot, cl_epoll_add(epoll, descriptor, Readiness.readable, id) == 0,
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
            _ = cl_epoll_remove(epoll, listener.descriptor)
        }
        retryTimer?.set(bootMilliseconds: cl_boot_milliseconds() + 100)
    }

    private func resumeListening() {
        if spare < 0 { spare = cl_open("/dev/null", O_RDONLY, 0) }
        for (id, listener) in listeners {
            _ = cl_epoll_add(epoll, listener.descriptor, Readiness.readable, id)
        }
    }

    // MARK: For connections

    func setInterest(_ connection: SocketConnection, _ events: UInt32) {
        _ = cl_epoll_modify(epoll, connection.descriptor, events, connection.id)
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
        _ = cl_epoll_remove(epoll, connection.descriptor)
        close(connection.descriptor)
        handler.connectionDidClose(connection)
    }
}
