import ChatAuthAPI
import CredentialCore
import JSONRPC

/// What an error response says: one of the specification's codes, or one of our kinds with its facts.
struct CallFailure: Error, Equatable {
    enum Code: Equatable {
        /// One of the specification's.
        case specified(JSONRPCErrorCode)
        /// One of ours.
        case kind(ErrorKind)
    }

    let code: Code
    /// For people: what failed and what to do.
    ///
    /// Never bytes from outside that were not checked.
    var message: String
    var retryAfterSeconds: Int64?
    var httpStatus: Int?
    var providerCode: String?
    var account: AccountName?
    var generation: Generation?
    /// What is kept here is forgotten all the same.
    var isCleared = false

    init(_ kind: ErrorKind, _ message: String, retryAfter: Milliseconds? = nil) {
        code = .kind(kind)
        self.message = message
        retryAfterSeconds = retryAfter?.secondsRoundedUp
    }

    init(invalidParams message: String) { self.init(code: .specified(.invalidParams), message: message) }
    init(invalidRequest message: String) { self.init(code: .specified(.invalidRequest), message: message) }

    /// One of the specification's codes in the specification's words (JSON-RPC 2.0 §5.1).
    init(_ code: JSONRPCErrorCode) { self.init(code: .specified(code), message: "\(code.message)") }

    static let methodNotFound = CallFailure(
        code: .specified(.methodNotFound), message: "no such method; rpc.discover lists them")

    /// What a handler is told whose answer is none: who owes one would wait for an explanation in vain.
    static let notResponse = CallFailure(
        invalidRequest:
            "an answer has jsonrpc \"2.0\", the id of the question as it was, and a result or an error but not both, not even null"
    )

    private init(code: Code, message: String) {
        self.code = code
        self.message = message
    }

    /// What everybody is told who may not know of an account, whether it is there or not.
    static let accountUnknown = CallFailure(
        .accountUnknown, "no such account, or not allowed; chatauth account list shows those that you may use"
    )
}
