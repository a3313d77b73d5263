import CLinux
import CSQLite
import CredentialCore
import Glibc

extension StoreFailure {
    /// What a failed system call means for the store; `io` carries the negated errno, which no code of SQLite is.
    init(errno code: Int32) {
        self = code == ENOSPC || code == EDQUOT ? .full : .io(code: -code)
    }
}

/// A descriptor that is closed at the end of its owner.
final class FileDescriptor {
    let number: Int32

    init(_ number: Int32) throws(StoreFailure) {
        guard number >= 0 else { throw StoreFailure(errno: errno) }
        self.number = number
    }

    deinit { close(number) }

    func sync() throws(StoreFailure) {
        guard fsync(number) == 0 else { throw StoreFailure(errno: errno) }
    }

    /// Syncs what this process may not be able to write; a file system that keeps nothing back needs no sync.
    func syncWherePossible() throws(StoreFailure) {
        guard fsync(number) == 0 || errno == EINVAL || errno == EROFS else {
            throw StoreFailure(errno: errno)
        }
    }

    func resize(to length: Int) throws(StoreFailure) {
        while ftruncate(number, off_t(length)) != 0 {
            guard errno == EINTR else { throw StoreFailure(errno: errno) }
        }
    }

    var status: stat {
        get throws(StoreFailure) {
            var status = stat()
            guard fstat(number, &status) == 0 else { throw StoreFailure(errno: errno) }
            return status
        }
    }

    /// Reads from the start into `bytes` until they are full or the file ends; returns how many there were.
    func read(into bytes: UnsafeMutableRawBufferPointer) throws(StoreFailure) -> Int {
        var done = 0
        while done < bytes.count, let base = bytes.baseAddress {
            let count = pread(number, base + done, bytes.count - done, off_t(done))
            if count < 0 {
                if errno == EINTR { continue }
                throw StoreFailure(errno: errno)
            }
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// Reads at most `limit` bytes from the start.
    func read(upTo limit: Int) throws(StoreFailure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: limit)
        let result = bytes.withUnsafeMutableBytes { room in
            Result { () throws(StoreFailure) in try read(into: room) }
        }
        bytes.removeLast(limit - (try result.get()))
        return bytes
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(StoreFailure) {
        var done = 0
        while done < bytes.count, let base = bytes.baseAddress {
            let count = Glibc.write(number, base + done, bytes.count - done)
            if count < 0 {
                if errno == EINTR { continue }
                throw StoreFailure(errno: errno)
            }
            done += count
        }
    }
}

extension stat {
    var isRegular: Bool { st_mode & S_IFMT == S_IFREG }
    var isPrivate: Bool { st_mode & 0o077 == 0 }
    var isOurs: Bool { st_uid == geteuid() || st_uid == 0 }
}

/// A directory that belongs to this user alone, held open: names are looked up in it, never through a path that may change.
final class PrivateDirectory {
    let path: String
    private let descriptor: FileDescriptor

    /// Opens `path`, made with mode 0700 together with its parents where it is missing.
    ///
    /// With `mayBeRead` others may look into it but change nothing: configuration lies in such directories.
    ///
    /// - Throws: `io` with ELOOP or ENOTDIR for a link or another file, EPERM for another owner, EACCES where others have rights.
    init(_ path: String, mayBeRead: Bool = false) throws(StoreFailure) {
        self.path = path
        Self.makeMissing(path)
        descriptor = try FileDescriptor(cl_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0))
        let status = try descriptor.status
        guard status.isOurs else { throw StoreFailure(errno: EPERM) }
        guard status.st_mode & (mayBeRead ? 0o022 : 0o077) == 0 else { throw StoreFailure(errno: EACCES) }
    }

    private static func makeMissing(_ path: String) {
        // What cannot be made shows when it is opened.
        for directory in Self.ancestors(of: path) { mkdir(directory, 0o700) }
        mkdir(path, 0o700)
    }

    // The directories above `path`, outermost first; the root or the working directory is the first.
    private static func ancestors(of path: String) -> [String] {
        var result = [path.hasPrefix("/") ? "/" : "."]
        for component in path.split(separator: "/").dropLast() {
            let parent = result[result.count - 1]
            result.append(parent == "/" ? "/" + component : parent + "/" + component)
        }
        return result
    }

    /// Makes the name of a file or directory last, and the names above it, whoever made them.
    ///
    /// A store in a directory whose name a power cut takes away would be gone with it. A directory that cannot be read is not one
    /// that was made here.
    ///
    /// - Throws: `io` or `full` where a directory cannot be synced.
    static func makeNameLast(_ path: String) throws(StoreFailure) {
        for path in Self.ancestors(of: path) {
            let number = cl_open(path, O_RDONLY | O_DIRECTORY, 0)
            if number < 0, errno == EACCES || errno == EPERM { continue }
            try FileDescriptor(number).syncWherePossible()
        }
    }

    func path(of name: String) -> String { path + "/" + name }

    /// Opens a file for reading, or for both; nil where there is none.
    ///
    /// - Throws: `io` with ELOOP for a link, EPERM for another owner or a file that is not regular, EACCES where others have rights.
    func open(_ name: String, forWriting: Bool = false) throws(StoreFailure) -> FileDescriptor? {
        let number = cl_openat(
            descriptor.number, name, (forWriting ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK, 0)
        if number < 0, errno == ENOENT { return nil }
        let file = try FileDescriptor(number)
        let status = try file.status
        guard status.isRegular, status.isOurs else { throw StoreFailure(errno: EPERM) }
        guard status.isPrivate else { throw StoreFailure(errno: EACCES) }
        return file
    }

    /// Makes a new file with mode 0600; EEXIST where there is one.
    func create(_ name: String) throws(StoreFailure) -> FileDescriptor {
        try FileDescriptor(
            cl_openat(descriptor.number, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600))
    }

    /// Opens a file to lock it, made where it is missing; its content does not matter.
    func openLock(_ name: String) throws(StoreFailure) -> FileDescriptor {
        try FileDescriptor(cl_openat(descriptor.number, name, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600))
    }

    func remove(_ name: String) throws(StoreFailure) {
        guard unlinkat(descriptor.number, name, 0) == 0 || errno == ENOENT else {
            throw StoreFailure(errno: errno)
        }
    }

    /// Gives a file another name, over a file that has it already, and makes that last.
    func rename(_ name: String, to newName: String) throws(StoreFailure) {
        guard renameat(descriptor.number, name, descriptor.number, newName) == 0 else {
            throw StoreFailure(errno: errno)
        }
        try descriptor.sync()
    }

    /// Gives a file another name, never over a file that has it already, and makes that last.
    ///
    /// - Returns: false where there was one.
    func link(_ name: String, to newName: String) throws(StoreFailure) -> Bool {
        defer { unlinkat(descriptor.number, name, 0) }
        guard linkat(descriptor.number, name, descriptor.number, newName, 0) == 0 else {
            if errno == EEXIST { return false }
            throw StoreFailure(errno: errno)
        }
        try descriptor.sync()
        return true
    }

    /// Replaces a file's content: all of it or none, even when the power fails.
    func replace(_ name: String, with bytes: [UInt8]) throws(StoreFailure) {
        let temporary = name + ".new"
        try remove(temporary)
        let file = try create(temporary)
        try bytes.span.withUnsafeBytes { bytes throws(StoreFailure) in try file.write(bytes) }
        try file.sync()
        try rename(temporary, to: name)
    }
}
