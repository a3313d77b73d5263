import CredentialCore
import Glibc
import Secrets
import TestSupport
import Testing

import SQLiteStore

@Suite struct `Tampering with the store` {
    private static func filled() throws -> StoreBench {
        let bench = try StoreBench()
        try bench.openContents()
        try bench.run(
            put("a", try held(1, token: "token of a"), expecting: 0),
            put("b", try held(1, token: "token of b"), expecting: 0),
            put("c", try held(5, token: "token of c" + String(repeating: "c", count: 6000)), expecting: 0),
            .deleteCredential(account: name("d"), generation: Generation(4), expected: .none),
            .putAccount(name: name("x"), definition: secret("{\"x\":1}"), policy: secret("{\"use\":1}")),
            .putAccount(name: name("y"), definition: secret("{\"y\":1}"), policy: secret("{\"use\":2}")))
        bench.close()
        return bench
    }

    private static func row(_ kind: String, _ name: String) -> String {
        "kind = '\(kind)' AND name = '\(name)'"
    }

    private static func swap(_ column: String, _ first: String, _ second: String) -> String {
        """
        CREATE TEMP TABLE t AS SELECT \(column) AS v FROM record WHERE \(first);
        UPDATE record SET \(column) = (SELECT \(column) FROM record WHERE \(second)) WHERE \(first);
        UPDATE record SET \(column) = (SELECT v FROM t) WHERE \(second);
        """
    }

    static let forgeries: [(String, String, StoreFailure)] = [
        (
            "values of two rows", swap("sealed", row("credential", "a"), row("credential", "b")),
            .corrupt(detail: .row)
        ),
        (
            "names of two rows", swap("name", row("credential", "a"), row("credential", "b")),
            .corrupt(detail: .row)
        ),
        (
            "policies of two accounts", swap("sealed", row("policy", "x"), row("policy", "y")),
            .corrupt(detail: .row)
        ),
        (
            "definition and policy", swap("sealed", row("account", "x"), row("policy", "x")),
            .corrupt(detail: .row)
        ),
        ("kinds", swap("kind", row("account", "x"), row("policy", "x")), .corrupt(detail: .row)),
        (
            "another kind", "UPDATE record SET kind = 'grant' WHERE \(row("credential", "a"))",
            .corrupt(detail: .row)
        ),
        (
            "another name", "UPDATE record SET name = 'z' WHERE \(row("credential", "a"))",
            .corrupt(detail: .row)
        ),
        (
            "no name", "UPDATE record SET name = '../a' WHERE \(row("credential", "a"))",
            .corrupt(detail: .row)
        ),
        (
            "a later generation", "UPDATE record SET generation = 2 WHERE \(row("credential", "a"))",
            .corrupt(detail: .row)
        ),
        (
            "an earlier tombstone", "UPDATE record SET generation = 3 WHERE \(row("credential", "d"))",
            .corrupt(detail: .head)
        ),
        (
            "another data key", "UPDATE record SET data_key = 2 WHERE \(row("credential", "a"))",
            .corrupt(detail: .row)
        ),
        (
            "a tombstone's data key", "UPDATE record SET data_key = 2 WHERE \(row("credential", "d"))",
            .corrupt(detail: .row)
        ),
        (
            "a credential made a tombstone",
            "UPDATE record SET sealed = NULL WHERE \(row("credential", "a"))", .corrupt(detail: .head)
        ),
        (
            "a policy made a tombstone", "UPDATE record SET sealed = NULL WHERE \(row("policy", "x"))",
            .corrupt(detail: .row)
        ),
        (
            "an empty value", "UPDATE record SET sealed = x'' WHERE \(row("credential", "a"))",
            .corrupt(detail: .row)
        ),
        ("a row removed", "DELETE FROM record WHERE \(row("credential", "a"))", .corrupt(detail: .head)),
        (
            "a tombstone removed", "DELETE FROM record WHERE \(row("credential", "d"))",
            .corrupt(detail: .head)
        ),
        ("an account removed", "DELETE FROM record WHERE name = 'x'", .corrupt(detail: .head)),
        ("a policy removed", "DELETE FROM record WHERE \(row("policy", "x"))", .corrupt(detail: .head)),
        (
            "a row twice",
            "INSERT INTO record (kind, name, generation, data_key, sealed) SELECT kind, name, generation, data_key, sealed FROM record WHERE \(row("credential", "a"))",
            .corrupt(detail: .row)
        ),
        (
            "a row twice instead of another",
            "UPDATE record SET (kind, name, generation, sealed) = (SELECT kind, name, generation, sealed FROM record WHERE \(row("credential", "a"))) WHERE \(row("credential", "b"))",
            .corrupt(detail: .row)
        ),
        ("an earlier epoch", "UPDATE head SET epoch = epoch - 1", .corrupt(detail: .head)),
        ("a later epoch", "UPDATE head SET epoch = epoch + 1", .corrupt(detail: .head)),
        ("another time", "UPDATE head SET last_written_ms = last_written_ms - 1", .corrupt(detail: .head)),
        ("another count", "UPDATE head SET row_count = row_count - 1", .corrupt(detail: .head)),
        ("another code", "UPDATE head SET code = zeroblob(32)", .corrupt(detail: .head)),
        ("a short code", "UPDATE head SET code = x''", .corrupt(detail: .head)),
        ("no head", "DELETE FROM head", .corrupt(detail: .head)),
        ("another store", "UPDATE store SET store_id = zeroblob(16)", .keyWrong),
        ("a short store id", "UPDATE store SET store_id = x'00'", .corrupt(detail: .header)),
        ("no store id", "DELETE FROM store", .corrupt(detail: .header)),
        ("another key check", "UPDATE data_key SET master_check = zeroblob(32)", .keyWrong),
        ("another wrapped key", "UPDATE data_key SET wrapped = zeroblob(72)", .corrupt(detail: .header)),
        ("a short wrapped key", "UPDATE data_key SET wrapped = x''", .corrupt(detail: .header)),
        ("another key id", "UPDATE data_key SET id = 2", .corrupt(detail: .header)),
        (
            "two data keys", "INSERT INTO data_key SELECT 2, master_check, wrapped FROM data_key",
            .corrupt(detail: .header)
        ),
        ("no data key", "DELETE FROM data_key", .corrupt(detail: .header)),
        ("version 0", "PRAGMA user_version = 0", .corrupt(detail: .header)),
        ("a negative version", "PRAGMA user_version = -1", .corrupt(detail: .header)),
        (
            "a trigger", "CREATE TRIGGER t AFTER UPDATE ON record BEGIN DELETE FROM record; END",
            .corrupt(detail: .schema)
        ),
        ("a view", "CREATE VIEW v AS SELECT 1", .corrupt(detail: .schema)),
        ("an index", "CREATE INDEX i ON record (name)", .corrupt(detail: .schema)),
        ("another table", "CREATE TABLE t (x)", .corrupt(detail: .schema)),
        ("a table gone", "DROP TABLE head", .corrupt(detail: .schema)),
        ("another column", "ALTER TABLE record ADD COLUMN note TEXT", .corrupt(detail: .schema)),
        ("write-ahead logging", "PRAGMA journal_mode = WAL", .corrupt(detail: .header)),
    ]

