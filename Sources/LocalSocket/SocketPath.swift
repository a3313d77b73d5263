import CLinux
import Glibc

/// Why a socket could not be made at a path.
package enum SocketPathFailure: Error, Equatable, Sendable {
    /// The directory is not ours, is a link, or others may write to it.
    case unsafeDirectory
    /// Something else than a socket of ours stands there.
    case foreignFile
    /// A daemon answers there.
    case inUse
    case pathTooLong
    case system(code: Int32)
}

/// Makes the listening socket of a daemon that was not given one.
package enum SocketPath {
    /// Listens at `directory/name`, with that mode from the first moment on.
    ///
    /// The directory is made 0700 where it is missing. A socket of ours that nobody answers on is a crash's leftover and is replaced;
    /// anything else at the path is left alone and refused.
    package static func listen(
        directory: String, name: String, mode: UInt32, backlog: Int32 = 4096
    ) throws(SocketPathFailure) -> Int32 {
        let opened = try openDirectory(directory)
        defer { close(opened) }
        let path = directory + "/" + name
        if try exists(name, in: opened) {
            try checkStale(path)
            guard unlinkat(opened, name, 0) == 0 || errno == ENOENT else { throw .system(code: errno) }
        }
        let descriptor = cl_listen_unix(path, path.utf8.count, mode, backlog)
        guard descriptor >= 0 else {
            switch errno {
            case ENAMETOOLONG: throw .pathTooLong
            case EADDRINUSE: throw .inUse
            default: throw .system(code: errno)
            }
        }
        return descriptor
    }

    /// Opens a directory that is ours alone to write to, making it where it is missing.
    private static func openDirectory(_ path: String) throws(SocketPathFailure) -> Int32 {
        if mkdir(path, 0o700) != 0, errno != EEXIST { throw .system(code: errno) }
        let descriptor = cl_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0)
        guard descriptor >= 0 else {
            throw errno == ELOOP || errno == ENOTDIR ? .unsafeDirectory : .system(code: errno)
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_uid == geteuid() || status.st_uid == 0,
            status.st_mode & 0o022 == 0
        else {
            close(descriptor)
            throw .unsafeDirectory
        }
        return descriptor
    }

    private static func exists(_ name: String, in directory: Int32) throws(SocketPathFailure) -> Bool {
        var status = stat()
        guard fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
            guard errno == ENOENT else { throw .system(code: errno) }
            return false
        }
        guard status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == geteuid() else { throw .foreignFile }
        return true
    }

    // Only a refused connection says that nobody is there: a full backlog or a missing permission does not.
    private static func checkStale(_ path: String) throws(SocketPathFailure) {
        let descriptor = cl_try_connect_unix(path, path.utf8.count)
        if descriptor >= 0 {
            close(descriptor)
            throw .inUse
        }
        switch errno {
        case ECONNREFUSED, ENOENT: return
        case ENAMETOOLONG: throw .pathTooLong
        default: throw .inUse
        }
    }
}
