import Broker
import CredentialCore
import EventLoop
import Glibc
import LocalSocket
import Log
import SQLiteStore
import SystemdSupport

/// Where clients are served: at the sockets that systemd gave, else at some of our own.
extension Daemon {
    /// What systemd has between the start and the master key, with some to spare.
    private static let patienceForKey = Milliseconds.seconds(3)

    func listen(_ sockets: SocketServer) throws {
        guard given.isEmpty else {
            for socket in given where isServedAtOnce(socket) {
                try sockets.listen(on: socket.descriptor, isAdmin: socket.name == "admin")
            }
            return keyTimer.set(bootMilliseconds: (clock.now.boot + Self.patienceForKey).milliseconds)
        }
        let mode: UInt32 = arguments.isSystem ? 0o666 : 0o600
        try listen(sockets, name: "chatauth.sock", mode: mode, isAdmin: !arguments.isSystem)
        if arguments.isSystem {
            try listen(sockets, name: "chatauth-admin.sock", mode: 0o660, isAdmin: true)
        }
    }

    /// Clients wait in systemd's socket while the key is on its way: without that, the first of them would find the store sealed.
    private func isServedAtOnce(_ socket: ActivatedSockets.Socket) -> Bool {
        guard arguments.isSystem, places.keyFile == nil, case .sealed(let reason) = opening,
            reason == .keyMissing
        else {
            return true
        }
        return socket.name == "admin"
    }

    /// Serves those who waited for the key: it has come, or was wrong, or has not come in time.
    func stopWaitingForKey() {
        guard !hasWaitedForKey, !broker.isShuttingDown else { return }
        hasWaitedForKey = true
        keyTimer.cancel()
        for socket in given where !isServedAtOnce(socket) {
            do throws(EventLoopFailure) {
                try sockets?.listen(on: socket.descriptor, isAdmin: false)
            } catch {
                log.log(
                    .error, "A socket of systemd cannot be served", (.code, .integer(Int64(error.code))))
            }
        }
    }

    private func listen(_ sockets: SocketServer, name: String, mode: UInt32, isAdmin: Bool) throws {
        let descriptor: Int32
        do throws(SocketPathFailure) {
            descriptor = try SocketPath.listen(directory: places.runtimeDirectory, name: name, mode: mode)
        } catch {
            throw Failure(message: Self.words(for: error, places.runtimeDirectory + "/" + name, places))
        }
        ownSockets.append(places.runtimeDirectory + "/" + name)
        try sockets.listen(on: descriptor, isAdmin: isAdmin)
    }

    fileprivate static func words(for failure: SocketPathFailure, _ path: String, _ places: Places) -> String
    {
        switch failure {
        case .inUse: "a daemon answers at \(path) already; end it, or use another --runtime-directory"
        case .foreignFile:
            "\(path) is not a socket of this user and is left alone; remove it, or use another directory"
        case .unsafeDirectory:
            "\(places.runtimeDirectory) must be a directory of this user that nobody else may write to"
        case .pathTooLong: "\(path) is too long for a socket; use a shorter --runtime-directory"
        case .system(let code): "\(path) cannot be made: \(String(cString: strerror(code)))"
        }
    }
}
