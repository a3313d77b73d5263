package import JSON

/// Messages as this program writes them: `jsonrpc` first, then the id, then the rest; no line end, so that they serve in batches too.
///
/// `rawID` is the id as it stood in the request; an empty one is written as null.
extension JSONWriter {
    /// Writes a request of ours; `params` writes one array or object.
    package mutating func request<Failure: Error>(
        id: Int64, method: StaticString, params: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        verbatim(#"{"jsonrpc":"2.0","id":"#)
        integer(id)
        key("method")
        string(method)
        key("params")
        try params(&self)
        endObject()
    }

    /// Writes a request of ours without parameters.
    package mutating func request(id: Int64, method: StaticString) {
        verbatim(#"{"jsonrpc":"2.0","id":"#)
        integer(id)
        key("method")
        string(method)
        endObject()
    }

    /// Writes a notification; `params` writes one array or object.
    package mutating func notification<Failure: Error>(
        method: StaticString, params: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        verbatim(#"{"jsonrpc":"2.0","method":"#)
        string(method)
        key("params")
        try params(&self)
        endObject()
    }

    /// Writes a notification without parameters.
    package mutating func notification(method: StaticString) {
        verbatim(#"{"jsonrpc":"2.0","method":"#)
        string(method)
        endObject()
    }

    /// Begins a response with a result: the caller writes one value, then calls `endObject()`.
    package mutating func beginResult(rawID: Span<UInt8>) {
        beginResponse(rawID)
        verbatim(#""result":"#)
    }

    /// Writes an error response without data, with the message that the specification gives.
    package mutating func errorResponse(rawID: Span<UInt8>, _ code: JSONRPCErrorCode) {
        beginError(rawID, code.rawValue)
        string(code.message)
        endObject()
        endObject()
    }

    /// Writes an error response; `data` writes the members of the object `data`.
    package mutating func errorResponse<Failure: Error>(
        rawID: Span<UInt8>, code: Int64, message: String, data: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        beginError(rawID, code)
        string(message)
        verbatim(#""data":{"#)
        try data(&self)
        endObject()
        endObject()
        endObject()
    }

    private mutating func beginResponse(_ rawID: Span<UInt8>) {
        verbatim(#"{"jsonrpc":"2.0","id":"#)
        if rawID.isEmpty { null() } else { raw(rawID) }
    }

    private mutating func beginError(_ rawID: Span<UInt8>, _ code: Int64) {
        beginResponse(rawID)
        verbatim(#""error":{"code":"#)
        integer(code)
        key("message")
    }
}
