import CLinux
package import CredentialCore
package import EventLoop
import Glibc

/// The worker behind a socket that systemd listens on: a `WorkerServer` for each connection of the one user who may come.
///
/// Normally that is one connection, the broker's; while a broker is replaced it may be two. When there has been none for a while, `onIdle` is
/// called: whoever connects then waits in systemd's socket and starts the next worker, so that nothing is lost.
package final class WorkerListener {
    private let loop: EventLoop
    private let clock: any Clock
    private let descriptor: Int32
    private let client: UInt32
    private let transport: any HTTPTransport
    private let patience: Milliseconds
    private var watch: DescriptorWatch?
    private var timer: LoopTimer?
    private var reaper: LoopTimer?
    private var servers: [Int32: WorkerServer] = [:]
    // Ended from within their own call; let go of at the loop's next turn.
    private var ended: [Int32] = []
    private var lastNumber: Int32 = 0
    /// More than a broker and its predecessor have.
    private static let connectionLimit = 8

    /// Accepts on `descriptor`, which stays open; only root and the user `client` are served.
    package init(
        loop: EventLoop, clock: any Clock, descriptor: Int32, client: UInt32, transport: any HTTPTransport,
        patience: Milliseconds = .seconds(60), onIdle: @escaping () -> Void
    ) throws(EventLoopFailure) {
        self.loop = loop
        self.clock = clock
        self.descriptor = descriptor
        self.client = client
        self.transport = transport
        self.patience = patience
        guard cl_set_nonblocking(descriptor) == 0 else { throw EventLoopFailure(code: errno) }
        timer = try loop.makeTimer { [unowned self] in if servers.isEmpty { onIdle() } }
        reaper = try loop.makeTimer { [unowned self] in reap() }
        watch = try loop.watch(descriptor, events: Readiness.readable) { [unowned self] _ in accept() }
        waitForClients()
    }

    /// How many are connected.
    package var connectionCount: Int { servers.count }

    private func accept() {
        let channel = cl_accept(descriptor)
        guard channel >= 0 else { return }
        var pid: pid_t = 0
        var uid: uid_t = 0
        var gid: gid_t = 0
        guard cl_peer_credentials(channel, &pid, &uid, &gid) == 0, uid == client || uid == 0,
            servers.count < Self.connectionLimit
        else {
            close(channel)
            return
        }
        lastNumber &+= 1
        let number = lastNumber
        do throws(EventLoopFailure) {
            servers[number] = try WorkerServer(loop: loop, descriptor: channel, transport: transport) {
                [unowned self] _ in
                ended.append(number)
                reaper?.set(bootMilliseconds: 0)
            }
        } catch {
            // The channel was the server's from the first moment, and went with it.
            return
        }
        timer?.cancel()
    }

    private func reap() {
        for number in ended { servers[number] = nil }
        ended = []
        if servers.isEmpty { waitForClients() }
    }

    private func waitForClients() {
        timer?.set(bootMilliseconds: (clock.now.boot + patience).milliseconds)
    }
}

/// Who may open a socket, as the file system says.
package enum SocketOwner {
    /// The owner of the path that a socket is bound to; nil where it has none.
    ///
    /// The descriptor itself says nothing: it belongs to whoever made it, which is systemd.
    package static func uid(of descriptor: Int32) -> UInt32? {
        var address = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getsockname(descriptor, $0, &length)
            }
        }
        guard result == 0, address.sun_family == sa_family_t(AF_UNIX) else { return nil }
        return withUnsafeBytes(of: &address.sun_path) { path -> UInt32? in
            guard let base = path.baseAddress?.assumingMemoryBound(to: CChar.self), base[0] != 0,
                path.contains(0)
            else { return nil }
            var status = stat()
            guard lstat(base, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return nil }
            return status.st_uid
        }
    }
}
