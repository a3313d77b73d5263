package import CredentialCore

/// Where an account's credentials come from, and what came of asking (R64 to R66, R68 to R70).
extension Doctor {
    static func source(_ facts: AccountFacts) -> [Finding] {
        if let secret = facts.missingSecrets.first {
            return [
                Finding(
                    facts.severity, .secretMissing,
                    "there is no secret \(secret.text), which the configuration names",
                    fix: "chatauth secret set \(secret.text)")
            ]
        }
        // A session has suppliers of its own, and is explained in its own words.
        if case .socialPlus = facts.definition.platform { return [] }
        // A program that has gone since explains more than what it did before.
        if let failure = facts.failure, failure.isOfHandler, let finding = missingHandler(facts) {
            return [finding]
        }
        if let failure = facts.failure, let finding = explanation(failure, facts) { return [finding] }
        if let finding = missing(facts) { return [finding] }
        return unused(facts)
    }

    // MARK: Nobody is asked

    private static func missing(_ facts: AccountFacts) -> Finding? {
        let name = facts.definition.name.text
        if let finding = missingHandler(facts) { return finding }
        let hasSource = facts.definition.source != nil || facts.handlers.contains(.credentialFetch)
        if facts.held == nil, facts.generation > .none, facts.definition.hasSignIn {
            return Finding(
                .warning, .signedOut, "nobody is signed in, and nothing is fetched until somebody is",
                fix: "\(signIn(facts)) \(name)")
        }
        if hasSource {
            guard !facts.isUsable, facts.held == nil, facts.signIn == nil, facts.platformFailure == nil
            else { return nil }
            return Finding(
                .warning, .credentialMissing, "nothing was fetched yet",
                fix: "chatauth account check \(name) asks the source now")
        }
        return Finding(
            facts.isUsable ? .hint : facts.severity, .sourceMissing,
            facts.isUsable
                ? "nothing gives another credential when this one ends"
                : "there is no valid credential, and nothing that gives one",
            fix: "configure a source, register a handler, or save a credential")
    }

    private static func missingHandler(_ facts: AccountFacts) -> Finding? {
        guard case .rpc = facts.definition.source, !facts.handlers.contains(.credentialFetch) else {
            return nil
        }
        return handlerMissing(facts)
    }

    private static func handlerMissing(
        _ facts: AccountFacts, failure: RefreshFailure? = nil
    ) -> Finding {
        Finding(
            facts.severity, .handlerMissing,
            "no program is registered as the account's handler, so its callback is never called",
            fix:
                "start the program that signs the user in; it calls handler.register for this account each time it connects, and chatauth handler list then shows it",
            requirement: 64, failure: failure ?? RefreshFailure(.handlerRequired))
    }

    // A handler that is there goes before the configured source, which somebody may not expect.
    private static func unused(_ facts: AccountFacts) -> [Finding] {
        guard let source = facts.definition.source, facts.handlers.contains(.credentialFetch) else {
            return []
        }
        if case .rpc = source { return [] }
        return [
            Finding(
                .hint, .handlerUnused,
                "a handler is registered and is asked instead of the configured source of kind \(source.kind)",
                fix: "that is meant to be so; the source is asked again when the handler's connection ends")
        ]
    }

    static func signIn(_ facts: AccountFacts) -> String {
        switch facts.definition.platform {
        case .chatbase: "chatauth identity identify"
        case .socialPlus: "chatauth session login"
        default: "chatauth auth authenticate"
        }
    }

    // MARK: What came of asking

    /// What came of asking the source just now (`chatauth doctor --online`).
    package static func checked(_ failure: RefreshFailure, _ facts: AccountFacts) -> Finding {
        if case .socialPlus(let network) = facts.definition.platform {
            let advice = SetbackAdvice(source: failure, facts.definition, network)
            return Finding(
                facts.severity, .sourceFailing, "the source gives no token now: " + advice.message,
                fix: advice.fix, requirement: advice.requirement, failure: failure)
        }
        return explanation(failure, facts)
            ?? Finding(
                facts.severity, .sourceFailing, "the source gives no credential that can be used",
                fix: advice(failure), failure: failure)
    }

