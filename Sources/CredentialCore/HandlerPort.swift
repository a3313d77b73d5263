package import Secrets

/// What a handler, a connected client, is asked for.
package struct HandlerQuestion: Sendable {
    /// The requests that go to handlers, as they stand on the wire.
    package enum Kind: String, Sendable, CaseIterable {
        /// A credential, or one token of it (R3, R4).
        case credentialFetch = "credential.fetch"
        /// A session is about to end: an auth token is needed (R185).
        case sessionWillRenew = "session.will_renew"
        /// The access token is about to end: a new one is needed (R192).
        case sessionOnTokenRenew = "session.on_token_renew"
    }

    /// Comes back with the answer; never used twice.
    package let id: UInt64
    /// What is asked.
    package let kind: Kind
    /// For whom and why.
    package let context: SourceContext
    /// How long the answer is waited for.
    package let limit: Milliseconds
    /// The number under which anybody may give the token instead; nil: only the answer counts.
    package let renewalID: UInt64?

    /// Takes the parts.
    package init(
        id: UInt64, kind: Kind, context: SourceContext, limit: Milliseconds, renewalID: UInt64? = nil
    ) {
        self.id = id
        self.renewalID = renewalID
        self.kind = kind
        self.context = context
        self.limit = limit
    }
}

/// Why a handler gave nothing.
package enum HandlerFailure: Error, Equatable, Sendable {
    /// Nobody is registered for the account and the question.
    case absent
    /// It answered with an error, or its connection ended (R6).
    case rejected
    /// What it answered was no JSON.
    case notJSON
    /// What it answered had the question's id, and was no JSON-RPC 2.0 response.
    case notResponse
    /// It answered under the text of the question's id, which is a number.
    case idAsText
    /// What it said was no JSON-RPC response, or one without an id: it may have been meant for this question.
    case unmatched
}

/// The connected clients as the broker sees them, from the loop.
package protocol HandlerPort: AnyObject {
    /// Whether somebody is registered for such questions of an account.
    func hasHandler(for account: AccountName, _ kind: HandlerQuestion.Kind) -> Bool
    /// Asks; the answer comes on the loop, perhaps from within this call, once at most, and not at all after `withdraw`.
    func ask(_ question: HandlerQuestion)
    /// The question is not asked any more: whatever answer comes is nobody's business.
    func withdraw(_ id: UInt64)
}

/// Whoever asked handlers.
package protocol HandlerObserver: AnyObject {
    /// The result as it stood in the answer, one JSON value, or why there is none.
    func handlerDidAnswer(_ id: UInt64, _ outcome: Result<SecretBytes, HandlerFailure>)
    /// Another client than before is asked such questions of an account, or none is; `isNew`: somebody registered.
    func handlersDidChange(for account: AccountName, _ kind: HandlerQuestion.Kind, isNew: Bool)
}
