import CredentialCore
import Glibc

/// Makes a store where there is none: under another name first, so that a store that exists is a whole one.
///
/// An empty or broken `store.db` is therefore never taken for a fresh start: it is damage, and stays as it is.
enum StoreCreation {
    private static let temporary = "store.db.new"

    static func create(
        in directory: PrivateDirectory, epochFile: EpochFile, source: MasterKeySource, format: StoreFormat,
        now: WallTime, random: RandomSource
    ) throws(StoreFailure) {
        try epochFile.checkThatNothingWasWritten()
        // A journal without its store would be rolled back into the new one.
        if let journal = try directory.open(StoreFiles.journal), try journal.status.st_size > 0 {
            throw .corrupt(detail: .database)
        }
        let master = try MasterKey.loadOrCreate(source, random: random)
        // From the first commit on, everything that opening needs must survive a power cut: also what an earlier start made that
        // was interrupted before it synced.
        for path in [directory.path, epochFile.directory.path] { try PrivateDirectory.makeNameLast(path) }
        try MasterKey.makeLast(source)
        let (header, keys) = DataKeys.create(master: master, random: random)
        try directory.remove(temporary)
        let file = try directory.create(temporary)
        try fill(directory.path(of: temporary), header: header, keys: keys, format: format, now: now)
        try file.sync()
        try keys.withKeys { keys throws(StoreFailure) in
            try epochFile.write(epoch: 0, header: header, keys: keys)
        }
        try directory.rename(temporary, to: StoreFiles.database)
    }

    private static func fill(
        _ path: String, header: KeyHeader, keys: DataKeys, format: StoreFormat, now: WallTime
    ) throws(StoreFailure) {
        let connection = try Connection.filling(path)
        try connection.execute("BEGIN IMMEDIATE")
        for version in format.versions {
            for step in version.steps { try connection.execute(step) }
        }
        try connection.execute("PRAGMA user_version = \(format.version)")
        try Statement(connection, "INSERT INTO store (id, store_id) VALUES (1, ?1)")
            .run(.blob(header.storeID))
        try Statement(connection, "INSERT INTO data_key (id, master_check, wrapped) VALUES (?1, ?2, ?3)")
            .run(.integer(header.dataKeyID), .blob(header.masterCheck), .blob(header.wrapped))
        let head = Head(epoch: 1, lastWrittenAt: now, rowCount: 0)
        let code = keys.withKeys { head.code(version: format.version, header: header, rows: .zero, keys: $0) }
        try Statement(
            connection,
            "INSERT INTO head (id, epoch, last_written_ms, row_count, code) VALUES (1, ?1, ?2, ?3, ?4)"
        ).run(
            .integer(head.epoch), .integer(head.lastWrittenAt.milliseconds), .integer(head.rowCount),
            .blob(code))
        try connection.execute("COMMIT")
    }
}
