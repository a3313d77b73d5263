import AdapterProperties
import CredentialCore
import SQLiteStore
import TestSupport
import Testing

@Suite struct `Files, answers and workers against all bytes` {
    private static let seeds: [(name: String, bytes: [UInt8])] = [
        "FuzzStore", "FuzzAnswer", "FuzzPlatform", "FuzzWorker", "FuzzOAuth", "FuzzJOSE",
    ]
    .flatMap { folder in
        let directory = Files.packageRoot + "/Fuzz/Corpus/" + folder
        return Files.names(in: directory).compactMap { name in
            Files.bytes(at: "\(directory)/\(name)").map { (folder + "/" + name, $0) }
        }
    }

    private func check(_ name: String, _ bytes: [UInt8]) throws {
        if name.hasPrefix("FuzzStore/") { try StoreProperty.check(bytes.span) }
        if name.hasPrefix("FuzzAnswer/") { try AnswerProperty.check(bytes.span) }
        if name.hasPrefix("FuzzPlatform/") { try PlatformProperty.check(bytes.span) }
        if name.hasPrefix("FuzzWorker/") { try WorkerProperty.check(bytes.span) }
        if name.hasPrefix("FuzzOAuth/") { try OAuthProperty.check(bytes.span) }
        if name.hasPrefix("FuzzJOSE/") { try JOSEProperty.check(bytes.span) }
    }

    @Test func `what fuzzing kept still holds`() {
        #expect(Self.seeds.count > 10)
        for (name, bytes) in Self.seeds {
            #expect(throws: Never.self, "\(name)") { try check(name, bytes) }
        }
    }

    @Test func `what is sound in it is not refused`() throws {
        func seed(_ name: String) throws -> [UInt8] {
            try #require(Self.seeds.first { $0.name == "FuzzStore/" + name }).bytes
        }
        for name in ["record", "record_smallest"] {
            let bytes = try seed(name)
            let held = CredentialRecord.decode(bytes.span, generation: Generation(1))
            #expect(held != nil)
        }
        // One byte says how many sectors of 512 bytes the database has.
        let bytes = try seed("journal")
        let database = Array(bytes[1..<1025])
        let image = RollbackJournal.rollBack(database, journal: Array(bytes[1025...]))
        #expect(image == [UInt8](repeating: 8, count: 512) + [UInt8](repeating: 7, count: 512))
    }

    @Test func `bytes that were changed anywhere are read or refused, never more`() throws {
        var generator = SeededGenerator.announced(for: "mutated files and answers")
        for _ in 0..<3000 {
            let seed = try #require(Self.seeds.randomElement(using: &generator))
            let name = seed.name
            var bytes = seed.bytes
            for _ in 0..<Int.random(in: 1...4, using: &generator) where !bytes.isEmpty {
                let index = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &generator)
                case 1: bytes.remove(at: index)
                default: bytes.insert(contentsOf: bytes[index...].prefix(20), at: index)
                }
            }
            let changed = bytes
            #expect(throws: Never.self, "\(name)") { try check(name, changed) }
        }
    }
}
