import Glibc
import Secrets

/// Where the daemon may listen: exactly one place is asked, whatever it answers.
struct SocketPath {
    /// The path; ends in a zero byte inside `String`'s storage only while it is passed to C.
    let text: String
    /// Where the user's own daemon would listen, if that was looked for first and is not there.
    var absent: String?

    /// `--socket`, else `$CHATAUTH_SOCKET`, else the user's socket if it is there, else the system's.
    static func find(_ chosen: Argument?, _ surroundings: Surroundings) -> SocketPath {
        if let chosen { return SocketPath(text: chosen.text) }
        if let named = surroundings.variable("CHATAUTH_SOCKET") { return SocketPath(text: named.text) }
        let users: String
        if let runtime = surroundings.variable("XDG_RUNTIME_DIR"), runtime[0] == UInt8(ascii: "/") {
            users = runtime.text + "/chatauth/chatauth.sock"
        } else {
            users = "/run/user/" + String(getuid()) + "/chatauth/chatauth.sock"
        }
        if access(users, F_OK) == 0 { return SocketPath(text: users) }
        return SocketPath(text: "/run/chatauth/chatauth.sock", absent: users)
    }

    /// The administration socket beside it if there is one, else the socket itself.
    var administration: SocketPath {
        let beside = directory + "chatauth-admin.sock"
        return access(beside, F_OK) == 0 ? SocketPath(text: beside, absent: absent) : self
    }

    /// Refuses a socket that somebody else could have put there.
    ///
    /// Under socket activation the peer of a connection is the service manager, so its identity says nothing; owner and mode of
    /// the socket and of its directory do.
    func requireTrust() throws(Failure) {
        var socket = stat()
        var folder = stat()
        guard stat(text, &socket) == 0, stat(directory.isEmpty ? "." : directory, &folder) == 0 else {
            throw .notReachable(self, errno: errno)
        }
        let owners: [uid_t] = [0, geteuid()]
        let isOpen = folder.st_mode & (S_IWGRP | S_IWOTH) != 0 && folder.st_mode & S_ISVTX == 0
        guard owners.contains(socket.st_uid), owners.contains(folder.st_uid), !isOpen else {
            throw .untrustedSocket(path: text)
        }
    }

    /// The path up to and with its last slash.
    private var directory: String {
        var bytes = text.utf8.endIndex
        let utf8 = text.utf8
        while bytes > utf8.startIndex {
            let before = utf8.index(before: bytes)
            if utf8[before] == UInt8(ascii: "/") { return String(text[..<bytes]) }
            bytes = before
        }
        return ""
    }
}
