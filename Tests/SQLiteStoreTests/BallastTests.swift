import CredentialCore
import Glibc
import Secrets
import Testing

import SQLiteStore

@Suite struct `Room for what spent grants bring` {
    private func grant(
        _ generation: Int64, _ token: String = "refresh", state: HeldGrant.State = .usable, uncertain: Int = 0
    ) -> HeldGrant {
        HeldGrant(
            name: name("desk"), refreshToken: secret(token), generation: Generation(generation),
            destination: Destination("provider=oauth;issuer=https://idp.example"), scope: "a b",
            receivedAt: WallTime(milliseconds: 1_800_000_000_001), state: state,
            uncertainAttempts: uncertain)
    }

    private func put(_ grant: HeldGrant, expecting: Int64) -> StoreChange.Operation {
        .putGrant(grant, expected: Generation(expecting))
    }

    @Test func `only so many grants may be on their way at once`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        func numbered(_ number: Int, _ state: HeldGrant.State) -> StoreChange.Operation {
            let held = HeldGrant(
                name: name("grant-\(number)"), refreshToken: secret("r"), generation: Generation(1),
                destination: Destination("d"), receivedAt: WallTime(milliseconds: 1), state: state)
            return .putGrant(held, expected: state == .usable ? .none : Generation(1))
        }
        try bench.run((0..<9).map { numbered($0, .usable) })
        let outcomes = try bench.run((0..<9).map { numbered($0, .spending) })
        #expect(outcomes == Array(repeating: nil, count: 8) + [.busy])
        #expect(bench.store?.status.hasBallast == true)
        // One that came back makes room for the ninth.
        let back = HeldGrant(
            name: name("grant-0"), refreshToken: secret("s"), generation: Generation(2),
            destination: Destination("d"), receivedAt: WallTime(milliseconds: 1))
        #expect(try bench.run(put(back, expecting: 1)) == [nil])
        #expect(try bench.run(numbered(8, .spending)) == [nil])
    }

    // A disk that is filled to its last byte once the grant is on its way.
    @Test
    func `what a spent grant brings is written on a full disk, and nothing is spent without room for it`()
        throws
    {
        let bench = try StoreBench()
        mkdir(bench.paths.stateDirectory, 0o700)
        let mount = "mount -t tmpfs -o size=24m,mode=700 tmpfs \(bench.paths.stateDirectory) 2>/dev/null"
        guard geteuid() == 0, system(mount) == 0 else {
            print("SKIPPED: only root can mount a small disk")
            return
        }
        defer {
            bench.close()
            _ = system("umount \(bench.paths.stateDirectory)")
        }
        try bench.openContents()
        let largest = String(repeating: "x", count: HeldGrant.tokenLimit)
        #expect(
            try bench.run(
                put(grant(1, largest), expecting: 0),
                SQLiteStoreTests.put("a", try held(1, token: largest, access: largest), expecting: 0)) == [
                    nil, nil,
                ])
        #expect(bench.store?.status.hasBallast == nil)
        #expect(try bench.run(put(grant(1, largest, state: .spending), expecting: 1)) == [nil])
        #expect(bench.store?.status.hasBallast == true)
        let filler = bench.paths.stateDirectory + "/filler"
        StoreBench.write([UInt8](repeating: 1, count: 24 << 20), to: filler)

        let successor = largest.dropLast() + "y"
        #expect(
            try bench.run(.putAccount(name: name("b"), definition: secret("{}"), policy: secret("{}"))) == [
                .full
            ])
        #expect(try bench.run(put(grant(2, String(successor)), expecting: 1)) == [nil])
        #expect(
            try bench.run(
                SQLiteStoreTests.put(
                    "a", try held(2, token: String(successor), access: largest), expecting: 1)) == [nil])
        // What was given up is taken again by nobody else: the next intent finds no room, and nothing changes.
        StoreBench.write([UInt8](repeating: 1, count: 24 << 20), to: filler)
        #expect(try bench.run(put(grant(2, String(successor), state: .spending), expecting: 2)) == [.full])
        #expect(bench.store?.status.hasBallast == false)
        unlink(filler)
        #expect(try bench.run(put(grant(2, String(successor), state: .spending), expecting: 2)) == [nil])
        #expect(bench.store?.status.hasBallast == true)
        let contents = try bench.openContents()
        #expect(contents.grants.first?.generation == Generation(2))
        #expect(contents.grants.first?.held?.state == .spending)
        #expect(text(contents.credentials.first?.held?.credential?.idToken) == String(successor))
    }

    private func numbered(
        _ number: Int, _ generation: Int64, _ token: String, _ state: HeldGrant.State = .usable,
        expecting: Int64
    ) -> StoreChange.Operation {
        let held = HeldGrant(
            name: name("grant-\(number)"), refreshToken: secret(token), generation: Generation(generation),
            destination: Destination("d"), receivedAt: WallTime(milliseconds: 1), state: state)
        return .putGrant(held, expected: Generation(expecting))
    }

    /// A bench whose state lies on a disk of its own; nil where none can be mounted.
    private func smallDisk(_ options: String, type: String = "tmpfs") throws -> StoreBench? {
        let bench = try StoreBench()
        mkdir(bench.paths.stateDirectory, 0o700)
        let mount = "mount -t \(type) -o \(options)mode=700 \(type) \(bench.paths.stateDirectory) 2>/dev/null"
        if geteuid() == 0, system(mount) == 0 { return bench }
        print("SKIPPED: only root can mount a disk")
        return nil
    }

    private func unmount(_ bench: StoreBench) {
        bench.close()
        _ = system("umount \(bench.paths.stateDirectory)")
    }

    private func ballastSize(_ bench: StoreBench) -> Int? {
        var status = stat()
        return stat(bench.paths.stateDirectory + "/ballast", &status) == 0 ? Int(status.st_size) : nil
    }

    // Whoever fills the disk goes on doing so: each time something is given up, the rest is taken at once.
    @Test func `eight grants that are on their way are all written while somebody takes every byte there is`()
        throws
    {
        guard let bench = try smallDisk("size=34m,") else { return }
        defer { unmount(bench) }
        try bench.openContents()
        let largest = String(repeating: "x", count: HeldGrant.tokenLimit)
        try bench.run(
            try (0..<8).flatMap { number in
                [
                    numbered(number, 1, largest, expecting: 0),
                    SQLiteStoreTests.put(
                        "a\(number)", try held(1, token: largest, access: largest), expecting: 0),
                ]
            })
        #expect(
            try bench.run((0..<8).map { numbered($0, 1, largest, .spending, expecting: 1) })
                == Array(repeating: nil, count: 8))
        var changes: [Bool] = []
        bench.store?.ballastDidChange = { changes.append($0) }
        let filler = bench.paths.stateDirectory + "/filler"
        func fill() { StoreBench.write([UInt8](repeating: 1, count: 34 << 20), to: filler) }
        let successor = String(largest.dropLast()) + "y"
        for number in 0..<8 {
            fill()
            #expect(try bench.run(numbered(number, 2, successor, expecting: 1)) == [nil])
            fill()
            #expect(
                try bench.run(
                    SQLiteStoreTests.put(
                        "a\(number)", try held(2, token: successor, access: largest), expecting: 1)) == [nil])
        }
        #expect(changes == [false])
        #expect(try bench.run(numbered(0, 2, successor, .spending, expecting: 2)) == [.full])
        unlink(filler)
        // The next commit that finds room makes it again, not only the next intent.
        #expect(try bench.run(.deleteSecret(name: name("none")), put(grant(1), expecting: 0)) == [nil, nil])
        #expect(changes == [false, true])
        #expect(ballastSize(bench) == 16 << 20)
        let contents = try bench.openContents()
        #expect(contents.grants.filter { $0.generation == Generation(2) }.count == 8)
        #expect(
            contents.grants.allSatisfy {
                $0.name == name("desk") || text($0.held?.refreshToken) == successor
            })
    }

    @Test
    func `a ballast that somebody removed, cut or opened to others is made again before a grant is spent`()
        throws
    {
        let bench = try StoreBench()
        try bench.openContents()
        try bench.run(numbered(0, 1, "r", expecting: 0))
        let path = bench.paths.stateDirectory + "/ballast"
        for harm: () -> Void in [
            {}, { unlink(path) }, { truncate(path, 5 << 20) }, { truncate(path, 0) }, { chmod(path, 0o644) },
            {
                unlink(path)
                symlink("/dev/null", path)
            },
        ] {
            harm()
            #expect(try bench.run(numbered(0, 1, "r", .spending, expecting: 1)) == [nil])
            var status = stat()
            #expect(lstat(path, &status) == 0)
            #expect(status.st_mode == S_IFREG | 0o600)
            #expect(status.st_size == 16 << 20)
            #expect(status.st_blocks * 512 >= 16 << 20)
        }
    }

    @Test func `a ballast with holes is none`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        try bench.run(numbered(0, 1, "r", expecting: 0))
        bench.close()
        let path = bench.paths.stateDirectory + "/ballast"
        StoreBench.write([], to: path)
        truncate(path, 16 << 20)
        try bench.openContents()
        #expect(bench.store?.status.hasBallast == false)
        #expect(try bench.run(numbered(0, 1, "r", .spending, expecting: 1)) == [nil])
        var status = stat()
        #expect(stat(path, &status) == 0)
        #expect(status.st_blocks * 512 >= 16 << 20)
        try bench.openContents()
        #expect(bench.store?.status.hasBallast == true)
    }

    @Test func `a file system that reserves nothing is written to`() throws {
        guard let bench = try smallDisk("", type: "ramfs") else { return }
        defer { unmount(bench) }
        try bench.openContents()
        try bench.run(numbered(0, 1, "r", expecting: 0))
        #expect(try bench.run(numbered(0, 1, "r", .spending, expecting: 1)) == [nil])
        let bytes = StoreBench.read(bench.paths.stateDirectory + "/ballast")
        #expect(bytes.count == 16 << 20)
        #expect(Set(bytes[(3 << 20)..<(3 << 20) + 4096]).count > 200)
    }

    @Test func `an intent on a full disk changes nothing`() throws {
        guard let bench = try smallDisk("size=2m,") else { return }
        defer { unmount(bench) }
        try bench.openContents()
        try bench.run(numbered(0, 1, "r", expecting: 0))
        let database = StoreBench.read(bench.paths.database)
        #expect(try bench.run(numbered(0, 1, "r", .spending, expecting: 1)) == [.full])
        #expect(bench.store?.status.hasBallast == false)
        #expect(ballastSize(bench) == nil)
        #expect(StoreBench.read(bench.paths.database) == database)
        #expect(try bench.openContents().grants.first?.held?.state == .usable)
    }

    @Test func `a grant whose attempt could not be written down is not one more`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        try bench.run((0..<8).map { numbered($0, 1, "r", expecting: 0) })
        #expect(
            try bench.run((0..<8).map { numbered($0, 1, "r", .spending, expecting: 1) })
                == Array(repeating: nil, count: 8))
        #expect(try bench.run(numbered(3, 1, "r", .spending, expecting: 1)) == [nil])
    }
}
