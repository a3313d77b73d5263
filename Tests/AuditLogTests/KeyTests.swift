import AuditLog
import CredentialCore
import Glibc
import Log
import Secrets
import Testing

@Suite struct `Audit keys` {
    private let scratch = Scratch()
    private let records = Counting()

    private func load() throws -> AuditKey {
        try AuditKey.loadOrMake(
            in: scratch.parent, log: scratch.path, logger: Logger(sink: records, threshold: { .debug }))
    }

    @Test func `a key is made once, and is the same from then on`() throws {
        defer { unlink(scratch.parent + "/audit.key") }
        let first = try load()
        _ = try scratch.writer()
        let second = try load()
        #expect(first.bytes.isEqual(to: second.bytes))
        #expect(!first.isRemade && !second.isRemade && records.count == 0)
    }

    @Test func `one that was missing beside a log is another, and says so`() throws {
        defer { unlink(scratch.parent + "/audit.key") }
        let first = try load()
        #expect(try scratch.writer().append([entry(1)]) == 1)
        unlink(scratch.parent + "/audit.key")
        let second = try load()
        #expect(second.isRemade && !first.bytes.isEqual(to: second.bytes))
        #expect(records.count == 1)
        #expect(try !load().isRemade)
    }
}
