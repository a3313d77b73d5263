package import CredentialCore

/// Identifies one request: an answer with another number than that of the request that is out changes nothing.
package struct BindTicket: Hashable, Sendable {
    /// Counts the requests of a session.
    package let serial: UInt64
}

/// What happens to the binding of an account's credential.
package enum BindEvent: Sendable {
    /// The account works; what was bound before it stopped still is.
    case started
    /// It works no more; what is bound stays bound.
    case stopped
    /// A credential is there, and of that generation; `isBound` where the platform took it before it was installed, and `end` says why
    /// it is good for nothing any more, where nothing is under way that would bring another.
    case credentialReplaced(Generation, isBound: Bool, end: BindCause? = nil)
    /// None is there any more, or it may not be used: signed out, deleted, parked.
    case credentialGone
    /// Somebody else may be bound in place of the credential of that generation, which the platform took before.
    case doubted(Generation)
    /// A source gave nothing; says why an account without a credential is anonymous (R7, R9).
    case sourceFailed(RefreshFailure)
    /// A client brought its own chat, or another one.
    case chatAttached
    /// The chat was given up: whatever is bound to it is no business of the account any more.
    case chatReset
    /// The platform made the chat.
    case connected(BindTicket)
    /// The platform took the credential; the moment until which it holds, where it said one.
    case bound(BindTicket, expiresAt: WallTime?)
    /// The request failed; `rejected` and `companionInvalid` are the platform's verdict on the credential.
    case failed(BindTicket, RefreshFailure)
    /// The platform does not know the chat that we made, or not its token any more: it is to be made known again.
    case chatUnknown(BindTicket, RefreshFailure)
    /// Time has passed.
    case wokeUp
}

/// What is to be done about it, in this order.
package enum BindEffect: Equatable, Sendable {
    /// Make the chat.
    case connect(BindTicket)
    /// Bind the credential of that generation to the chat.
    case bind(BindTicket, Generation)
    /// Give a request up: its answer is not wanted any more.
    case cancel(BindTicket)
    /// It holds until then; nil: the platform did not say (R35).
    case bound(Generation, expiresAt: WallTime?)
    /// The platform refused the credential of that generation (R32).
    case rejected(Generation, RefreshFailure)
    /// Tell those who watch.
    case announce(BindState, BindCause?)
    /// Tell them why nobody is seen, which was not known when they were told that (R7).
    case explain(BindCause)
    /// The chat, or what is bound to it, has changed: store it.
    case persist
}

/// Whom the platform sees.
package enum BindState: String, Sendable, CaseIterable {
    /// Nobody: the chat goes on without a user.
    case anonymous
    /// A credential is there, and the platform was not asked yet or has not answered.
    case authenticating
    /// The platform took the credential that is held.
    case authenticated
}

/// Why the platform sees nobody.
package enum BindCause: Equatable, Sendable {
    /// The account rests.
    case stopped
    /// There was a credential, and it was taken away.
    case signedOut
    /// The credential has ended.
    case expired
    /// The platform refused the credential.
    case rejected(RefreshFailure)
    /// No source gave one, or none in place of one that has ended.
    case source(RefreshFailure)
}
