import JSON

/// Why a call brought nothing.
public enum ClientFailure: Error, Sendable {
    /// Nobody listens there, or not for this user; the code is that of `connect`.
    case notReachable(path: String, errno: Int32)
    /// The daemon ended the connection.
    case connectionLost
    /// There was no answer in time.
    case timedOut
    /// What came is no answer.
    case malformedAnswer
    /// The daemon refused, and says why.
    case refused(Refusal)
}

/// What the daemon says when it refuses: `docs/protocol.md` has the kinds.
public struct Refusal: Error, Sendable {
    /// JSON-RPC's number, or ours.
    public let code: Int64
    /// The stable word that programs read.
    public let kind: String
    /// For people.
    public let message: String
    /// Whether the same call may succeed later.
    public let isRetryable: Bool
    /// When to come back, where that is known.
    public let retryAfterSeconds: Int64?

    init(_ error: JSONValue) {
        let answer = Answer(error)
        code = answer.integer("code") ?? 0
        message = answer.text("message") ?? ""
        kind = answer.text("data.kind") ?? ""
        isRetryable = answer.flag("data.retryable") ?? false
        retryAfterSeconds = answer.integer("data.retry_after_seconds")
    }
}
