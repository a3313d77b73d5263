import JSON
import JSONRPC
import Testing

@Suite struct `JSON-RPC messages` {
    /// What a text is, with the parts that a receiver needs.
    private func kinds(_ text: String, batchLimit: Int = 16) -> [String] {
        var document = JSONDocument()
        let bytes = Array(text.utf8)
        guard let root = try? document.parse(bytes.span) else { return ["no JSON"] }
        switch JSONRPCPayload(root, batchLimit: batchLimit) {
        case .single(let message): return [describe(message)]
        case .batch(var batch):
            var kinds = ["batch of \(batch.count)"]
            while let message = batch.next() { kinds.append(describe(message)) }
            return kinds
        }
    }

    private func describe(_ message: JSONRPCMessage) -> String {
        switch message {
        case .request(let request):
            "request \(text(request.rawID)) \(request.method.string ?? "") \(kind(request.params))"
        case .notification(let notification):
            "notification \(notification.method.string ?? "") \(kind(notification.params))"
        case .response(let response):
            "\(response.isError ? "error" : "result") \(text(response.id.rawToken)) \(text(response.payload.rawToken))"
        case .invalid(let rawID, nil): rawID.isEmpty ? "invalid" : "invalid \(text(rawID))"
        case .invalid(let rawID, let answeredID?):
            "invalid \(text(rawID)) answer to \(text(answeredID.rawToken))"
        }
    }

    private func kind(_ value: JSONValue?) -> String {
        guard let value else { return "nothing" }
        return "\(value.kind)"
    }

    private func text(_ bytes: Span<UInt8>) -> String {
        bytes.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }

    private func message(_ members: String) -> String { #"{"jsonrpc":"2.0",\#(members)}"# }

    @Test(arguments: [
        (#""id":1,"method":"m""#, "request 1 m nothing"), (#""method":"m","id":-0"#, "request -0 m nothing"),
        (#""id":"a\n","method":"m","params":[]"#, #"request "a\n" m array"#),
        (#""id":"","method":"","params":{}"#, #"request ""  object"#),
        (#""id":9223372036854775807,"method":"m""#, "request 9223372036854775807 m nothing"),
        (#""method":"m""#, "notification m nothing"), (#""method":"m","params":[1]"#, "notification m array"),
        (#""x":1,"method":"\u006d","params":{}"#, "notification m object"),
        (#""\u0069d":1,"method":"m""#, "request 1 m nothing"),
    ])
    func `a request has an id and a notification has none`(members: String, kind: String) {
        #expect(kinds(message(members)) == [kind])
    }

    @Test(arguments: [
        "null", "1.0", "1e2", "9223372036854775808", "true", "[]", "{}", "-9223372036854775809", "0.5",
    ])
    func `an id that is neither string nor integer is answered under null`(id: String) {
        #expect(kinds(message(#""id":\#(id),"method":"m""#)) == ["invalid"])
    }

    @Test func `an id that is a string has at most 256 bytes`() {
        let longest = String(repeating: "x", count: 256)
        #expect(kinds(message(#""id":"\#(longest)","method":"m""#)) == ["request \"\(longest)\" m nothing"])
        #expect(kinds(message(#""id":"\#(longest)x","method":"m""#)) == ["invalid"])
    }

    @Test(arguments: [
        #"{"id":1,"method":"m"}"#, #"{"jsonrpc":"1.0","id":1,"method":"m"}"#,
        #"{"jsonrpc":2.0,"id":1,"method":"m"}"#,
        #"{"jsonrpc":"2.00","id":1,"method":"m"}"#, #"{"jsonrpc":null,"id":1,"method":"m"}"#,
        #"{"jsonrpc":"2.0","id":1}"#, #"{"jsonrpc":"2.0","id":1,"method":1}"#,
        #"{"jsonrpc":"2.0","id":1,"method":null}"#, #"{"jsonrpc":"2.0","id":1,"method":["m"]}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"m","params":null}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"m","params":1}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"m","params":"p"}"#, #"{"JSONRPC":"2.0","id":1,"method":"m"}"#,
    ])
    func `a request that is wrong elsewhere is answered under its id`(text: String) {
        #expect(kinds(text) == ["invalid 1"])
    }

    @Test(arguments: [
        "1", "null", #""m""#, "true", "{}", #"{"jsonrpc":"2.0"}"#, #"{"jsonrpc":"2.0","method":1}"#,
        #"{"jsonrpc":"2.0","method":"m","params":1}"#, #"{"method":"m"}"#,
    ])
    func `what has no id and is no notification is answered under null`(text: String) {
        #expect(kinds(text) == ["invalid"])
    }

    @Test(arguments: [
        (#""id":1,"result":null"#, "result 1 null"), (#""id":"a","result":{"b":1}"#, #"result "a" {"b":1}"#),
        (#""id":null,"error":{"code":-32700,"message":"x"}"#, #"error null {"code":-32700,"message":"x"}"#),
        (#""error":{"message":"","code":1,"data":[]},"id":2"#, #"error 2 {"message":"","code":1,"data":[]}"#),
    ])
    func `a response has an id and one outcome`(members: String, kind: String) {
        #expect(kinds(message(members)) == [kind])
    }

    @Test(arguments: [
        #""id":1,"result":1,"error":{"code":1,"message":""}"#, #""id":1,"result":1,"error":null"#,
        #""id":1,"error":null"#, #""id":1,"error":{}"#, #""id":1,"error":{"code":"1","message":""}"#,
        #""id":1,"error":{"code":1.5,"message":""}"#, #""id":1,"error":{"code":1}"#,
        #""id":1,"error":{"code":1,"message":null}"#, #""id":1,"method":"m","result":1"#,
    ])
    func `what looks like a response and is none is refused under null, and says to what it is meant`(
        members: String
    ) {
        #expect(kinds(message(members)) == ["invalid  answer to 1"])
        #expect(kinds(#"{"id":1,"result":1}"#) == ["invalid  answer to 1"])
    }

    @Test(arguments: [
        (#""result":1"#, ""), (#""error":{"code":1,"message":""}"#, ""), (#""id":1.5,"result":1"#, "1.5"),
        (#""id":"1","error":{}"#, #""1""#), (#""id":null,"error":{}"#, "null"),
        (#""id":[1],"result":1"#, "[1]"),
    ])
    func `what looks like a response and has no number of ours says which id it has`(
        members: String, id: String
    ) {
        #expect(kinds(message(members)) == [id.isEmpty ? "invalid" : "invalid  answer to \(id)"])
    }

    @Test func `a batch has one to sixteen members, or as many as are allowed`() {
        let call = message(#""id":1,"method":"m""#)
        func batch(_ count: Int) -> String {
            "[\([String](repeating: call, count: count).joined(separator: ","))]"
        }
        #expect(kinds("[]") == ["invalid"])
        #expect(kinds(batch(1)) == ["batch of 1", "request 1 m nothing"])
        #expect(kinds(batch(16)).count == 17)
        #expect(kinds(batch(17)) == ["invalid"])
        #expect(kinds(batch(2), batchLimit: 1) == ["invalid"])
        #expect(
            kinds("[1,[],\(call),\(message(#""method":"n""#))]") == [
                "batch of 4", "invalid", "invalid", "request 1 m nothing", "notification n nothing",
            ])
    }
}
