package import CredentialCore

/// Explains how an account is: symptoms as the platforms' own tables have them, from what the daemon knows (R63 to R72, R200 to R205).
///
/// A function of facts, without a clock and without a network. The findings that keep a token from being had come first.
package enum Doctor {
    /// All that there is to say; never empty.
    package static func findings(_ facts: AccountFacts) -> [Finding] {
        var findings = standing(facts)
        if findings.isEmpty {
            findings += source(facts)
            findings += platform(facts)
            findings += credential(facts)
        }
        if findings.isEmpty {
            findings.append(Finding(.ok, .nothingFound, "nothing is wrong that can be seen from here"))
        }
        return findings.ordered
    }

    /// What came of asking the source of an account just now.
    package static func sourceFailing(_ failure: RefreshFailure, of definition: AccountDefinition) -> Finding
    {
        guard case .socialPlus(let network) = definition.platform else {
            return Finding(
                .error, .sourceFailing, "the source gives no credential now",
                fix: "see the reason beside it", failure: failure)
        }
        let advice = SetbackAdvice(source: failure, definition, network)
        return Finding(
            .error, .sourceFailing, "the source gives no token now: " + advice.message, fix: advice.fix,
            requirement: advice.requirement, failure: failure)
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
                    fix: "put the old configuration back, or sign in again")
            ]
        default: []
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

    private static func credential(_ facts: AccountFacts) -> [Finding] {
        var findings: [Finding] = []
        if facts.isOnlyInMemory {
            findings.append(
                Finding(
                    .warning, .notStored, "the disk refused the credential: it is lost with the next restart",
                    fix: "free space in the state directory; it is tried again by itself"))
        }
        return findings
    }
}

extension [Finding] {
    /// The worst first, and otherwise as they were found.
    package var ordered: [Finding] {
        [.error, .warning, .hint, .ok].flatMap { severity in filter { $0.severity == severity } }
    }
}
