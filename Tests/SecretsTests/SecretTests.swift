import Secrets
import TestSupport
import Testing

private func content(_ buffer: borrowing SecretBuffer) -> [UInt8] {
    buffer.withSpan { $0.withUnsafeBufferPointer(Array.init) }
}

@Suite struct `Secret bytes` {
    @Test func `they are what was copied, and say nothing of it`() {
        let secret = SecretBytes("hunter2")
        let copy = secret.withSpan { $0.withUnsafeBufferPointer(Array.init) }
        #expect(copy == Array("hunter2".utf8))
        #expect(secret.count == 7)
        #expect(!secret.isEmpty)
        #expect(SecretBytes("").isEmpty)
        var dumped = ""
        dump(secret, to: &dumped)
        for text in [
            "\(secret)", String(describing: secret), String(reflecting: secret), "\([secret])", dumped,
        ] {
            #expect(!text.contains("hunter2"))
            #expect(!text.contains("0x"))
        }
    }

    @Test(arguments: [
        ("", "", true), ("a", "a", true), ("a", "b", false), ("a", "", false), ("abc", "abd", false),
        ("abc", "xbc", false), ("abc", "abcd", false),
    ])
    func `they are equal when all of their bytes are`(left: String, right: String, isEqual: Bool) {
        let left = SecretBytes(copying: Array(left.utf8).span)
        let right = SecretBytes(copying: Array(right.utf8).span)
        #expect(left.isEqual(to: right) == isEqual)
        #expect(right.isEqual(to: left) == isEqual)
    }
}

@Suite struct `Secret buffer` {
    @Test func `it does what an array does`() {
        var generator = SeededGenerator.announced(for: "secret buffer")
        for _ in 0..<300 {
            var buffer = SecretBuffer(capacity: Int.random(in: 0...16, using: &generator))
            var model: [UInt8] = []
            for _ in 0..<40 {
                let bytes = generator.bytes(Int.random(in: 0...100, using: &generator))
                switch Int.random(in: 0...9, using: &generator) {
                case 0:
                    buffer.append(7)
                    model.append(7)
                case 1:
                    buffer.append("constant")
                    model += Array("constant".utf8)
                case 2:
                    let number =
                        Int64(bitPattern: generator.next()) >> Int.random(in: 0...63, using: &generator)
                    buffer.append(decimal: number)
                    model += Array(String(number).utf8)
                case 3:
                    let length = Int.random(in: 0...model.count, using: &generator)
                    buffer.removeFirst(length)
                    model.removeFirst(length)
                case 4:
                    let length = Int.random(in: 0...(model.count + 2), using: &generator)
                    buffer.truncate(to: length)
                    model = Array(model.prefix(length))
                case 5:
                    buffer.append(SecretBytes(copying: bytes.span))
                    model += bytes
                case 6:
                    buffer.append(upTo: 100) { (room: UnsafeMutableRawBufferPointer) in
                        room.copyBytes(from: bytes)
                        return bytes.count
                    }
                    model += bytes
                case 7 where Int.random(in: 0...9, using: &generator) == 0:
                    buffer.removeAll()
                    buffer.shrink(to: 3)
                    model = []
                default:
                    buffer.append(bytes.span)
                    model += bytes
                }
                if content(buffer) != model || buffer.count != model.count || buffer.isEmpty != model.isEmpty
                {
                    Issue.record("\(content(buffer)), not \(model)")
                    return
                }
            }
            let finished = buffer.finish()
            let copy = finished.withSpan { $0.withUnsafeBufferPointer(Array.init) }
            #expect(copy == model)
        }
    }

    @Test(arguments: [Int64.min, -1, 0, 9, 10, .max])
    func `decimal digits at the edges`(number: Int64) {
        var buffer = SecretBuffer()
        buffer.append(decimal: number)
        #expect(content(buffer) == Array(String(number).utf8))
    }

    @Test func `another buffer is copied, a text appended`() {
        var first = SecretBuffer()
        first.append("é" + String(42))
        var second = SecretBuffer()
        second.append(copying: first)
        second.append(copying: first)
        #expect(content(second) == Array("é42é42".utf8))
    }

    @Test func `what is dropped is wiped where it stood`() {
        var buffer = SecretBuffer(capacity: 64)
        buffer.append("0123456789")
        let base = buffer.withSpan { $0.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) } }
        // The room is the buffer's own for as long as it is not grown, so it may be read here.
        func room() -> [UInt8] {
            Array(UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: base), count: 10))
        }
        buffer.truncate(to: 8)
        #expect(room() == Array("01234567".utf8) + [0, 0])
        buffer.removeFirst(3)
        #expect(room() == Array("34567".utf8) + [0, 0, 0, 0, 0])
        buffer.removeAll()
        #expect(room() == [UInt8](repeating: 0, count: 10))
        #expect(buffer.capacity == 64)
    }

    @Test func `what is rewound is overwritten, and wiped at the latest when all is dropped`() {
        var buffer = SecretBuffer(capacity: 16)
        buffer.append("0123456789")
        let base = buffer.withSpan { $0.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) } }
        func room() -> [UInt8] {
            Array(UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: base), count: 10))
        }
        buffer.rewind()
        #expect(content(buffer) == [])
        buffer.append("abc")
        #expect(room() == Array("abc3456789".utf8))
        buffer.rewind()
        buffer.append("x")
        #expect(content(buffer) == Array("x".utf8))
        buffer.removeAll()
        #expect(room() == [UInt8](repeating: 0, count: 10))
    }

    @Test func `pieces around a secret are one text`() {
        var buffer = SecretBuffer()
        buffer.append("<", Array("12".utf8).span, "|", SecretBytes("token"), ">")
        #expect(content(buffer) == Array("<12|token>".utf8))
    }
}
