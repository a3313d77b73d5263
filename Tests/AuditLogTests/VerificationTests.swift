import AuditLog
import CredentialCore
import Secrets
import Testing

@Suite struct `Audit verification` {
    /// Three segments, the first two of them full.
    private func filled() throws -> Scratch {
        let scratch = Scratch()
        let writer = try scratch.writer(segmentBytes: 2000)
        #expect(writer.append((0..<15).map { entry(UInt64($0)) }) == 15)
        #expect(writer.sync())
        #expect(try scratch.verify().fault == nil)
        #expect(try scratch.verify().segments == 3)
        return scratch
    }

    @Test func `every byte that is changed shows at its line`() throws {
        let scratch = try filled()
        let name = "audit-00000002.log"
        let text = Array(scratch.read(name).utf8)
        // Some bytes of every line, its end included.
        for offset in stride(from: 0, to: text.count, by: 13) {
            var changed = text
            changed[offset] = changed[offset] == UInt8(ascii: "1") ? UInt8(ascii: "2") : UInt8(ascii: "1")
            scratch.write(name, String(decoding: changed, as: UTF8.self))
            let fault = try #require(try scratch.verify().fault)
            let line = text[..<offset].count { $0 == UInt8(ascii: "\n") } + 1
            #expect(fault.segment == 2)
            #expect(fault.line == line)
        }
    }

    @Test func `a line left out, put in, swapped or moved shows`() throws {
        let scratch = try filled()
        let name = "audit-00000002.log"
        let lines = scratch.read(name).split(separator: "\n").map(String.init)
        func fault(_ lines: [String]) throws -> AuditVerification.Fault? {
            scratch.write(name, lines.map { $0 + "\n" }.joined())
            return try scratch.verify().fault
        }
        var without = lines
        without.remove(at: 2)
        #expect(try fault(without) == .init(segment: 2, line: 3, kind: .chain))
        var twice = lines
        twice.insert(lines[2], at: 2)
        #expect(try fault(twice) == .init(segment: 2, line: 4, kind: .chain))
        var swapped = lines
        swapped.swapAt(2, 3)
        #expect(try fault(swapped) == .init(segment: 2, line: 3, kind: .chain))
        // Its end cut off: the next segment does not follow.
        #expect(try fault(Array(lines.dropLast())) == .init(segment: 3, line: 1, kind: .chain))
        #expect(try fault(["{}"]) == .init(segment: 2, line: 1, kind: .malformed))
        #expect(try fault(lines) == nil)
    }

    @Test func `an end that was cut off shows`() throws {
        let scratch = try filled()
        let name = "audit-00000003.log"
        let lines = scratch.read(name).split(separator: "\n").map(String.init)
        scratch.write(name, lines.dropLast().map { $0 + "\n" }.joined())
        #expect(try scratch.verify().fault == .init(segment: 3, line: 0, kind: .truncated))
        scratch.write(name, lines.joined(separator: "\n"))
        #expect(try scratch.verify().fault == .init(segment: 3, line: 0, kind: .truncated))
    }

    @Test func `a head that is missing or from another log shows`() throws {
        let scratch = try filled()
        let head = scratch.read("head")
        scratch.write("head", head.replacing("\"seq\":1", "\"seq\":0"))
        #expect(try scratch.verify().fault == .init(segment: 3, line: 0, kind: .head))
        scratch.write("head", "")
        #expect(try scratch.verify().fault == .init(segment: 3, line: 0, kind: .head))
        scratch.write("head", head)
        #expect(try scratch.verify().fault == nil)
    }

    @Test func `a segment that is missing in the middle shows, and one under another number`() throws {
        let scratch = try filled()
        let last = scratch.read("audit-00000003.log")
        scratch.write("audit-00000004.log", last)
        scratch.write("audit-00000003.log", "")
        #expect(try scratch.verify().fault == .init(segment: 4, line: 1, kind: .sequence))
        scratch.remove("audit-00000004.log")
        scratch.write("audit-00000003.log", last)
        scratch.remove("audit-00000002.log")
        #expect(try scratch.verify().fault == .init(segment: 3, line: 0, kind: .segmentMissing))
    }

    @Test func `segments that rotation removed are not missed`() throws {
        let scratch = try filled()
        scratch.remove("audit-00000001.log")
        let result = try scratch.verify()
        #expect(result.fault == nil)
        #expect(result.segments == 2)
        #expect((result.firstSequence ?? 0) > 1)
    }

    @Test func `a line torn in the middle of the log is a fault unless the log says so`() throws {
        let scratch = try filled()
        let text = scratch.read("audit-00000002.log")
        scratch.write("audit-00000002.log", text + "{\"seq\"")
        let lines = text.split(separator: "\n").count
        #expect(try scratch.verify().fault == .init(segment: 2, line: lines + 1, kind: .torn))
    }

    @Test func `another key verifies nothing`() throws {
        let scratch = try filled()
        let other = SecretBytes(copying: [UInt8](repeating: 9, count: 32).span)
        let result = try AuditVerification.verify(directory: scratch.path, key: other)
        #expect(result.fault == .init(segment: 1, line: 1, kind: .chain))
        #expect(result.lines == 0)
    }
}

extension String {
    fileprivate func replacing(_ old: String, _ new: String) -> String {
        guard let start = indices.first(where: { self[$0...].hasPrefix(old) }) else { return self }
        return self[..<start] + new + self[index(start, offsetBy: old.count)...]
    }
}
