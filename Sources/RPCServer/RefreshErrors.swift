import ChatAuthAPI
import CredentialCore
import Providers

/// Failed refreshes as kinds and sentences of the contract.
extension CallFailure {
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
}
