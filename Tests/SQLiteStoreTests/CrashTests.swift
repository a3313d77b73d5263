import CredentialCore
import Glibc
import Secrets
import TestSupport
import Testing

import SQLiteStore

@Suite struct `Crashes and full disks` {
    /// A store as a crash leaves it: a transaction half written, its journal hot; and the contents before it.
    private func interrupted() throws -> (StoreBench, [String]) {
        let source = try StoreBench()
        try source.openContents()
        try source.run(
            try (0..<60).map { put("account-\($0)", try held(1, token: "before-\($0)"), expecting: 0) })
        let contents = summary(try source.openContents())
        source.close()
        let bench = try StoreBench()
        let database = RawDatabase(source.paths.database)
        // So little cache that pages go to the file before the end, and pages are added.
        database.run(
            """
            PRAGMA journal_mode = TRUNCATE; PRAGMA cache_size = 1; BEGIN;
            UPDATE record SET sealed = zeroblob(300), generation = 9;
            UPDATE data_key SET master_check = zeroblob(32);
            INSERT INTO record (kind, name, generation, data_key, sealed)
            SELECT kind, name || 'x', 1, 1, zeroblob(900) FROM record;
            """)
        mkdir(bench.root + "/config", 0o700)
        mkdir(bench.paths.stateDirectory, 0o700)
        mkdir(bench.paths.epochDirectory, 0o700)
        for (from, to) in [
            (source.paths.database, bench.paths.database), (source.journalPath, bench.journalPath),
            (source.epochPath, bench.epochPath), (source.keyPath, bench.keyPath),
            (source.paths.stateDirectory + "/lock", bench.paths.stateDirectory + "/lock"),
        ] { StoreBench.write(StoreBench.read(from), to: to) }
        #expect(RollbackJournal.isHot(StoreBench.read(bench.journalPath)))
        #expect(StoreBench.read(bench.paths.database).count > 0)
        return (bench, contents)
    }

    @Test func `a hot journal is rolled back with the right key`() throws {
        let (bench, contents) = try interrupted()
        #expect(summary(try bench.openContents()) == contents)
        #expect(StoreBench.read(bench.journalPath).isEmpty)
        #expect(try bench.run(put("account-1", try held(2), expecting: 1)) == [nil])
        #expect(try bench.openContents().credentials.count == 60)
    }

    @Test func `a hot journal is left alone without the right key`() throws {
        let (bench, contents) = try interrupted()
        let key = StoreBench.read(bench.keyPath)
        let before = bench.fingerprint
        #expect(try bench.sealedReason(MasterKeySource.none) == .keyMissing)
        #expect(try bench.sealedReason(.bytes(SecretBytes(copying: [UInt8](0..<32).span))) == .keyWrong)
        #expect(bench.fingerprint == before)
        #expect(StoreBench.read(bench.keyPath) == key)
        #expect(summary(try bench.openContents()) == contents)
    }

    @Test func `a roll-back in memory is the one that SQLite makes`() throws {
        let (bench, _) = try interrupted()
        let ours = RollbackJournal.rollBack(
            StoreBench.read(bench.paths.database), journal: StoreBench.read(bench.journalPath))
        RawDatabase.run(bench.paths.database, "SELECT count(*) FROM record")
        let theirs = StoreBench.read(bench.paths.database)
        #expect(ours.count == theirs.count)
        #expect(ours == theirs)
    }

    @Test func `a journal whose second header knows of more pages than its first is damaged`() {
        func header(records: UInt8, pages: UInt8) -> [UInt8] {
            let magic: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
            let numbers: [UInt8] = [0, 0, 0, records, 0, 0, 0, 0, 0, 0, 0, pages, 0, 0, 2, 0, 0, 0, 2, 0]
            return magic + numbers + [UInt8](repeating: 0, count: 512 - 28)
        }
        let database = [UInt8](repeating: 7, count: 512)
        let record = [0, 0, 0, 3] + [UInt8](repeating: 0, count: 512) + [0, 0, 0, 0]
        let journal = header(records: 0, pages: 1) + header(records: 1, pages: 4) + record
        #expect(RollbackJournal.rollBack(database, journal: journal) == database)
    }

    @Test func `a damaged journal never traps and never gives a wrong credential`() throws {
        let (bench, contents) = try interrupted()
        let database = StoreBench.read(bench.paths.database)
        let journal = StoreBench.read(bench.journalPath)
        var random = SeededGenerator.announced(for: "damaged journals")
        for round in 0..<150 {
            var damaged = journal
            if round % 3 == 0 { damaged.removeLast(Int.random(in: 1..<journal.count, using: &random)) }
            for _ in 0..<(round % 3) {
                let bit = Int.random(in: 0..<(round % 2 == 0 ? 28 * 8 : damaged.count * 8), using: &random)
                damaged[bit / 8] ^= 1 << UInt8(bit % 8)
            }
            StoreBench.write(database, to: bench.paths.database)
            StoreBench.write(damaged, to: bench.journalPath)
            let engine = try bench.engine()
            switch engine.open(now: bench.clock.now.wall) {
            case .open(let seen): #expect(summary(seen) == contents)
            case .sealed(let reason):
                switch reason {
                case .corrupt, .keyWrong, .tooNew, .rolledBack: break
                default: Issue.record("\(reason)")
                }
                #expect(StoreBench.read(bench.journalPath) == damaged)
            }
        }
    }

