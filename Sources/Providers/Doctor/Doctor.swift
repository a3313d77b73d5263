import CredentialCore

/// Explains how an account is: symptoms as the platforms' own tables have them, from what the daemon knows (R63 to R72, R200 to R205).
///
/// A function of facts, without a clock and without a network. The findings that keep a token from being had come first, and of
/// those the ones that explain the others.
package enum Doctor {
    /// All that there is to say; never empty.
    package static func findings(_ facts: AccountFacts) -> [Finding] {
        var findings = standing(facts)
        if findings.isEmpty {
            findings += source(facts)
            findings += platform(facts)
            findings += reported(facts, findings)
            findings += signInFailed(facts)
            let said = Set(findings.map(\.code))
            findings += credential(facts).filter { !said.contains($0.code) }
        }
        if findings.isEmpty {
            findings.append(Finding(.ok, .nothingFound, "nothing is wrong that can be seen from here"))
        }
        return findings.ordered
    }

    // What stands before everything else: while it does, the rest says nothing.
    private static func standing(_ facts: AccountFacts) -> [Finding] {
        switch facts.state {
        case .sealed:
            [
                Finding(
                    .error, .storeSealed, "the store is sealed, and what is in it with it",
                    fix: "chatauth doctor says what is missing")
            ]
        case .stopped:
            [
                Finding(
                    .warning, .accountStopped,
                    "the account rests: nothing is handed out and nothing is fetched",
                    fix: "chatauth account start \(facts.definition.name.text)")
            ]
        case .parked:
            [
                Finding(
                    .error, .accountParked,
                    "what is held was meant for another destination than the configured one, and is not sent there",
                    fix:
                        "put the old configuration back, or bring another: \(replacement(facts)) \(facts.definition.name.text)"
                )
            ]
        default: []
        }
    }

    private static func replacement(_ facts: AccountFacts) -> String {
        switch facts.definition.platform {
        case .chatbase, .socialPlus: signIn(facts)
        case .kindly, .described, nil: facts.definition.source == nil ? "chatauth save" : signIn(facts)
        }
    }

    private static func platform(_ facts: AccountFacts) -> [Finding] {
        switch facts.definition.platform {
        case .kindly(let bot): KindlyDoctor.findings(facts, bot)
        case .chatbase(let agent): ChatbaseDoctor.findings(facts, agent)
        case .socialPlus(let network): SocialPlusDoctor.findings(facts, network)
        case .described: KindlyDoctor.binding(facts, "the platform", nil)
        case nil: []
        }
    }

    // What a platform was not asked itself is known from whoever used the credential.
    private static func reported(_ facts: AccountFacts, _ said: [Finding]) -> [Finding] {
        if case .socialPlus = facts.definition.platform { return [] }
        guard facts.signIn == .credentialRejected || facts.signIn == .refused,
            !said.contains(where: { $0.code.isRefusal })
        else { return [] }
        let name = facts.definition.name.text
        let hasSource = facts.definition.source != nil || facts.handlers.contains(.credentialFetch)
        return [
            Finding(
                .error, .credentialRejected,
                hasSource
                    ? "the credential was reported as refused, and so was the one before it: the source is left alone for an hour"
                    : "the credential was reported as refused, and nothing gives another",
                fix: hasSource
                    ? "see with whoever uses it why the platform refuses what the source gives; chatauth auth refresh \(name) asks again at once"
                    : "chatauth save \(name) with a new one")
        ]
    }

    // What is under way since may have gone well, and whoever tried to sign in still is not.
    private static func signInFailed(_ facts: AccountFacts) -> [Finding] {
        if case .socialPlus = facts.definition.platform { return [] }
        guard let (failure, at) = facts.signInFailure, failure != facts.failure,
            failure != facts.platformFailure
        else { return [] }
        let moment = RFC3339.text(at).map { " (\($0))" } ?? ""
        return [
            Finding(
                facts.held == nil ? facts.severity : .warning, .signInFailed,
                "the last sign-in gave nothing\(moment), and nobody has signed in since",
                fix: explanation(failure, facts)?.fix
                    ?? "have the backend make a token that the platform takes, then \(signIn(facts)) \(facts.definition.name.text)",
                requirement: 86, failure: failure)
        ]
    }

    private static func credential(_ facts: AccountFacts) -> [Finding] {
        var findings: [Finding] = []
        if facts.isOnlyInMemory {
            findings.append(
                Finding(
                    .warning, .notStored, "the disk refused the credential: it is lost with the next restart",
                    fix: "free space in the state directory; it is tried again by itself"))
        }
        guard let credential = facts.credential else { return findings }
        // Chatbase's own table has words for what its tokens are.
        if case .chatbase = facts.definition.platform { return findings }
        return findings
            + CredentialNote.on(credential, expiryFlaw: facts.expiryFlaw).compactMap { note in
                finding(note, credential, facts)
            }
    }

    private static func finding(
        _ note: CredentialNote, _ credential: Credential, _ facts: AccountFacts
    ) -> Finding? {
        switch note {
        case .jwtMalformed: return malformed(credential, .warning)
        case .expImplausible:
            return Finding(
                .warning, .expImplausible, "exp of the token is no moment, and counts as unknown",
                fix: "have it be a number of seconds since 1970 (RFC 7519)")
        case .expiryImplausible:
            return Finding(
                .warning, .expiryImplausible,
                "what the platform says of the credential's end is no moment, and counts as unknown",
                fix:
                    "a number of seconds or milliseconds since 1970 is understood, and RFC 3339 with its offset",
                requirement: 35)
        case .expiryMissing:
            var name = "expiry_field"
            if case .described(let bind) = facts.definition.platform { name = bind.expiryField ?? name }
            return Finding(
                .warning, .expiryMissing,
                "the platform's answer has no member \(name), so that the credential's end is unknown",
                fix: "compare expiry_field with what the platform answers; a dot descends")
        }
    }

    /// What is said of a token that begins as a JWT does and is none.
    static func malformed(_ credential: Credential, _ severity: Finding.Severity) -> Finding? {
        guard let defect = UnverifiedJWT.defect(of: credential.bearer) else { return nil }
        let reason =
            switch defect {
            case .parts: "it has not three parts with dots between them"
            case .base64url: "one of its three parts is not base64url"
            case .json: "one of its parts is no JSON object"
            }
        return Finding(
            severity, .jwtMalformed, "the token begins as a JWT does and is none: \(reason)",
            fix: "look where it was cut off or changed on its way here, and at what the source's fields name",
            requirement: 63)
    }
}

extension [Finding] {
    /// The worst first, of those the causes before their consequences, and otherwise as they were found.
    package var ordered: [Finding] {
        let severities: [Finding.Severity] = [.error, .warning, .hint, .ok]
        return severities.flatMap { severity in
            let found = filter { $0.severity == severity }
            return FindingCode.Rank.allCases.flatMap { rank in found.filter { $0.code.rank == rank } }
        }
    }
}
