package import CredentialCore
package import JSON
import JSONRPC
import Secrets

extension JSONWriter {
    /// Writes a request as the worker reads it, without the line end.
    ///
    /// The answer will carry `id`; `timeout` is what is left of the request's own.
    package mutating func fetch(_ request: FetchRequest, id: Int64, timeout: Milliseconds) {
        self.request(id: id, method: "fetch") { (writer: inout JSONWriter) in
            writer.beginObject()
            writer.key("url")
            writer.string(request.url.text)
            writer.key("method")
            writer.string(request.method.rawValue)
            writer.key("headers")
            writer.beginArray()
            for (name, value) in request.headers {
                writer.beginObject()
                writer.key("name")
                writer.string(name)
                writer.member(value, text: "value", base64: "value_base64url")
                writer.endObject()
            }
            writer.endArray()
            if let body = request.body { writer.member(body, text: "body", base64: "body_base64url") }
            if let caFile = request.caFile {
                writer.key("ca_file")
                writer.string(caFile)
            }
            if let proxy = request.proxy {
                writer.key("proxy")
                writer.string(proxy)
            }
            writer.key("timeout_ms")
            writer.integer(timeout.count)
            writer.key("body_limit")
            writer.integer(Int64(request.bodyLimit))
            writer.key("partition")
            writer.string(request.partition)
            writer.endObject()
        }
    }
}

/// Reads what `JSONWriter.fetch` wrote, believing nothing.
package enum FetchRequestWire {
    /// The request in the parameters of a `fetch`, checked by `RequestRules`.
    package static func read(_ params: borrowing JSONValue, id: UInt64) throws(WireFailure) -> FetchRequest {
        guard let method = HTTPMethod(rawValue: try text(params, "method", limit: 8) ?? "") else {
            throw .notAllowed
        }
        guard let urlText = try text(params, "url", limit: 2048) else { throw .missing }
        guard let url = try? HTTPURL(urlText) else { throw .notAllowed }
        guard let bodyLimit = Int(exactly: try integer(params, "body_limit")) else { throw .outOfRange }
        guard let partition = try text(params, "partition", limit: WireLimits.partition) else {
            throw .missing
        }
        let request = FetchRequest(
            id: id, url: url, method: method, headers: try headers(params),
            body: try WireBytes.read(
                params, text: "body", base64: "body_base64url", limit: WireLimits.body),
            caFile: try text(params, "ca_file", limit: WireLimits.path),
            proxy: try text(params, "proxy", limit: WireLimits.path),
            timeout: Milliseconds(try integer(params, "timeout_ms")), bodyLimit: bodyLimit,
            partition: partition)
        try RequestRules.check(request)
        return request
    }

    private static func headers(
        _ params: borrowing JSONValue
    ) throws(WireFailure) -> [(name: String, value: SecretBytes)] {
        guard let list = params.member("headers") else { throw .missing }
        guard list.kind == .array else { throw .wrongType }
        guard list.count <= WireLimits.headerCount else { throw .outOfRange }
        var headers: [(name: String, value: SecretBytes)] = []
        var elements = list.elements()
        while let element = elements.next() {
            guard let name = try text(element, "name", limit: WireLimits.headerBytes),
                let value = try WireBytes.read(
                    element, text: "value", base64: "value_base64url", limit: WireLimits.headerBytes)
            else { throw .missing }
            headers.append((name, value))
        }
        return headers
    }

    private static func text(
        _ object: borrowing JSONValue, _ name: StaticString, limit: Int
    ) throws(WireFailure) -> String? {
        guard let value = object.member(name) else { return nil }
        guard value.kind == .string else { throw .wrongType }
        guard value.raw.count <= limit * 6, let text = value.string, text.utf8.count <= limit else {
            throw .outOfRange
        }
        return text
    }

    private static func integer(
        _ object: borrowing JSONValue, _ name: StaticString
    ) throws(WireFailure) -> Int64 {
        guard let value = object.member(name) else { throw .missing }
        guard let number = value.integer else { throw .wrongType }
        return number
    }
}
