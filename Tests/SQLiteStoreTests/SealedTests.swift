import CLinux
import CredentialCore
import Glibc
import Secrets
import TestSupport
import Testing

import SQLiteStore

@Suite struct `Sealed store` {
    private func filled() throws -> StoreBench {
        let bench = try StoreBench()
        try bench.openContents()
        try bench.run(
            put("a", try held(1, token: "first"), expecting: 0), put("b", try held(1), expecting: 0),
            .putAccount(name: name("c"), definition: secret("{}"), policy: secret("[]")))
        bench.close()
        return bench
    }

    /// Expects that it stays sealed for `reason`, and that no file changed in the slightest.
    private func expectUntouched(
        _ bench: StoreBench, _ reason: StoreFailure, source: MasterKeySource? = nil,
        location: SourceLocation = #_sourceLocation
    ) throws {
        let before = bench.fingerprint
        #expect(try bench.sealedReason(source) == reason, sourceLocation: location)
        #expect(bench.fingerprint == before, sourceLocation: location)
    }

    @Test func `R92: a missing key touches nothing`() throws {
        let bench = try filled()
        unlink(bench.keyPath)
        try expectUntouched(bench, .keyMissing)
        try expectUntouched(bench, .keyMissing, source: MasterKeySource.none)
    }

    @Test func `a wrong key touches nothing`() throws {
        let bench = try filled()
        var key = StoreBench.read(bench.keyPath)
        key[31] ^= 1
        StoreBench.write(key, to: bench.keyPath)
        try expectUntouched(bench, .keyWrong)
        for length in [0, 31, 33] {
            StoreBench.write(Array(repeating: 7, count: length), to: bench.keyPath)
            try expectUntouched(bench, .keyWrong)
        }
        try expectUntouched(bench, .keyWrong, source: .bytes(secret("short")))
    }

    @Test func `a key file that others could read or replace is refused`() throws {
        let bench = try filled()
        for mode: mode_t in [0o640, 0o604, 0o620, 0o601] {
            chmod(bench.keyPath, mode)
            try expectUntouched(bench, .keyFileUnsafe)
        }
        chmod(bench.keyPath, 0o600)
        rename(bench.keyPath, bench.keyPath + ".real")
        symlink(bench.keyPath + ".real", bench.keyPath)
        try expectUntouched(bench, .keyFileUnsafe)
        unlink(bench.keyPath)
        mkfifo(bench.keyPath, 0o600)
        try expectUntouched(bench, .keyFileUnsafe)
        unlink(bench.keyPath)
        mkdir(bench.keyPath, 0o700)
        try expectUntouched(bench, .keyFileUnsafe)
        rmdir(bench.keyPath)
        rename(bench.keyPath + ".real", bench.keyPath)
        #expect(try bench.openContents().credentials.count == 2)
    }

    @Test func `a key file of another user is refused`() throws {
        let bench = try filled()
        guard chown(bench.keyPath, 12345, 12345) == 0 else {
            print("SKIPPED: only root can give a file away")
            return
        }
        try expectUntouched(bench, .keyFileUnsafe)
    }

    @Test func `a key file is made for a new store only, and is private`() throws {
        let bench = try StoreBench()
        #expect(try bench.sealedReason(.file(path: bench.keyPath, mayCreate: false)) == .keyMissing)
        #expect(access(bench.keyPath, F_OK) != 0)
        #expect(access(bench.paths.database, F_OK) != 0)
        try bench.openContents()
        var status = stat()
        #expect(stat(bench.keyPath, &status) == 0)
        #expect(status.st_mode == S_IFREG | 0o600)
        #expect(status.st_size == 32)
        #expect(Files.names(in: bench.root + "/config") == ["master.key"])
        #expect(stat(bench.paths.database, &status) == 0)
        #expect(status.st_mode == S_IFREG | 0o600)
        #expect(stat(bench.paths.stateDirectory, &status) == 0)
        #expect(status.st_mode == S_IFDIR | 0o700)
        #expect(Files.names(in: bench.paths.stateDirectory) == ["lock", "store.db"])
    }

    @Test func `a key is made beside a configuration that others may read, but not write`() throws {
        for (mode, reason) in [(0o755, nil), (0o775, StoreFailure.io(code: -EACCES))]
            as [(mode_t, StoreFailure?)]
        {
            let bench = try StoreBench()
            mkdir(bench.root + "/config", 0o700)
            chmod(bench.root + "/config", mode)
            #expect(try bench.sealedReason() == reason)
        }
    }

