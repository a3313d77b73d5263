import FuzzProperties
import TestSupport
import Testing

@Suite struct `Configuration against all files` {
    private let directory = Files.packageRoot + "/Fuzz/Corpus/FuzzConfiguration"

    @Test func `what fuzzing kept still holds`() throws {
        let names = Files.names(in: directory)
        #expect(!names.isEmpty)
        for name in names {
            let bytes = try #require(Files.bytes(at: "\(directory)/\(name)"))
            #expect(throws: Never.self, "\(name)") { try ConfigurationProperty.check(bytes.span) }
        }
    }

    @Test func `a file that was changed anywhere is read or refused, never more`() throws {
        var generator = SeededGenerator.announced(for: "configuration mutations")
        let seeds = Files.names(in: directory).compactMap { Files.bytes(at: "\(directory)/\($0)") }
        for _ in 0..<3000 {
            var bytes = try #require(seeds.randomElement(using: &generator))
            for _ in 0..<Int.random(in: 1...4, using: &generator) where !bytes.isEmpty {
                let index = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &generator)
                case 1: bytes.remove(at: index)
                default: bytes.insert(contentsOf: bytes[index...].prefix(20), at: index)
                }
            }
            #expect(throws: Never.self) { try ConfigurationProperty.check(bytes.span) }
        }
    }
}
