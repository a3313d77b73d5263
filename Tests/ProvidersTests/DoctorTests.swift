import CredentialCore
import Providers
import Secrets
import Testing

@Suite struct `The doctor of any account`: DoctorSuite {
    @Test func `has nothing to say of one that is well`() throws {
        #expect(summary(try patient(nil, provider: .generic)) == ["ok nothing_found"])
    }

    @Test(
        arguments: [
            (.sealed, "error store_sealed"), (.stopped, "warning account_stopped"),
            (.parked, "error account_parked"),
        ] as [(SessionState, String)])
    func `says first what stands before everything else`(_ state: SessionState, _ expected: String) throws {
        #expect(
            summary(
                try patient(nil, provider: .generic) {
                    $0.state = state; $0.handlers = []
                }) == [expected])
    }

    @Test(
        arguments: [
            (.handlerRequired, "handler_missing R64"), (.callbackTimeout, "callback_timeout R65"),
            (.stale, "stale_credential R66"), (.companionInvalid, "companion_invalid R68"),
            (.empty, "credential_empty R69"), (.companionMismatch, "companion_mismatch R70"),
            (.callbackRejected, "callback_rejected R6"), (.rejected, "source_refused R160"),
            (.grantDead, "grant_unusable"), (.unreachable, "source_failing"), (.tls, "source_failing"),
        ] as [(RefreshFailure.Kind, String)])
    func `R64, R65, R66, R68, R69, R70: a failure is explained, and an error once nothing can be handed out`(
        _ kind: RefreshFailure.Kind, _ code: String
    ) throws {
        let facts = try patient(nil, provider: .generic) { $0.failure = RefreshFailure(kind) }
        #expect(summary(facts) == ["warning \(code)"])
        var dead = facts
        dead.isUsable = false
        #expect(summary(dead) == ["error \(code)"])
        #expect(Doctor.findings(dead).allSatisfy { $0.fix != nil && $0.failure?.kind == kind })
    }

    @Test func `every kind of failure is explained`() throws {
        for kind in RefreshFailure.Kind.allCases {
            let findings = Doctor.findings(
                try patient(nil, provider: .generic) {
                    $0.failure = RefreshFailure(kind)
                    $0.isUsable = false
                })
            #expect(findings.first?.severity == .error, "\(kind)")
        }
    }

    @Test func `R64: an account whose handler is not there says that nobody can be asked`() throws {
        let absent = try patient(bot(), source: .rpc) {
            $0.handlers = []
            $0.isUsable = false
        }
        #expect(summary(absent).first == "error handler_missing R64")
    }

    @Test func `what explains a source that fails comes before it`() throws {
        let key = try #require(SecretName("key"))
        let unset = try patient(nil, provider: .generic) {
            $0.missingSecrets = [key]
            $0.isSourceFailing = true
        }
        let failure = RefreshFailure(.sourceUnavailable, cause: .secretMissing(key))
        let findings = ([Doctor.checked(failure, unset)] + Doctor.findings(unset)).ordered
        #expect(findings.map(\.code) == [.secretMissing, .sourceFailing])
        #expect(findings.allSatisfy { $0.severity == .error && $0.fix != nil })
    }

    @Test func `what was only reported as refused is said as well`() throws {
        let given = try patient(nil, provider: .generic) {
            $0.signIn = .credentialRejected
            $0.isUsable = false
        }
        #expect(summary(given) == ["error credential_rejected"])
        #expect(Doctor.findings(given)[0].fix?.contains("chatauth auth refresh bot") == true)
        let agent = PlatformDefinition.chatbase(
            ChatbaseDefinition(agentID: "a", baseURL: try HTTPURL("https://c.example/api")))
        let desk = try patient(agent, provider: .chatbase) { $0.signIn = .credentialRejected }
        #expect(summary(desk) == ["error credential_rejected"])
        // The platform's own word is no report.
        let pair = try patient(bot()) {
            $0.signIn = .credentialRejected
            $0.bindCause = .rejected(RefreshFailure(.companionInvalid, httpStatus: 401, party: .platform))
        }
        #expect(!summary(pair).contains("error credential_rejected"))
        let saved = try patient(nil, provider: .generic, source: nil) {
            $0.handlers = []
            $0.signIn = .credentialRejected
            $0.isUsable = false
        }
        #expect(summary(saved) == ["error credential_rejected", "error source_missing"])
        #expect(Doctor.findings(saved)[0].fix == "chatauth save bot with a new one")
    }

    @Test func `R86: a sign-in that failed is said until one succeeds, once`() throws {
        let failure = RefreshFailure(.rejected, httpStatus: 401, party: .platform)
        let well = try patient(nil, provider: .generic) { $0.signInFailure = (failure, now.wall) }
        #expect(summary(well) == ["warning sign_in_failed R86"])
        #expect(Doctor.findings(well)[0].message.contains("2026-01-01T00:00:00Z"))
        let said = try patient(nil, provider: .generic) {
            $0.signInFailure = (failure, now.wall)
            $0.failure = failure
        }
        #expect(!summary(said).contains { $0.contains("sign_in_failed") })
    }

    @Test func `what nobody gives, or nobody set, is said`() throws {
        let none = try patient(nil, provider: .generic, source: nil) {
            $0.handlers = []; $0.isUsable = false
        }
        #expect(summary(none) == ["error source_missing"])
        let secret = try #require(SecretName("key"))
        let unset = try patient(nil, provider: .generic) { $0.missingSecrets = [secret] }
        #expect(summary(unset) == ["warning secret_missing"])
        let signedOut = try patient(bot()) { $0.generation = Generation(2) }
        #expect(summary(signedOut) == ["warning signed_out"])
    }
}