    @Test(arguments: forgeries.indices) func `a forgery is refused and left as it is`(index: Int) throws {
        let (title, statements, reason) = Self.forgeries[index]
        let bench = try Self.filled()
        RawDatabase.run(bench.paths.database, statements)
        let before = bench.fingerprint
        #expect(try bench.sealedReason() == reason, "\(title)")
        #expect(bench.fingerprint == before, "\(title)")
    }

    @Test func `an earlier version of one row is refused`() throws {
        let bench = try Self.filled()
        let old = RawDatabase(bench.paths.database).bytes(
            "SELECT sealed FROM record WHERE \(Self.row("credential", "a"))")
        try bench.openContents()
        try bench.run(put("a", try held(2, token: "newer"), expecting: 1))
        bench.close()
        let hex = old.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        RawDatabase.run(
            bench.paths.database,
            "UPDATE record SET generation = 1, sealed = x'\(hex)' WHERE \(Self.row("credential", "a"))")
        // The value opens: it was written so once. The head knows that it is not the one.
        #expect(try bench.sealedReason() == .corrupt(detail: .head))
    }

    @Test func `a value of another store with the same key is refused`() throws {
        let bench = try Self.filled()
        let other = try StoreBench()
        mkdir(other.root + "/config", 0o700)
        StoreBench.write(StoreBench.read(bench.keyPath), to: other.keyPath)
        try other.openContents()
        try other.run(put("a", try held(1, token: "of the other"), expecting: 0))
        other.close()
        RawDatabase.run(
            bench.paths.database,
            """
            ATTACH '\(other.paths.database)' AS other;
            UPDATE record SET sealed = (SELECT sealed FROM other.record) WHERE \(Self.row("credential", "a"));
            """)
        #expect(try bench.sealedReason() == .corrupt(detail: .row))
    }

    @Test func `a flipped bit is noticed or changes nothing`() throws {
        let bench = try Self.filled()
        let expected = summary(try bench.openContents())
        bench.close()
        let good = StoreBench.read(bench.paths.database)
        var random = SeededGenerator.announced(for: "flipped bits")
        var noticed = 0
        var harmless = 0
        // Every bit of the file's header and a sample of all others.
        let bits =
            Array(0..<800) + (0..<1200).map { _ in Int.random(in: 800..<(good.count * 8), using: &random) }
        for bit in bits {
            var bytes = good
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            StoreBench.write(bytes, to: bench.paths.database)
            let engine = try bench.engine()
            switch engine.open(now: bench.clock.now.wall) {
            case .open(let contents):
                harmless += 1
                #expect(summary(contents) == expected, "bit \(bit)")
            case .sealed(let reason):
                noticed += 1
                switch reason {
                case .corrupt, .keyWrong, .tooNew, .rolledBack: break
                default: Issue.record("bit \(bit): \(reason)")
                }
                #expect(StoreBench.read(bench.paths.database) == bytes, "bit \(bit)")
            }
        }
        print("flipped bits: \(noticed) noticed, \(harmless) without effect, \(good.count) bytes")
        StoreBench.write(good, to: bench.paths.database)
        #expect(summary(try bench.openContents()) == expected)
    }

    @Test func `a file that was cut short is noticed`() throws {
        let bench = try Self.filled()
        let good = StoreBench.read(bench.paths.database)
        for length in stride(from: 0, to: good.count, by: 512) {
            StoreBench.write(Array(good[..<length]), to: bench.paths.database)
            switch try bench.sealedReason() {
            case .corrupt: break
            case let reason: Issue.record("\(length) bytes: \(String(describing: reason))")
            }
        }
    }
}
