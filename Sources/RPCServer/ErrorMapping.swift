import Broker
import ChatAuthAPI
import CredentialCore
import Providers

/// What the core says of an account as kinds of the contract; RefreshErrors.swift and StoreErrors.swift have the rest of it.
extension CallFailure {
    /// The same with what is known of the account beside it.
    ///
    /// `definition` is given for who may know how the account is configured: the message then names its platform, files and secrets.
    init(_ failure: SessionFailure, of account: Account?, naming definition: AccountDefinition? = nil) {
        self.init(
            failure, account: account?.name, naming: definition,
            because: account.flatMap { Self.cause(of: failure, $0) })
        if let words = account?.words(for: failure) { message = words }
    }

    // Of what was given up on the reason is kept by whoever said no: the platform's is with what was shown to it.
    private static func cause(of failure: SessionFailure, _ account: Account) -> RefreshFailure? {
        let ofRefresh = account.session.failures.last
        return switch failure {
        case .signInNeeded(.refusedWithoutReason, _), .signInNeeded(.grantDead, _): ofRefresh
        default: account.platform?.bindFailure ?? ofRefresh
        }
    }

    /// `cause`: what was answered last, where an account was given up on because of that.
    init(
        _ failure: SessionFailure, account: AccountName?, naming definition: AccountDefinition? = nil,
        because cause: RefreshFailure? = nil
    ) {
        switch failure {
        case .stopped:
            self.init(.accountStopped, "the account is stopped; chatauth account start lets it work again")
        case .parked:
            self.init(
                .accountParked,
                "the credential was meant for another destination; put the old configuration back, save a new one, or sign in again"
            )
        case .sealed:
            self.init(.storeSealed, "the store is sealed; chatauth status says what is missing")
        case .gated(.notLoggedIn):
            self.init(.sessionStateInvalid, "nobody is logged in; chatauth session login does that")
        case .gated(.establishing), .gated(.ending):
            self.init(
                .sessionStateInvalid, "a login or its end is under way; try again when that is over",
                retryAfter: .seconds(1))
        case .gated(.terminated):
            self.init(
                .terminated,
                "the platform ended the session for good: the user was banned or deleted; only session logout leaves this state"
            )
        case .noSource:
            self.init(
                .noSource,
                "the account has no source to get a credential from; chatauth doctor says how to give it one")
        case .signInNeeded(let reason, let retryAfter):
            switch reason {
            case .refusedWithoutReason:
                self.init(
                    .signInNeeded,
                    "the source refused three times without a reason\(Self.answer(cause)); see chatauth status",
                    retryAfter: retryAfter)
                take(cause)
            case .refusedByPlatform:
                self.init(
                    .credentialRejected,
                    "the platform refused three times what the source gave\(Self.answer(cause)); chatauth doctor says what it may be, auth refresh asks again",
                    retryAfter: retryAfter)
                take(cause)
            case .grantMissing:
                self.init(
                    .signInNeeded, "no grant was imported; chatauth grant import brings one",
                    retryAfter: retryAfter)
            case .grantDead:
                self.init(
                    .grantDead, "the server declared the grant void; chatauth grant import brings a new one",
                    retryAfter: retryAfter)
                take(cause)
            case .possiblySpent:
                self.init(
                    .signInNeeded,
                    "the grant is possibly spent: its answer was lost; chatauth grant import brings a new one",
                    retryAfter: retryAfter)
            case .signedOut:
                self.init(
                    .signInNeeded, "nobody is signed in to the account; chatauth doctor says what to do",
                    retryAfter: retryAfter)
            case .expired:
                self.init(
                    .signInNeeded,
                    "the credential has ended, and there is no source of another; chatauth doctor says what to do",
                    retryAfter: retryAfter)
            case .refused:
                self.init(
                    .signInNeeded,
                    "the platform refused the credential\(Self.answer(cause)), and there is no source of another",
                    retryAfter: retryAfter)
                take(cause)
            // Nothing will be asked again: it was the only one.
            case .credentialRejected where retryAfter == nil:
                self.init(
                    .credentialRejected,
                    "the platform refused the credential\(Self.answer(cause)), and there is no source of another; chatauth save replaces it"
                )
                take(cause)
            case .credentialRejected:
                self.init(
                    .credentialRejected,
                    "the platform refused the credential and the one after it\(Self.answer(cause)); chatauth auth refresh asks again, save replaces it",
                    retryAfter: retryAfter)
                take(cause)
            }
        case .refresh(let failure, let retryAfter):
            self.init(failure, retryAfter: retryAfter, naming: definition)
        case .deadlineExceeded(let retryAfter):
            self.init(.deadlineExceeded, "no valid token within the time to wait", retryAfter: retryAfter)
        case .rateLimited(let retryAfter):
            self.init(
                .rateLimited, "forced too often; the next time is after a pause", retryAfter: retryAfter)
        case .refusedTooOften(let retryAfter):
            self.init(
                .rateLimited,
                "the platform refused too often within a minute; the next time is after a pause",
                retryAfter: retryAfter)
        case .store(let failure): self.init(failure)
        case .shuttingDown:
            self.init(.shuttingDown, "the daemon is stopping", retryAfter: .seconds(1))
        }
        self.account = account
    }

    init(
        _ failure: RefreshFailure, retryAfter: Milliseconds?, naming definition: AccountDefinition? = nil
    ) {
        let (kind, message) = Self.words(for: failure, naming: definition)
        self.init(kind, message, retryAfter: retryAfter)
        take(failure)
    }

    private mutating func take(_ cause: RefreshFailure?) {
        httpStatus = cause?.httpStatus
        providerCode = cause?.providerCode
    }

    /// Whether the same call may succeed later without anybody doing something.
    ///
    /// The kind says it, and so does a moment that is known: then it is tried again by itself. There is never the one without the other
    /// that would belie it.
    var isRetryable: Bool {
        switch code {
        case .specified: false
        case .kind(let kind): !isCleared && (kind.properties.isRetryable || retryAfterSeconds != nil)
        }
    }
}
