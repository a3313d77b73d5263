import FuzzProperties
import JSON
import Secrets
import TestSupport
import Testing

@Suite struct `JSON writer` {
    private func written(_ write: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter(capacity: 0)
        write(&writer)
        let buffer = writer.finish()
        return buffer.withSpan { $0.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) } }
    }

    @Test func `commas stand between values, and nowhere else`() {
        let text = written { writer in
            writer.beginObject()
            writer.key("a")
            writer.beginArray()
            writer.beginArray()
            writer.endArray()
            writer.integer(.min)
            writer.integer(.max)
            writer.beginObject()
            writer.endObject()
            writer.null()
            writer.endArray()
            writer.key(named: "b\"")
            writer.bool(true)
            writer.key("c")
            writer.raw(Array("[1]".utf8).span)
            writer.verbatim(#""d":"#)
            writer.string("x")
            writer.endObject()
            writer.endLine()
            writer.bool(false)
        }
        #expect(
            text == #"{"a":[[],-9223372036854775808,9223372036854775807,{},null],"b\"":true,"c":[1],"d":"x"}"#
                + "\nfalse")
    }

    @Test(arguments: [
        (0.5, "0.5"), (-1, "-1.0"), (1e300, "1e+300"), (.leastNonzeroMagnitude, "5e-324"),
        (.infinity, "null"),
        (.nan, "null"),
    ])
    func `a double is its shortest text, and null when it has none`(value: Double, text: String) {
        #expect(written { $0.double(value) } == text)
    }

    @Test func `what JSON demands is escaped, and nothing else`() {
        let text = "\0\u{1}\u{8}\t\n\u{B}\u{C}\r\u{1F} \"\\/\u{7F}é\u{2028}€😀"
        let expected = "\"\\u0000\\u0001\\b\\t\\n\\u000b\\f\\r\\u001f \\\"\\\\/\u{7F}é\u{2028}€😀\""
        #expect(written { $0.string(text) } == expected)
        #expect(written { $0.string("\"\n" as StaticString) } == #""\"\n""#)
        #expect(written { $0.string(utf8: Array(text.utf8).span) } == expected)
        #expect(written { $0.string(SecretBytes(copying: Array(text.utf8).span)) } == expected)
    }

    @Test func `bytes that are no UTF-8 become replacement characters`() {
        let bytes: [UInt8] = [0x61, 0x80, 0xC3, 0x28, 0xED, 0xA0, 0x80, 0xC3, 0xA9, 0xF0, 0x9F]
        #expect(
            written { $0.string(utf8: bytes.span) }
                == "\"a\u{FFFD}\u{FFFD}(\u{FFFD}\u{FFFD}\u{FFFD}é\u{FFFD}\u{FFFD}\"")
    }

    @Test func `it goes on behind what a buffer holds`() {
        var buffer = SecretBuffer()
        buffer.append("1\n")
        var writer = JSONWriter(appendingTo: buffer)
        writer.integer(2)
        let text = writer.finish().withSpan {
            $0.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        }
        #expect(text == "1\n2")
    }

    @Test func `whatever is written reads back as what it was, and equal calls give equal bytes`() {
        var generator = SeededGenerator.announced(for: "writer round trip")
        for _ in 0..<2000 {
            let tree = Tree.random(depth: 5, &generator)
            let text = written { tree.write(to: &$0) }
            #expect(text == written { tree.write(to: &$0) })
            guard read(text) == .success(tree) else {
                Issue.record("\(text) does not read back as \(tree)")
                return
            }
            let bytes = Array(text.utf8)
            #expect(throws: Never.self) { try JSONProperty.check(bytes.span) }
        }
    }

    @Test func `every double reads back as itself`() {
        var generator = SeededGenerator.announced(for: "double round trip")
        for _ in 0..<20_000 {
            let value = Double(bitPattern: generator.next())
            guard value.isFinite else { continue }
            let text = written { $0.double(value) }
            #expect(ask(text) { $0.double }?.bitPattern == value.bitPattern)
        }
    }
}

extension Tree {
    fileprivate static func random(depth: Int, _ generator: inout SeededGenerator) -> Tree {
        switch Int.random(in: 0...(depth > 0 ? 6 : 4), using: &generator) {
        case 0: return .null
        case 1: return .bool(.random(using: &generator))
        case 2:
            return .number(
                String(Int64(bitPattern: generator.next()) >> Int.random(in: 0...63, using: &generator)))
        case 3, 4: return .string(text(&generator))
        case 5:
            return .array(
                (0..<Int.random(in: 0...6, using: &generator)).map { _ in random(depth: depth - 1, &generator)
                })
        default:
            var names: Set<[UInt8]> = []
            var members: [Member] = []
            for _ in 0..<Int.random(in: 0...12, using: &generator) {
                let name = text(&generator)
                guard names.insert(Array(name.utf8)).inserted else { continue }
                members.append(Member(name: name, value: random(depth: depth - 1, &generator)))
            }
            return .object(members)
        }
    }

    private static func text(_ generator: inout SeededGenerator) -> String {
        let ranges: [ClosedRange<UInt32>] = [
            0x00...0x1F, 0x20...0x7F, 0x20...0x7F, 0x22...0x22, 0x5C...0x5C, 0x80...0x7FF, 0x800...0xD7FF,
            0xE000...0xFFFF, 0x10000...0x10FFFF,
        ]
        var text = ""
        for _ in 0..<Int.random(in: 0...12, using: &generator) {
            let range = ranges[Int.random(in: 0..<ranges.count, using: &generator)]
            guard let scalar = Unicode.Scalar(UInt32.random(in: range, using: &generator)) else { continue }
            text.unicodeScalars.append(scalar)
        }
        return text
    }

    fileprivate func write(to writer: inout JSONWriter) {
        switch self {
        case .null: writer.null()
        case .bool(let value): writer.bool(value)
        case .number(let text): writer.integer(Int64(text) ?? 0)
        case .string(let text): writer.string(text)
        case .array(let elements):
            writer.beginArray()
            for element in elements { element.write(to: &writer) }
            writer.endArray()
        case .object(let members):
            writer.beginObject()
            for member in members {
                writer.key(named: member.name)
                member.value.write(to: &writer)
            }
            writer.endObject()
        }
    }
}
