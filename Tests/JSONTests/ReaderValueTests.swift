import JSON
import Secrets
import TestSupport
import Testing

@Suite struct `JSON reader, values` {
    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("7", 7), ("-7", -7), ("9223372036854775807", .max),
            ("-9223372036854775808", .min),
            ("9223372036854775808", nil), ("-9223372036854775809", nil), ("10000000000000000000", nil),
            ("99999999999999999999999999", nil), ("1.0", nil), ("1e2", nil), ("1E0", nil), (#""1""#, nil),
            ("true", nil),
        ] as [(String, Int64?)])
    func `an integer is one that is written as such and fits`(text: String, integer: Int64?) {
        #expect(ask(text) { $0.integer } == integer)
    }

    @Test(
        arguments: [
            ("0", 0), ("-2.5", -2.5), ("1e3", 1000), ("1E-2", 0.01), ("9223372036854775808", 0x1p63),
            ("9007199254740993", 9_007_199_254_740_992), ("1e400", .infinity), ("-1e400", -.infinity),
            ("1e-400", 0),
            ("123456789012345678901234567890", 1.2345678901234568e29), (#""1""#, nil), ("null", nil),
        ] as [(String, Double?)])
    func `any number is a double, rounded or infinite`(text: String, double: Double?) {
        #expect(ask(text) { $0.double } == double)
    }

    @Test func `a number of many digits costs no more than its length`() {
        let digits = String(repeating: "9", count: 1_000_000)
        #expect(ask(digits) { $0.integer } == nil)
        #expect(ask(digits) { $0.double } == .infinity)
        #expect(ask("0." + digits) { $0.double } == 1)
    }

    @Test(arguments: [
        (#""""#, ""), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"), (#""\u0041\u00e9\u20AC""#, "Aé€"),
        (#""\ud83d\ude00!""#, "😀!"), (#""\u0000""#, "\0"), ("\"é€😀\u{7F}\u{2028}\"", "é€😀\u{7F}\u{2028}"),
        (#""\uffff\udbff\udfff""#, "\u{FFFF}\u{10FFFF}"), (#""12345678\n12345678""#, "12345678\n12345678"),
    ])
    func `a string is what its escapes say, as text, as secret and compared`(text: String, string: String) {
        #expect(ask(text) { $0.string } == string)
        let secret = ask(text) { $0.secret?.withSpan { $0.withUnsafeBufferPointer(Array.init) } }
        #expect(secret == Array(string.utf8))
        let inObject = "{\(text):1}"
        #expect(ask(inObject) { $0.member(named: string)?.integer } == 1)
        #expect(ask(inObject) { $0.member(named: string + "x")?.integer } == nil)
        #expect(ask(inObject) { $0.member(named: "x" + string)?.integer } == nil)
    }

    @Test func `a name is found by its bytes, not by what looks equal`() {
        let text = "{\"e\u{301}\":1}"
        #expect(ask(text) { $0.member(named: "e\u{301}")?.integer } == 1)
        #expect(ask(text) { $0.member(named: "\u{E9}")?.integer } == nil)
    }

    @Test func `a constant is compared after unescaping`() {
        #expect(
            ask(#"["token","t\u006fken","toke","tokens","t\u006fke","t\u006fkens",1,"tokem"]"#) { root in
                var verdicts: [Bool] = []
                var elements = root.elements()
                while let element = elements.next() { verdicts.append(element.isString("token")) }
                return verdicts
            } == [true, true, false, false, false, false, false, false])
    }

    @Test func `members and elements come in their order, and only from what has them`() {
        let text = #" { "a" : [ 1 , [ ] , "x" ] , "b" : { "c" : null } , "d" : false } "#
        #expect(
            read(text)
                == .success(
                    .object([
                        .init(name: "a", value: .array([.number("1"), .array([]), .string("x")])),
                        .init(name: "b", value: .object([.init(name: "c", value: .null)])),
                        .init(name: "d", value: .bool(false)),
                    ])))
        #expect(ask(text) { $0.count } == 3)
        #expect(ask(text) { $0.member("b")?.member("c")?.isNull } == true)
        #expect(ask(text) { $0.member("c")?.kind } == nil)
        #expect(ask(text) { $0.member("d")?.bool } == false)
        #expect(ask(#"[["a",1]]"#) { $0.member("a")?.kind } == nil)
        #expect(
            ask(#"{"a":1}"#) { root in
                var elements = root.elements()
                return elements.next()?.kind
            } == nil)
        for scalar in ["1", #""a""#, "null", "[]", "{}"] {
            #expect(ask(scalar) { $0.count } == 0)
        }
    }

    @Test func `raw bytes are those of the text`() {
        func raw(_ text: String) -> String? {
            ask(text) { root in
                guard let value = root.member("a") else { return nil }
                return value.rawToken.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
            }
        }
        #expect(raw(#"{"a": "x\n" }"#) == #""x\n""#)
        #expect(raw(#"{"a": -1.50e+2 }"#) == "-1.50e+2")
        #expect(raw(#"{"a": [ 1 ] }"#) == "[ 1 ]")
        #expect(raw(#"{"a": { } , "b":1}"#) == "{ }")
        #expect(raw(#"{"a":null}"#) == "null")
    }

    @Test func `a place leads back to its value`() {
        #expect(
            ask(#"{"a":[1],"b":[2,3]}"#) { root in
                guard let place = root.member("b")?.place else { return nil }
                return root.value(at: place).count
            } == 2)
    }

    @Test func `the search for a byte that needs care agrees with a plain loop`() {
        var generator = SeededGenerator.announced(for: "firstNotPlain")
        let special: [UInt8] = [
            0x00, 0x1F, 0x20, 0x21, 0x22, 0x23, 0x5B, 0x5C, 0x5D, 0x61, 0x7F, 0x80, 0xA2, 0xDC, 0xFF,
        ]
        for _ in 0..<20_000 {
            let length = Int.random(in: 0...40, using: &generator)
            let plainShare = Int.random(in: 0...60, using: &generator)
            let bytes = (0..<length).map { _ -> UInt8 in
                Int.random(in: 0...plainShare, using: &generator) > 0
                    ? 0x61 : special.randomElement(using: &generator) ?? 0
            }
            let start = Int.random(in: 0...length, using: &generator)
            let expected =
                bytes[start...].firstIndex { $0 < 0x20 || $0 >= 0x80 || $0 == 0x22 || $0 == 0x5C } ?? length
            let found = ByteSearch.firstNotPlain(in: bytes.span, from: start)
            if found != expected { Issue.record("\(bytes) from \(start): \(found), not \(expected)") }
            let newline = ByteSearch.first(0x61, in: bytes.span, from: start)
            if newline != bytes[start...].firstIndex(of: 0x61) { Issue.record("\(bytes) from \(start)") }
        }
    }
}
