import CredentialCore
import Secrets

/// Kindly's table of symptoms: refusals are explained by what the token says of itself (R15 to R18, R24, R63, R67, R70 to R72).
enum KindlyDoctor {
    static func findings(_ facts: AccountFacts, _ bot: KindlyDefinition) -> [Finding] {
        let refusal = binding(facts, "Kindly", bot)
        var findings = chat(facts, bot, refusal) + refusal
        findings += pair(facts, bot, isRefused: !refusal.isEmpty)
        findings += advice(facts, bot).filter { advised in
            !findings.contains { $0.code == advised.code }
        }
        findings += expiry(facts)
        if bot.strategy == nil {
            findings.append(
                Finding(
                    .hint, .strategyMissing,
                    "the configuration does not say how the bot verifies its users, so tokens cannot be compared with that",
                    fix:
                        "set strategy to kindly_jwt, identity_provider or introspection, as in Kindly's panel",
                    requirement: 2))
        }
        return findings
    }

    private static func chat(
        _ facts: AccountFacts, _ bot: KindlyDefinition, _ refusal: [Finding]
    ) -> [Finding] {
        if facts.isChatTokenMissing {
            // Among the reasons of a refusal it stands already, before all others.
            return refusal.contains { $0.code == .chatTokenMissing }
                ? [] : [chatTokenMissing(facts, .warning)]
        }
        guard bot.connecting == .client, !facts.isChatKnown else { return [] }
        return [
            Finding(
                .warning, .chatMissing,
                "no client has brought its chat, so that no credential is bound to one",
                fix: "the client calls chat.attach with the id of its chat (chatauth chat attach)")
        ]
    }

    static func chatTokenMissing(_ facts: AccountFacts, _ severity: Finding.Severity) -> Finding {
        Finding(
            severity, .chatTokenMissing,
            "the chat was attached without its own token, without which Kindly takes no credential for it",
            fix:
                "chatauth chat attach \(facts.definition.name.text) \(facts.chatID ?? "CHAT") --token-file FILE, with the token of Kindly's answer to connect"
        )
    }

    // MARK: Refusals

    /// What the platform said to the credential, or why it could not be asked.
    static func binding(_ facts: AccountFacts, _ platform: String, _ bot: KindlyDefinition?) -> [Finding] {
        if let failure = facts.refusalOfHeld { return refusal(failure, facts, platform, bot) }
        // What it took and somebody else saw refused is no fault of the token's own.
        if facts.signIn == .credentialRejected || facts.signIn == .refused,
            let failure = facts.platformFailure,
            failure.isRefusalOfPlatform || failure.kind == .companionInvalid
        {
            return refusal(failure, facts, platform, bot)
        }
        guard let failure = facts.platformFailure else { return [] }
        switch failure.cause {
        case .calledOver:
            return [
                Finding(
                    facts.severity, .backendExpiryPast, "\(platform) takes the credential",
                    fix:
                        "compare the platform's clock with this one's; of two tokens the one that ends first counts: look at what stands beside the one that is sent",
                    requirement: 72, failure: failure)
            ]
        case .chatUnknown: return [chatUnknown(facts, failure)]
        default: break
        }
        // What it said of a credential that is not held because of that.
        let isOfCandidate = failure == facts.failure
        if failure.kind == .rejected || failure.kind == .companionInvalid {
            return [
                Finding(
                    isOfCandidate ? facts.severity : .warning, .bindRejected,
                    isOfCandidate
                        ? "\(platform) refused the credential that somebody was to be signed in with"
                        : "\(platform) refused the credential before this one; this one was not seen yet",
                    requirement: 63, failure: failure)
            ]
        }
        let isUnknown = failure.httpStatus == 404
        return [
            Finding(
                isOfCandidate ? facts.severity : .warning, .bindFailing,
                isOfCandidate
                    ? "\(platform) could not be shown the credential that somebody was to be signed in with"
                    : "\(platform) could not be shown the credential, which is handed out all the same",
                fix: isUnknown
                    ? "the route or the bot is not there: check bot_key and base_url"
                    : "chatauth doctor --online \(facts.definition.name.text) tries the way to it",
                failure: failure)
        ]
    }

