import ChatAuthAPI
import CredentialCore
import Providers

/// What is said where something that was asked of a session at social.plus failed.
extension CallFailure {
    init(_ failure: SocialPlusFieldFailure) {
        switch failure {
        case .userIDInvalid:
            self.init(
                invalidParams: "user_id must have 1 to 50 characters, none of them a control character")
        case .displayNameInvalid:
            self.init(
                invalidParams:
                    "display_name must have at most 100 characters, none of them a control character")
        case .authTokenInvalid:
            self.init(invalidParams: "auth_token must have 1 to 100 characters of visible ASCII")
        }
    }

    init(_ failure: SocialPlusAccessToken.Failure) {
        switch failure {
        case .notJWT: self.init(.credentialMalformed, "the access token is no JWT")
        case .userIDMissing:
            self.init(.credentialMalformed, "the access token has no claim userId of 1 to 50 characters")
        case .otherUser: self.init(.credentialRejected, "the access token is another user's")
        case .expired: self.init(.staleCredential, "the access token has ended")
        }
    }

    /// Why a login came to nothing, as whoever logged in was told.
    init(_ setback: SocialPlusSetback) {
        let failure = setback.failure
        let method: Method = setback.kind == .default ? .sessionLogin : .sessionLoginWithAccessToken
        switch (setback.step, failure.cause) {
        case (.request, _) where failure.kind == .malformed:
            self.init(.credentialMalformed, "the access token is no JWT with the claim userId")
        case (.request, _) where failure.kind == .stale: self.init(SocialPlusAccessToken.Failure.expired)
        case (.request, _): self.init(SocialPlusSessionFailure.handlerRequired, of: method)
        case (.timeout, _): self.init(SocialPlusSessionFailure.loginTimeout, of: method)
        case (.store, .store(let failure)): self.init(failure, of: method)
        case (.store, _): self.init(StoreFailure.full, of: method)
        case (.session, _), (.verification, _), (.handler, _), (.source, _):
            self.init(SocialPlusSessionFailure.exchange(failure), of: method)
        }
    }

    /// What the disk refused, and what that means for the session; `isLoggedIn`: there is one nevertheless.
    init(_ failure: StoreFailure, of method: Method, isLoggedIn: Bool = false) {
        let base = CallFailure(failure)
        guard case .kind(.storeFull) = base.code else {
            self = base
            return
        }
        let rest =
            switch method {
            case .sessionLogin where isLoggedIn, .sessionLoginWithAccessToken where isLoggedIn:
                "; the user is logged in nevertheless, and a restart before there is room would forget that"
            case .sessionLogin, .sessionLoginWithAccessToken:
                "; nobody is logged in, so log in again when there is room"
            case .sessionLogout, .sessionSecureLogout, .sessionReport:
                "; it is so nevertheless, and a restart would forget that: call it again when there is room"
            default: ""
            }
        self.init(.storeFull, base.message + rest)
    }

    init(_ failure: SocialPlusSessionFailure, of method: Method) {
        switch failure {
        case .stateInvalid(let state): self.init(.sessionStateInvalid, Self.words(for: state))
        case .handlerRequired where method == .sessionLoginWithAccessToken:
            self.init(
                .handlerRequired,
                "somebody must give the session's next token: register a handler for session.on_token_renew, or configure a source"
            )
        case .handlerRequired:
            self.init(
                .handlerRequired,
                "somebody must give an auth token: register a handler for credential.fetch, configure a source, or give auth_token"
            )
        case .field(let failure): self.init(failure)
        case .loginTimeout:
            self.init(
                .loginTimeout, "the login took longer than login_timeout; check network, key and region")
        case .loggedOut: self.init(.sessionStateInvalid, "somebody logged out meanwhile")
        case .renewalUnknown:
            self.init(.sessionStateInvalid, "no renewal waits for a token under that number, any more")
        case .loginUnanswered:
            self.init(
                .revokeFailed,
                "the login under way had no answer: nobody is logged in here, and the platform may have made a session, which nobody can end before its token does"
            )
            isCleared = true
        case .revokeFailed(let failure) where failure.kind == .terminated:
            self.init(
                .terminated,
                "the platform did not revoke the session, and has ended it\(Self.answer(failure)): \(SocialPlusCode.words(forEndBy: failure.providerCode)); chatauth session logout ends it here"
            )
            httpStatus = failure.httpStatus
            providerCode = failure.providerCode
        case .revokeFailed(let failure):
            let hint =
                SocialPlusRules.isTokenRefused(failure)
                ? ": it takes the token no more, and chatauth session logout ends the session here" : ""
            self.init(
                .revokeFailed,
                "the platform did not revoke the session\(Self.answer(failure)); nothing was changed" + hint,
                retryAfter: failure.retryAfter)
            httpStatus = failure.httpStatus
            providerCode = failure.providerCode
        case .exchange(let failure):
            if failure.party == .platform {
                self.init(platforms: failure, method)
            } else if method == .sessionRenew || method == .sessionLoginWithAccessToken {
                self.init(offered: failure)
            } else {
                self.init(failure, retryAfter: failure.retryAfter)
            }
        }
    }

    private init(platforms failure: RefreshFailure, _ method: Method) {
        let answer = Self.answer(failure)
        let hint = Self.hint(failure, method)
        let refusal = "the platform refused the " + (method == .sessionRenew ? "renewal" : "login")
        switch failure.kind {
        case _ where failure.providerCode == String(SocialPlusCode.globallyBanned),
            _ where failure.providerCode == String(SocialPlusCode.notFound):
            self.init(
                .terminated,
                "\(refusal): \(SocialPlusCode.words(forEndBy: failure.providerCode))" + answer + hint)
        case .rejected: self.init(.credentialRejected, refusal + answer + hint)
        case .upstreamError:
            self.init(
                .upstreamError, "the platform answered with an error" + answer + hint,
                retryAfter: failure.retryAfter)
        case .stale: self.init(.staleCredential, "the platform's session had ended when it came")
        default: self.init(failure, retryAfter: failure.retryAfter)
        }
        httpStatus = failure.httpStatus
        providerCode = failure.providerCode
    }

    /// What to look at beside the token: keys are good in their own region only (R154), and a verification shows none (R204).
    private static func hint(_ failure: RefreshFailure, _ method: Method) -> String {
        switch (failure.httpStatus, method) {
        case (_, .sessionRenew): ""
        case (401, .sessionLoginWithAccessToken):
            "; the token must be signed with a key that the app's console knows; check that region or base_url is the app's"
        case (401, _): "; check api_key, and that region or base_url is the app's"
        case (404, _): "; check that region or base_url is the app's"
        default: ""
        }
    }

    /// A caller's token that was not taken: it is the caller's fault.
    private init(offered failure: RefreshFailure) {
        if case .token(let flaw) = failure.cause, let known = SocialPlusAccessToken.Failure(flaw) {
            self.init(known)
            return
        }
        switch failure.kind {
        case .malformed, .empty:
            self.init(.credentialMalformed, "the token is none that a session of this kind is renewed with")
        case .stale: self.init(SocialPlusAccessToken.Failure.expired)
        default: self.init(failure, retryAfter: failure.retryAfter)
        }
    }

    private static func words(for state: SocialPlusState) -> String {
        switch state {
        case .start, .notLoggedIn: "the session is not_logged_in; chatauth session login begins one"
        case .establishing: "the session is establishing; try again when the login has ended"
        case .established, .tokenExpired:
            "the session is \(state.rawValue); chatauth session logout ends it before another login"
        case .terminated: "the session is terminated; only chatauth session logout leaves that state"
        }
    }
}
