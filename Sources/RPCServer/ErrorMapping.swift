import Broker
import ChatAuthAPI
import CredentialCore
import Providers

/// The only place that turns what the core says into kinds of the contract.
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

    /// The kind and the sentence for a failed refresh; `source` is what is said for whoever is no platform.
    static func words(
        for failure: RefreshFailure, naming definition: AccountDefinition? = nil,
        source: String = "the source"
    ) -> (kind: ErrorKind, message: String) {
        let isPlatform = failure.party == .platform
        let whoever = isPlatform ? platform(definition) : source
        let detail = detail(failure, definition)
        return switch failure.kind {
        case .unreachable: (.upstreamUnreachable, whoever + " cannot be reached" + detail)
        case .timeout: (.upstreamTimeout, whoever + " did not answer in time" + detail)
        case .tls: (.tlsFailed, "no trusted connection to " + whoever + detail)
        case .upstreamError: (.upstreamError, whoever + " answered with an error" + detail)
        case .rejected where isPlatform: (.credentialRejected, whoever + " refused the credential" + detail)
        case .rejected: (.callbackRejected, whoever + " refused to give a credential" + detail)
        case .malformed where isPlatform: (.upstreamError, "the answer of " + whoever + " cannot be read")
        case .tooLarge where isPlatform: (.upstreamError, "the answer of " + whoever + " is too large")
        case .sourceUnavailable: (.upstreamError, whoever + " could not be asked" + detail)
        case .overloaded where isPlatform:
            (.overloaded, whoever + " is failing or busy" + detail + "; asked again later")
        case .otherUser where failure.cause == .token(.otherUser):
            (.credentialRejected, "the access token is another user's")
        case .otherUser:
            (
                .credentialRejected,
                "the source gave another user's token than that of the one who is signed in; chatauth auth authenticate signs the other in"
            )
        case .empty where failure.cause == .token(.missing),
            .malformed where failure.cause == .token(.missing):
            (
                .credentialEmpty,
                "the answer has no token under the name that it was asked for, auth_token or access_token"
            )
        case .empty where failure.cause == .handlersAnswer:
            (
                .credentialEmpty,
                "the handler answered without a token; it gives id_token, access_token or token, or an error"
            )
        case .empty: (.credentialEmpty, "the source answered without a token; check the names in fields")
        case .malformed where failure.cause == .token(.notJWT):
            (.credentialMalformed, "the access token is no JWT")
        case .malformed where failure.cause == .token(.userMissing):
            (.credentialMalformed, "the access token has no claim userId of 1 to 50 characters")
        case .malformed where failure.cause == .handlersAnswer:
            (.upstreamError, "the handler's answer cannot be read as a token")
        // What the caller gave is not malformed: a captive portal's page passes, and whoever asks is to come back.
        case .malformed: (.upstreamError, "the source's answer cannot be read as a credential")
        case .tooLarge:
            (
                .credentialTooLarge,
                "the source's answer or its header is too large; a token may have 262144 bytes"
            )
        case .stale where isPlatform: (.staleCredential, whoever + " took the credential" + detail)
        case .stale where failure.cause == .chatReplaced:
            (.staleCredential, "the account's chat became another one while the source was asked")
        case .stale:
            (.staleCredential, "the source gave a token that had expired, or the one that was just refused")
        case .overloaded:
            (.overloaded, "the source's origin is failing or busy" + detail + "; asked again later")
        case .grantMissing:
            (.signInNeeded, "no grant was imported; chatauth grant import brings one")
        case .grantParked:
            (.accountParked, "the grant was meant for another destination; chatauth grant import brings one")
        case .grantDead:
            (.grantDead, "the server declared the grant void; chatauth grant import brings a new one")
        case .grantPossiblySpent:
            (
                .signInNeeded,
                "the grant is possibly spent: its answer was lost; chatauth grant import brings a new one"
            )
        case .clientRefused:
            (.upstreamError, "the server refused every client secret that is configured" + detail)
        case .issuerMismatch:
            (
                .upstreamError,
                "the issuer's metadata name another issuer; issuer must be written exactly as there"
            )
        case .notBearer: (.upstreamError, "the server issues no bearer tokens to this client")
        case .unverified: (.credentialRejected, "an ID token came that cannot be believed" + detail)
        case .companionInvalid:
            (
                .companionInvalid,
                "beside an access token the ID token must be a JWT; give an opaque token alone, as either of them"
            )
        case .companionMismatch:
            (
                .companionMismatch,
                "the access token is not the one of its ID token (at_hash); give both from one answer"
            )
        case .storeFull:
            (.storeFull, "the disk has no room for what a spent grant would bring; nothing was sent")
        case .terminated:
            (
                .terminated,
                "the platform ended the session for good: "
                    + SocialPlusCode.words(forEndBy: failure.providerCode) + answer(failure)
            )
        case .callbackTimeout:
            (.callbackTimeout, "the handler did not answer in time")
        case .callbackRejected:
            (
                .callbackRejected,
                failure.cause == nil
                    ? "the handler refused to give a credential, or went away"
                    : "the handler gave no credential" + detail
            )
        case .handlerRequired:
            (.handlerRequired, "no handler is connected; chatauth handler list shows those that are")
        }
    }

    private static func platform(_ definition: AccountDefinition?) -> String {
        definition?.platform.map { "the platform (\($0.host))" } ?? "the platform"
    }

    /// What the operator can do something about; the rest is a number that errno(3) explains.
    private static func words(forErrno code: Int32) -> String {
        switch code {
        case 1: "one belongs to another user, or is no regular file"
        case 2: "one is missing"
        case 13: "others have rights on one, or this user has none; chmod go= closes it"
        case 20, 40: "one is a link or not a directory"
        default: "error \(code)"
        }
    }

    init(_ failure: StoreFailure) {
        switch failure {
        case .full: self.init(.storeFull, "the disk refused it; free space in the state directory")
        case .io(let code) where code < 0:
            self.init(.storeSealed, "the store's files cannot be used: " + Self.words(forErrno: -code))
        case .io(let code): self.init(.storeFull, "the disk failed with SQLite code \(code)")
        case .corrupt: self.init(.storeCorrupt, "the store is damaged; it was left as it is")
        case .rolledBack:
            self.init(
                .storeRolledBack, "the store is older than what was last written here; it was left as it is")
        case .keyMissing: self.init(.storeSealed, "the key is missing; the store is sealed")
        case .keyWrong: self.init(.keyWrong, "the key is not this store's; the store is sealed")
        case .keyFileUnsafe:
            self.init(
                .storeSealed,
                "the key file is open to others, a link, or somebody else's; the store is sealed")
        case .tooNew(let version):
            self.init(.storeSealed, "the store has format \(version), which a newer version wrote")
        case .inUse: self.init(.storeSealed, "another daemon holds the store")
        case .conflict: self.init(.accountBusy, "the credential was replaced meanwhile; try again")
        case .sealed: self.init(.storeSealed, "the store is sealed; chatauth status says what is missing")
        case .busy:
            self.init(.overloaded, "too many changes are waiting for the disk", retryAfter: .seconds(1))
        }
    }

    init(_ failure: Credential.Failure) {
        switch failure {
        case .empty: self.init(.credentialEmpty, "neither id_token nor access_token is there")
        case .tooLarge(let field, let length):
            self.init(
                .credentialTooLarge,
                "\(field.rawValue) has \(length) bytes; \(Credential.tokenLimit) are allowed")
        case .malformed(let field):
            self.init(.credentialMalformed, "\(field.rawValue) has a byte that no header can carry")
        }
    }
}
