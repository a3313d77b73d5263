/// Why a call failed: a closed set, stable on the wire, with its code and the exit status that the command line makes of it.
///
/// Ours are positive: −32768 to −32000 belongs to JSON-RPC 2.0 §5.1.
package enum ErrorKind: String, Sendable, CaseIterable {
    case accountUnknown = "account_unknown"
    case accountExists = "account_exists"
    case accountStopped = "account_stopped"
    case accountBusy = "account_busy"
    case accountInvalid = "account_invalid"
    case accountParked = "account_parked"

    case signInNeeded = "sign_in_needed"
    case noSource = "no_source"
    case handlerRequired = "handler_required"
    case callbackTimeout = "callback_timeout"
    case callbackRejected = "callback_rejected"
    case credentialEmpty = "credential_empty"
    case credentialMalformed = "credential_malformed"
    case credentialRejected = "credential_rejected"
    case staleCredential = "stale_credential"
    case companionInvalid = "companion_invalid"
    case companionMismatch = "companion_mismatch"
    case credentialTooLarge = "credential_too_large"

    case sessionStateInvalid = "session_state_invalid"
    case terminated
    case revokeFailed = "revoke_failed"
    case loginTimeout = "login_timeout"
    case loginDenied = "login_denied"

    case permissionDenied = "permission_denied"
    case peerUnknown = "peer_unknown"
    case rateLimited = "rate_limited"

    case upstreamUnreachable = "upstream_unreachable"
    case upstreamError = "upstream_error"
    case upstreamTimeout = "upstream_timeout"
    case tlsFailed = "tls_failed"
    case grantDead = "grant_dead"

    case storeSealed = "store_sealed"
    case storeFull = "store_full"
    case storeCorrupt = "store_corrupt"
    case storeRolledBack = "store_rolled_back"
    case keyWrong = "key_wrong"
    case auditUnwritable = "audit_unwritable"

    case deadlineExceeded = "deadline_exceeded"
    case overloaded
    case shuttingDown = "shutting_down"

    case pushNoKey = "push_no_key"
    case pushDecryptFailed = "push_decrypt_failed"
    case pushNotRecognised = "push_not_recognised"

    /// The number, whether it is worth trying again as it is, and the exit status: the one table of them.
    package var properties: (code: Int64, isRetryable: Bool, exit: ExitStatus) {
        switch self {
        case .accountUnknown: (100, false, .noSuchAccount)
        case .accountExists: (101, false, .usage)
        case .accountStopped: (102, false, .temporary)
        case .accountBusy: (103, true, .temporary)
        case .accountInvalid: (104, false, .usage)
        case .accountParked: (105, false, .signInNeeded)
        case .signInNeeded: (120, false, .signInNeeded)
        case .noSource: (121, false, .signInNeeded)
        case .handlerRequired: (122, true, .signInNeeded)
        case .callbackTimeout: (123, true, .timedOut)
        case .callbackRejected: (124, true, .refused)
        case .credentialEmpty: (125, false, .signInNeeded)
        case .credentialMalformed: (126, false, .usage)
        case .credentialRejected: (127, false, .refused)
        case .staleCredential: (128, true, .temporary)
        case .companionInvalid: (129, false, .usage)
        case .companionMismatch: (130, false, .refused)
        case .credentialTooLarge: (131, false, .usage)
        case .sessionStateInvalid: (140, false, .signInNeeded)
        case .terminated: (141, false, .refused)
        case .revokeFailed: (142, true, .temporary)
        case .loginTimeout: (143, true, .timedOut)
        case .loginDenied: (144, false, .refused)
        case .permissionDenied: (200, false, .notAllowed)
        case .peerUnknown: (201, false, .notAllowed)
        case .rateLimited: (202, true, .temporary)
        case .upstreamUnreachable: (300, true, .temporary)
        case .upstreamError: (301, true, .temporary)
        case .upstreamTimeout: (302, true, .timedOut)
        case .tlsFailed: (303, true, .temporary)
        case .grantDead: (304, false, .signInNeeded)
        case .storeSealed: (400, true, .storeSealed)
        case .storeFull: (401, true, .temporary)
        case .storeCorrupt: (402, false, .ourFault)
        case .storeRolledBack: (403, false, .storeSealed)
        case .keyWrong: (404, false, .storeSealed)
        case .auditUnwritable: (405, true, .temporary)
        case .deadlineExceeded: (500, true, .timedOut)
        case .overloaded: (501, true, .temporary)
        case .shuttingDown: (502, true, .temporary)
        case .pushNoKey: (600, false, .ourFault)
        case .pushDecryptFailed: (601, false, .ourFault)
        case .pushNotRecognised: (602, false, .ourFault)
        }
    }
}

/// What the command line ends with.
package enum ExitStatus: Int32, Sendable, CaseIterable {
    case done = 0
    /// Our fault, or the output could not be written.
    case ourFault = 1
    case usage = 2
    case notReachable = 3
    case noSuchAccount = 4
    case signInNeeded = 5
    case temporary = 6
    case notAllowed = 7
    case storeSealed = 8
    case timedOut = 9
    /// By the platform: a rejected credential, a terminated session.
    case refused = 10
}
