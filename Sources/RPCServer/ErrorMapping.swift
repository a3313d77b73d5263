import ChatAuthAPI
import CredentialCore

/// The only place that turns what the core says into kinds of the contract.
extension CallFailure {
    /// `definition` is given for who may know how the account is configured: the message then names its platform, files and secrets.
    init(_ failure: SessionFailure, account: AccountName?, naming definition: AccountDefinition? = nil) {
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
                .noSource, "the account has no source to get a credential from; chatauth save gives it one")
        case .signInNeeded(let reason, let retryAfter):
            switch reason {
            case .refusedWithoutReason:
                self.init(
                    .signInNeeded, "the source refused three times without a reason; see chatauth status",
                    retryAfter: retryAfter)
            case .refusedByPlatform:
                self.init(
                    .credentialRejected,
                    "the platform refused three times what the source gave; chatauth doctor says what it may be, auth refresh asks again",
                    retryAfter: retryAfter)
            case .grantMissing:
                self.init(
                    .signInNeeded, "no grant was imported; chatauth grant import brings one",
                    retryAfter: retryAfter)
            case .grantDead:
                self.init(
                    .grantDead, "the server declared the grant void; chatauth grant import brings a new one",
                    retryAfter: retryAfter)
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
                    .signInNeeded, "the platform refused the credential, and there is no source of another",
                    retryAfter: retryAfter)
            // Nothing will be asked again: it was the only one.
            case .credentialRejected where retryAfter == nil:
                self.init(
                    .credentialRejected,
                    "the platform refused the credential, and there is no source of another; chatauth save replaces it"
                )
            case .credentialRejected:
                self.init(
                    .credentialRejected,
                    "the platform refused the credential and the one after it; chatauth auth refresh asks again, save replaces it",
                    retryAfter: retryAfter)
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
        httpStatus = failure.httpStatus
        providerCode = failure.providerCode
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
            (.overloaded, whoever + " is failing or busy; asked again later")
        case .otherUser:
            (
                .credentialRejected,
                "the source gave another user's token than that of the one who is signed in; chatauth auth authenticate signs the other in"
            )
        case .empty where failure.cause == .handlersAnswer:
            (
                .credentialEmpty,
                "the handler answered without a token; it gives id_token, access_token or token, or an error"
            )
        case .empty: (.credentialEmpty, "the source answered without a token; check the names in fields")
        // What the caller gave is not malformed: a captive portal's page passes, and whoever asks is to come back.
        case .malformed: (.upstreamError, "the source's answer cannot be read as a credential")
        case .tooLarge:
            (
                .credentialTooLarge,
                "the source's answer or its header is too large; a token may have 262144 bytes"
            )
        case .stale where isPlatform: (.staleCredential, whoever + " took the credential" + detail)
        case .stale:
            (.staleCredential, "the source gave a token that had expired, or the one that was just refused")
        case .overloaded: (.overloaded, "the source's origin is failing or busy; asked again later")
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
            (.terminated, "the platform ended the session for good: the user was banned or deleted")
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

    /// What is known of a failure beyond its kind: nothing, or a colon and a few words.
    static func detail(_ failure: RefreshFailure, _ definition: AccountDefinition? = nil) -> String {
        switch failure.cause {
        case .fetch(let cause): ": " + words(for: cause)
        case .file(let cause): ": " + words(for: cause, definition?.references(of: failure.party) ?? [])
        case .secretMissing(let name):
            definition == nil
                ? ": a secret that the configuration names is not set"
                : ": there is no secret \(name); chatauth secret set \(name) sets it"
        case .signing(let cause): ": \(cause.rawValue)"
        case .verification(let cause): ": \(cause.rawValue)"
        case .store: ": the store refused it"
        case .handler(.notJSON): ": its answer was not JSON"
        case .handler(.unmatched):
            ": its answer was no JSON-RPC response with the id of the question"
        case .handler(.notResponse):
            ": its answer was no JSON-RPC 2.0 response, which has jsonrpc, and a result or an error but not both, not even null"
        case .handler(.absent), .handler(.rejected), .handlersAnswer: ""
        case .chatUnknown:
            ": it does not know the chat, or not its token\(failure.httpStatus.map { ": status \($0)" } ?? "")"
        case .calledOver(let end): ", and says that it ended at \(RFC3339.text(end) ?? String(end.seconds))"
        case nil:
            switch failure.httpStatus {
            case .some(let status) where (300..<400).contains(status):
                ": status \(status); redirects are not followed"
            case .some(let status): ": status \(status)"
            case nil: ""
            }
        }
    }

    private static func words(for failure: FileFailure, _ references: [SecretReference]) -> String {
        switch failure {
        case .missing(let index): file(index, of: references) + " is missing"
        case .unsafe(let index):
            file(index, of: references)
                + " is open to others, a link, or somebody else's; chmod 600 closes it"
        case .tooLarge(let index): file(index, of: references) + " is too large"
        case .unreadable(let index, _): file(index, of: references) + " cannot be read"
        }
    }

    /// A file as it is configured, where that is known; files are counted without the secrets of the store.
    private static func file(_ index: Int, of references: [SecretReference]) -> String {
        var files = references
        files.removeAll { if case .secret = $0 { true } else { false } }
        guard files.indices.contains(index) else { return "a file that the configuration names" }
        switch files[index] {
        case .file(let path) where path.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }: return path
        case .credential(let name): return "the systemd credential \(name)"
        case .file, .secret: return "a file that the configuration names"
        }
    }

    private static func words(for failure: FetchFailure) -> String {
        switch failure {
        case .nameNotResolved: "its name does not resolve"
        case .connectionFailed: "nothing accepts the connection"
        case .connectionLost: "the connection broke off"
        case .timeout: "it took longer than its timeout"
        case .connectTimeout: "no connection came about in time"
        case .certificateExpired: "its certificate has expired, or this clock is wrong"
        case .certificateWrongHost: "its certificate is for another host"
        case .certificateUntrusted:
            "its certificate is from an authority that is not trusted; ca_file names one that is"
        case .tlsFailed: "the TLS handshake failed"
        case .caFileUnreadable: "ca_file cannot be read by the fetch worker"
        case .proxyFailed: "the proxy failed"
        case .tooLarge: "its answer is too large"
        case .badRequest: "the request cannot be sent as configured"
        case .malformedResponse: "its answer is not HTTP"
        case .workerLost: "the fetch worker ended or does not answer"
        case .workerNotStarted: "there is no fetch worker to ask"
        case .tooManyRequests: "too many requests are out"
        }
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

extension AccountDefinition {
    /// What has to be at hand before that party can be asked.
    fileprivate func references(of party: RefreshFailure.Party) -> [SecretReference] {
        switch party {
        case .source: source?.references ?? []
        case .platform: platform?.references ?? []
        }
    }
}
