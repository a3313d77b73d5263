import JSON
import Secrets

/// A well-formed answer: what a stand-in says before any fault touches it.
///
/// What stands in here is made up by the sandbox, never a secret, so plain arrays and texts are good enough for it.
struct Answer: Sendable {
    var status: Int
    /// In the order in which they are sent; `Date` and `Content-Length` are added from the fields below.
    var headers: [Request.Pair]
    var body: [UInt8]
    /// The stand-in's clock in Unix milliseconds, for the `Date` field.
    var date: Int64
    /// What the request did that no client of this server may do; it is listed, whatever the answer is.
    var violations: [String] = []

    init(status: Int, contentType: String?, body: [UInt8], date: Int64) {
        self.status = status
        headers = contentType.map { [("Content-Type", $0)] } ?? []
        self.body = body
        self.date = date
    }

    /// An answer of JSON that `write` writes.
    init(status: Int, date: Int64, json write: (inout JSONWriter) -> Void) {
        self.init(status: status, contentType: "application/json", body: Self.bytes(write), date: date)
    }

    /// An answer of JSON with one member, `error`.
    static func problem(_ status: Int, _ message: String, date: Int64) -> Answer {
        Answer(status: status, date: date) { json in
            json.beginObject()
            json.key("error")
            json.string(message)
            json.endObject()
        }
    }

    /// What `write` writes, and a line end, so that a terminal shows it well.
    private static func bytes(_ write: (inout JSONWriter) -> Void) -> [UInt8] {
        var json = JSONWriter()
        write(&json)
        json.endLine()
        let text = json.finish()
        var copy: [UInt8] = []
        copy.reserveCapacity(text.count)
        text.withSpan { span in
            for index in span.indices { copy.append(span[index]) }
        }
        return copy
    }

    /// The same answer with one more violation, so that the test whose client did it fails.
    func accusing(_ violation: String) -> Answer {
        var answer = self
        answer.violations.append(violation)
        return answer
    }

    /// Sets a header field, in place of those of the same name.
    mutating func setHeader(_ name: String, _ value: String) {
        headers.removeAll { $0.name.lowercased() == name.lowercased() }
        headers.append((name, value))
    }

    /// The status line and header section as bytes, with `Connection: close` (RFC 9112 §2.1).
    ///
    /// `contentLength` is what `Content-Length` claims; nil leaves the field out, so that the end of the connection ends the
    /// body.
    func head(contentLength: Int?) -> [UInt8] {
        var text = "HTTP/1.1 \(status) \(Self.reason(status))\r\n"
        for header in datedHeaders { text += "\(header.name): \(header.value)\r\n" }
        if let contentLength { text += "Content-Length: \(contentLength)\r\n" }
        return Array((text + "Connection: close\r\n\r\n").utf8)
    }

    /// The header fields with `Date`, unless a fault has brought its own.
    var datedHeaders: [Request.Pair] {
        let hasDate = headers.contains { $0.name.lowercased() == "date" }
        return hasDate ? headers : headers + [("Date", CalendarText.httpDate(date))]
    }

    private static func reason(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 307: "Temporary Redirect"
        case 308: "Permanent Redirect"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 402: "Payment Required"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 422: "Unprocessable Content"
        case 429: "Too Many Requests"
        case 500: "Internal Server Error"
        case 503: "Service Unavailable"
        default: "Status"
        }
    }
}
