import CredentialCore

/// What is to be done about a login or a renewal at social.plus that came to nothing, by where it ended (R154, R157, R159, R160, R200, R204).
///
/// The platform says 401 of a wrong key, of a token that is none and of a signature that it does not know alike: what was asked of it
/// tells them apart.
struct SetbackAdvice {
    /// What failed, to stand behind a colon.
    let message: String
    let fix: String
    let requirement: Int

    private init(_ message: String, fix: String, _ requirement: Int) {
        self.message = message
        self.fix = fix
        self.requirement = requirement
    }

    init(_ setback: SocialPlusSetback, _ definition: AccountDefinition, _ network: SocialPlusDefinition) {
        let failure = setback.failure
        switch setback.step {
        case .handler where failure.tokenFlaw != nil, .source where failure.tokenFlaw != nil:
            self.init(ofToken: failure.tokenFlaw ?? .missing, from: setback.step.rawValue, setback.kind)
        case .session where failure.isUsers, .verification where failure.isUsers:
            self.init(ofUser: failure, network)
        case .request: self.init(request: failure, setback.kind)
        case .handler: self.init(handler: failure, setback.kind, definition)
        case .source: self.init(source: failure, definition, network)
        case .session: self.init(session: failure, definition, network)
        case .verification: self.init(verification: failure, definition, network)
        case .store:
            self.init(
                "the disk did not take the session",
                fix: "free space in the state directory, then log in again", 174)
        case .timeout:
            self.init(
                "it took longer than \(network.loginTimeout.count / 1000) s",
                fix:
                    "where that goes on: the API key, the region (\(network.place)), whoever gives the token, and the way to the network (chatauth doctor --online \(definition.name.text))",
                200)
        }
    }

    private init(ofUser failure: RefreshFailure, _ network: SocialPlusDefinition) {
        if failure.providerCode == String(SocialPlusCode.notFound) {
            self.init(
                "the platform knows no such user",
                fix:
                    "where the user was deleted, log in as another; else check that the app is in the region that is configured (\(network.place))",
                198)
        } else {
            self.init(
                "the platform refused the user",
                fix: "the user is banned from the network: lift the ban in the console", 198)
        }
    }

    private init(ofToken flaw: RefreshFailure.TokenFlaw, from giver: String, _ kind: SocialPlusKind) {
        let member = kind == .default ? "auth_token" : "access_token"
        switch flaw {
        case .missing:
            self.init(
                "the \(giver)'s answer has no token of the kind that is asked for",
                fix: "it must be an object with \(member), the session being of kind \(kind.rawValue)", 201)
        case .notJWT:
            self.init(
                "the \(giver)'s token is no JWT",
                fix: "\(member) must be a JWT with the claim userId, as the app's console has its key", 193)
        case .userMissing:
            self.init(
                "the \(giver)'s token has no userId of 1 to 50 characters",
                fix: "have the backend put the claim userId into it, with that spelling", 194)
        case .otherUser:
            self.init(
                "the \(giver)'s token is another user's",
                fix: "it must be of the user whom the session is of, and whom user_id in the question names",
                197)
        }
    }

    private init(request failure: RefreshFailure, _ kind: SocialPlusKind) {
        switch (failure.kind, kind) {
        case (.handlerRequired, .accessToken):
            self.init(
                "nobody gives the token that follows",
                fix:
                    "register a handler for session.on_token_renew or configure a source first: without one nothing can renew the session",
                204)
        case (.handlerRequired, .default):
            self.init(
                "nobody gives an auth token",
                fix:
                    "register a handler for credential.fetch, configure a source, or give the token with the login",
                157)
        case (.stale, _):
            self.init(
                "the access token had ended",
                fix: "give a fresh one; compare the backend's clock with this one's", 204)
        default:
            self.init(
                "what was given is no access token",
                fix: "it must be a JWT with userId, of 1 to 50 characters", 204)
        }
    }

    private init(handler failure: RefreshFailure, _ kind: SocialPlusKind, _ definition: AccountDefinition) {
        let member = kind == .default ? "auth_token" : "access_token"
        switch failure.kind {
        case .callbackTimeout:
            self.init(
                "the handler did not answer within \(definition.callbackTimeout.count / 1000) s",
                fix:
                    "look at the log of the program that chatauth handler list names, or raise callback_timeout",
                200)
        case .malformed, .empty, .tooLarge:
            self.init("the handler's answer is no token", fix: "it must be an object with \(member)", 201)
        case .stale:
            self.init("the handler's token had ended", fix: "it must give a fresh one each time", 201)
        default:
            self.init(
                "the handler gave no token of this user",
                fix: "look at the log of the program that chatauth handler list names", 160)
        }
    }

