package import JSON

/// The members of a batch, in the order of the text.
package struct JSONRPCBatch: ~Escapable, BitwiseCopyable {
    /// How many members the batch has.
    package let count: Int
    private var elements: JSONElements

    @_lifetime(copy elements)
    init(_ elements: JSONElements, count: Int) {
        self.elements = elements
        self.count = count
    }

    /// The next member, classified; nil behind the last.
    @_lifetime(copy self)
    package mutating func next() -> JSONRPCMessage? {
        guard let element = elements.next() else { return nil }
        return JSONRPCMessage(element)
    }
}

/// What one frame carries: a message, or a batch of them (JSON-RPC 2.0 §6).
package enum JSONRPCPayload: ~Escapable, BitwiseCopyable {
    /// One message, answered by itself; a value that is neither object nor array is an invalid one.
    case single(JSONRPCMessage)
    /// At least one member, answered together in one array, or by nothing when no member wants an answer.
    case batch(JSONRPCBatch)

    /// Members of a batch unless something else is said.
    package static let usualBatchLimit = 16

    /// Classifies `root`; an empty batch, and one of more than `batchLimit` members, is one invalid message with the id null.
    @_lifetime(copy root)
    package init(_ root: JSONValue, batchLimit: Int = usualBatchLimit) {
        guard root.kind == .array else {
            self = .single(JSONRPCMessage(root))
            return
        }
        let count = root.count
        guard count > 0, count <= batchLimit else {
            self = .single(.invalid(rawID: Span()))
            return
        }
        self = .batch(JSONRPCBatch(root.elements(), count: count))
    }
}
