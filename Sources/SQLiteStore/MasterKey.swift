import CLinux
import CredentialCore
import Glibc
package import Secrets

/// Where the master key comes from.
package enum MasterKeySource: Sendable {
    /// A file of 32 random bytes; made where it is missing, `mayCreate` says so, and there is no store yet.
    case file(path: String, mayCreate: Bool)
    /// 32 bytes that somebody handed over.
    case bytes(SecretBytes)
    /// None so far: `SQLiteStore.unseal(with:)` brings it.
    case none
}

/// Reads and makes the master key.
enum MasterKey {
    /// Reads the key.
    ///
    /// - Throws: `.keyMissing`, `.keyFileUnsafe`, `.keyWrong` where it has another length than 32 bytes, `.io`.
    static func load(_ source: MasterKeySource) throws(StoreFailure) -> GuardedMemory {
        switch source {
        case .none: throw .keyMissing
        case .bytes(let secret):
            guard secret.count == Seal.keyLength else { throw .keyWrong }
            return GuardedMemory(count: Seal.keyLength) { room in
                secret.withSpan { bytes in
                    bytes.withUnsafeBytes { room.copyMemory(from: $0) }
                }
            }
        case .file(let path, _): return try read(path)
        }
    }

    /// Reads the key, or makes its file where that is allowed; for a store that is yet to be made.
    static func loadOrCreate(_ source: MasterKeySource, random: RandomSource) throws(StoreFailure)
        -> GuardedMemory
    {
        do {
            return try load(source)
        } catch {
            guard error == .keyMissing, case .file(let path, mayCreate: true) = source else { throw error }
            try create(path, random: random)
            return try load(source)
        }
    }

    /// Makes a key file last, content and name.
    static func makeLast(_ source: MasterKeySource) throws(StoreFailure) {
        guard case .file(let path, _) = source else { return }
        try FileDescriptor(cl_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0)).syncWherePossible()
        try PrivateDirectory.makeNameLast(path)
    }

    private static func read(_ path: String) throws(StoreFailure) -> GuardedMemory {
        let number = cl_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0)
        guard number >= 0 else {
            switch errno {
            case ENOENT, ENOTDIR: throw .keyMissing
            case ELOOP: throw .keyFileUnsafe
            default: throw StoreFailure(errno: errno)
            }
        }
        let file = try FileDescriptor(number)
        let status = try file.status
        guard status.isRegular, status.isOurs, status.isPrivate else { throw .keyFileUnsafe }
        guard status.st_size == Seal.keyLength else { throw .keyWrong }
        return try GuardedMemory(count: Seal.keyLength) { room throws(StoreFailure) in
            guard try file.read(into: room) == Seal.keyLength else { throw .keyWrong }
        }
    }

    // A link, not a rename: a file that has come in between is never overwritten.
    private static func create(_ path: String, random: RandomSource) throws(StoreFailure) {
        let slash = path.lastIndex(of: "/")
        // The key is private, its directory need not be: most people have a configuration of mode 0755.
        let directory = try PrivateDirectory(slash.map { String(path[..<$0]) } ?? ".", mayBeRead: true)
        let name = slash.map { String(path[path.index(after: $0)...]) } ?? path
        let temporary = name + ".new"
        try directory.remove(temporary)
        let key = GuardedMemory(count: Seal.keyLength) { random($0) }
        let file = try directory.create(temporary)
        try key.withBytes { bytes throws(StoreFailure) in try file.write(bytes) }
        try file.sync()
        _ = try directory.link(temporary, to: name)
    }
}