    /// `failure` is what asking the source came to, whatever it was asked for.
    init(source failure: RefreshFailure, _ definition: AccountDefinition, _ network: SocialPlusDefinition) {
        switch failure.httpStatus {
        case 401 where definition.mintsAuthTokens:
            self.init(
                "the platform's token endpoint refused the server's key",
                fix:
                    "set server_key to that of the app, from the console: it is another than api_key, and good in the app's region only (\(network.place))",
                159)
        case 403 where definition.mintsAuthTokens:
            self.init(
                "the platform's token endpoint gives no auth tokens, as where secure mode is off",
                fix: "turn secure mode on in the console, or set secure_mode = false", 157)
        case 404 where definition.mintsAuthTokens:
            self.init(
                "there is no token endpoint at the source's url",
                fix: "check that region or url of the source are the app's (\(network.place))", 154)
        case _ where failure.kind == .rejected:
            self.init(
                "the backend does not vouch for the user",
                fix: "the user must be signed in there; check the secrets in the source's headers", 160)
        default:
            self.init(
                "the source gave no token",
                fix: "chatauth account check \(definition.name.text) asks it again and says what came of it",
                200)
        }
    }

    private init(
        session failure: RefreshFailure, _ definition: AccountDefinition, _ network: SocialPlusDefinition
    ) {
        guard SocialPlusRules.isTokenRefused(failure) else {
            self.init(platform: failure, definition, network)
            return
        }
        let isOpen =
            network.isSecureMode ? "" : "; where secure mode is on in the console, set secure_mode = true"
        self.init(
            "the platform did not take the auth token, or the key",
            fix:
                "the auth token must be of this user and not older than ten minutes; else check that api_key is of this app, and that the app is in the region that is configured (\(network.place))"
                + isOpen, 154)
    }

    private init(
        verification failure: RefreshFailure, _ definition: AccountDefinition,
        _ network: SocialPlusDefinition
    ) {
        if SocialPlusRules.isTokenRefused(failure) {
            self.init(
                "the platform did not take the access token",
                fix:
                    "have the backend sign it with the key that is configured in the console of this app, in the region that is configured (\(network.place)), and not have it ended",
                204)
        } else if failure.kind == .stale {
            self.init(
                "the access token had ended",
                fix: "give a fresh one; compare the backend's clock with this one's", 204)
        } else {
            self.init(platform: failure, definition, network)
        }
    }

    private init(
        platform failure: RefreshFailure, _ definition: AccountDefinition, _ network: SocialPlusDefinition
    ) {
        switch (failure.kind, failure.httpStatus) {
        case (_, 404?):
            self.init(
                "there is no such network at the address",
                fix: "check that the app is in the region that is configured (\(network.place))", 154)
        case (.stale, _):
            self.init(
                "the platform's session had ended when it came", fix: "compare this machine's clock", 200)
        case (.rejected, _):
            self.init(
                "the platform refused it", fix: "see its status and code, and the app in the console", 154)
        case (_, 429?):
            self.init(
                "the platform was asked too often",
                fix: "wait: a user may make 100 calls in 5 s, whatever program makes them", 200)
        case (_, .some(400..<500)):
            self.init(
                "the platform did not take what it was sent",
                fix: "see its status and code; it limits user_id, display_name and the token", 155)
        case (_, .some(500...)):
            self.init(
                "the platform is in trouble", fix: "wait; what has been failing is asked again after a pause",
                200)
        default:
            self.init(
                "the platform could not be asked",
                fix: "chatauth doctor --online \(definition.name.text) tries the way to the network", 200)
        }
    }
}

extension RefreshFailure {
    fileprivate var tokenFlaw: TokenFlaw? {
        if case .token(let flaw) = cause { flaw } else { nil }
    }

    /// Whether the platform said it of the user, and not of what it was shown.
    fileprivate var isUsers: Bool {
        [SocialPlusCode.globallyBanned, SocialPlusCode.notFound].contains { providerCode == String($0) }
    }
}

extension AccountDefinition {
    /// Whether the source is the platform's own endpoint for auth tokens, asked with the server's key (R159).
    fileprivate var mintsAuthTokens: Bool {
        guard case .http(let source) = source else { return false }
        return source.headers.contains { $0.name.lowercased() == "x-server-key" }
    }
}
