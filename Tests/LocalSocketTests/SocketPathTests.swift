import CLinux
import Glibc
import LocalSocket
import Testing

/// A directory of one test, gone with it.
final class Place {
    let path: String

    init() {
        var template = Array("/tmp/chatauth-socket-XXXXXX".utf8CString)
        path = mkdtemp(&template).map { String(cString: $0) } ?? ""
        precondition(!path.isEmpty)
    }

    deinit {
        for name in ["s", "file", "link", "inner/s"] { unlink(path + "/" + name) }
        rmdir(path + "/inner")
        rmdir(path)
    }

    func mode(_ name: String) -> UInt32 {
        var status = stat()
        guard lstat(path + "/" + name, &status) == 0 else { return 0 }
        return status.st_mode & 0o7777
    }
}

@Suite struct `The path of a socket` {
    @Test func `a socket has its mode and its directory is ours alone`() throws {
        let place = Place()
        let previous = umask(0)
        defer { umask(previous) }
        let listener = try SocketPath.listen(directory: place.path + "/inner", name: "s", mode: 0o600)
        defer { close(listener) }
        #expect(place.mode("inner") == 0o700)
        #expect(place.mode("inner/s") == 0o600)
        let open = try SocketPath.listen(directory: place.path, name: "s", mode: 0o666)
        defer { close(open) }
        #expect(place.mode("s") == 0o666)
    }

    @Test func `a socket that nobody answers on is replaced`() throws {
        let place = Place()
        close(try SocketPath.listen(directory: place.path, name: "s", mode: 0o600))
        let listener = try SocketPath.listen(directory: place.path, name: "s", mode: 0o600)
        defer { close(listener) }
        let path = place.path + "/s"
        let client = cl_connect_unix(path, path.utf8.count)
        #expect(client >= 0)
        close(client)
    }

    @Test func `a socket that a daemon answers on is left alone`() throws {
        let place = Place()
        let listener = try SocketPath.listen(directory: place.path, name: "s", mode: 0o600)
        defer { close(listener) }
        #expect(throws: SocketPathFailure.inUse) {
            try SocketPath.listen(directory: place.path, name: "s", mode: 0o600)
        }
        let path = place.path + "/s"
        let client = cl_connect_unix(path, path.utf8.count)
        #expect(client >= 0)
        close(client)
    }

    @Test func `a daemon whose backlog is full is one that answers`() throws {
        let place = Place()
        let listener = try SocketPath.listen(directory: place.path, name: "s", mode: 0o600, backlog: 0)
        defer { close(listener) }
        let path = place.path + "/s"
        let waiting = cl_connect_unix(path, path.utf8.count)
        defer { close(waiting) }
        let outcome = Result { () throws(SocketPathFailure) in
            try SocketPath.listen(directory: place.path, name: "s", mode: 0o600)
        }
        guard case .failure(.inUse) = outcome else {
            Issue.record("a live daemon's socket was taken")
            return
        }
    }

    @Test func `what is no socket is never touched`() throws {
        let place = Place()
        let file = cl_open(place.path + "/s", O_CREAT | O_WRONLY, 0o600)
        #expect(write(file, "x", 1) == 1)
        close(file)
        #expect(throws: SocketPathFailure.foreignFile) {
            try SocketPath.listen(directory: place.path, name: "s", mode: 0o600)
        }
        var status = stat()
        #expect(lstat(place.path + "/s", &status) == 0 && status.st_size == 1)
        unlink(place.path + "/s")
        #expect(symlink("/nowhere", place.path + "/s") == 0)
        #expect(throws: SocketPathFailure.foreignFile) {
            try SocketPath.listen(directory: place.path, name: "s", mode: 0o600)
        }
        #expect(lstat(place.path + "/s", &status) == 0)
    }

    @Test func `a directory that others may write to, or a link, is refused`() throws {
        let place = Place()
        #expect(mkdir(place.path + "/inner", 0o700) == 0)
        for mode in [0o777, 0o770, 0o702] as [mode_t] {
            #expect(chmod(place.path + "/inner", mode) == 0)
            #expect(throws: SocketPathFailure.unsafeDirectory) {
                try SocketPath.listen(directory: place.path + "/inner", name: "s", mode: 0o600)
            }
        }
        #expect(chmod(place.path + "/inner", 0o755) == 0)
        #expect(symlink(place.path + "/inner", place.path + "/link") == 0)
        #expect(throws: SocketPathFailure.unsafeDirectory) {
            try SocketPath.listen(directory: place.path + "/link", name: "s", mode: 0o600)
        }
        #expect(throws: SocketPathFailure.system(code: ENOENT)) {
            try SocketPath.listen(directory: place.path + "/none/none", name: "s", mode: 0o600)
        }
    }

    @Test func `a path that no socket can have is refused`() throws {
        let place = Place()
        #expect(throws: SocketPathFailure.pathTooLong) {
            try SocketPath.listen(
                directory: place.path, name: String(repeating: "s", count: 100), mode: 0o600)
        }
    }
}
