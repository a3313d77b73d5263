import CredentialCore
import Providers
import Secrets
import Testing

private let now = Instant(wall: WallTime(seconds: 1_767_225_600), boot: BootTime(milliseconds: 1_000_000))
private let rs256 = #"{"alg":"RS256","kid":"k1"}"#

/// Facts of an account, well unless a test says what is wrong.
private func facts(
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

private func held(
    _ token: SecretBytes, access: String? = nil, issuer: String? = nil, _ expiries: Expiries = Expiries()
) throws -> HeldCredential {
    HeldCredential(
        credential: try Credential(idToken: token, accessToken: access.map(secret), issuer: issuer),
        generation: Generation(1), expiries: expiries, receivedAt: now, bootID: BootID("boot-1"),
        origin: .source, destination: Destination("d"))
}

/// Severity, code and requirement of each finding.
private func summary(_ facts: AccountFacts) -> [String] {
    Doctor.findings(facts).map { finding in
        "\(finding.severity) \(finding.code.rawValue)" + (finding.requirement.map { " R\($0)" } ?? "")
    }
}

private func bot(
    _ strategy: KindlyDefinition.Strategy? = .kindlyJWT, connecting: KindlyDefinition.Connecting = .broker,
    expectedIssuer: String? = nil, defaultIssuer: String? = nil
) throws -> PlatformDefinition {
    .kindly(
        KindlyDefinition(
            botKey: "b", market: "m", strategy: strategy, connecting: connecting,
            baseURL: try HTTPURL("https://k.example/v2"), defaultIssuer: defaultIssuer,
            expectedIssuer: expectedIssuer))
}

@Suite struct `The doctor of any account` {
    @Test func `has nothing to say of one that is well`() throws {
        #expect(summary(try facts(nil, provider: .generic)) == ["ok nothing_found"])
    }

    @Test(
        arguments: [
            (.sealed, "error store_sealed"), (.stopped, "warning account_stopped"),
            (.parked, "error account_parked"),
        ] as [(SessionState, String)])
    func `says first what stands before everything else`(_ state: SessionState, _ expected: String) throws {
        #expect(
            summary(
                try facts(nil, provider: .generic) {
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
        let facts = try facts(nil, provider: .generic) { $0.failure = RefreshFailure(kind) }
        #expect(summary(facts) == ["warning \(code)"])
        var dead = facts
        dead.isUsable = false
        #expect(summary(dead) == ["error \(code)"])
        #expect(Doctor.findings(dead).allSatisfy { $0.fix != nil && $0.failure?.kind == kind })
    }

    @Test func `every kind of failure is explained`() throws {
        for kind in RefreshFailure.Kind.allCases {
            let findings = Doctor.findings(
                try facts(nil, provider: .generic) {
                    $0.failure = RefreshFailure(kind)
                    $0.isUsable = false
                })
            #expect(findings.first?.severity == .error, "\(kind)")
        }
    }

    @Test func `R64: an account whose handler is not there says that nobody can be asked`() throws {
        let absent = try facts(bot(), source: .rpc) {
            $0.handlers = []
            $0.isUsable = false
        }
        #expect(summary(absent).first == "error handler_missing R64")
    }

    @Test func `what explains a source that fails comes before it`() throws {
        let key = try #require(SecretName("key"))
        let unset = try facts(nil, provider: .generic) {
            $0.missingSecrets = [key]
            $0.isSourceFailing = true
        }
        let failure = RefreshFailure(.sourceUnavailable, cause: .secretMissing(key))
        let findings = ([Doctor.checked(failure, unset)] + Doctor.findings(unset)).ordered
        #expect(findings.map(\.code) == [.secretMissing, .sourceFailing])
        #expect(findings.allSatisfy { $0.severity == .error && $0.fix != nil })
    }

    @Test func `what was only reported as refused is said as well`() throws {
        let given = try facts(nil, provider: .generic) {
            $0.signIn = .credentialRejected
            $0.isUsable = false
        }
        #expect(summary(given) == ["error credential_rejected"])
        #expect(Doctor.findings(given)[0].fix?.contains("chatauth auth refresh bot") == true)
        let agent = PlatformDefinition.chatbase(
            ChatbaseDefinition(agentID: "a", baseURL: try HTTPURL("https://c.example/api")))
        let desk = try facts(agent, provider: .chatbase) { $0.signIn = .credentialRejected }
        #expect(summary(desk) == ["error credential_rejected"])
        // The platform's own word is no report.
        let pair = try facts(bot()) {
            $0.signIn = .credentialRejected
            $0.bindCause = .rejected(RefreshFailure(.companionInvalid, httpStatus: 401, party: .platform))
        }
        #expect(!summary(pair).contains("error credential_rejected"))
        let saved = try facts(nil, provider: .generic, source: nil) {
            $0.handlers = []
            $0.signIn = .credentialRejected
            $0.isUsable = false
        }
        #expect(summary(saved) == ["error credential_rejected", "error source_missing"])
        #expect(Doctor.findings(saved)[0].fix == "chatauth save bot with a new one")
    }

    @Test func `R86: a sign-in that failed is said until one succeeds, once`() throws {
        let failure = RefreshFailure(.rejected, httpStatus: 401, party: .platform)
        let well = try facts(nil, provider: .generic) { $0.signInFailure = (failure, now.wall) }
        #expect(summary(well) == ["warning sign_in_failed R86"])
        #expect(Doctor.findings(well)[0].message.contains("2026-01-01T00:00:00Z"))
        let said = try facts(nil, provider: .generic) {
            $0.signInFailure = (failure, now.wall)
            $0.failure = failure
        }
        #expect(!summary(said).contains { $0.contains("sign_in_failed") })
    }

    @Test func `what nobody gives, or nobody set, is said`() throws {
        let none = try facts(nil, provider: .generic, source: nil) {
            $0.handlers = []; $0.isUsable = false
        }
        #expect(summary(none) == ["error source_missing"])
        let secret = try #require(SecretName("key"))
        let unset = try facts(nil, provider: .generic) { $0.missingSecrets = [secret] }
        #expect(summary(unset) == ["warning secret_missing"])
        let signedOut = try facts(bot()) { $0.generation = Generation(2) }
        #expect(summary(signedOut) == ["warning signed_out"])
    }
}

@Suite struct `The doctor of Kindly accounts` {
    private let good = #"{"iss":"https://i.example","exp":1767229200}"#

    private func refused(_ token: SecretBytes, _ bot: PlatformDefinition) throws -> [Finding] {
        Doctor.findings(
            try facts(bot) {
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
                    try facts(bot(strategy)) {
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
        var gone = try facts(nil, provider: .generic) {
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
            try facts(bot(.identityProvider)) {
                $0.bindCause = .rejected(RefreshFailure(.companionInvalid, httpStatus: 401))
                $0.held = try held(jwt(good, header: rs256))
            })
        #expect(codes(findings) == ["companion_invalid R68"])
    }

    @Test func `R70: tokens that are no pair are said, and are an error once Kindly refused them`() throws {
        let unproven = try facts(bot(.identityProvider)) {
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
        let introspected = try facts(bot(.introspection)) {
            $0.held = try held(secret("opaque"), access: "a")
        }
        #expect(
            summary(introspected) == [
                "warning companion_with_introspection R15", "warning issuer_missing R24",
                "warning opaque_without_expiry R71",
            ])
        let own = try facts(bot()) { $0.held = try held(jwt(good, header: rs256), access: "a") }
        #expect(summary(own) == ["hint companion_ignored R18"])
        let unsaid = try facts(bot(nil)) { $0.held = try held(jwt(good, header: rs256)) }
        #expect(summary(unsaid) == ["hint strategy_missing R2"])
    }

    @Test func `R72: an end that the backend set sooner is said with all three and which won`() throws {
        let expiries = Expiries(
            backend: WallTime(seconds: 1_767_225_700), hint: nil, exp: WallTime(seconds: 1_767_229_200))
        let short = try facts(bot()) { $0.held = try held(jwt(good, header: rs256), expiries) }
        #expect(summary(short) == ["hint backend_expiry_shorter R72"])
        #expect(
            Doctor.findings(short)[0].message.hasSuffix(
                "backend won: backend 2026-01-01T00:01:40Z, hint unknown, exp 2026-01-01T01:00:00Z"))
    }

    @Test func `a chat that no client brought, and a way that is blocked, are said`() throws {
        let missing = try facts(bot(connecting: .client)) { $0.isChatKnown = false }
        #expect(summary(missing).contains("warning chat_missing"))
        let blocked = try facts(bot()) { $0.platformFailure = RefreshFailure(.unreachable) }
        #expect(summary(blocked).contains("warning bind_failing"))
        let unproven = try facts(bot()) {
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
            let failed = try facts(bot()) {
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
        let attached = try facts(bot(expectedIssuer: "https://i.example")) {
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

@Suite struct `The doctor of Chatbase accounts` {
    private func facts(
        source: SourceDefinition? = .rpc, _ change: (inout AccountFacts) throws -> Void
    ) throws -> AccountFacts {
        let agent = PlatformDefinition.chatbase(
            ChatbaseDefinition(agentID: "a", baseURL: try HTTPURL("https://c.example")))
        return try ProvidersTests.facts(agent, provider: .chatbase, source: source, change)
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

@Suite struct `The doctor of social.plus accounts` {
    private func loggedOut(
        _ failure: RefreshFailure, _ step: SocialPlusSetback.Step, _ kind: SocialPlusKind = .default,
        source: SourceDefinition? = nil
    ) throws -> Finding {
        let findings = Doctor.findings(
            try facts(.notLoggedIn, source: source) {
                $0.loginSetback = SocialPlusSetback(failure, step, kind, at: now.wall)
            })
        #expect(findings.map(\.code) == [.loginFailed])
        return try #require(findings.first)
    }

    private func facts(
        _ state: SocialPlusState, _ kind: SocialPlusKind = .default, isSecure: Bool = true,
        source: SourceDefinition? = nil, _ change: (inout AccountFacts) throws -> Void = { _ in }
    ) throws -> AccountFacts {
        let network = PlatformDefinition.socialPlus(
            SocialPlusDefinition(
                apiKey: .file(path: "/key"), baseURL: try HTTPURL("https://apix.eu.amity.co"), region: .eu,
                isSecureMode: isSecure))
        var bench = try SocialPlusBench()
        try bench.bring(to: state, kind)
        return try ProvidersTests.facts(network, provider: .socialPlus, source: source) {
            $0.session = bench.session
            $0.now = bench.now
            $0.handlers = [.sessionWillRenew]
            try change(&$0)
        }
    }

    @Test func `a session that is well has nothing to say`() throws {
        #expect(summary(try facts(.established)) == ["ok nothing_found"])
    }

    @Test func `R200: a login that is under way says what it waits for and when it ends`() throws {
        let running = Doctor.findings(try facts(.establishing))
        #expect(running.map(\.code) == [.loginRunning])
        for part in ["API key", "region (eu)", "auth token", "network"] {
            #expect(running[0].fix?.contains(part) == true)
        }
        #expect(running[0].message.contains("30 s"))
        #expect(try loggedOut(RefreshFailure(.timeout), .timeout).requirement == 200)
    }

    @Test func `R154: a login that is refused may be in the wrong region`() throws {
        for failure in [
            RefreshFailure(.rejected, httpStatus: 401, providerCode: "400100"),
            RefreshFailure(.upstreamError, httpStatus: 404),
        ] {
            let finding = try loggedOut(failure, .session)
            #expect(finding.requirement == 154)
            #expect(finding.fix?.contains("region that is configured (eu)") == true)
        }
    }

    @Test func `R154: a region is called by its name, whichever way it was configured`() throws {
        for (base, place) in [
            ("https://apix.sg.amity.co", "sg"), ("https://api.us.amity.co", "us"),
            ("https://apix.eu.amity.co/v2", "eu"),
            ("http://127.0.0.1:4180/socialplus/club", "http://127.0.0.1:4180/socialplus/club"),
            ("https://apix.xx.amity.co", "https://apix.xx.amity.co"),
        ] {
            let network = SocialPlusDefinition(apiKey: .file(path: "/key"), baseURL: try HTTPURL(base))
            #expect(network.place == place)
        }
    }

    private func flawed(_ flaw: RefreshFailure.TokenFlaw) -> RefreshFailure {
        RefreshFailure(.malformed, cause: .token(flaw))
    }

    @Test
    func `R159, R160, R204: a wrong key, a token that is none and a signature nobody knows are told apart`()
        throws
    {
        let refused = RefreshFailure(.rejected, httpStatus: 401, providerCode: "400100")
        let minting = SourceDefinition.http(
            HTTPSource(
                url: try HTTPURL("https://apix.eu.amity.co/api/v4/authentication/token"),
                headers: [.init(name: "x-server-key", value: .secret(.file(path: "/key"), prefix: ""))]))
        let backend = SourceDefinition.http(HTTPSource(url: try HTTPURL("https://backend.example/")))
        let plain = RefreshFailure(.rejected, httpStatus: 401)
        let cases: [(Finding, String, Int)] = [
            (try loggedOut(plain, .source, source: minting), "server_key", 159),
            (
                try loggedOut(RefreshFailure(.rejected, httpStatus: 403), .source, source: minting),
                "turn secure mode on", 157
            ),
            (
                try loggedOut(RefreshFailure(.upstreamError, httpStatus: 404), .source, source: minting),
                "region or url", 154
            ),
            (try loggedOut(plain, .source, source: backend), "signed in there", 160),
            (try loggedOut(RefreshFailure(.unreachable), .source, source: backend), "account check", 200),
            (try loggedOut(RefreshFailure(.callbackRejected), .handler), "handler list", 160),
            (try loggedOut(RefreshFailure(.malformed), .handler), "an object with auth_token", 201),
            (try loggedOut(refused, .session), "auth token must be of this user", 154),
            (
                try loggedOut(refused, .verification, .accessToken), "key that is configured in the console",
                204
            ),
            (try loggedOut(RefreshFailure(.storeFull), .store), "free space", 174),
            (
                try loggedOut(RefreshFailure(.upstreamError, httpStatus: 422), .session), "it limits user_id",
                155
            ),
            (
                try loggedOut(RefreshFailure(.upstreamError, httpStatus: 429), .session), "100 calls in 5 s",
                200
            ),
            (try loggedOut(RefreshFailure(.upstreamError, httpStatus: 500), .session), "wait;", 200),
            (try loggedOut(RefreshFailure(.unreachable), .session), "doctor --online", 200),
            (
                try loggedOut(RefreshFailure(.stale), .request, .accessToken), "compare the backend's clock",
                204
            ),
            (try loggedOut(flawed(.missing), .handler), "an object with auth_token, the session", 201),
            (try loggedOut(flawed(.notJWT), .handler, .accessToken), "must be a JWT with the claim", 193),
            (try loggedOut(flawed(.userMissing), .source, .accessToken), "put the claim userId into it", 194),
            (try loggedOut(flawed(.otherUser), .handler, .accessToken), "whom user_id in the question", 197),
        ]
        for (finding, fix, requirement) in cases {
            #expect(finding.fix?.contains(fix) == true && finding.requirement == requirement)
        }
        #expect(Set(cases.map(\.0.message)).count == cases.count)
    }

    @Test func `R198: a user who is banned or deleted is told so, and not sent to look for keys`() throws {
        for (code, word) in [("400312", "banned"), ("400400", "deleted")] {
            let failure = RefreshFailure(.rejected, httpStatus: 403, providerCode: code)
            #expect(try loggedOut(failure, .session).fix?.contains(word) == true)
        }
        // Of another region nobody is there either (R154).
        let unknown = RefreshFailure(.rejected, httpStatus: 404, providerCode: "400400")
        #expect(try loggedOut(unknown, .session).fix?.contains("region that is configured (eu)") == true)
    }

    @Test func `R157: without a token and somebody who gives one nobody logs in`() throws {
        let missing = Doctor.findings(try facts(.notLoggedIn))
        #expect(missing.map(\.code) == [.sessionMissing])
        #expect(missing[0].message.contains("neither a handler nor a source"))
        #expect(
            summary(try facts(.established, isSecure: false)) == ["hint secure_mode_off R157"])
    }

    @Test func `R201: a token that hardly lives is why users are logged out so often`() throws {
        let expiries = Expiries(hint: WallTime(seconds: 1_767_225_640))
        let short = try facts(.established) {
            $0.held = try held(secret("t"), expiries)
            $0.schedule = Schedule(expiries: expiries, receivedAt: now, now: now)
        }
        #expect(summary(short) == ["warning lifetime_short R201"])
        #expect(
            Doctor.findings(short)[0].message.hasPrefix(
                "the access token was good for 40 s when it came, less"))
        let failure = RefreshFailure(.callbackRejected)
        let failing = try facts(.tokenExpired) {
            $0.failure = failure
            $0.renewalSetback = SocialPlusSetback(failure, .handler, .default, at: now.wall)
        }
        #expect(summary(failing).contains("error renewal_failing R201"))
        #expect(Doctor.findings(failing)[0].fix?.contains("handler list") == true)
    }

    @Test func `R158, R202: a session that nobody renews, or of which nobody knows the end, is said`() throws
    {
        let alone = try facts(.established) { $0.handlers = [] }
        #expect(summary(alone) == ["warning renewal_handler_missing R202"])
        let over = try facts(.tokenExpired) { $0.handlers = [] }
        #expect(summary(over) == ["error renewal_handler_missing R202"])
        let endless = try facts(.established) {
            $0.held = try held(secret("t"))
            $0.schedule = Schedule(expiries: .unknown, receivedAt: now, now: now)
        }
        #expect(summary(endless) == ["warning expiry_unknown R202"])
    }

    @Test func `R187: a handler that had no token is left alone, and until when is said`() throws {
        var bench = try SocialPlusBench(.established)
        bench.mustRenew(with: .unable)
        let resting = try facts(.established) {
            $0.session = bench.session
            $0.now = bench.now
        }
        #expect(summary(resting) == ["warning renewal_paused R187"])
        #expect(Doctor.findings(resting)[0].message.hasSuffix("in 600 s"))
    }

    @Test func `R204: why a login with an access token failed at once is told apart`() throws {
        func fix(
            _ kind: RefreshFailure.Kind, _ step: SocialPlusSetback.Step, _ status: Int? = nil
        ) throws -> String {
            try loggedOut(RefreshFailure(kind, httpStatus: status), step, .accessToken).fix ?? ""
        }
        #expect(try fix(.handlerRequired, .request).contains("session.on_token_renew"))
        #expect(try fix(.malformed, .request).contains("userId"))
        #expect(try fix(.rejected, .verification, 401).contains("console"))
        #expect(try fix(.unreachable, .verification).contains("--online"))
    }

    @Test func `R205: a handler that is not called is of the other kind, not there, or its user is banned`()
        throws
    {
        #expect(
            summary(try facts(.established) { $0.handlers = [.sessionOnTokenRenew] }) == [
                "warning renewal_handler_of_other_kind R205"
            ])
        #expect(
            summary(try facts(.established, .accessToken)) == [
                "warning renewal_handler_of_other_kind R205"
            ])
        #expect(
            summary(try facts(.established, .accessToken) { $0.handlers = [] }) == [
                "warning renewal_handler_missing R205"
            ])
        #expect(summary(try facts(.terminated)) == ["error session_terminated R205"])
    }
}
