import CredentialCore
import Providers
import Secrets
import Testing

@Suite struct `A social.plus session begins` {
    @Test func `R161, R162, R172, R173: a login exchanges its auth token for a session`() throws {
        var bench = try SocialPlusBench(.notLoggedIn)
        bench.apply(.loginRequested(WaiterID(1), try SocialPlusBench.user(), .authToken(secret("t"))))
        #expect(bench.session.user == nil)
        #expect(bench.take() == ["not_logged_in > establishing logging_in", "session u-1 t"])
        bench.apply(
            .exchangeSucceeded(1, issuedAt: WallTime(seconds: 5), refreshToken: secret("r")))
        #expect(
            bench.take() == [
                "accept", "persist established", "establishing > established logged_in",
                #"answer 1 loggedIn(userID: "u-1")"#,
            ])
        #expect(bench.session.kind == .default)
        #expect(
            shown(bench.session.record?.json())
                == #"{"state":"established","kind":"default","user_id":"u-1","issued_at":5,"refresh_token":"r"}"#
        )
    }

    @Test func `R174: a login that fails stores nothing`() throws {
        var bench = try SocialPlusBench(.establishing)
        let failure = RefreshFailure(.rejected, httpStatus: 401, providerCode: "400100")
        let effects = bench.apply(.exchangeFailed(1, failure))
        #expect(bench.session.user == nil)
        guard case .announce(let change) = effects.first, case .answer(_, let reply) = effects.last else {
            Issue.record("no announcement, or no answer")
            return
        }
        #expect(effects.count == 2)
        #expect(
            change
                == SocialPlusChange(
                    from: .establishing, to: .notLoggedIn, cause: .loginFailed, code: "400100"))
        #expect(reply == .failure(.exchange(failure)))
    }

    @Test func `R157: in secure mode a login needs a token or somebody who gives one`() throws {
        var bench = try SocialPlusBench(.notLoggedIn)
        for proof in [SocialPlusEvent.Proof.none, .from(.nobody)] {
            bench.apply(.loginRequested(WaiterID(1), try SocialPlusBench.user(), proof))
            #expect(bench.take() == ["answer 1 \(SocialPlusReply.failure(.handlerRequired))"])
        }
        var open = try SocialPlusBench(isSecure: false, .notLoggedIn)
        open.apply(.loginRequested(WaiterID(1), try SocialPlusBench.user(), .none))
        #expect(open.take() == ["not_logged_in > establishing logging_in", "session u-1 -"])
    }

    @Test func `R159, R160: a login asks the account's source, and a refusal is the login's`() throws {
        var bench = try SocialPlusBench(.notLoggedIn)
        bench.apply(.loginRequested(WaiterID(1), try SocialPlusBench.user(), .from(.source)))
        #expect(
            bench.take() == [
                "not_logged_in > establishing logging_in", "ask source credential.fetch u-1",
            ])
        bench.apply(.exchangeSucceeded(1, issuedAt: nil, refreshToken: nil))
        #expect(bench.take() == [])
        bench.apply(.offered(nil, 1, .authToken(secret("t"))))
        #expect(bench.take() == ["session u-1 t"])
        bench.apply(.offered(nil, 1, .authToken(secret("t2"))))
        #expect(bench.take() == [])

        var refused = try SocialPlusBench(.notLoggedIn)
        refused.apply(.loginRequested(WaiterID(1), try SocialPlusBench.user(), .from(.source)))
        _ = refused.take()
        let failure = RefreshFailure(.rejected, httpStatus: 401)
        refused.apply(.offered(nil, 1, .failed(failure)))
        #expect(
            refused.take() == [
                "establishing > not_logged_in login_failed",
                "answer 1 \(SocialPlusReply.failure(.exchange(failure)))",
            ])
    }

    @Test func `R180: a login starts from not_logged_in alone, also where the vendor's engine allows more`()
        throws
    {
        for state in SocialPlusState.allCases where state != .notLoggedIn {
            var bench = try SocialPlusBench(state)
            bench.apply(.loginRequested(WaiterID(9), try SocialPlusBench.user(), .authToken(secret("t"))))
            #expect(bench.take() == ["answer 9 \(SocialPlusReply.failure(.stateInvalid(state)))"])
        }
    }

    @Test func `R200: a login that takes too long is given up, and its late answer is nobody's`() throws {
        var bench = try SocialPlusBench(.establishing)
        #expect(bench.session.nextWakeUp == bench.now.boot + .seconds(30))
        bench.now = bench.now + .seconds(30)
        bench.apply(.wokeUp)
        #expect(
            bench.take() == [
                "cancel", "establishing > not_logged_in login_timeout",
                "answer 1 \(SocialPlusReply.failure(.loginTimeout))",
            ])
        bench.apply(.exchangeSucceeded(1, issuedAt: nil, refreshToken: nil))
        #expect(bench.take() == [])
    }

    @Test func `R190, R191: an access token needs its handler first, and no session is made of it`() throws {
        let token = try Credential(idToken: nil, accessToken: secret("a"))
        var bench = try SocialPlusBench(.notLoggedIn)
        bench.apply(
            .accessTokenLoginRequested(WaiterID(1), try SocialPlusBench.user(), token, .nobody))
        #expect(bench.take() == ["answer 1 \(SocialPlusReply.failure(.handlerRequired))"])
        bench.apply(
            .accessTokenLoginRequested(WaiterID(2), try SocialPlusBench.user(), token, .handler))
        #expect(bench.take() == ["not_logged_in > establishing logging_in", "verify a"])
        bench.apply(.exchangeSucceeded(1, issuedAt: nil, refreshToken: nil))
        #expect(bench.session.kind == .accessToken)

        var decoupled = try SocialPlusBench(verifies: false, .notLoggedIn)
        decoupled.apply(
            .accessTokenLoginRequested(WaiterID(1), try SocialPlusBench.user(), token, .handler))
        #expect(
            decoupled.take() == [
                "not_logged_in > establishing logging_in", "accept unverified", "persist established",
                "establishing > established logged_in", #"answer 1 loggedIn(userID: "u-1")"#,
            ])
    }

    @Test func `R190: one that has ended is no login where the platform does not look at it`() throws {
        let ended = try Credential(
            idToken: nil, accessToken: jwt(#"{"userId":"u-1","exp":1767225600}"#))
        for verifies in [true, false] {
            var bench = try SocialPlusBench(verifies: verifies, .notLoggedIn)
            bench.apply(
                .accessTokenLoginRequested(WaiterID(1), try SocialPlusBench.user(), ended, .handler))
            #expect(bench.session.state == (verifies ? .establishing : .notLoggedIn))
            guard !verifies else { continue }
            let failure = SocialPlusReply.failure(.exchange(RefreshFailure(.stale)))
            #expect(bench.take() == ["answer 1 \(failure)"])
        }
    }
}

@Suite struct `A social.plus session is restored` {
    private func restored(
        _ record: SocialPlusRecord?, _ held: SocialPlusEvent.Held
    ) throws -> [String] {
        var bench = try SocialPlusBench()
        bench.apply(.restored(record, held))
        bench.apply(.restored(try SocialPlusBench.record(.terminated), .valid))
        return bench.take()
    }

    @Test func `R169: without a saved session nobody is logged in`() throws {
        #expect(try restored(nil, .nothing) == ["start > not_logged_in started"])
        #expect(try restored(nil, .valid) == ["start > not_logged_in started"])
        #expect(
            try restored(SocialPlusRecord(state: .notLoggedIn), .valid) == [
                "clear", "start > not_logged_in started",
            ])
        #expect(
            try restored(SocialPlusBench.record(.established), .nothing) == [
                "start > not_logged_in started", "persist not_logged_in",
            ])
    }

    @Test func `R170: a valid saved session is established`() throws {
        #expect(try restored(SocialPlusBench.record(.established), .valid) == ["start > established started"])
        #expect(
            try restored(SocialPlusBench.record(.tokenExpired), .valid) == [
                "start > established started", "persist established",
            ])
    }

    @Test func `R171: an expired saved session is renewed at once`() throws {
        #expect(
            try restored(SocialPlusBench.record(.established), .expired) == [
                "start > established started", "persist token_expired",
                "established > token_expired expired", "want renewal",
            ])
    }

    @Test func `R180: a terminated session still is after a restart`() throws {
        let record = SocialPlusRecord(
            state: .terminated, user: try SocialPlusBench.user(), terminationCode: "400312")
        var bench = try SocialPlusBench()
        bench.apply(.restored(record, .valid))
        #expect(bench.take() == ["clear", "start > terminated started"])
        #expect(bench.session.terminationCode == "400312")
        #expect(shown(bench.session.record?.json()) == shown(record?.json()))
    }

    @Test func `R161: a record reads back`() throws {
        let user = try SocialPlusUser(id: "u\"1", displayName: "Ada ä")
        let records = [
            SocialPlusRecord(state: .notLoggedIn, kind: .accessToken, user: user, refreshToken: secret("r")),
            SocialPlusRecord(
                state: .established, kind: .accessToken, user: user, issuedAt: WallTime(seconds: -5),
                refreshToken: secret("r\\")),
            SocialPlusRecord(state: .tokenExpired, user: user, terminationCode: "1"),
            SocialPlusRecord(state: .terminated, user: user, terminationCode: "400312", isRevoking: true),
            SocialPlusRecord(state: .established, user: user, isRevoking: true),
        ]
        let texts = records.map { shown($0?.json()) }
        #expect(
            texts == [
                #"{"state":"not_logged_in","kind":"default"}"#,
                #"{"state":"established","kind":"access_token","user_id":"u\"1","display_name":"Ada ä","issued_at":-5,"refresh_token":"r\\"}"#,
                #"{"state":"token_expired","kind":"default","user_id":"u\"1","display_name":"Ada ä"}"#,
                #"{"state":"terminated","kind":"default","user_id":"u\"1","display_name":"Ada ä","termination_code":"400312"}"#,
                #"{"state":"established","kind":"default","user_id":"u\"1","display_name":"Ada ä","revoking":true}"#,
            ])
        for text in texts {
            #expect(shown(SocialPlusRecord(json: secret(text ?? ""))?.json()) == text)
        }
        #expect(SocialPlusRecord(state: .start) == nil && SocialPlusRecord(state: .establishing) == nil)
        #expect(SocialPlusRecord(state: .established) == nil)
    }

    @Test(
        arguments: [
            ("", nil), ("[]", nil), ("{}", nil), (#"{"state":"established","kind":"default"}"#, nil),
            (#"{"state":"start","kind":"default"}"#, nil),
            (#"{"state":"establishing","kind":"default","user_id":"u"}"#, nil),
            (#"{"state":"gone","kind":"default"}"#, nil), (#"{"state":"terminated","kind":"other"}"#, nil),
            (#"{"state":5,"kind":"default"}"#, nil), (#"{"state":"not_logged_in"}"#, nil),
            (#"{"state":"terminated","kind":"default","user_id":5,"more":{}}"#, .terminated),
            (#"{"state":"established","kind":"default","user_id":"u","display_name":"\n"}"#, .established),
            (
                #"{"state":"established","kind":"default","user_id":"u","issued_at":1e9,"refresh_token":1}"#,
                .established
            ),
            (
                "{\"state\":\"not_logged_in\",\"kind\":\"default\",\"x\":\""
                    + String(repeating: "x", count: 70_000) + "\"}", nil
            ),
        ] as [(String, SocialPlusState?)])
    func `R161: a record is read as far as there is something to go on from`(
        _ text: String, _ state: SocialPlusState?
    ) {
        #expect(SocialPlusRecord(json: secret(text))?.state == state)
    }
}

@Suite struct `A social.plus session ends` {
    private static let ban = RefreshFailure(.terminated, httpStatus: 403, providerCode: "400312")

    @Test(arguments: [SocialPlusState.established, .tokenExpired])
    func `R163, R179: a logout is local, and nothing of the session stays`(_ state: SocialPlusState) throws {
        var bench = try SocialPlusBench(state)
        bench.apply(.logoutRequested(WaiterID(1)))
        #expect(
            bench.take() == [
                "clear", "persist not_logged_in", "\(state.rawValue) > not_logged_in logged_out",
                "answer 1 loggedOut(wasLoggedOut: false)",
            ])
        #expect(bench.session.user == nil)
        bench.apply(.logoutRequested(WaiterID(2)))
        #expect(bench.take() == ["answer 2 loggedOut(wasLoggedOut: true)"])
    }

    @Test func `R163: a logout wins over a login and over a renewal`() throws {
        var login = try SocialPlusBench(.establishing)
        login.apply(.logoutRequested(WaiterID(2)))
        #expect(
            login.take() == [
                "cancel", "establishing > not_logged_in logged_out",
                "answer 1 \(SocialPlusReply.failure(.loggedOut))", "answer 2 loggedOut(wasLoggedOut: false)",
            ])
        login.apply(.exchangeSucceeded(1, issuedAt: nil, refreshToken: nil))
        #expect(login.take() == [])

        var renewal = try SocialPlusBench(.tokenExpired)
        renewal.mustRenew()
        _ = renewal.take()
        renewal.apply(.logoutRequested(WaiterID(1)))
        #expect(
            renewal.take() == [
                "cancel", "clear", "persist not_logged_in", "token_expired > not_logged_in logged_out",
                "renewal declined \(SocialPlusRefusal.stateInvalid(.notLoggedIn))",
                "answer 1 loggedOut(wasLoggedOut: false)",
            ])
        renewal.apply(.exchangeSucceeded(1, issuedAt: nil, refreshToken: nil))
        #expect(renewal.take() == [])
    }

    @Test func `R164: a secure logout waits for the revocation, and then everything is gone`() throws {
        var bench = try SocialPlusBench(.established)
        bench.apply(.secureLogoutRequested(WaiterID(1)))
        bench.apply(.secureLogoutRequested(WaiterID(2)))
        bench.apply(.renewalDue(.handler, isForced: true))
        #expect(bench.session.state == .established)
        #expect(bench.take() == ["persist established", "revoke", "renewal declined signingOut"])
        bench.apply(.revoked(1))
        #expect(
            bench.take() == [
                "clear", "persist not_logged_in", "established > not_logged_in revoked",
                "answer 1 loggedOut(wasLoggedOut: false)", "answer 2 loggedOut(wasLoggedOut: false)",
            ])
    }

    @Test(arguments: [RefreshFailure.Kind.upstreamError, .timeout, .rejected, .malformed])
    func `R164: a secure logout that fails keeps everything`(_ kind: RefreshFailure.Kind) throws {
        var bench = try SocialPlusBench(.established)
        let before = shown(bench.session.record?.json())
        bench.apply(.secureLogoutRequested(WaiterID(1)))
        bench.apply(.revocationFailed(1, RefreshFailure(kind)))
        #expect(
            bench.take() == [
                "persist established", "revoke", "persist established",
                "answer 1 \(SocialPlusReply.failure(.revokeFailed(RefreshFailure(kind))))",
            ])
        #expect(shown(bench.session.record?.json()) == before)
        bench.mustRenew()
    }

    @Test func `R164: what a revocation held up goes on when it failed`() throws {
        var bench = try SocialPlusBench(.established)
        bench.mustRenew()
        _ = bench.take()
        bench.apply(.secureLogoutRequested(WaiterID(1)))
        #expect(
            bench.take() == ["cancel", "renewal declined signingOut", "persist established", "revoke"])
        bench.apply(.tokenExpired)
        #expect(bench.take() == ["persist token_expired", "established > token_expired expired"])
        bench.apply(.revocationFailed(2, RefreshFailure(.timeout)))
        #expect(bench.take().last == "want renewal")
    }

    @Test func `R163, R164: a logout during a revocation waits for it, and then happens whatever came of it`()
        throws
    {
        var bench = try SocialPlusBench(.established)
        bench.apply(.secureLogoutRequested(WaiterID(1)))
        bench.apply(.logoutRequested(WaiterID(2)))
        #expect(bench.take() == ["persist established", "revoke"])
        bench.apply(.revocationFailed(1, RefreshFailure(.timeout)))
        #expect(
            bench.take() == [
                "answer 1 \(SocialPlusReply.failure(.revokeFailed(RefreshFailure(.timeout))))", "clear",
                "persist not_logged_in", "established > not_logged_in logged_out",
                "answer 2 loggedOut(wasLoggedOut: false)",
            ])
    }

    @Test func `R164: a secure logout during a login waits for it, and revokes what came of it`() throws {
        var made = try SocialPlusBench(.establishing)
        made.apply(.secureLogoutRequested(WaiterID(2)))
        made.apply(.logoutRequested(WaiterID(3)))
        #expect(made.take() == [])
        made.apply(.exchangeSucceeded(1, issuedAt: nil, refreshToken: nil))
        #expect(
            made.take() == [
                "accept", "persist established", "establishing > established logged_in",
                #"answer 1 loggedIn(userID: "u-1")"#, "persist established", "revoke",
            ])
        made.apply(.revoked(2))
        #expect(
            made.take().suffix(3) == [
                "established > not_logged_in revoked", "answer 2 loggedOut(wasLoggedOut: false)",
                "answer 3 loggedOut(wasLoggedOut: false)",
            ])
    }

    @Test func `R164, R174: where the login fails there is nothing to revoke`() throws {
        var failed = try SocialPlusBench(.establishing)
        failed.apply(.secureLogoutRequested(WaiterID(2)))
        failed.apply(.exchangeFailed(1, RefreshFailure(.unreachable)))
        #expect(
            failed.take() == [
                "establishing > not_logged_in login_failed",
                "answer 1 \(SocialPlusReply.failure(.exchange(RefreshFailure(.unreachable))))",
                "answer 2 loggedOut(wasLoggedOut: true)",
            ])
        var late = try SocialPlusBench(.establishing)
        late.apply(.secureLogoutRequested(WaiterID(2)))
        late.now = late.now + .seconds(30)
        late.apply(.wokeUp)
        #expect(late.take().last == "answer 2 \(SocialPlusReply.failure(.loginUnanswered))")
        // Nothing was asked of the platform yet.
        var asking = try SocialPlusBench(.notLoggedIn)
        asking.apply(.loginRequested(WaiterID(1), try SocialPlusBench.user(), .from(.source)))
        asking.apply(.secureLogoutRequested(WaiterID(2)))
        #expect(asking.take().last == "answer 2 loggedOut(wasLoggedOut: false)")
    }

    @Test func `R164: a secure logout that was cut short is finished after a restart`() throws {
        var cut = try SocialPlusBench(.established)
        cut.apply(.secureLogoutRequested(WaiterID(1)))
        let row = try #require(cut.session.record?.json())
        cut.apply(.revocationCutShort(1, wasSent: true))
        #expect(
            cut.take().last
                == "answer 1 \(SocialPlusReply.failure(.revokeFailed(RefreshFailure(.sourceUnavailable))))")
        #expect(shown(cut.session.record?.json()) == shown(row) && cut.session.isRevocationDue)
        cut.apply(.renewalDue(.handler, isForced: true))
        #expect(cut.take() == ["renewal declined signingOut"])

        let ends: [(SocialPlusEvent, SocialPlusState)] = [
            (.revoked(1), .notLoggedIn),
            (.revocationFailed(1, RefreshFailure(.rejected, httpStatus: 401)), .notLoggedIn),
            (.revocationFailed(1, RefreshFailure(.upstreamError, httpStatus: 500)), .established),
            (.revocationFailed(1, Self.ban), .terminated),
        ]
        for (end, state) in ends {
            var next = try SocialPlusBench()
            next.apply(.restored(SocialPlusRecord(json: row), .valid))
            next.apply(.revocationDue)
            next.apply(.revocationDue)
            #expect(next.take() == ["start > established started", "revoke"])
            next.apply(end)
            #expect(next.session.state == state && !next.session.isRevocationOwed)
            #expect(next.session.record?.isRevoking == false)
        }
    }

    @Test(arguments: [RefreshFailure.Kind.unreachable, .timeout, .tls, .overloaded, .sourceUnavailable])
    func `R164: one that was cut short is owed until somebody answers`(_ kind: RefreshFailure.Kind) throws {
        var bench = try SocialPlusBench()
        let record = SocialPlusRecord(
            state: .established, user: try SocialPlusBench.user(), isRevoking: true)
        bench.apply(.restored(record, .valid))
        for number in 1...3 as ClosedRange<UInt64> {
            bench.apply(.revocationDue)
            bench.apply(.revocationFailed(number, RefreshFailure(kind)))
            #expect(bench.session.isRevocationDue && bench.session.record?.isRevoking == true)
        }
        // Whoever asks for it meanwhile is told, and it goes on.
        bench.apply(.secureLogoutRequested(WaiterID(1)))
        bench.apply(.revocationFailed(4, RefreshFailure(kind)))
        #expect(bench.session.isRevocationDue)
        #expect(
            bench.take().suffix(2) == [
                "revoke", "answer 1 \(SocialPlusReply.failure(.revokeFailed(RefreshFailure(kind))))",
            ])
        bench.apply(.revocationDue)
        bench.apply(.revocationFailed(5, RefreshFailure(.rejected, httpStatus: 401)))
        #expect(bench.session.state == .notLoggedIn)
    }

    @Test func `R164: what was not sent is not sent later`() throws {
        var bench = try SocialPlusBench(.established)
        bench.apply(.secureLogoutRequested(WaiterID(1)))
        bench.apply(.revocationCutShort(1, wasSent: false))
        #expect(bench.take().dropFirst(2).first == "persist established")
        #expect(!bench.session.isRevocationDue && bench.session.record?.isRevoking == false)
    }

    @Test(arguments: [SocialPlusState.established, .tokenExpired])
    func `R178, R198: a ban ends the session, and no handler is called then or later`(
        _ state: SocialPlusState
    ) throws {
        let token = try Credential(idToken: nil, accessToken: secret("a"))
        let bans: [SocialPlusEvent] = [.reported(WaiterID(7), code: 400_312), .callFailed(Self.ban)]
        for event in bans {
            var bench = try SocialPlusBench(state)
            bench.apply(event)
            #expect(
                bench.take().filter { !$0.hasPrefix("answer") } == [
                    "clear", "persist terminated", "\(state.rawValue) > terminated terminated",
                ])
            #expect(bench.session.terminationCode == "400312")
            bench.apply(.renewalDue(.handler, isForced: true))
            bench.apply(.supplierChanged(.handler))
            bench.apply(.tokenRejected(WaiterID(6)))
            bench.apply(.accessTokenLoginRequested(WaiterID(8), try SocialPlusBench.user(), token, .handler))
            bench.now = bench.now + .seconds(3600)
            bench.apply(.wokeUp)
            #expect(
                bench.take() == [
                    "renewal declined \(SocialPlusRefusal.stateInvalid(.terminated))",
                    "answer 6 reported(isAccepted: true)",
                    "answer 8 \(SocialPlusReply.failure(.stateInvalid(.terminated)))",
                ])
        }
    }

    @Test func `R178: "unauthorised" during a renewal ends the session`() throws {
        var bench = try SocialPlusBench(.tokenExpired)
        bench.mustRenew()
        _ = bench.take()
        bench.apply(
            .exchangeFailed(1, RefreshFailure(.terminated, httpStatus: 401, providerCode: "400100")))
        #expect(
            bench.take() == [
                "clear", "persist terminated", "token_expired > terminated terminated",
                "renewal failed terminated",
            ])
    }

    @Test func `R175: "unauthorised" on a call is worth one renewal`() throws {
        var bench = try SocialPlusBench(.established)
        bench.apply(.reported(WaiterID(1), code: 400_100))
        bench.apply(.reported(WaiterID(2), code: 400_100))
        #expect(
            bench.take() == [
                "persist token_expired", "established > token_expired unauthorized", "want renewal",
                "answer 1 reported(isAccepted: true)", "answer 2 reported(isAccepted: false)",
            ])
    }
}
