import CredentialCore

/// social.plus: logins that do not end, sessions that end too soon, handlers that are not called (R154, R157, R158, R200 to R205).
enum SocialPlusDoctor {
    static func findings(_ facts: AccountFacts, _ network: SocialPlusDefinition) -> [Finding] {
        guard let session = facts.session else { return [] }
        var findings: [Finding] = []
        switch session.state {
        case .start, .notLoggedIn: findings += loggedOut(facts, network)
        case .establishing: findings.append(establishing(facts, network))
        case .terminated:
            findings.append(
                Finding(
                    .error, .sessionTerminated,
                    "the platform ended the session for good: "
                        + SocialPlusCode.words(forEndBy: session.terminationCode)
                        + (session.terminationCode.map { " (code \($0))" } ?? "")
                        + "; no handler is asked any more",
                    fix: SocialPlusCode.fix(forEndBy: session.terminationCode)
                        + ", then chatauth session logout and session login \(name(facts))",
                    requirement: 205))
        case .established, .tokenExpired: findings += running(facts, session, network)
        }
        if !network.isSecureMode {
            findings.append(
                Finding(
                    .hint, .secureModeOff,
                    "secure_mode is off: whoever knows a user's id can log in as that user",
                    fix: "turn secure mode on, in the console and here, before this is for real",
                    requirement: 157))
        }
        return findings
    }

    // MARK: Before there is a session

    private static func loggedOut(_ facts: AccountFacts, _ network: SocialPlusDefinition) -> [Finding] {
        if let setback = facts.loginSetback {
            let advice = SetbackAdvice(setback, facts.definition, network)
            return [
                Finding(
                    .error, .loginFailed, "the last login failed: " + advice.message, fix: advice.fix,
                    requirement: advice.requirement, failure: setback.failure)
            ]
        }
        let canAsk = facts.definition.source != nil || facts.handlers.contains(.credentialFetch)
        return [
            Finding(
                .warning, .sessionMissing,
                network.isSecureMode && !canAsk
                    ? "nobody is logged in, and there is neither a handler nor a source that could give an auth token"
                    : "nobody is logged in",
                fix: "chatauth session login \(name(facts))"
                    + (network.isSecureMode && !canAsk ? " --auth-token-file FILE" : ""),
                requirement: 157)
        ]
    }

    private static func establishing(_ facts: AccountFacts, _ network: SocialPlusDefinition) -> Finding {
        Finding(
            .warning, .loginRunning,
            "a login is under way; it is given up \(network.loginTimeout.count / 1000) s after it began",
            fix:
                "where that goes on: the API key, the region (\(network.place)), whoever gives the auth token, and the way to the network (chatauth doctor --online \(name(facts)))",
            requirement: 200, failure: facts.loginSetback?.failure)
    }

    // MARK: While there is one

    private static func running(
        _ facts: AccountFacts, _ session: SocialPlusSession, _ network: SocialPlusDefinition
    ) -> [Finding] {
        var findings: [Finding] = []
        let supplier = supplier(facts, session.kind)
        let isOver = session.state == .tokenExpired
        if supplier == .nobody {
            findings.append(missing(facts, session.kind, isOver))
        } else if case .paused(let until)? = session.refusal(supplier, isForced: false, at: facts.now.boot) {
            findings.append(
                Finding(
                    isOver ? .error : .warning, .renewalPaused,
                    "the handler said that it has no token; it is asked again in \((until - facts.now.boot).secondsRoundedUp) s",
                    fix: "chatauth session renew \(name(facts)) asks now", requirement: 187))
        } else if let failure = facts.failure {
            // What was refused here, as while somebody signs out, says nothing of whoever gives the tokens.
            let advice = facts.renewalSetback.flatMap { setback in
                setback.failure == failure ? SetbackAdvice(setback, facts.definition, network) : nil
            }
            findings.append(
                Finding(
                    isOver ? .error : .warning, .renewalFailing,
                    "the session could not be renewed" + (advice.map { ": " + $0.message } ?? ""),
                    fix: advice?.fix ?? "it is tried again by itself; chatauth session renew asks at once",
                    requirement: 201, failure: failure))
        } else if isOver {
            findings.append(
                Finding(
                    .warning, .sessionExpired, "the access token has ended and is being renewed",
                    requirement: 201))
        }
        if facts.held != nil, let schedule = facts.schedule {
            findings += SocialPlusAdvice.on(schedule).map { finding($0, schedule) }
        }
        return findings
    }

    private static func finding(_ advice: SocialPlusAdvice, _ schedule: Schedule) -> Finding {
        switch advice {
        case .expiryUnknown:
            Finding(
                .warning, .expiryUnknown,
                "nothing says when the access token ends, so that nobody is asked for another before it is refused",
                fix: "have the backend set exp", requirement: 202)
        case .lifetimeShort:
            Finding(
                .warning, .lifetimeShort,
                "the access token was good for \(schedule.lifetime.secondsRoundedUp) s when it came, less than twice the 30 s by which it is renewed ahead",
                fix: "let the backend's tokens live longer", requirement: 201)
        }
    }

    private static func missing(
        _ facts: AccountFacts, _ kind: SocialPlusKind, _ isOver: Bool
    ) -> Finding {
        let wanted = kind.renewalQuestion
        let other: HandlerQuestion.Kind = kind == .default ? .sessionOnTokenRenew : .sessionWillRenew
        let severity: Finding.Severity = isOver ? .error : .warning
        if facts.handlers.contains(other) {
            return Finding(
                severity, .renewalHandlerOfOtherKind,
                kind == .default
                    ? "a handler for session.on_token_renew is registered, which is asked only for sessions that were begun with an access token; this one was not"
                    : "a handler for session.will_renew is registered, and this session, begun with an access token, asks for session.on_token_renew",
                fix: "register for \(wanted.rawValue)", requirement: 205)
        }
        return Finding(
            severity, .renewalHandlerMissing,
            "nobody gives the next token: no handler is registered for \(wanted.rawValue), and there is no source",
            fix: "have a program register for it before the login, or configure a source",
            requirement: kind == .default ? 202 : 205)
    }

    /// Who would be asked for the session's next token.
    private static func supplier(_ facts: AccountFacts, _ kind: SocialPlusKind) -> SocialPlusSupplier {
        if facts.handlers.contains(kind.renewalQuestion) { return .handler }
        switch facts.definition.source {
        case nil: return .nobody
        case .rpc: return facts.handlers.contains(.credentialFetch) ? .source : .nobody
        default: return .source
        }
    }

    private static func name(_ facts: AccountFacts) -> String { facts.definition.name.text }
}
