import JSON
import JSONRPC
import TestSupport
import Testing

@Suite struct `JSON-RPC, whole exchanges` {
    @Test func `the examples of the specification are answered as it says`() throws {
        guard let directory = Vectors.directory(named: "jsonrpc-spec") else { return }
        let bytes = try #require(Files.bytes(at: directory + "/examples.json"))
        var document = JSONDocument()
        var count = 0
        let root = try document.parse(bytes.span)
        guard let list = root.member("cases") else {
            Issue.record("no cases")
            return
        }
        var cases = list.elements()
        while let example = cases.next() {
            let name = example.member("name")?.string ?? ""
            let request = example.member("request")?.string ?? ""
            var expected: String?
            if let response = example.member("response"), !response.isNull {
                expected = canonical(response, isTop: true)
            }
            #expect(answer(request).map(canonical) == expected, "\(name)")
            count += 1
        }
        #expect(count == 15)
    }

    @Test func `every file of the JSON test suite is answered, and so is the call behind it`() throws {
        guard let directory = Vectors.directory(named: "jsontestsuite/test_parsing") else { return }
        var dispatcher = Dispatcher()
        let call = Array(#"{"jsonrpc":"2.0","method":"subtract","params":[42,23],"id":1}"#.utf8)
        var count = 0
        for name in Files.names(in: directory) {
            var bytes = try #require(Files.bytes(at: "\(directory)/\(name)"))
            if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
            guard !bytes.isEmpty, !bytes.contains(UInt8(ascii: "\n")) else { continue }
            var answers: [String] = []
            var framer = LineFramer()
            for piece in [bytes, [0x0A], call, [0x0A]] {
                try framer.push(piece.span) { (frame: Span<UInt8>) throws(Never) in
                    answers.append(String(decoding: dispatcher.answer(frame) ?? [], as: UTF8.self))
                }
            }
            #expect(answers.count == 2, "\(name)")
            #expect(answers.last == #"{"jsonrpc":"2.0","id":1,"result":19}"#, "\(name)")
            let isJSON = (try? document(bytes)) ?? false
            let code = isJSON ? "-32600" : "-32700"
            #expect(answers.first?.contains(#""error":{"code":\#(code),"#) == true, "\(name): \(answers)")
            #expect(!name.hasPrefix("n_") || !isJSON, "\(name)")
            count += 1
        }
        #expect(count > 250)
    }

    private func document(_ bytes: [UInt8]) throws(JSONFailure) -> Bool {
        var document = JSONDocument()
        _ = try document.parse(bytes.span)
        return true
    }
}