    @Test func `a key that was there before is used and not replaced`() throws {
        let bench = try StoreBench()
        mkdir(bench.root + "/config", 0o700)
        let key = [UInt8](32..<64)
        StoreBench.write(key, to: bench.keyPath)
        try bench.openContents()
        #expect(StoreBench.read(bench.keyPath) == key)
    }

    @Test func `an empty or foreign file is damage and no fresh start`() throws {
        let bench = try StoreBench()
        mkdir(bench.paths.stateDirectory, 0o700)
        mkdir(bench.paths.epochDirectory, 0o700)
        StoreBench.write([], to: bench.paths.stateDirectory + "/lock")
        StoreBench.write([], to: bench.paths.database)
        try expectUntouched(bench, .corrupt(detail: .header))
        StoreBench.write(Array(repeating: 1, count: 8192), to: bench.paths.database)
        try expectUntouched(bench, .corrupt(detail: .database))
        #expect(access(bench.keyPath, F_OK) != 0)
    }

    @Test func `a journal without its store is not rolled back into a new one`() throws {
        let bench = try StoreBench()
        mkdir(bench.paths.stateDirectory, 0o700)
        mkdir(bench.paths.epochDirectory, 0o700)
        StoreBench.write([], to: bench.paths.stateDirectory + "/lock")
        StoreBench.write([1, 2, 3], to: bench.journalPath)
        try expectUntouched(bench, .corrupt(detail: .database))
    }

    @Test func `a newer store is refused and left alone`() throws {
        let bench = try filled()
        RawDatabase.run(bench.paths.database, "PRAGMA user_version = \(StoreFormat.current.version + 1)")
        try expectUntouched(bench, .tooNew(version: StoreFormat.current.version + 1))
    }

    @Test func `a second daemon is turned away`() throws {
        let bench = try filled()
        try bench.openContents()
        let second = try StoreBench(root: bench.root)
        #expect(throws: StoreFailure.inUse) { try second.open() }
        bench.close()
        #expect(try second.openContents().credentials.count == 2)
        second.close()
    }

    @Test func `directories that others can enter are refused`() throws {
        let bench = try filled()
        chmod(bench.paths.stateDirectory, 0o750)
        #expect(throws: StoreFailure.io(code: -EACCES)) { try bench.open() }
        chmod(bench.paths.stateDirectory, 0o700)
        chmod(bench.paths.epochDirectory, 0o705)
        #expect(throws: StoreFailure.io(code: -EACCES)) { try bench.open() }
        chmod(bench.paths.epochDirectory, 0o700)
        rename(bench.paths.stateDirectory, bench.root + "/elsewhere")
        symlink(bench.root + "/elsewhere", bench.paths.stateDirectory)
        #expect(throws: StoreFailure.io(code: -ENOTDIR)) { try bench.open() }
    }

    @Test func `a database that others can read or that is a link is refused`() throws {
        let bench = try filled()
        chmod(bench.paths.database, 0o640)
        try expectUntouched(bench, .io(code: -EACCES))
        chmod(bench.paths.database, 0o600)
        rename(bench.paths.database, bench.root + "/real.db")
        symlink(bench.root + "/real.db", bench.paths.database)
        try expectUntouched(bench, .io(code: -ELOOP))
    }

    @Test func `changes are refused while sealed, and it opens when the key comes`() throws {
        let bench = try filled()
        rename(bench.keyPath, bench.keyPath + ".away")
        guard case .sealed(.keyMissing) = try bench.open() else {
            Issue.record("it opened")
            return
        }
        #expect(bench.store?.status.sealed == .keyMissing)
        #expect(try bench.run(put("z", try held(1), expecting: 0)) == [.sealed])
        bench.store?.reopen()
        try bench.wait { !bench.listener.reasons.isEmpty }
        #expect(bench.listener.reasons == [.keyMissing])
        rename(bench.keyPath + ".away", bench.keyPath)
        bench.store?.reopen()
        try bench.wait { !bench.listener.openings.isEmpty }
        #expect(bench.listener.openings.map { $0.credentials.count } == [2])
        #expect(bench.store?.status.sealed == nil)
        #expect(bench.store?.status.formatVersion == StoreFormat.current.version)
        #expect(try bench.run(put("z", try held(1), expecting: 0)) == [nil])
    }

