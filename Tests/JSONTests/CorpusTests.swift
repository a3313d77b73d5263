import FuzzProperties
import JSON
import TestSupport
import Testing

@Suite struct `JSON reader, files` {
    @Test func `the JSON test suite gets its verdicts`() throws {
        guard let directory = Vectors.directory(named: "jsontestsuite/test_parsing") else { return }
        var counts: [Character: Int] = [:]
        let clock = ContinuousClock()
        for name in Files.names(in: directory) {
            let bytes = try #require(Files.bytes(at: "\(directory)/\(name)"))
            let start = clock.now
            let first = read(bytes)
            #expect(clock.now - start < .seconds(1), "\(name)")
            #expect(first == read(bytes), "\(name)")
            #expect(throws: Never.self, "\(name)") { try JSONProperty.check(bytes.span) }
            switch name.first {
            case "y" where name.hasPrefix("y_object_duplicated_key"):
                guard case .failure(.duplicateKey) = first else {
                    Issue.record("\(name): \(first)")
                    continue
                }
            case "y": #expect(throws: Never.self, "\(name)") { try first.get() }
            case "n": #expect(throws: JSONFailure.self, "\(name)") { try first.get() }
            default: break
            }
            counts[name.first ?? "?", default: 0] += 1
        }
        print("JSON test suite: \(counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" })")
        #expect(counts["y", default: 0] > 90 && counts["n", default: 0] > 180)
    }

    @Test func `what the JSON test suite transforms is the same after rewriting`() throws {
        guard let directory = Vectors.directory(named: "jsontestsuite/test_transform") else { return }
        for name in Files.names(in: directory) {
            let bytes = try #require(Files.bytes(at: "\(directory)/\(name)"))
            #expect(throws: Never.self, "\(name)") { try JSONProperty.check(bytes.span) }
        }
    }

    @Test func `the fuzz corpus holds its property`() throws {
        let directory = Files.packageRoot + "/Fuzz/Corpus/FuzzJSON"
        let names = Files.names(in: directory)
        #expect(!names.isEmpty)
        for name in names {
            let bytes = try #require(Files.bytes(at: "\(directory)/\(name)"))
            #expect(throws: Never.self, "\(name)") { try JSONProperty.check(bytes.span) }
        }
    }

    @Test func `a text that was changed anywhere is read or refused, never more`() {
        var generator = SeededGenerator.announced(for: "mutations")
        let seeds = [
            #"{"jsonrpc":"2.0","id":"a-1","method":"token.get","params":{"account":"work","min_valid":60}}"#,
            #"[1,-2.5e3,true,null,"\u00e9\ud83d\ude00é😀",{"a":{"b":[[],{}]},"c":""}]"#,
        ]
        for _ in 0..<20_000 {
            var bytes = Array((seeds.randomElement(using: &generator) ?? "").utf8)
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let offset = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0...3, using: &generator) {
                case 0: bytes[offset] = UInt8.random(in: .min ... .max, using: &generator)
                case 1 where bytes.count > 1: bytes.remove(at: offset)
                case 2: bytes.insert(bytes[Int.random(in: 0..<bytes.count, using: &generator)], at: offset)
                default: bytes.removeSubrange(max(1, offset)...)
                }
            }
            do {
                try JSONProperty.check(bytes.span)
            } catch {
                Issue.record("\(error): \(bytes)")
            }
        }
    }
}
