import CredentialCore
import Providers
import Secrets
import Testing

@Suite struct `The doctor of Kindly accounts`: DoctorSuite {
    private let good = #"{"iss":"https://i.example","exp":1767229200}"#

    private func refused(_ token: SecretBytes, _ bot: PlatformDefinition) throws -> [Finding] {
        Doctor.findings(
            try patient(bot) {
                $0.held = try held(token)
                $0.chatID = "chat-1"
                $0.binding = .anonymous
                $0.bindCause = .rejected(RefreshFailure(.rejected, httpStatus: 401))
                $0.isUsable = false
            })
    }

    private func codes(_ findings: [Finding]) -> [String] {
        findings.map { "\($0.code.rawValue)" + ($0.requirement.map { " R\($0)" } ?? "") }
    }

    @Test func `R63: a refused token is decoded, and what is wrong with it is named`() throws {
        #expect(
            codes(
                try refused(
                    jwt(#"{"iss":"https://i.example","exp":1767225599}"#, header: rs256), bot()))
                == ["token_expired R63", "bind_rejected R63"])
        #expect(
            codes(try refused(secret("opaque"), bot())) == [
                "opaque_bearer R63", "bind_rejected R63", "issuer_missing R24", "opaque_without_expiry R71",
            ])
    }

    @Test func `R67: algorithm and issuer are compared with what the bot needs`() throws {
        #expect(
            codes(try refused(jwt(good), bot())) == ["algorithm_unfit R67", "bind_rejected R63"])
        #expect(
            codes(try refused(jwt(#"{"exp":1767229200}"#, header: rs256), bot())) == [
                "issuer_missing R67", "bind_rejected R63",
            ])
        let findings = try refused(
            jwt(good, header: rs256), bot(expectedIssuer: "https://i.example/"))
        #expect(codes(findings) == ["issuer_unexpected R67", "bind_rejected R63"])
        #expect(
            findings[0].message
                == #"iss of the token is "https://i.example", and expected_issuer is "https://i.example/""#)
    }

    @Test(arguments: [
        (#"{"iss":"https://i.example","nbf":1767225601}"#, "token_not_yet_valid R63"),
        (#"{"iss":"https://i.example","exp":"2026-01-01T01:00:00Z"}"#, "exp_implausible R63"),
        (#"{"iss":"https://i.example","chat":{"id":"another"}}"#, "chat_unexpected R5"),
    ])
    func `R63: what keeps a token from being taken comes before the word of its signature`(
        _ payload: String, _ code: String
    ) throws {
        #expect(codes(try refused(jwt(payload, header: rs256), bot())) == [code, "bind_rejected R63"])
    }

    @Test func `R24: an issuer that is sent beside a token of another is named`() throws {
        func findings(_ strategy: KindlyDefinition.Strategy?, _ issuer: String) throws -> [String] {
            codes(
                Doctor.findings(
                    try patient(bot(strategy)) {
                        $0.held = try held(jwt(good, header: rs256), issuer: issuer)
                        $0.bindCause = .rejected(RefreshFailure(.rejected, httpStatus: 401))
                        $0.isUsable = false
                    }))
        }
        #expect(
            try findings(.identityProvider, "https://other.example")
                == ["issuer_unexpected R24", "bind_rejected R63"])
        #expect(
            try findings(.identityProvider, "https://i.example") == [
                "key_suspected R67", "bind_rejected R63",
            ])
        // Bots with Kindly's own JWTs take no notice of it.
        #expect(try findings(.kindlyJWT, "https://other.example").first == "key_suspected R67")
    }

    @Test(arguments: [RefreshFailure.Kind.callbackTimeout, .callbackRejected])
    func `R64: a handler that has gone since is missing, whatever it did before`(_ kind: RefreshFailure.Kind)
        throws
    {
        var gone = try patient(nil, provider: .generic) {
            $0.failure = RefreshFailure(kind)
            $0.isUsable = false
            $0.handlers = []
        }
        #expect(summary(gone) == ["error handler_missing R64"])
        gone.handlers = [.credentialFetch]
        #expect(summary(gone).first?.contains("callback_") == true)
    }

    @Test func `R67: where the claims are good it is the signature, and the key is named`() throws {
        let findings = try refused(
            jwt(good, header: rs256), bot(expectedIssuer: "https://i.example"))
        #expect(codes(findings) == ["key_suspected R67", "bind_rejected R63"])
        #expect(findings[0].fix?.contains("key") == true)
        #expect(findings[1].failure?.httpStatus == 401)
    }

    @Test func `R68: Kindly's own word on the companion is known`() throws {
        let findings = Doctor.findings(
            try patient(bot(.identityProvider)) {
                $0.bindCause = .rejected(RefreshFailure(.companionInvalid, httpStatus: 401))
                $0.held = try held(jwt(good, header: rs256))
            })
        #expect(codes(findings) == ["companion_invalid R68"])
    }

    @Test func `R70: tokens that are no pair are said, and are an error once Kindly refused them`() throws {
        let unproven = try patient(bot(.identityProvider)) {
            $0.held = try held(jwt(good, header: rs256), access: "a")
            $0.isPair = false
        }
        #expect(summary(unproven) == ["warning companion_mismatch R70"])
        var refused = unproven
        refused.bindCause = .rejected(RefreshFailure(.rejected, httpStatus: 401))
        #expect(summary(refused) == ["error companion_mismatch R70", "error bind_rejected R63"])
        var proven = unproven
        proven.isPair = true
        #expect(summary(proven) == ["ok nothing_found"])
    }

    @Test func `R15, R18, R24, R71: what does not fit the bot's strategy is advice`() throws {
        let introspected = try patient(bot(.introspection)) {
            $0.held = try held(secret("opaque"), access: "a")
        }
        #expect(
            summary(introspected) == [
                "warning companion_with_introspection R15", "warning issuer_missing R24",
                "warning opaque_without_expiry R71",
            ])
        let own = try patient(bot()) { $0.held = try held(jwt(good, header: rs256), access: "a") }
        #expect(summary(own) == ["hint companion_ignored R18"])
        let unsaid = try patient(bot(nil)) { $0.held = try held(jwt(good, header: rs256)) }
        #expect(summary(unsaid) == ["hint strategy_missing R2"])
    }

    @Test func `R72: an end that the backend set sooner is said with all three and which won`() throws {
        let expiries = Expiries(
            backend: WallTime(seconds: 1_767_225_700), hint: nil, exp: WallTime(seconds: 1_767_229_200))
        let short = try patient(bot()) { $0.held = try held(jwt(good, header: rs256), expiries) }
        #expect(summary(short) == ["hint backend_expiry_shorter R72"])
        #expect(
            Doctor.findings(short)[0].message.hasSuffix(
                "backend won: backend 2026-01-01T00:01:40Z, hint unknown, exp 2026-01-01T01:00:00Z"))
    }

