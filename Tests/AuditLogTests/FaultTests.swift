import AuditLog
import Glibc
import Testing

// SplitMix64: the same faults for the same seed.
private struct Seeded: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

@Suite struct `Audit writer on a failing disk` {
    @Test func `a full disk refuses until there is space, and what was lost is counted`() throws {
        let scratch = Scratch()
        let faults = Faults()
        let writer = try scratch.writer(faults: faults)
        #expect(writer.append([entry(1)]) == 1)
        faults.code = ENOSPC
        faults.taken = 100
        #expect(writer.append([entry(2), entry(3)]) == 0)
        #expect(writer.lastFailure == ENOSPC)
        #expect(writer.append([entry(4)]) == 0)
        faults.code = 0
        #expect(writer.append([entry(5)]) == 1)
        #expect(writer.lastFailure == 0)
        writer.sync()
        let lines = scratch.lines
        #expect(lines.count == 4)
        #expect(lines[2].contains(#","decision":"entries_lost","count":3,"chain":"#))
        #expect(lines[3].contains("\"connection\":5,"))
        let result = try scratch.verify()
        #expect(result.fault == nil)
        #expect(result.notes == [])
        #expect(scratch.names == ["audit-00000001.log", "head"])
    }

    @Test func `a device that fails makes the next try begin a new segment`() throws {
        let scratch = Scratch()
        let faults = Faults()
        let writer = try scratch.writer(faults: faults)
        #expect(writer.append([entry(1)]) == 1)
        faults.code = EIO
        for _ in 0..<10 { #expect(writer.append([entry(2)]) == 0) }
        #expect(writer.lastFailure == EIO)
        faults.code = 0
        #expect(writer.append([entry(3)]) == 1)
        writer.sync()
        let result = try scratch.verify()
        #expect(result.fault == nil)
        #expect(result.notes == [.init(segment: 2, reason: "failed")])
        #expect(result.lines == 5)
    }

    @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
    func `through faults, kills and rotation exactly what was reported is there, and verifies`(
        _ seed: UInt64
    ) throws {
        var random = Seeded(state: seed)
        let scratch = Scratch()
        let faults = Faults()
        var reported: [UInt64] = []
        var next: UInt64 = 1
        var writer = try scratch.writer(segmentBytes: 4000, segmentCount: 10_000, faults: faults)
        for _ in 0..<300 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0:
                faults.code = [ENOSPC, EIO, EDQUOT][Int.random(in: 0..<3, using: &random)]
                faults.taken = Int.random(in: 0..<3000, using: &random)
            case 1, 2: faults.code = 0
            case 3: writer.sync()
            case 4:
                // Killed: what the kernel has stays, perhaps with a piece of a line behind it.
                writer = try scratch.writer(segmentBytes: 4000, segmentCount: 10_000, faults: faults)
                if Bool.random(using: &random),
                    let name = scratch.names.last(where: { $0.hasPrefix("audit") }),
                    let file = fopen(scratch.path + "/" + name, "a")
                {
                    fputs("{\"seq\":", file)
                    fclose(file)
                    writer = try scratch.writer(segmentBytes: 4000, segmentCount: 10_000, faults: faults)
                }
            default:
                let batch = (0..<UInt64.random(in: 1...20, using: &random)).map { next + $0 }
                next += UInt64(batch.count)
                let count = writer.append(batch.map { entry($0) })
                reported += batch[..<count]
            }
        }
        writer.sync()
        let found = scratch.lines.compactMap { line -> UInt64? in
            guard line.hasSuffix("\"}"), let start = line.range("\"connection\":") else { return nil }
            return UInt64(line[start...].prefix { $0.isNumber })
        }
        #expect(found == reported, "seed \(seed)")
        #expect(try scratch.verify().fault == nil, "seed \(seed)")
    }
}

extension String {
    /// Where `mark` ends.
    fileprivate func range(_ mark: String) -> String.Index? {
        var rest = self[...]
        while !rest.isEmpty {
            if rest.hasPrefix(mark) { return rest.index(rest.startIndex, offsetBy: mark.count) }
            rest = rest.dropFirst()
        }
        return nil
    }
}
