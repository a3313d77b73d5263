package import JSON

/// Tells requests, notifications and responses apart (JSON-RPC 2.0 §4 and 5).
///
/// An id that is absent, null, a string or a number are four different things: taking null for absent would leave a caller without
/// its answer. A message that looks like an answer and is none is refused under the id null, since ids are counted in each direction
/// and its id is one of ours; which one is said, so that whoever waits for it need not.
extension JSONRPCMessage {
    /// Bytes between the quotes of an id that is a string: it is echoed, and kept as long as its call runs.
    package static let longestID = 256

    /// Classifies `value`; nothing is copied.
    @_lifetime(copy value)
    package init(_ value: JSONValue) {
        let members = Members(of: value)
        if members.hasOutcome {
            self = Self.response(members)
        } else {
            self = Self.call(members)
        }
    }

    @_lifetime(copy members)
    private static func call(_ members: Members) -> JSONRPCMessage {
        var rawID = Span<UInt8>()
        if let id = members.id {
            guard isUsable(id) else { return .invalid(rawID: rawID) }
            rawID = id.rawToken
        }
        guard members.isVersion2, let method = members.method, method.kind == .string else {
            return .invalid(rawID: rawID)
        }
        if let params = members.params, params.kind != .array, params.kind != .object {
            return .invalid(rawID: rawID)
        }
        guard !rawID.isEmpty else {
            return .notification(JSONRPCNotification(method: method, params: members.params))
        }
        return .request(JSONRPCRequest(method: method, params: members.params, rawID: rawID))
    }

    @_lifetime(copy members)
    private static func response(_ members: Members) -> JSONRPCMessage {
        guard members.isVersion2, !members.hasMethod, let id = members.id, id.isNull || isUsable(id) else {
            return .invalid(rawID: Span(), answeredID: members.id)
        }
        guard let error = members.error else {
            guard let result = members.result else { return .invalid(rawID: Span(), answeredID: id) }
            return .response(JSONRPCResponse(id: id, payload: result, isError: false))
        }
        guard !members.hasBothOutcomes, error.member("code")?.integer != nil,
            error.member("message")?.kind == .string
        else { return .invalid(rawID: Span(), answeredID: id) }
        return .response(JSONRPCResponse(id: id, payload: error, isError: true))
    }

    private static func isUsable(_ id: JSONValue) -> Bool {
        switch id.kind {
        case .string: id.raw.count <= longestID
        case .number: id.integer != nil
        default: false
        }
    }
}

/// The members that the specification names, found in one pass.
private struct Members: ~Escapable, BitwiseCopyable {
    private let parent: JSONValue
    // Places, not views: six optional views are much to carry around.
    private var idPlace: JSONPlace?
    private var methodPlace: JSONPlace?
    private var paramsPlace: JSONPlace?
    private var resultPlace: JSONPlace?
    private var errorPlace: JSONPlace?
    private(set) var isVersion2 = false

    @_lifetime(copy parent)
    init(of parent: JSONValue) {
        self.parent = parent
        var cursor = parent.members()
        while let member = cursor.next() {
            if member.key.isString("jsonrpc") {
                isVersion2 = member.value.isString("2.0")
            } else if member.key.isString("id") {
                idPlace = member.value.place
            } else if member.key.isString("method") {
                methodPlace = member.value.place
            } else if member.key.isString("params") {
                paramsPlace = member.value.place
            } else if member.key.isString("result") {
                resultPlace = member.value.place
            } else if member.key.isString("error") {
                errorPlace = member.value.place
            }
        }
    }

    var hasOutcome: Bool { resultPlace != nil || errorPlace != nil }
    var hasMethod: Bool { methodPlace != nil }
    var hasBothOutcomes: Bool { resultPlace != nil && errorPlace != nil }

    var id: JSONValue? {
        @_lifetime(copy self)
        get { value(at: idPlace) }
    }
    var method: JSONValue? {
        @_lifetime(copy self)
        get { value(at: methodPlace) }
    }
    var params: JSONValue? {
        @_lifetime(copy self)
        get { value(at: paramsPlace) }
    }
    var result: JSONValue? {
        @_lifetime(copy self)
        get { value(at: resultPlace) }
    }
    var error: JSONValue? {
        @_lifetime(copy self)
        get { value(at: errorPlace) }
    }

    @_lifetime(copy self)
    private func value(at place: JSONPlace?) -> JSONValue? {
        guard let place else { return nil }
        return parent.value(at: place)
    }
}