    @Test func `a chat that no client brought, and a way that is blocked, are said`() throws {
        let missing = try patient(bot(connecting: .client)) { $0.isChatKnown = false }
        #expect(summary(missing).contains("warning chat_missing"))
        let blocked = try patient(bot()) { $0.platformFailure = RefreshFailure(.unreachable) }
        #expect(summary(blocked).contains("warning bind_failing"))
        let unproven = try patient(bot()) {
            $0.platformFailure = RefreshFailure(.rejected, httpStatus: 401, party: .platform)
        }
        #expect(summary(unproven).contains("warning bind_rejected R63"))
    }

    @Test(arguments: [
        (RefreshFailure(.rejected, httpStatus: 401, party: .platform), "bind_rejected R63", "refused"),
        (RefreshFailure(.timeout, party: .platform), "bind_failing", "could not be shown"),
    ])
    func `R50: what the platform did to a sign-in is not blamed on the source, nor on what is held`(
        _ failure: RefreshFailure, _ code: String, _ words: String
    ) throws {
        for (isUsable, severity) in [(true, "warning"), (false, "error")] {
            let failed = try patient(bot()) {
                $0.failure = failure
                $0.platformFailure = failure
                $0.isUsable = isUsable
                $0.held = isUsable ? try held(jwt(good, header: rs256)) : nil
            }
            let finding = try #require(Doctor.findings(failed).first)
            #expect("\(finding.severity) \(codes([finding])[0])" == "\(severity) \(code)")
            #expect(
                finding.message.contains("\(words) the credential that somebody was to be signed in with"))
        }
    }

    @Test func `a chat without its own token is the first suspect, before the signature`() throws {
        let attached = try patient(bot(expectedIssuer: "https://i.example")) {
            $0.chatID = "its-own"
            $0.isChatTokenMissing = true
            $0.held = try held(jwt(good, header: rs256))
        }
        #expect(summary(attached) == ["warning chat_token_missing"])
        var refused = attached
        refused.bindCause = .rejected(RefreshFailure(.rejected, httpStatus: 401, party: .platform))
        refused.isUsable = false
        let findings = Doctor.findings(refused)
        #expect(codes(findings) == ["chat_token_missing", "bind_rejected R63"])
        #expect(findings.allSatisfy { $0.fix?.contains("signature") != true })
        #expect(findings[0].fix?.contains("chatauth chat attach bot its-own --token-file FILE") == true)
    }

    @Test func `no token and no byte of one is in any finding`() throws {
        let findings = try refused(
            jwt(#"{"iss":"https://i\u0007.example","exp":1}"#, header: #"{"alg":"x\u001b"}"#),
            bot(expectedIssuer: "https://i.example"))
        for finding in findings {
            let text = finding.message + (finding.fix ?? "")
            #expect(text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F })
            #expect(!text.contains("eyJ"))
        }
    }
}
