import JSON
import Secrets

/// One request that arrived, and what became of it.
///
/// It holds header fields and bodies in full, tokens too: that is its purpose, and why the sandbox listens on loopback only
/// and is no place for a real credential.
struct JournalEntry: Sendable {
    /// Grows by one with each request.
    let sequence: Int64
    /// Unix milliseconds of the sandbox's clock, with its offset.
    let time: Int64
    let owner: Owner?
    let isTLS: Bool
    let method: String
    let target: String
    let path: String
    let query: [Request.Pair]
    let headers: [Request.Pair]
    /// The first 64 KiB.
    let body: [UInt8]
    let bodyLength: UInt64
    /// What was answered; nil when the peer got no status at all.
    let status: Int?
    let fault: String?

    static let bodyLimit = 65_536

    init(sequence: Int64, time: Int64, owner: Owner?, request: Request, status: Int?, fault: String?) {
        self.sequence = sequence
        self.time = time
        self.owner = owner
        isTLS = request.isTLS
        method = request.method
        target = request.target
        path = request.path
        query = request.query
        headers = request.headers
        body = Array(request.body.prefix(Self.bodyLimit))
        bodyLength = request.bodyLength
        self.status = status
        self.fault = fault
    }

    /// Bytes that keeping it costs, roughly.
    var size: Int {
        let fields = (query + headers).reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 64 }
        return 256 + 2 * target.utf8.count + fields + body.count
    }

    /// Writes it as an object; bytes that are no UTF-8 become U+FFFD, control characters are escaped.
    func write(_ json: inout JSONWriter) {
        json.beginObject()
        json.key("sequence")
        json.integer(sequence)
        json.key("time_milliseconds")
        json.integer(time)
        if let owner {
            json.key(named: owner.noun)
            json.string(owner.name)
        }
        json.key("scheme")
        json.string(isTLS ? "https" : "http" as StaticString)
        json.key("method")
        json.string(method)
        json.key("target")
        json.string(target)
        json.key("path")
        json.string(path)
        json.key("query")
        Self.write(query, &json)
        json.key("headers")
        Self.write(headers, &json)
        json.key("body")
        json.string(utf8: body.span)
        json.key("body_bytes")
        json.integer(Int64(clamping: bodyLength))
        json.key("status")
        if let status { json.integer(Int64(status)) } else { json.null() }
        json.key("fault")
        if let fault { json.string(fault) } else { json.null() }
        json.endObject()
    }

    // Arrays of two: names may repeat, and their order is worth seeing.
    private static func write(_ pairs: [Request.Pair], _ json: inout JSONWriter) {
        json.beginArray()
        for pair in pairs {
            json.beginArray()
            json.string(pair.name)
            json.string(pair.value)
            json.endArray()
        }
        json.endArray()
    }
}
