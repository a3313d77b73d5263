import CredentialCore

/// Chatbase: refusals say little, so that the token is looked at for what could be wrong with it (R83, R85, R94, R95).
enum ChatbaseDoctor {
    static func findings(_ facts: AccountFacts, _ agent: ChatbaseDefinition) -> [Finding] {
        var findings: [Finding] = []
        let refused = facts.platformFailure
        if let refused { findings.append(said(refused, facts)) }
        guard let credential = facts.credential else { return findings }
        if facts.isIdentityUnverified {
            findings.append(
                Finding(
                    .warning, .identityUnverified,
                    "the device was made anew, and Chatbase has not seen the user on it yet: there are no headers until it has",
                    fix: "whoever asks for headers has it seen; chatauth headers \(name(facts)) does",
                    requirement: 80))
        }
        // While it can be handed out it was another one that was refused.
        let isRefused = refused?.providerCode == ChatbaseAnswer.invalidTokenCode && !facts.isUsable
        if facts.isExpired {
            findings.append(
                Finding(
                    isRefused ? .error : .warning, .identityExpired,
                    "the user is still signed in here, yet the token has ended and the next request will be refused with AUTH_INVALID_JWT",
                    fix: hasSource(facts)
                        ? "chatauth get-token --after-401 \(name(facts)) asks the source for another"
                        : "chatauth identity identify \(name(facts)) with a new token, or give the account a source",
                    requirement: 94))
        }
        findings += ChatbaseClaims.warnings(credential.bearer, now: facts.now.wall).compactMap {
            warning($0, isRefused: isRefused)
        }
        return findings
    }

    private static func said(_ failure: RefreshFailure, _ facts: AccountFacts) -> Finding {
        switch (failure.providerCode, failure.httpStatus) {
        case (ChatbaseAnswer.invalidTokenCode?, _):
            Finding(
                facts.severity, .identityRejected,
                "Chatbase refused the token: it is invalid, has expired, is signed with another secret, or identity verification is not set up for the agent",
                fix:
                    "compare the secret with the agent's (Settings, Security), turn identity verification on, and have the backend make a new token",
                requirement: 85, failure: failure)
        case ("AGENT_NOT_FOUND"?, _), (_, 404?):
            Finding(
                facts.severity, .agentNotFound,
                "Chatbase does not know the agent, or it is not open to SDKs",
                fix: "check agent_id, and that the agent is deployed to the SDK channel", requirement: 85,
                failure: failure)
        case (_, 402?):
            Finding(
                facts.severity, .creditsExhausted, "the credits of the workspace or of the agent are used up",
                fix: "buy credits, raise the agent's limit, or wait for the next month", failure: failure)
        case (_, 429?):
            Finding(
                facts.severity, .platformLimits,
                "Chatbase was asked too often, and wants to be left alone for a while",
                fix: "see which programs use the agent; it is asked again by itself", failure: failure)
        case (_, 400?):
            Finding(
                facts.severity, .requestRefused, "Chatbase does not take the request as one of its own",
                fix:
                    "check base_url and what stands between here and there; the token must be a text of its own",
                failure: failure)
        case (let code?, 403?) where code.hasPrefix("AUTH_OWNERSHIP"):
            Finding(
                facts.severity, .identityRejected,
                "Chatbase says that what was asked for belongs to another user or device",
                fix: "chatauth identity logout \(name(facts)), then sign in again", requirement: 99,
                failure: failure)
        default:
            Finding(
                facts.severity, failure.isRefusalOfPlatform ? .identityRejected : .platformUnreachable,
                failure.isRefusalOfPlatform
                    ? "Chatbase refused the token" : "Chatbase could not verify the token",
                fix: "chatauth doctor --online \(name(facts)) tries the way to it", requirement: 85,
                failure: failure)
        }
    }

    private static func warning(_ warning: ChatbaseWarning, isRefused: Bool) -> Finding? {
        let severity: Finding.Severity = isRefused ? .error : .warning
        let (message, fix): (String, String)
        switch warning {
        case .notJWT:
            (message, fix) = ("the token is no JWT", "have the backend sign one with the agent's secret")
        case .notHS256:
            (message, fix) = (
                "the token is not signed with HS256, which is all that Chatbase takes", "sign with HS256"
            )
        case .userMissing:
            (message, fix) = ("the token names no user", "have the backend set user_id")
        case .expiryMissing:
            (message, fix) = (
                "the token has no exp: one that leaks is good for ever",
                "have the backend set exp, an hour ahead"
            )
        case .expiryImplausible:
            (message, fix) = ("exp of the token is no moment", "exp counts seconds since 1970")
        // Said in its own words already.
        case .expired: return nil
        }
        return Finding(
            warning == .expiryMissing ? .hint : severity, .tokenUnfit, message, fix: fix, requirement: 83)
    }

    private static func hasSource(_ facts: AccountFacts) -> Bool {
        facts.definition.source != nil || facts.handlers.contains(.credentialFetch)
    }

    private static func name(_ facts: AccountFacts) -> String { facts.definition.name.text }
}
