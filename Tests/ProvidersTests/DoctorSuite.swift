import CredentialCore
import Providers
import Secrets
import Testing

/// What the suites of doctor have in common: accounts that are well, and the short form of what is said of them.
protocol DoctorSuite {}

extension DoctorSuite {
    var now: Instant {
        Instant(wall: WallTime(seconds: 1_767_225_600), boot: BootTime(milliseconds: 1_000_000))
    }
    var rs256: String { #"{"alg":"RS256","kid":"k1"}"# }

    /// Facts of an account, well unless a test says what is wrong.
    func patient(
        _ platform: PlatformDefinition?, provider: AccountDefinition.Provider = .kindly,
        source: SourceDefinition? = .rpc,
        _ change: (inout AccountFacts) throws -> Void = { _ in }
    ) throws -> AccountFacts {
        let definition = AccountDefinition(
            name: try #require(AccountName("bot")), provider: provider, platform: platform, source: source)
        var facts = AccountFacts(definition: definition, now: now, state: .fresh)
        facts.handlers = [.credentialFetch]
        facts.isUsable = true
        facts.isChatKnown = true
        try change(&facts)
        return facts
    }

    func held(
        _ token: SecretBytes, access: String? = nil, issuer: String? = nil, _ expiries: Expiries = Expiries()
    ) throws -> HeldCredential {
        HeldCredential(
            credential: try Credential(idToken: token, accessToken: access.map(secret), issuer: issuer),
            generation: Generation(1), expiries: expiries, receivedAt: now, bootID: BootID("boot-1"),
            origin: .source, destination: Destination("d"))
    }

    /// Severity, code and requirement of each finding.
    func summary(_ facts: AccountFacts) -> [String] {
        Doctor.findings(facts).map { finding in
            "\(finding.severity) \(finding.code.rawValue)" + (finding.requirement.map { " R\($0)" } ?? "")
        }
    }

    func bot(
        _ strategy: KindlyDefinition.Strategy? = .kindlyJWT,
        connecting: KindlyDefinition.Connecting = .broker,
        expectedIssuer: String? = nil, defaultIssuer: String? = nil
    ) throws -> PlatformDefinition {
        .kindly(
            KindlyDefinition(
                botKey: "b", market: "m", strategy: strategy, connecting: connecting,
                baseURL: try HTTPURL("https://k.example/v2"), defaultIssuer: defaultIssuer,
                expectedIssuer: expectedIssuer))
    }
}