    private static func chatUnknown(_ facts: AccountFacts, _ failure: RefreshFailure) -> Finding {
        facts.isChatAttached
            ? Finding(
                .error, .chatUnknown, "Kindly takes no credential for the chat that a client brought",
                fix:
                    "the client connects it again and calls chat.attach with what Kindly answers (chatauth chat attach); chatauth chat reset begins another, without the history",
                requirement: 48, failure: failure)
            : Finding(
                .warning, .chatUnknown,
                "Kindly takes no credential for the chat, which is connected again by itself",
                fix: "wait; where it goes on, check that the bot takes authenticated chats", requirement: 48,
                failure: failure)
    }

    // MARK: The two tokens

    private static func pair(
        _ facts: AccountFacts, _ bot: KindlyDefinition, isRefused: Bool
    ) -> [Finding] {
        guard facts.credential?.companion != nil, facts.isPair == false else { return [] }
        return [
            Finding(
                isRefused ? .error : .warning, .companionMismatch,
                "the access token is not the one that the ID token was issued with: at_hash says another",
                fix: "give both tokens of one and the same token response", requirement: 70)
        ]
    }

    private static func advice(_ facts: AccountFacts, _ bot: KindlyDefinition) -> [Finding] {
        guard let credential = facts.credential else { return [] }
        return KindlyAdvice.on(
            credential, for: bot, chatID: facts.chatID, hasExpiry: facts.held?.expiries.earliest != nil
        ).map { advice in
            switch advice {
            case .companionWithIntrospection:
                Finding(
                    .warning, .companionWithIntrospection,
                    "the bot introspects one token, and an access token is sent beside it",
                    fix:
                        "give the opaque token alone: as the ID token with its issuer, or as the access token",
                    requirement: 15)
            case .companionIgnored:
                Finding(
                    .hint, .companionIgnored, "a bot with Kindly JWTs takes no notice of an access token",
                    fix: "leave the access token out", requirement: 18)
            case .issuerMissing:
                issuerNotSent(.warning)
            case .opaqueWithoutExpiry:
                Finding(
                    .warning, .opaqueWithoutExpiry,
                    "nothing says when the opaque token ends: it is used until Kindly refuses it, and never refreshed ahead",
                    fix: "have the source give expires_at or expires_in", requirement: 71)
            case .opaqueBearer:
                Finding(
                    .warning, .opaqueBearer, "the token is no JWT, and the bot verifies JWTs",
                    fix: "have the source give a signed JWT, or set the bot up for introspection",
                    requirement: 63)
            case .issuerUnexpected:
                issuerUnexpected(
                    SeenToken(credential.bearer)?.issuer, bot.expectedIssuer ?? "", .warning)
            case .chatUnexpected: chatUnexpected(.warning)
            }
        }
    }

    // MARK: Expiries

    // Kindly's word counts where it is the earliest: whoever looks at exp wonders why it ends so soon.
    private static func expiry(_ facts: AccountFacts) -> [Finding] {
        guard let expiries = facts.held?.expiries, let backend = expiries.backend,
            let own = [expiries.hint, expiries.exp].compactMap({ $0 }).min(),
            own - backend > Milliseconds.seconds(30)
        else { return [] }
        let list = [("backend", expiries.backend), ("hint", expiries.hint), ("exp", expiries.exp)].map {
            "\($0.0) \($0.1.map(text) ?? "unknown")"
        }.joined(separator: ", ")
        return [
            Finding(
                .hint, .backendExpiryShorter,
                "Kindly ends the credential sooner than it says itself, and backend won: \(list)",
                fix:
                    "look at what the identity provider puts on the access token; of two tokens the one that ends first counts",
                requirement: 72)
        ]
    }

    static func text(_ moment: WallTime) -> String {
        RFC3339.text(moment) ?? "\(moment.seconds)"
    }
}
