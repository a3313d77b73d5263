import CSQLite
import CredentialCore
import Glibc

/// A connection to SQLite and nothing around it that could surprise: no extensions, triggers, views or memory maps.
///
/// Whoever holds it is on the one thread that uses it.
final class Connection {
    let handle: OpaquePointer
    // The image that a connection without a file reads; it must outlive the connection.
    private var imageCopy: UnsafeMutableRawPointer?

    /// Bytes of one value; nothing that we write comes near.
    private static let valueLimit: Int32 = 4 << 20

    private init(_ name: String, flags: Int32) throws(StoreFailure) {
        precondition(sqlite3_threadsafe() != 0, "SQLite was built for one thread only")
        var handle: OpaquePointer?
        let code = sqlite3_open_v2(
            name, &handle, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE, nil
        )
        guard let handle else { throw .io(code: code) }
        self.handle = handle
        guard code == SQLITE_OK else { throw failure(code) }
        let hardened = csqlite_harden(handle)
        guard hardened == SQLITE_OK else { throw failure(hardened) }
        sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, Self.valueLimit)
        sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 1)
        try execute("PRAGMA cell_size_check = ON")
        try execute("PRAGMA mmap_size = 0")
        try execute("PRAGMA temp_store = MEMORY")
        try execute("PRAGMA cache_size = -512")
    }

    deinit {
        // Statements hold the connection, so none is left here.
        sqlite3_close_v2(handle)
        imageCopy?.deallocate()
    }

    /// Looks at a file without touching anything: no lock, no roll-back, no journal.
    static func inspecting(_ path: String) throws(StoreFailure) -> Connection {
        var name = "file:"
        for scalar in path.unicodeScalars {
            switch scalar {
            case "%": name += "%25"
            case "?": name += "%3f"
            case "#": name += "%23"
            default: name.unicodeScalars.append(scalar)
            }
        }
        return try Connection(name + "?immutable=1", flags: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
    }

    /// Looks at the bytes of a database.
    static func inspecting(image: [UInt8]) throws(StoreFailure) -> Connection {
        let connection = try Connection(":memory:", flags: SQLITE_OPEN_READWRITE)
        let copy = UnsafeMutableRawPointer.allocate(byteCount: max(image.count, 1), alignment: 8)
        image.withUnsafeBytes {
            if let base = $0.baseAddress { copy.copyMemory(from: base, byteCount: $0.count) }
        }
        connection.imageCopy = copy
        let code = sqlite3_deserialize(
            connection.handle, "main", copy.assumingMemoryBound(to: UInt8.self), Int64(image.count),
            Int64(image.count), UInt32(SQLITE_DESERIALIZE_READONLY))
        guard code == SQLITE_OK else { throw connection.failure(code) }
        return connection
    }

    /// Opens a file that exists for reading and writing, for this process alone.
    ///
    /// - Throws: `.inUse` where another process has it open.
    static func opening(_ path: String) throws(StoreFailure) -> Connection {
        let connection = try Connection(path, flags: SQLITE_OPEN_READWRITE)
        sqlite3_busy_timeout(connection.handle, 2000)
        try connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        try connection.execute("PRAGMA secure_delete = ON")
        try connection.execute(TestSwitches.synchronous)
        // Rolls back what a crash left, and takes the lock that is then kept.
        try connection.execute("BEGIN EXCLUSIVE")
        try connection.execute("COMMIT")
        try connection.execute("PRAGMA journal_mode = TRUNCATE")
        return connection
    }

    /// Opens an empty file that nobody knows yet: without a journal, since it is thrown away when it fails.
    static func filling(_ path: String) throws(StoreFailure) -> Connection {
        let connection = try Connection(path, flags: SQLITE_OPEN_READWRITE)
        try connection.execute("PRAGMA journal_mode = MEMORY")
        try connection.execute("PRAGMA synchronous = EXTRA")
        return connection
    }

    func execute(_ statement: StaticString) throws(StoreFailure) {
        try execute("\(statement)")
    }

    func execute(_ statement: String) throws(StoreFailure) {
        let code = sqlite3_exec(handle, statement, nil, nil, nil)
        guard code == SQLITE_OK else { throw failure(code) }
    }

    /// Whether a transaction is open.
    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// Ends a transaction that is open still; what cannot be rolled back now is rolled back when the file is next opened.
    func rollBack() {
        if isInTransaction { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
    }

    /// The version that `PRAGMA user_version` keeps.
    var userVersion: Int64 {
        get throws(StoreFailure) {
            let statement = try Statement(self, "PRAGMA user_version")
            guard try statement.step() else { throw .corrupt(detail: .header) }
            return statement.integer(0)
        }
    }

    /// What a result code means for the store.
    func failure(_ code: Int32) -> StoreFailure {
        let cause = sqlite3_system_errno(handle)
        switch code & 0xFF {
        case SQLITE_FULL: return .full
        case SQLITE_IOERR, SQLITE_CANTOPEN:
            return cause == ENOSPC || cause == EDQUOT ? .full : .io(code: code)
        case SQLITE_BUSY, SQLITE_LOCKED: return .inUse
        case SQLITE_CORRUPT, SQLITE_NOTADB: return .corrupt(detail: .database)
        case SQLITE_ERROR, SQLITE_SCHEMA, SQLITE_CONSTRAINT, SQLITE_MISMATCH: return .corrupt(detail: .schema)
        case SQLITE_TOOBIG: return .corrupt(detail: .row)
        default: return .io(code: code)
        }
    }
}
