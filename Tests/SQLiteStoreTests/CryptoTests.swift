import CredentialCore
import JSON
import Secrets
import TestSupport
import Testing

import SQLiteStore

@Suite struct `Sealing` {
    private func hex(_ text: String) -> [UInt8] {
        let digits = Array(text)
        return stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(digits[$0...($0 + 1)]), radix: 16)
        }
    }

    private func opened(_ sealed: [UInt8], key: [UInt8], data: [UInt8]) throws(SealFailure) -> [UInt8] {
        var plain = SecretBuffer()
        let outcome = key.withUnsafeBytes { key in
            Result { () throws(SealFailure) in
                try Seal.open(sealed.span, key: key, associatedData: data, into: &plain)
            }
        }
        try outcome.get()
        return plain.withSpan { span in span.indices.map { span[$0] } }
    }

    private func member(_ value: borrowing JSONValue, _ name: StaticString) -> String {
        value.member(name)?.string ?? ""
    }

    @Test func `the Wycheproof vectors for XChaCha20-Poly1305 hold`() throws {
        guard let directory = Vectors.directory(named: "wycheproof") else { return }
        let bytes = try #require(Files.bytes(at: directory + "/xchacha20_poly1305_test.json"))
        var document = JSONDocument(limits: JSONLimits(length: bytes.count, depth: 32))
        let root = try document.parse(bytes.span)
        var valid = 0
        var invalid = 0
        var skipped = 0
        guard let list = root.member("testGroups") else {
            Issue.record("no groups")
            return
        }
        var groups = list.elements()
        while let group = groups.next() {
            let fits =
                group.member("ivSize")?.integer == 192 && group.member("keySize")?.integer == 256
                && group.member("tagSize")?.integer == 128
            guard let list = group.member("tests") else { continue }
            var vectors = list.elements()
            while let vector = vectors.next() {
                // Another length of nonce or key cannot be given to our functions at all.
                guard fits else {
                    skipped += 1
                    continue
                }
                let (key, nonce) = (hex(member(vector, "key")), hex(member(vector, "iv")))
                let (data, message) = (hex(member(vector, "aad")), hex(member(vector, "msg")))
                let sealed = nonce + hex(member(vector, "ct")) + hex(member(vector, "tag"))
                let id = vector.member("tcId")?.integer ?? 0
                if member(vector, "result") == "valid" {
                    valid += 1
                    #expect(try opened(sealed, key: key, data: data) == message, "test \(id)")
                    let ours = key.withUnsafeBytes { key in
                        Seal.seal(message.span, key: key, associatedData: data) { $0.copyBytes(from: nonce) }
                    }
                    #expect(ours == sealed, "test \(id)")
                } else {
                    invalid += 1
                    #expect(throws: SealFailure.forged, "test \(id)") {
                        try opened(sealed, key: key, data: data)
                    }
                }
            }
        }
        print(
            "SKIPPED: \(skipped) vectors with other lengths; \(valid) valid and \(invalid) invalid ones tried"
        )
        #expect(valid > 200)
        #expect(invalid > 20)
    }

    @Test func `what is too short to be sealed is refused`() {
        let key = [UInt8](repeating: 1, count: 32)
        for length in [0, 1, 24, 39] {
            #expect(throws: SealFailure.forged) {
                try opened([UInt8](repeating: 0, count: length), key: key, data: [])
            }
        }
    }

    @Test func `nonces and values never repeat`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        for generation in Int64(1)...50 {
            try bench.run(put("a", try held(generation), expecting: generation - 1))
        }
        bench.close()
        let source = SQLiteStore.systemRandom
        let key = [UInt8](repeating: 1, count: 32)
        let nonces = (0..<1000).map { _ in
            key.withUnsafeBytes { key in
                Array(Seal.seal([UInt8]().span, key: key, associatedData: [], random: source).prefix(24))
            }
        }
        #expect(Set(nonces).count == 1000)
    }
}

@Suite struct `Row sums` {
    @Test func `adding and taking away in any order comes to the same`() {
        var random = SeededGenerator.announced(for: "row sums")
        for _ in 0..<200 {
            let hashes = (0..<20).map { _ in RowSum(hash: random.bytes(32)) }
            var forward = RowSum.zero
            for hash in hashes { forward += hash }
            var backward = RowSum.zero
            for hash in hashes.shuffled(using: &random) { backward += hash }
            #expect(forward == backward)
            for hash in hashes.shuffled(using: &random) { forward -= hash }
            #expect(forward == .zero)
        }
    }

    @Test func `carries run through all 256 bits and off the end`() {
        var sum = RowSum(hash: [UInt8](repeating: 255, count: 32))
        sum += RowSum(hash: [1] + [UInt8](repeating: 0, count: 31))
        #expect(sum == .zero)
        sum -= RowSum(hash: [1] + [UInt8](repeating: 0, count: 31))
        #expect(sum.bytes == [UInt8](repeating: 255, count: 32))
    }

    @Test func `the same row twice is not no row`() {
        let hash = RowSum(hash: [UInt8](1...32))
        var sum = RowSum.zero
        sum += hash
        sum += hash
        #expect(sum != .zero)
        #expect(sum != hash)
    }
}

@Suite struct `Credential records` {
    private func encoded(_ held: HeldCredential) -> [UInt8] {
        var buffer = SecretBuffer()
        CredentialRecord.encode(held, into: &buffer)
        return buffer.withSpan { span in span.indices.map { span[$0] } }
    }

    private func decoded(_ bytes: [UInt8], _ generation: Int64 = 3) -> HeldCredential? {
        CredentialRecord.decode(bytes.span, generation: Generation(generation))
    }

    @Test func `R207: a record that is cut, extended or of another version is none`() throws {
        let good = encoded(try held(3, token: "t", access: "a", issuer: "i"))
        #expect(decoded(good) != nil)
        for length in good.indices {
            #expect(decoded(Array(good[..<length])) == nil)
        }
        #expect(decoded(good + [0]) == nil)
        #expect(decoded([2] + good.dropFirst()) == nil)
    }

    @Test func `random bytes are never read beyond their end`() {
        var random = SeededGenerator.announced(for: "records")
        for _ in 0..<20_000 {
            let bytes = [1] + random.bytes(Int.random(in: 0..<80, using: &random), from: 0...4)
            if let held = decoded(bytes, 0) {
                #expect(encoded(held) == bytes || held.credential?.issuer == nil)
            }
        }
    }
}
