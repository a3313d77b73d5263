import CredentialCore
import Glibc

/// Brings a store of an older version to the newest, step by step, in one transaction, after a backup that was opened and compared.
enum Migration {
    /// Changes the store behind `connection`; nothing has changed when it throws.
    static func run(
        _ connection: Connection, _ loaded: LoadedStore, master: GuardedMemory, format: StoreFormat,
        directory: PrivateDirectory, now: WallTime
    ) throws(StoreFailure) {
        try backUp(connection, loaded, master: master, format: format, directory: directory)
        do throws(StoreFailure) {
            try connection.execute("BEGIN IMMEDIATE")
            for version in format.versions[Int(loaded.version)...] {
                for step in version.steps { try connection.execute(step) }
            }
            try connection.execute("PRAGMA user_version = \(format.version)")
            var head = loaded.head
            head.epoch += 1
            head.lastWrittenAt = now
            let code = loaded.keys.withKeys {
                head.code(version: format.version, header: loaded.header, rows: loaded.sum, keys: $0)
            }
            try Statement(
                connection, "UPDATE head SET epoch = ?1, last_written_ms = ?2, code = ?3 WHERE id = 1"
            ).run(.integer(head.epoch), .integer(now.milliseconds), .blob(code))
            // Reads everything as the next start would: steps that damaged a row are not kept.
            let migrated = try StoreLoader.load(connection, master: master, format: format)
            guard migrated.version == format.version else { throw .corrupt(detail: .schema) }
            try connection.execute("COMMIT")
        } catch {
            connection.rollBack()
            throw error
        }
    }

    /// Writes `backups/store.vN.db`, N being the version that is left.
    private static func backUp(
        _ connection: Connection, _ loaded: LoadedStore, master: GuardedMemory, format: StoreFormat,
        directory: PrivateDirectory
    ) throws(StoreFailure) {
        let backups = try PrivateDirectory(directory.path(of: StoreFiles.backups))
        let name = "store.v\(loaded.version).db"
        let temporary = name + ".new"
        try backups.remove(temporary)
        // Made here, so that it has its mode from the first moment; SQLite takes an empty file.
        let file = try backups.create(temporary)
        try Statement(connection, "VACUUM INTO ?1").run(.text(backups.path(of: temporary)))
        try file.sync()
        let copy = try StoreLoader.load(
            .inspecting(backups.path(of: temporary)), master: master, format: format)
        guard copy.head == loaded.head, copy.code == loaded.code else { throw .corrupt(detail: .database) }
        try backups.rename(temporary, to: name)
    }
}