    @Test func `a key that is handed over opens it, and a wrong one does not`() throws {
        let bench = try filled()
        let key = StoreBench.read(bench.keyPath)
        unlink(bench.keyPath)
        _ = try bench.open(MasterKeySource.none)
        bench.store?.unseal(with: SecretBytes(copying: [UInt8](repeating: 9, count: 32).span))
        try bench.wait { !bench.listener.reasons.isEmpty }
        #expect(bench.listener.reasons == [.keyWrong])
        bench.store?.unseal(with: SecretBytes(copying: key.span))
        try bench.wait { !bench.listener.openings.isEmpty }
        #expect(try bench.run(put("z", try held(1), expecting: 0)) == [nil])
    }
}

@Suite struct `Store roll-back` {
    @Test func `an older file is noticed`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        try bench.run(put("a", try held(1, token: "spent"), expecting: 0))
        bench.close()
        let old = StoreBench.read(bench.paths.database)
        try bench.openContents()
        try bench.run(put("a", try held(2, token: "fresh"), expecting: 1))
        bench.close()
        let new = StoreBench.read(bench.paths.database)
        StoreBench.write(old, to: bench.paths.database)
        let before = bench.fingerprint
        #expect(try bench.sealedReason() == .rolledBack)
        #expect(bench.fingerprint == before)
        StoreBench.write(new, to: bench.paths.database)
        #expect(text(try bench.openContents().credentials[0].held?.credential?.idToken) == "fresh")
    }

    @Test func `a missing, foreign or edited epoch file is noticed`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        try bench.run(put("a", try held(1), expecting: 0))
        bench.close()
        let good = StoreBench.read(bench.epochPath)
        let other = try StoreBench()
        try other.openContents()
        other.close()
        let line = String(decoding: good, as: UTF8.self)
        let words = line.split(separator: " ").map(String.init)
        let forgeries =
            [
                [], Array(good.dropLast()), good + [0x0A], StoreBench.read(other.epochPath), Array("\n".utf8),
                Array((words[0...2] + ["1", words[4]]).joined(separator: " ").utf8),
                Array((words[0...2] + ["9223372036854775807", words[4]]).joined(separator: " ").utf8),
                Array((words[0...2] + ["9223372036854775808", words[4]]).joined(separator: " ").utf8),
            ]
        for forgery in forgeries {
            StoreBench.write(forgery, to: bench.epochPath)
            #expect(try bench.sealedReason() == .rolledBack)
        }
        unlink(bench.epochPath)
        #expect(try bench.sealedReason() == .rolledBack)
        StoreBench.write(good, to: bench.epochPath)
        #expect(try bench.openContents().credentials.count == 1)
    }

    @Test func `an epoch file that lags is brought up to date`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        let old = StoreBench.read(bench.epochPath)
        try bench.run(put("a", try held(1), expecting: 0))
        bench.close()
        let new = StoreBench.read(bench.epochPath)
        #expect(old != new)
        StoreBench.write(old, to: bench.epochPath)
        try bench.openContents()
        #expect(StoreBench.read(bench.epochPath) == new)
    }

    @Test func `a store that was removed is not made anew`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        bench.close()
        unlink(bench.paths.database)
        #expect(try bench.sealedReason() == .rolledBack)
        #expect(access(bench.paths.database, F_OK) != 0)
    }

    @Test func `a store whose making was interrupted is made anew`() throws {
        let bench = try StoreBench()
        mkdir(bench.paths.epochDirectory, 0o700)
        mkdir(bench.paths.stateDirectory, 0o700)
        StoreBench.write(
            Array("chatauth-epoch 1 00112233445566778899aabbccddeeff 0 00\n".utf8), to: bench.epochPath)
        StoreBench.write([1, 2, 3], to: bench.paths.stateDirectory + "/store.db.new")
        #expect(try bench.openContents().epoch == 1)
        #expect(
            Files.names(in: bench.paths.stateDirectory) == ["lock", "store.db"])
    }

    @Test func `an epoch file that cannot be written costs no change`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        let good = StoreBench.read(bench.epochPath)
        // A directory where the new file would be prepared.
        mkdir(bench.epochPath + ".new", 0o700)
        #expect(try bench.run(put("a", try held(1), expecting: 0)) == [nil])
        try bench.wait { bench.store?.status.epochFileFailure == .io(code: -EISDIR) }
        #expect(StoreBench.read(bench.epochPath) == good)
        rmdir(bench.epochPath + ".new")
        #expect(try bench.run(put("a", try held(2), expecting: 1)) == [nil])
        try bench.wait { bench.store?.status.epochFileFailure == nil }
        #expect(try bench.openContents().epoch == 3)
    }
}
