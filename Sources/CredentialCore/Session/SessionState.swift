/// What an account's session is, as callers are told.
package enum SessionState: String, Sendable, CaseIterable {
    /// A valid credential, not yet due.
    case fresh
    /// Valid, and past the moment at which it should be refreshed.
    case due
    /// A refresh is out, or its result is on its way to the disk.
    case refreshing
    /// Valid, though the last refresh failed.
    case stale
    /// Nothing is held; a source may give something.
    case noToken = "no_token"
    /// What is held has ended or was refused; a source may give something.
    case expired
    /// Nothing valid, and only a person, a save or a changed backend can help.
    case signInNeeded = "sign_in_needed"
    /// A credential is there, but it was meant for another destination.
    case parked
    /// An operator let it rest.
    case stopped
    /// The store is not open.
    case sealed
}

/// Why an account is given up on until something changes; it is tried again once an hour where there is a source.
package enum SignInReason: String, Sendable {
    /// The source refused three times in a row without a reason.
    case refusedWithoutReason = "refused_without_reason"
    /// The platform refused three times in a row what the source gave.
    case refusedByPlatform = "refused_by_platform"
    /// The platform refused the credential that a rejection had brought; or the only one, where nothing gives another.
    case credentialRejected = "credential_rejected"
    /// The platform refused it, and somebody has to sign in.
    case refused
    /// Somebody signed it out, and nobody has signed in since.
    case signedOut = "signed_out"
    /// It has ended, and there is no source of another.
    case expired
    /// No grant was imported.
    case grantMissing = "grant_missing"
    /// The server declared the grant void.
    case grantDead = "grant_dead"
    /// The grant may have been spent in a crash or by an answer that was lost.
    case possiblySpent = "possibly_spent"
}

/// Identifies one refresh: an answer with another ticket than the one that is out changes nothing.
package struct RefreshTicket: Hashable, Sendable {
    /// Counts the refreshes of a session.
    package let serial: UInt64
    /// The generation that it is to replace.
    package let generation: Generation
}

/// Why a refresh was begun; goes to the source.
package enum RefreshReason: String, Sendable {
    case initial, expiring, rejected, forced
    /// Somebody signs in, or another user does.
    case authenticate
}

/// What of a platform's own state stands in the way of a hand-out.
package enum SessionGate: Equatable, Sendable {
    /// Nobody is logged in.
    case notLoggedIn
    /// A login is out: who asks for a token waits for it.
    case establishing
    /// The session is over, and that is on its way to the disk: who asks for a token is told when it can be seen.
    case ending
    /// The platform ended it for good: the user was banned or deleted.
    case terminated

    /// Whether another comes soon: whoever asks waits, and nobody is answered by what happens meanwhile.
    var isPassing: Bool { self == .establishing || self == .ending }
}

/// Identifies whoever waits for an answer; given by the caller, never used twice.
package struct WaiterID: Hashable, Sendable {
    /// What tells waiters apart.
    package let number: UInt64
    /// Takes a number that no waiter has had.
    package init(_ number: UInt64) { self.number = number }
}

/// What `token.get` asks for.
package struct TokenRequest: Sendable {
    /// Who is to be answered.
    package let waiter: WaiterID
    /// For how long the token must be valid at least.
    package let minValid: Milliseconds
    /// How long the caller waits at most.
    package let wait: Milliseconds
    /// Refresh first.
    package let force: Bool
    /// What the asking peer may do with the account.
    package let role: Role

    /// Takes the parts.
    package init(waiter: WaiterID, minValid: Milliseconds, wait: Milliseconds, force: Bool, role: Role) {
        self.waiter = waiter
        self.minValid = minValid
        self.wait = wait
        self.force = force
        self.role = role
    }
}

/// A credential as a source gave it, read but not yet judged.
package struct FreshCredential: Sendable {
    /// What came.
    package let credential: Credential
    /// When it ends, as far as it says.
    package let expiries: Expiries
    /// What the origin's clock said when it answered.
    package let originDate: WallTime?

    /// Takes the parts.
    package init(credential: Credential, expiries: Expiries, originDate: WallTime? = nil) {
        self.credential = credential
        self.expiries = expiries
        self.originDate = originDate
    }
}

