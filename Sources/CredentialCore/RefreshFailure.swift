/// Why a refresh gave nothing: classified once, where the answer is read.
package struct RefreshFailure: Error, Equatable, Sendable {
    /// What went wrong, as far as back-off and callers care.
    package let kind: Kind
    /// Who failed.
    package let party: Party
    /// The status of the answer, where there was one.
    package let httpStatus: Int?
    /// An error code of the platform: only of characters that are safe to print, at most 64.
    package let providerCode: String?
    /// What the answer's `Retry-After` asked for.
    package let retryAfter: Milliseconds?
    /// What exactly went wrong below, where that is known.
    package let cause: Cause?

    /// A failure of a port, kept so that people can be told which one.
    package enum Cause: Equatable, Sendable {
        case fetch(FetchFailure)
        /// Nothing was sent: how the requests before it failed that went to the same origin.
        case origin(Trouble)
        case file(FileFailure)
        /// No secret of that name was set.
        case secretMissing(SecretName)
        case signing(SigningFailure)
        case verification(VerificationFailure)
        case store(StoreFailure)
        case handler(HandlerFailure)
        /// A handler answered, and what is missing is missing there.
        case handlersAnswer
        /// What was given is not the token that was asked for.
        case token(TokenFlaw)
        /// The platform took the credential and said that it had ended then.
        case calledOver(WallTime)
        /// The platform does not know the chat that something was to be bound to, or not its token.
        case chatUnknown
        /// The account has another chat by now than the one that the source was told.
        case chatReplaced
    }

    /// How an origin is down.
    package enum Trouble: Equatable, Sendable {
        /// It answers with that status.
        case status(Int)
        case fetch(FetchFailure)
    }

    /// Why a token is not the one that a session is begun or renewed with (R193, R194, R197).
    package enum TokenFlaw: Sendable, CaseIterable {
        /// The answer has none under the name that was asked for.
        case missing
        case notJWT
        /// Nothing in it says whose it is.
        case userMissing
        case otherUser
    }

    /// Who was asked when it failed: callers are told, and refusals of the one are not counted with those of the other.
    package enum Party: Sendable {
        /// Where credentials come from: a backend, a file, a handler, the server of a grant.
        case source
        /// Where they are shown.
        case platform
    }

    /// The ways in which a refresh can fail.
    package enum Kind: String, Sendable, CaseIterable {
        /// No connection: name, route, refusal, reset.
        case unreachable
        case timeout
        case tls
        /// An answer that is no credential: 5xx, a page, a redirect, too large.
        case upstreamError
        /// A no: the backend's to the question (401 or 403), or the platform's to what the backend gave.
        case rejected
        /// The token is another user's than that of the one who is signed in.
        case otherUser
        /// A well-formed answer without a token (R9).
        case empty
        /// An answer that cannot be read, or tokens that no header can carry.
        case malformed
        case tooLarge
        /// The token that was just rejected, one that had expired when it came, or one that the platform took and called over.
        case stale
        /// The worker, the file or the reference is not there.
        case sourceUnavailable
        /// Too many requests are out to this origin already, or it has been failing.
        case overloaded
        /// No grant of that name was imported.
        case grantMissing
        /// The grant was meant for another destination than the configured one.
        case grantParked
        /// The server said `invalid_grant`: the grant is spent, revoked or has ended (RFC 6749 §5.2).
        case grantDead
        /// The grant may have been spent without its successor having come.
        case grantPossiblySpent
        /// The server refused every client secret that is configured (`invalid_client`).
        case clientRefused
        /// The issuer's metadata are another issuer's (RFC 8414 §3.3).
        case issuerMismatch
        /// A token came that is no bearer token: it must be bound to a key with every request (RFC 9449).
        case notBearer
        /// An ID token came that cannot be believed.
        case unverified
        /// An access token stands beside an ID token that is no JWT (R16).
        case companionInvalid
        /// An access token is not the one that its ID token was issued with (R17).
        case companionMismatch
        /// The disk has no room for what a spent grant would bring: nothing was sent.
        case storeFull
        /// The platform ended the session for good: the user was banned or deleted (R178).
        case terminated
        /// The handler did not answer in time (R7).
        case callbackTimeout
        /// The handler answered with an error, or its connection ended (R6).
        case callbackRejected
        /// Nobody is registered as the account's handler.
        case handlerRequired
    }

    /// Takes what is known of it.
    package init(
        _ kind: Kind, httpStatus: Int? = nil, providerCode: String? = nil, retryAfter: Milliseconds? = nil,
        cause: Cause? = nil, party: Party = .source
    ) {
        self.kind = kind
        self.party = party
        self.httpStatus = httpStatus
        self.providerCode = providerCode
        self.retryAfter = retryAfter
        self.cause = cause
    }
}

extension RefreshFailure {
    /// What came of asking a handler.
    package init(ofHandler failure: HandlerFailure) {
        switch failure {
        case .absent: self.init(.handlerRequired)
        case .rejected: self.init(.callbackRejected)
        case .notJSON, .notResponse, .idAsText, .unmatched:
            self.init(.callbackRejected, cause: .handler(failure))
        }
    }

    /// The same where the platform failed, and not the source.
    package var ofPlatform: RefreshFailure {
        RefreshFailure(
            kind, httpStatus: httpStatus, providerCode: providerCode, retryAfter: retryAfter, cause: cause,
            party: .platform)
    }

    /// Whether whoever was asked may have done it all the same: no answer came, or one that does not say.
    package var mayBeDone: Bool {
        if case .fetch(let failure) = cause { return failure.mayHaveArrived }
        guard let httpStatus else { return false }
        return (200..<300).contains(httpStatus) || httpStatus == 408 || httpStatus >= 500
    }

    /// Whether the platform said no to a credential.
    package var isRefusalOfPlatform: Bool { kind == .rejected && party == .platform }
}
