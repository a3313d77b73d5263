import CLinux
import CSodium
import Glibc
package import Log
package import Secrets

/// The key that chains the audit log and makes fingerprints: 32 random bytes in a file of their own.
///
/// It is not the store's: the log is written while the store is sealed, too. It shows that a line was changed by somebody who could
/// write the log and not read this file.
package struct AuditKey {
    /// The key itself, 32 bytes.
    package let bytes: SecretBytes
    /// It was made now, although there was a log already: what that holds cannot be verified any more.
    package let isRemade: Bool

    private static let length = 32

    /// Reads `audit.key` in `directory`, or makes it where there is none; `log` is where the log is that it chains.
    package static func loadOrMake(
        in directory: String, log: String, logger: Logger
    ) throws(AuditFailure) -> AuditKey {
        let path = directory + "/audit.key"
        if let bytes = try read(path) { return AuditKey(bytes: bytes, isRemade: false) }
        // Looked at first: a log that begins now has a segment at once.
        let isRemade = try !AuditDirectory(path: log, isForWriting: true).segments().isEmpty
        if isRemade {
            logger.log(
                .error,
                "The audit log's key is missing and is made anew, what was logged before cannot be verified")
        }
        try make(path)
        guard let bytes = try read(path) else { throw .key(code: ENOENT) }
        return AuditKey(bytes: bytes, isRemade: isRemade)
    }

    /// Eight bytes of a keyed digest, hexadecimal: equal tokens, equal texts; nothing else can be learnt from it.
    package func fingerprint(of secret: SecretBytes) -> String {
        var digest = [UInt8](repeating: 0, count: 16)
        bytes.withSpan { key in
            secret.withSpan { text in
                key.withUnsafeBufferPointer { key in
                    text.withUnsafeBufferPointer { text in
                        // Sizes are within BLAKE2b's bounds: 16 to 64 bytes out, a key of 32.
                        _ = crypto_generichash(
                            &digest, 16, text.baseAddress, UInt64(text.count), key.baseAddress, 32)
                    }
                }
            }
        }
        return digest.prefix(8).map { byte in
            let text = String(byte, radix: 16)
            return text.count == 1 ? "0" + text : text
        }.joined()
    }

    private static func read(_ path: String) throws(AuditFailure) -> SecretBytes? {
        let descriptor = cl_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0)
        guard descriptor >= 0 else {
            guard errno == ENOENT else { throw .key(code: errno) }
            return nil
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_mode & 0o077 == 0,
            status.st_uid == geteuid() || status.st_uid == 0
        else { throw .keyUnsafe }
        var buffer = SecretBuffer()
        buffer.append(upTo: length + 1) { room in
            max(0, Glibc.read(descriptor, room.baseAddress, room.count))
        }
        guard buffer.count == length else { throw .keyLength(buffer.count) }
        return buffer.finish()
    }

    // Whole or not at all: written beside, synced, and linked into place without replacing what may be there by now.
    private static func make(_ path: String) throws(AuditFailure) {
        let temporary = path + ".new"
        unlink(temporary)
        let descriptor = cl_open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .key(code: errno) }
        defer { close(descriptor) }
        var key = SecretBuffer()
        key.append(upTo: length) { room in cl_random(room.baseAddress, length) == 0 ? length : 0 }
        let isWritten = key.withSpan { bytes in
            bytes.withUnsafeBufferPointer { write(descriptor, $0.baseAddress, $0.count) == length }
        }
        guard isWritten, fsync(descriptor) == 0, link(temporary, path) == 0 || errno == EEXIST else {
            throw .key(code: errno)
        }
        unlink(temporary)
        let directory = cl_open(
            path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ".", O_RDONLY | O_DIRECTORY, 0)
        if directory >= 0 {
            fsync(directory)
            close(directory)
        }
    }
}
