import CredentialCore
import Providers
import Secrets
import Testing

@Suite struct `The doctor of Chatbase accounts`: DoctorSuite {
    private func facts(
        source: SourceDefinition? = .rpc, _ change: (inout AccountFacts) throws -> Void
    ) throws -> AccountFacts {
        let agent = PlatformDefinition.chatbase(
            ChatbaseDefinition(agentID: "a", baseURL: try HTTPURL("https://c.example")))
        return try patient(agent, provider: .chatbase, source: source, change)
    }

    private let good = #"{"user_id":"u","exp":1767229200}"#

    @Test func `R94: an identity whose token ended is still signed in, and says what comes next`() throws {
        let expiries = Expiries(exp: WallTime(seconds: 1_767_225_000))
        let ended = try facts {
            $0.held = try held(jwt(#"{"user_id":"u","exp":1767225000}"#), expiries)
            $0.schedule = Schedule(expiries: expiries, receivedAt: now, now: now)
            $0.isUsable = false
        }
        #expect(summary(ended) == ["warning identity_expired R94"])
    }

    @Test func `R85: AUTH_INVALID_JWT has four reasons, and those that can be seen are named`() throws {
        let failure = RefreshFailure(
            .rejected, httpStatus: 401, providerCode: "AUTH_INVALID_JWT", party: .platform)
        let refused = try facts {
            $0.platformFailure = failure
            $0.isUsable = false
            $0.held = try held(jwt(#"{"name":"n"}"#, header: rs256))
        }
        #expect(
            summary(refused) == [
                "error token_unfit R83", "error token_unfit R83", "error identity_rejected R85",
                "hint token_unfit R83",
            ])
        #expect(Doctor.findings(refused)[2].message.contains("identity verification is not set up"))
        let unseen = try facts {
            $0.failure = failure
            $0.platformFailure = failure
        }
        #expect(summary(unseen) == ["warning identity_rejected R85"])
    }

    @Test(
        arguments: [
            (404, "AGENT_NOT_FOUND", "agent_not_found R85"),
            (402, "CHAT_CREDITS_EXHAUSTED", "credits_exhausted"),
            (402, "CHAT_AGENT_CREDITS_EXHAUSTED", "credits_exhausted"),
            (429, "UNKNOWN", "platform_limits"), (400, "VALIDATION_INVALID_BODY", "request_refused"),
            (403, "AUTH_OWNERSHIP_X", "identity_rejected R99"), (503, "UNKNOWN", "platform_unreachable R85"),
        ] as [(Int, String, String)])
    func `each of the codes that the platform has is explained`(
        _ status: Int, _ code: String, _ expected: String
    ) throws {
        let kind: RefreshFailure.Kind = status == 403 ? .rejected : .upstreamError
        let failure = RefreshFailure(
            kind, httpStatus: status, providerCode: code, party: .platform)
        #expect(summary(try facts { $0.platformFailure = failure }) == ["warning \(expected)"])
    }

    @Test func `R80: who was not seen on the new device is said, with what is in the way first`() throws {
        let unseen = try facts {
            $0.isIdentityUnverified = true
            $0.held = try held(jwt(good))
            $0.platformFailure = RefreshFailure(.unreachable)
        }
        #expect(
            summary(unseen) == ["warning platform_unreachable R85", "warning identity_unverified R80"])
    }

    @Test func `R94: a token that was refused because it has ended is the cause`() throws {
        let expiries = Expiries(exp: WallTime(seconds: 1_767_225_000))
        let ended = try facts {
            $0.held = try held(jwt(#"{"user_id":"u","exp":1767225000}"#), expiries)
            $0.schedule = Schedule(expiries: expiries, receivedAt: now, now: now)
            $0.isUsable = false
            $0.platformFailure = RefreshFailure(
                .rejected, httpStatus: 401, providerCode: "AUTH_INVALID_JWT", party: .platform)
        }
        #expect(summary(ended) == ["error identity_expired R94", "error identity_rejected R85"])
    }

    @Test func `R83: what is noticeable about a token that works is a warning`() throws {
        #expect(summary(try facts { $0.held = try held(jwt(good)) }) == ["ok nothing_found"])
        #expect(
            summary(try facts { $0.held = try held(jwt(good, header: rs256)) }) == [
                "warning token_unfit R83"
            ])
    }
}
