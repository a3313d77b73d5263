/// The error codes that the specification defines, and its word for each (JSON-RPC 2.0 §5.1).
package enum JSONRPCErrorCode: Int64, CaseIterable, Sendable {
    case parseError = -32700
    case invalidRequest = -32600
    case methodNotFound = -32601
    case invalidParams = -32602
    case internalError = -32603

    /// The message that the specification gives to the code.
    package var message: StaticString {
        switch self {
        case .parseError: "Parse error"
        case .invalidRequest: "Invalid Request"
        case .methodNotFound: "Method not found"
        case .invalidParams: "Invalid params"
        case .internalError: "Internal error"
        }
    }
}