    @Test func `a crash between a commit and the epoch file leaves a store that opens`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        bench.close()
        let lagging = StoreBench.read(bench.epochPath)
        do {
            let engine = try bench.engine()
            _ = engine.open(now: bench.clock.now.wall)
            let change = StoreChange(id: 1, put("a", try held(1, token: "kept"), expecting: 0))
            var failures: [StoreFailure?] = []
            #expect(
                engine.commit([TimedChange(change: change, at: bench.clock.now.wall)]) {
                    failures = $0.map(\.failure)
                } == nil)
            #expect(failures == [nil])
            #expect(engine.epochLag == 1)
            #expect(StoreBench.read(bench.epochPath) == lagging)
        }
        let contents = try bench.openContents()
        #expect(contents.epoch == 2)
        #expect(text(contents.credentials.first?.held?.credential?.idToken) == "kept")
        #expect(StoreBench.read(bench.epochPath) != lagging)
    }

    @Test func `the epoch file follows without being asked`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        let before = StoreBench.read(bench.epochPath)
        try bench.run(put("a", try held(1), expecting: 0))
        // Questions do not put it off.
        while StoreBench.read(bench.epochPath) == before {
            var isAnswered = false
            #expect(bench.store?.ping { isAnswered = true } == true)
            try bench.wait { isAnswered }
        }
        let after = StoreBench.read(bench.epochPath)
        bench.close()
        #expect(StoreBench.read(bench.epochPath) == after)
    }

    @Test func `a store that the disk keeps sealed opens by itself once it can`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        try bench.run(put("a", try held(1), expecting: 0))
        bench.close()
        // A link where the store was cannot be opened, as by a disk that fails.
        let moved = bench.paths.database + ".moved"
        rename(bench.paths.database, moved)
        symlink(moved, bench.paths.database)
        guard case .sealed(.io) = try bench.open() else {
            Issue.record("not sealed")
            return
        }
        rename(moved, bench.paths.database)
        try bench.wait { !bench.listener.openings.isEmpty }
        #expect(bench.listener.openings.map(\.credentials.count) == [1])
        #expect(bench.listener.reasons.isEmpty)
        #expect(try bench.run(put("a", try held(2), expecting: 1)) == [nil])
    }

    @Test func `a full disk refuses the group and takes the next one`() throws {
        let bench = try StoreBench()
        mkdir(bench.paths.stateDirectory, 0o700)
        let mount = "mount -t tmpfs -o size=600k,mode=700 tmpfs \(bench.paths.stateDirectory) 2>/dev/null"
        guard geteuid() == 0, system(mount) == 0 else {
            print("SKIPPED: only root can mount a small disk")
            return
        }
        defer {
            bench.close()
            _ = system("umount \(bench.paths.stateDirectory)")
        }
        try bench.openContents()
        #expect(try bench.run(put("a", try held(1, token: "kept"), expecting: 0)) == [nil])
        let filler = bench.paths.stateDirectory + "/filler"
        StoreBench.write([UInt8](repeating: 0, count: 700_000), to: filler)
        let large = String(repeating: "x", count: 30_000)
        for _ in 0..<3 {
            #expect(
                try bench.run(
                    put("a", try held(2, token: large), expecting: 1),
                    put("b", try held(1, token: large), expecting: 0)
                ).allSatisfy { $0 == .full })
        }
        #expect(bench.store?.status.lastFailure == .full)
        #expect(bench.store?.status.epoch == 2)
        unlink(filler)
        #expect(
            try bench.run(
                put("a", try held(2, token: "next"), expecting: 1), put("b", try held(1), expecting: 0)) == [
                    nil, nil,
                ])
        #expect(bench.store?.status.lastFailure == nil)
        let contents = try bench.openContents()
        #expect(
            text(contents.credentials.first { $0.account == name("a") }?.held?.credential?.idToken) == "next")
    }

    @Test func `a value that is too large costs only itself`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        let huge = SecretBytes(copying: [UInt8](repeating: 0x20, count: (1 << 20) + 1).span)
        #expect(
            try bench.run(
                .putAccount(name: name("x"), definition: huge, policy: secret("{}")),
                put("a", try held(1), expecting: 0)) == [.full, nil])
        #expect(try bench.openContents().accounts.isEmpty)
    }

    @Test func `R91, R167: nothing in clear and nothing replaced stays in the files`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        let canaries = (0..<40).map { "canary-\($0)-\(String(repeating: "q", count: 40))" }
        try bench.run(
            try canaries.enumerated().map {
                put("account-\($0.offset)", try held(1, token: $0.element), expecting: 0)
            })
        try bench.run(
            .putAccount(
                name: name("x"), definition: secret("canary-account"), policy: secret("canary-policy")))
        bench.close()
        let sealed = (0..<40).map { index in
            RawDatabase(bench.paths.database).bytes(
                "SELECT sealed FROM record WHERE name = 'account-\(index)'")
        }
        #expect(sealed.allSatisfy { contains(StoreBench.read(bench.paths.database), Array($0[..<64])) })
        try bench.openContents()
        try bench.run(
            try (0..<20).map { put("account-\($0)", try held(2, token: "short"), expecting: 1) })
        try bench.run(
            (20..<30).map {
                .deleteCredential(
                    account: name("account-\($0)"), generation: Generation(2), expected: Generation(1))
            })
        try bench.run((30..<40).map { .deleteAccount(name: name("account-\($0)")) })
        bench.close()
        let bytes = StoreBench.read(bench.paths.database) + StoreBench.read(bench.journalPath)
        #expect(!contains(bytes, Array("canary-".utf8)))
        for old in sealed { #expect(!contains(bytes, Array(old[..<64]))) }
    }

    private func contains(_ bytes: [UInt8], _ pattern: [UInt8]) -> Bool {
        guard let first = pattern.first, bytes.count >= pattern.count else { return false }
        return bytes.withUnsafeBufferPointer { bytes in
            for start in 0...(bytes.count - pattern.count) where bytes[start] == first {
                if bytes[start..<(start + pattern.count)].elementsEqual(pattern) { return true }
            }
            return false
        }
    }
}
