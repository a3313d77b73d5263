import CredentialCore
import Providers
import Secrets
import Testing

@Suite struct `The doctor of social.plus accounts`: DoctorSuite {
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
        return try patient(network, provider: .socialPlus, source: source) {
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
