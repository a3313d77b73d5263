import JSON
import JSONRPC
import Secrets

/// A server of the methods that the specification's examples call; small enough to be seen to be right.
struct Dispatcher: ~Copyable {
    private var document = JSONDocument()

    /// The answer to one frame, without its line end; nil when nothing may be sent.
    mutating func answer(_ frame: Span<UInt8>) -> [UInt8]? {
        var writer = JSONWriter()
        var isSilent = false
        do throws(JSONFailure) {
            switch JSONRPCPayload(try document.parse(frame)) {
            case .single(let message):
                isSilent = !Self.answer(message, &writer)
            case .batch(var batch):
                isSilent = true
                writer.beginArray()
                while let message = batch.next() {
                    if Self.answer(message, &writer) { isSilent = false }
                }
                writer.endArray()
            }
        } catch {
            writer.errorResponse(rawID: Span(), .parseError)
        }
        guard !isSilent else { return nil }
        return writer.finish().withSpan { $0.withUnsafeBufferPointer(Array.init) }
    }

    private static func answer(_ message: JSONRPCMessage, _ writer: inout JSONWriter) -> Bool {
        switch message {
        case .notification, .response: return false
        case .invalid(let rawID, _): writer.errorResponse(rawID: rawID, .invalidRequest)
        case .request(let request): answer(request, &writer)
        }
        return true
    }

    private static func answer(_ request: JSONRPCRequest, _ writer: inout JSONWriter) {
        if request.method.isString("subtract") {
            guard let params = request.params, let (minuend, subtrahend) = operands(params) else {
                return writer.errorResponse(rawID: request.rawID, .invalidParams)
            }
            writer.beginResult(rawID: request.rawID)
            writer.integer(minuend - subtrahend)
        } else if request.method.isString("sum") {
            guard let params = request.params else {
                return writer.errorResponse(rawID: request.rawID, .invalidParams)
            }
            var sum: Int64 = 0
            var elements = params.elements()
            while let element = elements.next() { sum += element.integer ?? 0 }
            writer.beginResult(rawID: request.rawID)
            writer.integer(sum)
        } else if request.method.isString("get_data") {
            writer.beginResult(rawID: request.rawID)
            writer.beginArray()
            writer.string("hello")
            writer.integer(5)
            writer.endArray()
        } else {
            return writer.errorResponse(rawID: request.rawID, .methodNotFound)
        }
        writer.endObject()
    }

    private static func operands(_ params: JSONValue) -> (Int64, Int64)? {
        if let minuend = params.member("minuend")?.integer,
            let subtrahend = params.member("subtrahend")?.integer
        {
            return (minuend, subtrahend)
        }
        var elements = params.elements()
        guard let minuend = elements.next()?.integer, let subtrahend = elements.next()?.integer else {
            return nil
        }
        return (minuend, subtrahend)
    }
}

/// The answer to `text`, as text.
func answer(_ text: String) -> String? {
    var dispatcher = Dispatcher()
    let bytes = Array(text.utf8)
    return dispatcher.answer(bytes.span).map { String(decoding: $0, as: UTF8.self) }
}

/// A text with the members of each object, and the elements of an array at its top, in an order of their own.
func canonical(_ text: String) -> String {
    var document = JSONDocument()
    let bytes = Array(text.utf8)
    guard let root = try? document.parse(bytes.span) else { return "no JSON: \(text)" }
    return canonical(root, isTop: true)
}

func canonical(_ value: JSONValue, isTop: Bool = false) -> String {
    switch value.kind {
    case .object:
        var parts: [String] = []
        var members = value.members()
        while let member = members.next() {
            parts.append("\(member.key.string ?? ""):\(canonical(member.value))")
        }
        return "{\(parts.sorted().joined(separator: ","))}"
    case .array:
        var parts: [String] = []
        var elements = value.elements()
        while let element = elements.next() { parts.append(canonical(element)) }
        return "[\((isTop ? parts.sorted() : parts).joined(separator: ","))]"
    case .string: return "\"\(value.string ?? "")\""
    default: return value.raw.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }
}
