package import CredentialCore

/// One thing that `doctor` has to say: what is the matter, why as far as it can be seen, and what to do.
///
/// Message and fix are sentences of ours for people, without a final period; what came from outside stands in them only where it was
/// checked to be printable and short, and never a token.
package struct Finding: Equatable, Sendable {
    /// How much it matters.
    package enum Severity: String, Sendable, CaseIterable {
        /// It was looked at, and is as it should be.
        case ok
        /// It works, and could work better.
        case hint
        /// It works, and will not for long, or not for everything.
        case warning
        /// It does not work.
        case error
    }

    /// How much it matters.
    package let severity: Severity
    /// What programs know it by.
    package let code: FindingCode
    /// What is the matter.
    package let message: String
    /// What to do about it; nil: nothing.
    package let fix: String?
    /// The number of the requirement whose symptom it is.
    package let requirement: Int?
    /// What failed, where something did.
    package let failure: RefreshFailure?

    /// Takes the parts.
    package init(
        _ severity: Severity, _ code: FindingCode, _ message: String, fix: String? = nil,
        requirement: Int? = nil, failure: RefreshFailure? = nil
    ) {
        self.severity = severity
        self.code = code
        self.message = message
        self.fix = fix
        self.requirement = requirement
        self.failure = failure
    }
}

/// The codes of findings: a closed set, stable on the wire.
package enum FindingCode: String, Sendable, CaseIterable {
    // MARK: Any account

    case nothingFound = "nothing_found"
    case accountStopped = "account_stopped"
    case accountParked = "account_parked"
    case storeSealed = "store_sealed"
    case notStored = "not_stored"
    case signedOut = "signed_out"
    case credentialMissing = "credential_missing"
    case credentialExpired = "credential_expired"
    case sourceMissing = "source_missing"
    case handlerMissing = "handler_missing"
    case handlerUnused = "handler_unused"
    case callbackTimeout = "callback_timeout"
    case callbackRejected = "callback_rejected"
    case credentialEmpty = "credential_empty"
    case staleCredential = "stale_credential"
    case jwtMalformed = "jwt_malformed"
    case expImplausible = "exp_implausible"
    case expiryImplausible = "expiry_implausible"
    case expiryMissing = "expiry_missing"
    case sourceRefused = "source_refused"
    case sourceFailing = "source_failing"
    case grantUnusable = "grant_unusable"
    case sourceWorks = "source_works"
    case platformReached = "platform_reached"
    case platformUnreachable = "platform_unreachable"
    case platformPathUnknown = "platform_path_unknown"
    case signInFailed = "sign_in_failed"
    case credentialRejected = "credential_rejected"

    // MARK: Kindly

    case bindRejected = "bind_rejected"
    case bindFailing = "bind_failing"
    case chatMissing = "chat_missing"
    case chatTokenMissing = "chat_token_missing"
    case chatUnknown = "chat_unknown"
    case strategyMissing = "strategy_missing"
    case keySuspected = "key_suspected"
    case tokenExpired = "token_expired"
    case tokenNotYetValid = "token_not_yet_valid"
    case algorithmUnfit = "algorithm_unfit"
    case companionInvalid = "companion_invalid"
    case companionMismatch = "companion_mismatch"
    case backendExpiryPast = "backend_expiry_past"
    case backendExpiryShorter = "backend_expiry_shorter"
    case companionWithIntrospection = "companion_with_introspection"
    case companionIgnored = "companion_ignored"
    case issuerMissing = "issuer_missing"
    case opaqueWithoutExpiry = "opaque_without_expiry"
    case opaqueBearer = "opaque_bearer"
    case issuerUnexpected = "issuer_unexpected"
    case chatUnexpected = "chat_unexpected"

    // MARK: Chatbase

    case identityExpired = "identity_expired"
    case identityRejected = "identity_rejected"
    case identityUnverified = "identity_unverified"
    case agentNotFound = "agent_not_found"
    case creditsExhausted = "credits_exhausted"
    case platformLimits = "platform_limits"
    case requestRefused = "request_refused"
    case tokenUnfit = "token_unfit"

    // MARK: social.plus

    case sessionMissing = "session_missing"
    case loginRunning = "login_running"
    case loginFailed = "login_failed"
    case sessionTerminated = "session_terminated"
    case sessionExpired = "session_expired"
    case renewalHandlerMissing = "renewal_handler_missing"
    case renewalHandlerOfOtherKind = "renewal_handler_of_other_kind"
    case renewalPaused = "renewal_paused"
    case renewalFailing = "renewal_failing"
    case expiryUnknown = "expiry_unknown"
    case lifetimeShort = "lifetime_short"
    case secureModeOff = "secure_mode_off"

    // MARK: The daemon

    case auditUnwritable = "audit_unwritable"
    case auditKeyMissing = "audit_key_missing"
    case auditLossy = "audit_lossy"
    case clockBehind = "clock_behind"
    case configurationRefused = "configuration_refused"
    case memoryUnlocked = "memory_unlocked"
    case ballastMissing = "ballast_missing"
    case workerUnconfined = "worker_unconfined"
    case noAccounts = "no_accounts"
    case accountsInTrouble = "accounts_in_trouble"
    case secretMissing = "secret_missing"
}

extension FindingCode {
    /// What a finding is to others: whoever reads from the top meets what explains the rest first.
    enum Rank: CaseIterable {
        case cause
        /// What came of something, which another finding may explain.
        case consequence
        /// What is not there, which may be because of what was tried.
        case absence
    }

    /// Whether it says that the platform itself refused the credential.
    var isRefusal: Bool {
        self == .bindRejected || self == .companionInvalid || self == .identityRejected
    }

    var rank: Rank {
        switch self {
        case .sourceFailing, .sourceRefused, .credentialExpired, .bindRejected, .bindFailing,
            .identityRejected, .identityUnverified, .loginFailed, .renewalFailing, .sessionExpired,
            .signInFailed, .accountsInTrouble:
            .consequence
        case .sourceMissing, .credentialMissing: .absence
        default: .cause
        }
    }
}
