import AuditLog
import CredentialCore
import Glibc
import Secrets
import Testing

@Suite struct `Audit writer` {
    // The values were computed by another program from the description of the format.
    @Test func `a line is what its format says, to the byte`() throws {
        let scratch = Scratch()
        let writer = try scratch.writer()
        let strange = entry(
            method: "a\"\n\u{E9}\\", account: nil, decision: .deniedSummary(count: 9), reason: "no_rule")
        #expect(writer.append([entry(), strange]) == 2)
        #expect(
            scratch.lines == [
                #"{"seq":1,"time":"2026-01-01T00:00:00Z","time_ms":1767225600123,"segment":1,"reason":"first","previous":"0000000000000000000000000000000000000000000000000000000000000000","chain":"489628241ed322ea121ddfb4399dcb8ea6a600f47f8063b570c79310b43b9e5f"}"#,
                #"{"seq":2,"time":"2026-01-01T00:00:00Z","time_ms":1767225600123,"pid":42,"uid":1000,"unit":null,"connection":7,"method":"token.get","account":"bot","generation":3,"decision":"handed_out","count":1,"reason":null,"chain":"433b1ff26808a531b32b45485e61d47ea98682fc54db713e60487a6f74221a59"}"#,
                #"{"seq":3,"time":"2026-01-01T00:00:00Z","time_ms":1767225600123,"pid":42,"uid":1000,"unit":null,"connection":7,"method":"a\u0022\u000a\u00e9\u005c","account":null,"generation":null,"decision":"denied_summary","count":9,"reason":"no_rule","chain":"9d57f978688a43db1f8be35ad720ba7edfeb55f1f1882ad7da2eb1353179ea66"}"#,
            ])
    }

    @Test func `the directory and its files are closed to others, and space is reserved`() throws {
        let scratch = Scratch()
        let writer = try scratch.writer()
        #expect(writer.append([entry()]) == 1)
        #expect(writer.sync())
        #expect(scratch.names == ["audit-00000001.log", "head"])
        var status = stat()
        stat(scratch.path, &status)
        #expect(status.st_mode & 0o7777 == 0o700)
        stat(scratch.path + "/head", &status)
        #expect(status.st_mode & 0o7777 == 0o600)
        stat(scratch.path + "/audit-00000001.log", &status)
        #expect(status.st_mode & 0o7777 == 0o600)
        #expect(status.st_size < 4096)
        if status.st_blocks * 512 < 1 << 20 { print("SKIPPED: this file system reserves no space") }
    }

    @Test(arguments: [0o720, 0o702, 0o750, 0o710, 0o705, 0o701] as [mode_t])
    func `a directory that is not closed to others is refused`(_ mode: mode_t) throws {
        let scratch = Scratch()
        mkdir(scratch.path, 0o700)
        chmod(scratch.path, mode)
        #expect(throws: AuditFailure.directoryUnsafe) { try scratch.writer() }
    }

    @Test func `a directory that cannot be made and a key of another length are refused`() throws {
        #expect(throws: AuditFailure.directory(code: ENOENT)) {
            try AuditWriter(
                directory: "/nonexistent/audit", key: key, segmentBytes: 65_536, segmentCount: 2)
        }
        #expect(throws: AuditFailure.keyLength(3)) {
            try AuditWriter(
                directory: "/tmp", key: SecretBytes("abc"), segmentBytes: 65_536, segmentCount: 2)
        }
    }

    @Test func `segments are filled, followed by the next, and the oldest go`() throws {
        let scratch = Scratch()
        let writer = try scratch.writer(segmentBytes: 2000, segmentCount: 3)
        for number in 0..<10 { #expect(writer.append((0..<5).map { entry(UInt64(number * 5 + $0)) }) == 5) }
        #expect(writer.sync())
        let segments = scratch.names.filter { $0.hasPrefix("audit-") }
        #expect(segments.count == 3)
        #expect(segments.allSatisfy { scratch.read($0).utf8.count <= 2000 })
        let result = try scratch.verify()
        #expect(result.fault == nil)
        #expect(result.notes == [])
        #expect(result.segments == 3)
        // Every entry and one line a segment.
        #expect(result.lastSequence.map { Int($0) } == 50 + numberOf(segments.last))
        #expect(scratch.lines.last?.contains("\"connection\":49,") == true)
    }

    private func numberOf(_ segment: String?) -> Int {
        segment.flatMap { Int($0.dropFirst(6).dropLast(4)) } ?? 0
    }

    @Test func `after a restart the log goes on where it was`() throws {
        let scratch = Scratch()
        for number in 0..<3 {
            let writer = try scratch.writer()
            #expect(writer.append([entry(UInt64(number))]) == 1)
            writer.sync()
        }
        #expect(scratch.lines.count == 4)
        #expect(scratch.names == ["audit-00000001.log", "head"])
        let result = try scratch.verify()
        #expect(result.fault == nil)
        #expect(result.lastSequence == 4)
    }

    @Test func `a segment that is empty after a power cut is used`() throws {
        let scratch = Scratch()
        do {
            let writer = try scratch.writer()
            #expect(writer.append([entry()]) == 1)
            writer.sync()
        }
        scratch.write("audit-00000002.log", "")
        let writer = try scratch.writer()
        #expect(writer.append([entry()]) == 1)
        writer.sync()
        #expect(scratch.read("audit-00000002.log").contains("\"reason\":\"rotated\""))
        #expect(try scratch.verify().fault == nil)
    }

    @Test func `a torn line stays, and a new segment says so`() throws {
        let scratch = Scratch()
        do {
            let writer = try scratch.writer()
            #expect(writer.append([entry(1), entry(2)]) == 2)
            writer.sync()
        }
        let whole = scratch.read("audit-00000001.log")
        scratch.write("audit-00000001.log", whole + "{\"seq\":4,\"ti")
        #expect(try scratch.verify().fault == nil)
        let writer = try scratch.writer()
        #expect(writer.append([entry(3)]) == 1)
        writer.sync()
        #expect(scratch.read("audit-00000001.log") == whole + "{\"seq\":4,\"ti")
        let result = try scratch.verify()
        #expect(result.fault == nil)
        #expect(result.notes == [.init(segment: 2, reason: "torn_line")])
        #expect(result.lines == 5)
    }

    @Test func `a writer that finds lines missing says so in the log`() throws {
        let scratch = Scratch()
        do {
            let writer = try scratch.writer()
            #expect(writer.append([entry(1), entry(2)]) == 2)
            writer.sync()
        }
        let lines = scratch.lines
        scratch.write("audit-00000001.log", lines[0] + "\n" + lines[1] + "\n")
        let writer = try scratch.writer()
        #expect(writer.append([entry(3)]) == 1)
        writer.sync()
        #expect(try scratch.verify().notes == [.init(segment: 2, reason: "truncated")])
    }
}
