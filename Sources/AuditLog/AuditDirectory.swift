import CLinux
import Glibc

/// The directory of the segments: `audit-NNNNNNNN.log`, counted up, each 0600.
struct AuditDirectory: ~Copyable {
    let descriptor: Int32

    /// Opens the directory; to write, it is made (0700) where only its last component is missing, and must be closed to others.
    init(path: String, isForWriting: Bool) throws(AuditFailure) {
        descriptor = try Self.descriptor(path, isForWriting)
    }

    private static func descriptor(_ path: String, _ isForWriting: Bool) throws(AuditFailure) -> Int32 {
        if isForWriting, mkdir(path, 0o700) != 0, errno != EEXIST { throw .directory(code: errno) }
        let fd = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard fd >= 0 else { throw .directory(code: errno) }
        var status = stat()
        guard fstat(fd, &status) == 0 else {
            let code = errno
            close(fd)
            throw .directory(code: code)
        }
        guard !isForWriting || (status.st_uid == geteuid() && status.st_mode & 0o077 == 0) else {
            close(fd)
            throw .directoryUnsafe
        }
        return fd
    }

    deinit { close(descriptor) }

    static func name(_ segment: Int64) -> String {
        let digits = String(segment)
        return "audit-" + String(repeating: "0", count: max(0, 8 - digits.utf8.count)) + digits + ".log"
    }

    /// The number in a segment's name; nil for every other name.
    static func number(_ name: String) -> Int64? {
        guard name.hasPrefix("audit-"), name.hasSuffix(".log"),
            let number = Int64(name.dropFirst(6).dropLast(4)), number > 0, Self.name(number) == name
        else { return nil }
        return number
    }

    /// The numbers of all segments, ascending.
    borrowing func segments() throws(AuditFailure) -> [Int64] {
        let copy = cl_openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        guard copy >= 0 else { throw .directory(code: errno) }
        guard let handle = fdopendir(copy) else {
            let code = errno
            close(copy)
            throw .directory(code: code)
        }
        defer { closedir(handle) }
        var numbers: [Int64] = []
        while let entry = readdir(handle) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if let number = Self.number(name) { numbers.append(number) }
        }
        return numbers.sorted()
    }

    /// All bytes of a file here, at most `limit`.
    borrowing func read(_ name: String, limit: Int = 1 << 31) throws(AuditFailure) -> [UInt8] {
        let fd = cl_openat(descriptor, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0)
        guard fd >= 0 else { throw .segment(code: errno) }
        defer { close(fd) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while bytes.count < limit {
            let count = Glibc.read(fd, &chunk, chunk.count)
            if count == 0 { break }
            if count < 0 {
                if errno == EINTR { continue }
                throw .segment(code: errno)
            }
            bytes += chunk[..<count]
        }
        return bytes
    }

    /// Opens a segment to append to; a new one gets its space reserved.
    ///
    /// - Returns: the descriptor and the size.
    borrowing func open(
        _ segment: Int64, reserving length: Int
    ) throws(AuditFailure) -> (descriptor: Int32, size: Int) {
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW
        let fd = cl_openat(descriptor, Self.name(segment), flags, 0o600)
        guard fd >= 0 else { throw .segment(code: errno) }
        var status = stat()
        guard fstat(fd, &status) == 0 else {
            let code = errno
            close(fd)
            throw .segment(code: code)
        }
        // Not every file system can; what it cannot reserve it refuses when it is written.
        _ = cl_reserve_file(fd, Int64(length))
        // The name must survive a power cut as well as the lines do.
        _ = fsync(descriptor)
        return (fd, Int(status.st_size))
    }

    borrowing func remove(_ segment: Int64) {
        unlinkat(descriptor, Self.name(segment), 0)
    }
}