/// What happens to a session.
package enum SessionEvent: Sendable {
    case tokenRequested(TokenRequest)
    /// `auth.refresh`: answered when the refresh is done.
    ///
    /// With `signsIn` it is a person's wish: who signed out is no longer.
    case refreshRequested(waiter: WaiterID, wait: Milliseconds, signsIn: Bool = false)
    /// The platform took that generation and said until when, by our clock; nil: it did not say.
    ///
    /// What is over already ends at once, and another is fetched; where the platform says the same of that one, the account backs off.
    case bound(Generation, WallTime?)
    /// The platform's own state begins or ceases to stand in the way of hand-outs and refreshes.
    case gated(SessionGate?)
    /// The source gave something, and the platform is shown it before that counts: from here on it is what is waited for.
    case sourceAnswered(RefreshTicket)
    case refreshSucceeded(RefreshTicket, FreshCredential)
    case refreshFailed(RefreshTicket, RefreshFailure)
    /// It could not be begun, or had to make way, and nobody failed: it is due again after a pause.
    case refreshDeferred(RefreshTicket, SessionFailure, pause: Milliseconds)
    /// What somebody signed in with did not come as far as to be held.
    case signInFailed(RefreshFailure)
    /// A platform refused the token; nil means the current generation.
    case rejected(waiter: WaiterID, generation: Generation?, role: Role)
    /// What the platform refused it refused for something that is no more, such as a chat: what is held deserves another try.
    case refusalOutlived
    case saved(waiter: WaiterID, Credential, Expiries)
    /// What is held is forgotten, and nothing is fetched until somebody asks.
    ///
    /// With `signsOut` false it is no person's wish to be nobody: a source that comes later is asked.
    case deleted(waiter: WaiterID, signsOut: Bool = true)
    /// The store answered for the change of that generation.
    case committed(Generation, StoreFailure?)
    /// Those who asked for a token or a refresh are gone; what they asked for goes on.
    case waitersLeft(Set<WaiterID>)
    case started, stopped
    /// What the source needs was replaced, as by the import of a grant: earlier failures say nothing any more.
    ///
    /// Who signed out stays signed out, unless what came is there to sign in with.
    /// With `outdatesHeld` what is held was made of what was replaced, and is to be replaced as well.
    case sourceRenewed(signsIn: Bool, outdatesHeld: Bool)
    /// Time has passed, or a clock was set.
    case wokeUp
    case shuttingDown
}

/// What is to be done about it, in this order.
package enum SessionEffect: Sendable {
    case startRefresh(RefreshTicket, RefreshReason)
    case cancelRefresh(RefreshTicket)
    case persist(HeldCredential, expected: Generation)
    case persistDeletion(Generation, expected: Generation)
    case answer(WaiterID, SessionAnswer)
    case announce(SessionChange)
}

/// What a waiter is told.
package enum SessionAnswer: Equatable, Sendable {
    /// The credential that the session holds now.
    case token(TokenRemarks)
    case refreshed
    case saved(Generation)
    case deleted(Generation)
    /// Whether the report changed anything.
    case rejection(isAccepted: Bool)
    case failure(SessionFailure)
}

/// What a caller should know about a token that is handed out.
package struct TokenRemarks: Equatable, Sendable {
    /// The last refresh failed.
    package var refreshError: RefreshFailure?
    /// It is valid for less than was asked, and no better one came in time.
    package var isShortLived: Bool

    /// Takes the parts.
    package init(refreshError: RefreshFailure? = nil, isShortLived: Bool = false) {
        self.refreshError = refreshError
        self.isShortLived = isShortLived
    }

    /// Nothing to remark.
    package static let none = TokenRemarks()
}

/// Why a waiter gets nothing.
package enum SessionFailure: Error, Equatable, Sendable {
    case stopped
    case parked
    case sealed
    case gated(SessionGate)
    case noSource
    case signInNeeded(SignInReason, retryAfter: Milliseconds?)
    case refresh(RefreshFailure, retryAfter: Milliseconds)
    case deadlineExceeded(retryAfter: Milliseconds)
    case rateLimited(retryAfter: Milliseconds)
    /// The platform refused again and again, and is shown nothing for a while.
    case refusedTooOften(retryAfter: Milliseconds)
    case store(StoreFailure)
    case shuttingDown
}

extension SessionFailure {
    /// What a source said that was asked only once.
    package static func source(_ failure: RefreshFailure) -> SessionFailure {
        .refresh(failure, retryAfter: failure.retryAfter ?? .zero)
    }
}

/// What others are told.
package enum SessionChange: Equatable, Sendable {
    case replaced(Generation)
    case deleted(Generation)
    /// The first failure of a row.
    case refreshFailed(RefreshFailure)
    /// The first success after failures.
    case recovered
    /// The platform gave the credential of that generation another expiry.
    case expiryChanged(Generation)
    /// The disk refused a credential that is now served from memory.
    case notStored(StoreFailure)
}
