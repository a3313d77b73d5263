import JSON
import JSONRPC
import Secrets
import Testing

@Suite struct `JSON-RPC messages, written` {
    private func written(_ write: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        write(&writer)
        return writer.finish().withSpan { $0.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) } }
    }

    private let id = Array(#""a\n1""#.utf8)

    @Test func `requests and notifications`() {
        #expect(
            written { writer in
                writer.request(id: .max, method: "credential.fetch") { writer in
                    writer.beginArray()
                    writer.integer(1)
                    writer.endArray()
                }
            } == #"{"jsonrpc":"2.0","id":9223372036854775807,"method":"credential.fetch","params":[1]}"#)
        #expect(written { $0.request(id: 1, method: "m") } == #"{"jsonrpc":"2.0","id":1,"method":"m"}"#)
        #expect(
            written { writer in
                writer.notification(method: "token.changed") { writer in
                    writer.beginObject()
                    writer.endObject()
                }
                writer.endLine()
            } == #"{"jsonrpc":"2.0","method":"token.changed","params":{}}"# + "\n")
        #expect(written { $0.notification(method: "m") } == #"{"jsonrpc":"2.0","method":"m"}"#)
    }

    @Test func `responses echo the id as it stood`() {
        #expect(
            written { writer in
                writer.beginResult(rawID: id.span)
                writer.beginObject()
                writer.key("x")
                writer.null()
                writer.endObject()
                writer.endObject()
            } == #"{"jsonrpc":"2.0","id":"a\n1","result":{"x":null}}"#)
        #expect(
            written { writer in
                writer.errorResponse(rawID: id.span, code: 120, message: "needs \"x\"") { writer in
                    writer.key("kind")
                    writer.string("sign_in_needed")
                    writer.key("retryable")
                    writer.bool(false)
                }
            }
                == #"{"jsonrpc":"2.0","id":"a\n1","error":{"code":120,"message":"needs \"x\"","#
                + #""data":{"kind":"sign_in_needed","retryable":false}}}"#)
        #expect(
            written { $0.errorResponse(rawID: id.span, code: 1, message: "m") { _ in } }
                == #"{"jsonrpc":"2.0","id":"a\n1","error":{"code":1,"message":"m","data":{}}}"#)
    }

    @Test(arguments: [
        (JSONRPCErrorCode.parseError, "-32700", "Parse error"),
        (.invalidRequest, "-32600", "Invalid Request"),
        (.methodNotFound, "-32601", "Method not found"), (.invalidParams, "-32602", "Invalid params"),
        (.internalError, "-32603", "Internal error"),
    ])
    func `the specification's errors keep their numbers and words`(
        code: JSONRPCErrorCode, number: String, message: String
    ) {
        #expect(
            written { $0.errorResponse(rawID: Span(), code) }
                == #"{"jsonrpc":"2.0","id":null,"error":{"code":\#(number),"message":"\#(message)"}}"#)
        #expect(JSONRPCErrorCode.allCases.count == 5)
    }

    @Test func `several stand in a batch, with a comma between`() {
        #expect(
            written { writer in
                writer.beginArray()
                writer.errorResponse(rawID: Span(), .invalidRequest)
                writer.beginResult(rawID: Array("2".utf8).span)
                writer.integer(3)
                writer.endObject()
                writer.endArray()
            } == #"[{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}},"#
                + #"{"jsonrpc":"2.0","id":2,"result":3}]"#)
    }
}