    static func explanation(_ failure: RefreshFailure, _ facts: AccountFacts) -> Finding? {
        // What the platform said is explained in its own words.
        guard failure.party == .source else { return nil }
        let name = facts.definition.name.text
        switch failure.kind {
        case .handlerRequired: return handlerMissing(facts, failure: failure)
        case .callbackTimeout:
            return Finding(
                facts.severity, .callbackTimeout,
                "the handler was asked and did not answer within \(facts.definition.callbackTimeout.count / 1000) s",
                fix:
                    "the program must answer each credential.fetch, with an error where it has no token; look for a way through it that ends without an answer, or raise callback_timeout",
                requirement: 65, failure: failure)
        case .callbackRejected:
            return Finding(
                facts.severity, .callbackRejected,
                failure.cause == nil
                    ? "the handler answered with an error, or its connection ended"
                    : "the handler's answer cannot be taken",
                fix: "look at the log of the program that chatauth handler list names", requirement: 6,
                failure: failure)
        case .otherUser:
            return Finding(
                facts.severity, .sourceFailing,
                "the source gave another user's token than that of the one who is signed in",
                fix:
                    "chatauth auth authenticate \(name) signs in whomever the source names; or let the source name the one who is signed in",
                requirement: 103, failure: failure)
        case .empty:
            return Finding(
                facts.severity, .credentialEmpty,
                failure.cause == .handlersAnswer
                    ? "the handler answered, yet with neither an ID token nor an access token: there is nothing to send"
                    : "the source answered, yet with neither an ID token nor an access token: there is nothing to send",
                fix: failure.cause == .handlersAnswer
                    ? "have the program answer with id_token, access_token or token, or with an error where it has none; null and empty texts count as absent"
                    : "compare the names in the source's fields with the members of its answer; null and empty texts count as absent",
                requirement: 69, failure: failure)
        case .stale where failure.cause == .chatReplaced:
            return Finding(
                .warning, .sourceFailing,
                "the account's chat became another one while the source was asked",
                fix: "wait: the source is asked again by itself, with the chat that there is", requirement: 5,
                failure: failure)
        case .stale:
            // Where the platform refused it, that is what comes first, and its reasons.
            return Finding(
                facts.refusalOfHeld != nil ? .warning : facts.severity, .staleCredential,
                "the source gave a token that had expired when it came, or the one that was just refused",
                fix:
                    "the backend must make a new token for each request, and not answer from a cache; compare its clock with this one's",
                requirement: 66, failure: failure)
        case .companionInvalid:
            return Finding(
                facts.severity, .companionInvalid,
                "an access token stands beside an ID token that is no JWT, which Kindly refuses",
                fix:
                    "give the opaque token alone, with its issuer; an access token is a companion only of a JWT",
                requirement: 68, failure: failure)
        case .companionMismatch:
            return Finding(
                facts.severity, .companionMismatch,
                "the access token is not the one that the ID token was issued with: at_hash says another",
                fix: "give both tokens of one and the same token response", requirement: 70, failure: failure)
        case .terminated, .rejected:
            return Finding(
                facts.severity, .sourceRefused,
                "the source refused to give a credential: it does not know who asks, or the user is not signed in there",
                fix:
                    "check the secrets in the source's headers, and that the backend takes this account's user",
                requirement: 160, failure: failure)
        case .grantMissing, .grantParked, .grantDead, .grantPossiblySpent:
            return Finding(
                facts.severity, .grantUnusable, "the grant cannot be spent",
                fix: "chatauth grant list says how it is, chatauth grant import brings another",
                failure: failure)
        case .unreachable, .timeout, .tls, .upstreamError, .malformed, .tooLarge, .sourceUnavailable,
            .overloaded, .clientRefused, .issuerMismatch, .notBearer, .unverified, .storeFull:
            return Finding(
                facts.severity, .sourceFailing, "the source gives no credential", fix: advice(failure),
                failure: failure)
        }
    }

    private static func advice(_ failure: RefreshFailure) -> String {
        switch failure.kind {
        case .unreachable, .timeout, .tls:
            "check the source's address, proxy and ca_file, and that what it leads to runs"
        case .upstreamError, .malformed, .tooLarge:
            "look at the log of what the source leads to: it must answer 200 with one JSON object"
        case .sourceUnavailable: "put there what the source's configuration refers to"
        case .overloaded: "wait: what has been failing is asked again by itself"
        case .clientRefused: "compare client_id and client secret with the server's"
        case .issuerMismatch, .notBearer, .unverified:
            "compare the source's issuer and client with the server's"
        case .storeFull: "free space in the state directory"
        default: "see the reason beside it"
        }
    }
}

extension RefreshFailure {
    /// Whether it is one that only a program which was asked can have caused.
    fileprivate var isOfHandler: Bool {
        switch kind {
        case .callbackTimeout, .callbackRejected: true
        case .empty: cause == .handlersAnswer
        default: false
        }
    }
}
