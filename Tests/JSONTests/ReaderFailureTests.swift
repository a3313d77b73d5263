import JSON
import Testing

@Suite struct `JSON reader, faults` {
    @Test(
        arguments: [
            ("", .unexpectedEnd), ("  ", .unexpectedEnd), ("[", .unexpectedEnd), ("[1", .unexpectedEnd),
            ("[1,", .unexpectedEnd), ("{", .unexpectedEnd), (#"{"a""#, .unexpectedEnd),
            (#"{"a":"#, .unexpectedEnd),
            (#"{"a":1"#, .unexpectedEnd), (#"{"a":1,"#, .unexpectedEnd), (#""abc"#, .unexpectedEnd),
            ("tru", .unexpectedEnd), ("-", .unexpectedEnd), ("1.", .unexpectedEnd), ("1e", .unexpectedEnd),
            ("1e+", .unexpectedEnd), (#""é"#, .unexpectedEnd), (#""\n"#, .unexpectedEnd),
            ("]", .unexpectedByte(offset: 0)), ("[1,]", .unexpectedByte(offset: 3)),
            ("[,1]", .unexpectedByte(offset: 1)), ("[1 2]", .unexpectedByte(offset: 3)),
            ("[1}", .unexpectedByte(offset: 2)), ("{]", .unexpectedByte(offset: 1)),
            ("{,}", .unexpectedByte(offset: 1)), ("{1:2}", .unexpectedByte(offset: 1)),
            (#"{"a" 1}"#, .unexpectedByte(offset: 5)), (#"{"a":1,}"#, .unexpectedByte(offset: 7)),
            (#"{"a":1]"#, .unexpectedByte(offset: 6)), (#"{"a":}"#, .unexpectedByte(offset: 5)),
            ("truE", .unexpectedByte(offset: 3)), ("nul1", .unexpectedByte(offset: 3)),
            ("False", .unexpectedByte(offset: 0)), ("+1", .unexpectedByte(offset: 0)),
            (".5", .unexpectedByte(offset: 0)), ("NaN", .unexpectedByte(offset: 0)),
            ("'a'", .unexpectedByte(offset: 0)), ("/**/1", .unexpectedByte(offset: 0)),
            ("\u{FEFF}1", .unexpectedByte(offset: 0)), ("\u{0C}1", .unexpectedByte(offset: 0)),
            ("\u{A0}1", .unexpectedByte(offset: 0)), ("\"a\u{1}\"", .unexpectedByte(offset: 2)),
            ("\"a\nb\"", .unexpectedByte(offset: 2)), ("\"a\0\"", .unexpectedByte(offset: 2)),
            ("01", .invalidNumber(offset: 1)), ("-01", .invalidNumber(offset: 2)),
            ("-a", .invalidNumber(offset: 1)),
            ("1.a", .invalidNumber(offset: 2)), ("1ea", .invalidNumber(offset: 2)),
            ("1e+a", .invalidNumber(offset: 3)), ("-.5", .invalidNumber(offset: 1)),
            ("[1.]", .invalidNumber(offset: 3)), ("1a", .trailingBytes(offset: 1)),
            ("1.5.2", .trailingBytes(offset: 3)), ("0x1", .trailingBytes(offset: 1)),
            ("1 1", .trailingBytes(offset: 2)), ("{}{}", .trailingBytes(offset: 2)),
            ("null,", .trailingBytes(offset: 4)), ("[]]", .trailingBytes(offset: 2)),
            (#""\x""#, .invalidEscape(offset: 1)), (#""a\u""#, .invalidEscape(offset: 2)),
            (#""\u12g4""#, .invalidEscape(offset: 1)), (#""\u123"#, .invalidEscape(offset: 1)),
            (#""\"#, .invalidEscape(offset: 1)), (#""\U0041""#, .invalidEscape(offset: 1)),
            (#""12345678\x""#, .invalidEscape(offset: 9)), ("\"\\\n\"", .invalidEscape(offset: 1)),
        ] as [(String, JSONFailure)])
    func `the first fault is told with its place`(text: String, failure: JSONFailure) {
        #expect(read(text) == .failure(failure))
    }

    @Test(arguments: [
        #""\ud800""#, #""\ud800x""#, #""\ud800\n""#, #""\ud800\u0041""#, #""\ud800\ud800""#, #""\udc00""#,
        #""\udc00\ud800""#, #""\udc00\udc00""#, #""\ud83d\ude0""#, #""\uDFFF""#,
    ])
    func `half of a surrogate pair is refused`(text: String) {
        #expect(read(text) == .failure(.invalidEscape(offset: 1)))
    }

    @Test(
        arguments: [
            [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xC3, 0x28], [0xE0, 0x80, 0x80],
            [0xE0, 0x9F, 0xBF],
            [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xE2, 0x82], [0xE2, 0x28, 0xA1], [0xE2, 0x82, 0x28],
            [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80], [0xF0, 0x9F, 0x98],
            [0xF5, 0x80, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFE], [0xFF],
        ] as [[UInt8]])
    func `ill-formed UTF-8 is refused where it begins`(sequence: [UInt8]) {
        #expect(read([0x22] + sequence + [0x22]) == .failure(.invalidUTF8(offset: 1)))
        #expect(read(Array("[\"ninebytes".utf8) + sequence) == .failure(.invalidUTF8(offset: 11)))
    }

    @Test(arguments: [
        (#"{"a":1,"a":2}"#, 7), (#"{"a":1,"b":2,"a":1}"#, 13), (#"{"":1,"":2}"#, 6),
        (#"{"a":1,"\u0061":2}"#, 7),
        (#"{"\u0061":1,"a":2}"#, 12), (#"{"\/":1,"/":2}"#, 8), (#"{"x":{"a":1,"a":2}}"#, 12),
        (#"[{"é":[],"\u00e9":{}}]"#, 10), (#"{"😀":1,"\ud83d\ude00":2}"#, 10),
        (#"{"\u0000":1,"\u0000":2}"#, 12),
    ])
    func `a name that comes twice is refused`(text: String, offset: Int) {
        #expect(read(text) == .failure(.duplicateKey(offset: offset)))
    }

    @Test(arguments: [
        #"{"a":1,"A":2}"#, #"{"a":{"a":1},"b":{"a":1}}"#, #"[{"a":1},{"a":1}]"#,
        #"{"a":1,"a ":2,"a\u0000":3}"#,
        #"{"\\u0061":1,"a":2}"#, "{\"e\u{301}\":1,\"\u{E9}\":2}",
    ])
    func `names that differ in a byte are different`(text: String) throws {
        _ = try read(text).get()
    }

    @Test(arguments: [7, 8, 9, 15, 16, 17, 100, 5000])
    func `a name that comes twice among many is found, and no other`(count: Int) throws {
        let names = (0..<count).map { #""name\#($0)":\#($0)"# }
        _ = try read("{\(names.joined(separator: ","))}").get()
        for repeated in [#""name0":0"#, #""n\u0061me\#(count - 1)":0"#] {
            let text = "{\((names + [repeated]).joined(separator: ","))}"
            let offset = text.utf8.count - repeated.utf8.count - 1
            #expect(read(text) == .failure(.duplicateKey(offset: offset)))
        }
    }

    @Test func `depth counts arrays and objects alike`() throws {
        let limits = JSONLimits(depth: 3)
        _ = try read(#"[{"a":[]},[[]]]"#, limits: limits).get()
        #expect(read("[[[[", limits: limits) == .failure(.tooDeep(offset: 3)))
        #expect(read(#"[{"a":[{}]}]"#, limits: limits) == .failure(.tooDeep(offset: 7)))
        #expect(read("1", limits: JSONLimits(depth: 0)) == .success(.number("1")))
        #expect(read("[]", limits: JSONLimits(depth: 0)) == .failure(.tooDeep(offset: 0)))
        let opened = [UInt8](repeating: UInt8(ascii: "["), count: 100_000)
        #expect(read(opened) == .failure(.tooDeep(offset: 32)))
    }

    @Test func `length is looked at before anything else`() {
        #expect(read("[12]", limits: JSONLimits(length: 4)) == .success(.array([.number("12")])))
        #expect(read("[1,2", limits: JSONLimits(length: 3)) == .failure(.tooLong))
        #expect(read("", limits: JSONLimits(length: 0)) == .failure(.unexpectedEnd))
    }

    @Test func `a reader goes on after a fault, and after a text of many values`() throws {
        var document = JSONDocument()
        let many = Array("[\([String](repeating: "[]", count: 5000).joined(separator: ","))]".utf8)
        let few = Array(#"{"a":[1,{"b":null}]}"#.utf8)
        for _ in 0..<3 {
            #expect(throws: JSONFailure.unexpectedEnd) {
                _ = try document.parse(many.span.extracting(droppingLast: 1))
            }
            var count = 0
            count = try document.parse(many.span).count
            #expect(count == 5000)
            var tree = Tree.null
            tree = Tree(try document.parse(few.span))
            #expect(
                tree
                    == .object([
                        .init(
                            name: "a",
                            value: .array([.number("1"), .object([.init(name: "b", value: .null)])]))
                    ]))
        }
    }
}
