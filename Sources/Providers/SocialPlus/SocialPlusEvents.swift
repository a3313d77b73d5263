package import CredentialCore
package import Secrets

/// Who gives the next token of a session.
package enum SocialPlusSupplier: Sendable, CaseIterable {
    /// A connected client that registered for it.
    case handler
    /// The account's source.
    case source
    case nobody
}

/// What a supplier gave.
package enum SocialPlusOffer: Sendable {
    case authToken(SecretBytes)
    /// Renew without an auth token (R188): for networks outside secure mode.
    case bare
    case accessToken(Credential)
    /// It cannot get one; it is asked again after a pause (R187).
    case unable
    case failed(RefreshFailure)
}

/// What happens to a session.
///
/// Whatever takes time has a number, given with the effect that began it; the number comes back with what came of it, and a number
/// that is not expected any more changes nothing.
package enum SocialPlusEvent: Sendable {
    /// What a stored session comes with.
    package enum Held: Sendable, CaseIterable {
        case nothing, valid, expired
    }

    /// How a login proves its user (R157).
    package enum Proof: Sendable {
        case authToken(SecretBytes)
        /// The supplier is asked; with `nobody` it is as `none`.
        case from(SocialPlusSupplier)
        case none
    }

    /// The store was read; nil: it had no row that can be read.
    case restored(SocialPlusRecord?, Held)
    case loginRequested(WaiterID, SocialPlusUser, Proof)
    /// The token was checked by `SocialPlusAccessToken.user`; the supplier is that of the renewals to come.
    case accessTokenLoginRequested(WaiterID, SocialPlusUser, Credential, SocialPlusSupplier)
    /// A supplier answered, or a caller who knows the number did in its place.
    case offered(WaiterID?, UInt64, SocialPlusOffer)
    case exchangeSucceeded(UInt64, issuedAt: WallTime?, refreshToken: SecretBytes?)
    case exchangeFailed(UInt64, RefreshFailure)
    /// By the clock.
    case tokenExpired
    /// The schedule or a peer wants a new token; answered by exactly one `endRenewal`.
    case renewalDue(SocialPlusSupplier, isForced: Bool)
    /// Who supplies this session is another now.
    case supplierChanged(SocialPlusSupplier)
    /// Who gives the token of a login is another now.
    case loginSupplierChanged(SocialPlusSupplier)
    /// Somebody saw the platform refuse the token, and another is sought; told once that can be seen.
    case tokenRejected(WaiterID)
    /// A client saw a code (R178).
    case reported(WaiterID, code: Int64)
    /// A call of ours with the access token failed.
    case callFailed(RefreshFailure)
    case logoutRequested(WaiterID)
    case secureLogoutRequested(WaiterID)
    case revoked(UInt64)
    case revocationFailed(UInt64, RefreshFailure)
    /// The account rests or the daemon ends: what the platform makes of the request, if it was sent, is never heard.
    case revocationCutShort(UInt64, wasSent: Bool)
    /// What was cut short is to be finished.
    case revocationDue
    /// Time has passed.
    case wokeUp
}

/// What is to be done about it, in this order.
package enum SocialPlusEffect: Sendable {
    /// Ask a supplier for a token.
    case ask(SocialPlusQuestion)
    /// Make a session at the platform.
    case makeSession(UInt64, SocialPlusUser, authToken: SecretBytes?)
    /// Show an access token to the platform.
    case verify(UInt64, Credential)
    /// Revoke the access token that is held.
    case revoke(UInt64)
    /// Nobody waits for the question or the exchange of that number any more.
    case cancel(UInt64)
    /// What the exchange of that number brought is the session's credential now.
    case accept(UInt64)
    /// As above, where the token came without an exchange.
    case acceptUnverified(UInt64, Credential)
    /// Forget the credential that is held.
    case clearCredential
    case persist(SocialPlusRecord)
    case announce(SocialPlusChange)
    /// A renewal is wanted now: ask for one with `renewalDue`.
    case wantRenewal
    case endRenewal(SocialPlusRenewalEnd)
    case answer(WaiterID, SocialPlusReply)
}

/// A question to a supplier.
package struct SocialPlusQuestion: Equatable, Sendable {
    /// Comes back with the answer, once (R189).
    package let id: UInt64
    /// Who is asked.
    package let supplier: SocialPlusSupplier
    /// Of which kind the session is.
    package let kind: SocialPlusKind
    /// For whom.
    package let userID: String
    /// Whether there is a session already.
    package let isRenewal: Bool

    /// What a source is asked for.
    package var wish: SourceContext.Wish { kind.wish }

    /// What a handler is asked (R185, R192, R196).
    package var handlerKind: HandlerQuestion.Kind { isRenewal ? kind.renewalQuestion : .credentialFetch }
}

/// What came of a renewal.
package enum SocialPlusRenewalEnd: Equatable, Sendable {
    case accepted
    case failed(RefreshFailure)
    /// The supplier cannot get a token; none is asked until then (R187).
    case unable(until: BootTime)
    /// It was not begun, or given up.
    case declined(SocialPlusRefusal)
}

/// Why no renewal is begun (R202, R205).
package enum SocialPlusRefusal: Equatable, Sendable {
    /// There is no session, or none any more.
    case stateInvalid(SocialPlusState)
    /// Nobody supplies this kind of session (R158, R199).
    case handlerRequired
    /// The supplier said that it has none.
    case paused(until: BootTime)
    /// One is under way.
    case alreadyRunning
    /// The session is being revoked.
    case signingOut
}

/// What a caller is told.
package enum SocialPlusReply: Equatable, Sendable {
    case loggedIn(userID: String)
    /// Whether nobody was logged in before.
    case loggedOut(wasLoggedOut: Bool)
    /// The renewal came of what was offered, or the login goes on with it.
    case offerTaken
    /// Whether a report changed anything.
    case reported(isAccepted: Bool)
    case failure(SocialPlusSessionFailure)
}

/// Why a caller did not get what it wanted.
package enum SocialPlusSessionFailure: Error, Equatable, Sendable {
    /// `session_state_invalid`: not from this state.
    case stateInvalid(SocialPlusState)
    /// `handler_required`: nobody could supply a token; no network was used (R157, R191).
    case handlerRequired
    /// A field that the platform would not take.
    case field(SocialPlusFieldFailure)
    /// The login, or the offer, came to this.
    case exchange(RefreshFailure)
    /// The login took too long (R200).
    case loginTimeout
    /// Somebody logged out meanwhile.
    case loggedOut
    /// The platform did not revoke the token: the session is as it was (R164), or `terminated`, as that failure says.
    case revokeFailed(RefreshFailure)
    /// The login that was to be ended behind itself has no answer: the platform may have made a session of it (R164).
    case loginUnanswered
    /// The renewal of that number is over, or its token was given already (R189).
    case renewalUnknown
}
