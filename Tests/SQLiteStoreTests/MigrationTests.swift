import CredentialCore
import Glibc
import Secrets
import TestSupport
import Testing

import SQLiteStore

@Suite struct `Store migration` {
    private static let extra = "CREATE TABLE extra (id INTEGER PRIMARY KEY, value BLOB) STRICT"

    private static func next(_ steps: [String] = [extra], tables: [String] = [extra]) -> StoreFormat {
        let newest = StoreFormat.current.versions.count
        let last = StoreFormat.current.versions[newest - 1]
        return StoreFormat(
            versions: StoreFormat.current.versions + [
                StoreFormat.Version(steps: steps, tables: last.tables + tables)
            ])
    }

    private func filled() throws -> StoreBench {
        let bench = try StoreBench()
        try bench.openContents()
        try bench.run(put("a", try held(1, token: "carried over"), expecting: 0))
        bench.close()
        return bench
    }

    @Test func `a store is brought to a new version, with a backup that opens`() throws {
        let bench = try filled()
        let before = try bench.openContents()
        bench.close()
        let epochFile = StoreBench.read(bench.epochPath)
        let after = try bench.openContents(format: Self.next())
        #expect(summary(after) == summary(before))
        #expect(after.epoch == before.epoch + 1)
        #expect(bench.store?.status.formatVersion == StoreFormat.current.version + 1)
        #expect(try bench.run(put("a", try held(2), expecting: 1)) == [nil])
        bench.close()

        let backup = bench.paths.stateDirectory + "/backups/store.v\(StoreFormat.current.version).db"
        var status = stat()
        #expect(stat(backup, &status) == 0)
        #expect(status.st_mode == S_IFREG | 0o600)
        #expect(
            Files.names(in: bench.paths.stateDirectory + "/backups") == [
                "store.v\(StoreFormat.current.version).db"
            ])
        let restored = try StoreBench()
        for directory in [
            restored.root + "/config", restored.paths.stateDirectory, restored.paths.epochDirectory,
        ] {
            mkdir(directory, 0o700)
        }
        StoreBench.write(StoreBench.read(backup), to: restored.paths.database)
        StoreBench.write(epochFile, to: restored.epochPath)
        StoreBench.write(StoreBench.read(bench.keyPath), to: restored.keyPath)
        #expect(summary(try restored.openContents()) == summary(before))

        #expect(try bench.sealedReason() == .tooNew(version: StoreFormat.current.version + 1))
        #expect(
            text(try bench.openContents(format: Self.next()).credentials[0].held?.credential?.idToken)
                == "token")
    }

    @Test func `a step that fails changes nothing`() throws {
        let bench = try filled()
        let before = StoreBench.read(bench.paths.database)
        for (format, reason) in [
            (
                Self.next([Self.extra, "INSERT INTO missing VALUES (1)"]),
                StoreFailure.corrupt(detail: .schema)
            ),
            (Self.next([Self.extra, "DELETE FROM record"]), .corrupt(detail: .head)),
            (Self.next([Self.extra, "UPDATE record SET name = 'b'"]), .corrupt(detail: .row)),
            (Self.next([]), .corrupt(detail: .schema)),
        ] {
            #expect(try bench.sealedReason(format: format) == reason)
            #expect(StoreBench.read(bench.paths.database) == before)
        }
        #expect(try bench.openContents().credentials.count == 1)
    }

    /// The store that a program of version 1 wrote, laid out anew.
    private func firstVersion() throws -> StoreBench {
        let bench = try StoreBench()
        let fixture = Files.packageRoot + "/Tests/Fixtures/store-v1/"
        for directory in [bench.root + "/config", bench.paths.stateDirectory, bench.paths.epochDirectory] {
            mkdir(directory, 0o700)
        }
        for (name, path) in [
            ("store.db", bench.paths.database), ("master.key", bench.keyPath), ("epoch", bench.epochPath),
        ] { StoreBench.write(StoreBench.read(fixture + name), to: path) }
        return bench
    }

    @Test func `a store that a program of version 1 wrote keeps every credential`() throws {
        let bench = try firstVersion()
        let old = StoreFormat(versions: [StoreFormat.current.versions[0]])
        let original = StoreBench.read(bench.paths.database)
        let before = try bench.openContents(format: old)
        bench.close()
        #expect(before.credentials.count == 8)
        #expect(StoreBench.read(bench.paths.database) == original)
        let after = try bench.openContents()
        #expect(summary(after) == summary(before))
        #expect(after.epoch == before.epoch + 1)
        #expect(bench.store?.status.formatVersion == StoreFormat.current.version)
        for stored in after.credentials {
            let token = text(stored.held?.credential?.accessToken) ?? ""
            #expect(token.hasPrefix("token-") && token.hasSuffix("-" + String(repeating: "x", count: 600)))
        }
        bench.close()
        let migrated = bench.fingerprint
        #expect(try bench.sealedReason(format: old) == .tooNew(version: StoreFormat.current.version))
        #expect(bench.fingerprint == migrated)

        // Back to the old program: its backup, and the epoch file as it was.
        let restored = try firstVersion()
        StoreBench.write(
            StoreBench.read(bench.paths.stateDirectory + "/backups/store.v1.db"), to: restored.paths.database)
        #expect(summary(try restored.openContents(format: old)) == summary(before))
    }

    @Test func `a migration without room for its backup changes nothing and is made later`() throws {
        let bench = try firstVersion()
        let files = ["store.db"].map { StoreBench.read(bench.paths.stateDirectory + "/" + $0) }
        let mount = "mount -t tmpfs -o size=128k,mode=700 tmpfs \(bench.paths.stateDirectory) 2>/dev/null"
        guard geteuid() == 0, system(mount) == 0 else {
            print("SKIPPED: only root can mount a small disk")
            return
        }
        defer {
            bench.close()
            _ = system("umount \(bench.paths.stateDirectory)")
        }
        StoreBench.write(files[0], to: bench.paths.database)
        let filler = bench.paths.stateDirectory + "/filler"
        StoreBench.write([UInt8](repeating: 1, count: 128 << 10), to: filler)
        #expect(try bench.sealedReason() == .full)
        #expect(StoreBench.read(bench.paths.database) == files[0])
        unlink(filler)
        #expect(try bench.openContents().credentials.count == 8)
        #expect(bench.store?.status.formatVersion == StoreFormat.current.version)
    }

    @Test func `a new store has the newest version at once`() throws {
        let bench = try StoreBench()
        try bench.openContents(format: Self.next())
        #expect(bench.store?.status.formatVersion == StoreFormat.current.version + 1)
        #expect(access(bench.paths.stateDirectory + "/backups", F_OK) != 0)
    }
}
