package import JSON

/// A call that wants an answer (JSON-RPC 2.0 §4).
package struct JSONRPCRequest: ~Escapable, BitwiseCopyable {
    /// The method's name, a string.
    package let method: JSONValue
    /// An array or an object; nil when the request has none.
    package let params: JSONValue?
    /// The id, a string of at most 256 bytes or a 64-bit integer, as its bytes stand in the request: what the answer echoes.
    package let rawID: Span<UInt8>

    @_lifetime(copy method, copy params, copy rawID)
    init(method: JSONValue, params: JSONValue?, rawID: Span<UInt8>) {
        self.method = method
        self.params = params
        self.rawID = rawID
    }
}

/// A call that gets no answer, whatever becomes of it (JSON-RPC 2.0 §4.1).
package struct JSONRPCNotification: ~Escapable, BitwiseCopyable {
    /// The method's name, a string.
    package let method: JSONValue
    /// An array or an object; nil when the notification has none.
    package let params: JSONValue?

    @_lifetime(copy method, copy params)
    init(method: JSONValue, params: JSONValue?) {
        self.method = method
        self.params = params
    }
}

/// The answer to a request of ours (JSON-RPC 2.0 §5).
package struct JSONRPCResponse: ~Escapable, BitwiseCopyable {
    /// The id that is answered: a string, an integer, or null when the other side could not read it.
    package let id: JSONValue
    /// The result or the error object, whichever there is.
    package let payload: JSONValue
    /// Whether `payload` is an error object, with an integer `code` and a string `message`.
    package let isError: Bool

    @_lifetime(copy id, copy payload)
    init(id: JSONValue, payload: JSONValue, isError: Bool) {
        self.id = id
        self.payload = payload
        self.isError = isError
    }
}

/// What one JSON value says as a JSON-RPC 2.0 message; members that the specification does not name are ignored.
package enum JSONRPCMessage: ~Escapable, BitwiseCopyable {
    case request(JSONRPCRequest)
    case notification(JSONRPCNotification)
    case response(JSONRPCResponse)
    /// No message: answered with `invalidRequest` under the id that it carries; with the id null where `rawID` is empty.
    ///
    /// What looks like an answer and is none has in `answeredID` the id under which it came, where it has one.
    case invalid(rawID: Span<UInt8>, answeredID: JSONValue? = nil)
}
