package import CredentialCore

/// All that `doctor` looks at: what the daemon knows of one account at one moment.
package struct AccountFacts: Sendable {
    /// As it is configured.
    package var definition: AccountDefinition
    /// When it was looked at.
    package var now: Instant
    /// What callers are told of it.
    package var state: SessionState
    /// What it holds.
    package var held: HeldCredential?
    /// Its tokens; nil where none is held, or none can be seen.
    package var credential: Credential? { held?.credential }
    /// When that is due, and when it ends.
    package var schedule: Schedule?
    /// Whether what is held may be handed out.
    package var isUsable = false
    /// Whether the disk refused what is held.
    package var isOnlyInMemory = false
    /// Which generation is current, deletions counted.
    package var generation = Generation.none
    /// The last failure of a row.
    package var failure: RefreshFailure?
    /// Why the last sign-in gave nothing, and when, where none has succeeded since.
    package var signInFailure: (failure: RefreshFailure, at: WallTime)?
    /// Whether somebody is signed in whom the platform has not seen on the device that is current now.
    package var isIdentityUnverified = false
    /// Whether the source was just asked, and gave nothing.
    package var isSourceFailing = false
    /// Why it is given up on until something changes.
    package var signIn: SignInReason?
    /// Secrets that the configuration names and nobody has set.
    package var missingSecrets: [SecretName] = []
    /// What clients are registered for.
    package var handlers: Set<HandlerQuestion.Kind> = []
    /// Whom the platform sees, where a credential is bound behind its installation.
    package var binding: BindState?
    /// Why that is nobody.
    package var bindCause: BindCause?
    /// What the platform said last, or why it could not be asked, where that was no success.
    package var platformFailure: RefreshFailure?
    /// The chat, where there is one.
    package var chatID: String?
    /// Whether the platform has heard of it.
    package var isChatKnown = false
    /// Whether a client brought it.
    package var isChatAttached = false
    /// Why the platform's answer does not say until when what is held holds.
    package var expiryFlaw: BindAnswer.ExpiryFlaw?
    /// Whether a client brought it without its own token.
    package var isChatTokenMissing = false
    /// Whether the two tokens belong together by `at_hash`; nil: that cannot be told (R70).
    package var isPair: Bool?
    /// The session at social.plus.
    package var session: SocialPlusSession?
    /// How its last login failed, until one succeeds.
    package var loginSetback: SocialPlusSetback?
    /// How its last renewal failed, until one succeeds.
    package var renewalSetback: SocialPlusSetback?

    /// Takes what there always is.
    package init(definition: AccountDefinition, now: Instant, state: SessionState) {
        self.definition = definition
        self.now = now
        self.state = state
    }

    /// Something that fails is an error where nothing can be handed out because of it.
    var severity: Finding.Severity { isUsable && !isSourceFailing ? .warning : .error }
    /// What the platform itself said to what is held, where that was a no; somebody else who saw one has no status to tell.
    var refusalOfHeld: RefreshFailure? {
        if case .rejected(let failure)? = bindCause, failure.httpStatus != nil { failure } else { nil }
    }
    var isExpired: Bool { schedule?.isExpired(at: now) == true }
}
