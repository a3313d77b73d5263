import CredentialCore
import Providers
import Secrets
import Testing

@Suite struct `A social.plus session is renewed` {
    private func bench(
        _ state: SocialPlusState = .tokenExpired, _ kind: SocialPlusKind = .default, isSecure: Bool = true,
        verifies: Bool = true
    ) throws -> SocialPlusBench {
        var bench = try SocialPlusBench(isSecure: isSecure, verifies: verifies)
        try bench.bring(to: state, kind)
        return bench
    }

    private func token(_ payload: String) throws -> SocialPlusOffer {
        .accessToken(try Credential(idToken: nil, accessToken: jwt(payload)))
    }

    @Test func `R175, R176: an expired session becomes established again`() throws {
        var bench = try bench(.established)
        bench.apply(.tokenExpired)
        bench.apply(.renewalDue(.handler, isForced: false))
        bench.apply(.offered(nil, 1, .authToken(secret("t"))))
        bench.apply(.exchangeSucceeded(1, issuedAt: nil, refreshToken: nil))
        #expect(
            bench.take() == [
                "persist token_expired", "established > token_expired expired", "want renewal",
                "ask handler session.will_renew u-1", "session u-1 t", "persist established", "accept",
                "token_expired > established renewed", "renewed",
            ])
    }

    @Test func `R192: a session that is about to expire is renewed without a step`() throws {
        var bench = try bench(.established)
        bench.mustRenew()
        bench.apply(.exchangeSucceeded(1, issuedAt: WallTime(seconds: 9), refreshToken: nil))
        #expect(
            bench.take() == [
                "ask handler session.will_renew u-1", "session u-1 t", "persist established", "accept",
                "renewed",
            ])
    }

    @Test func `R177: a renewal that fails leaves the session as it is`() throws {
        for state in [SocialPlusState.established, .tokenExpired] {
            var bench = try bench(state)
            bench.mustRenew()
            bench.apply(.exchangeFailed(1, RefreshFailure(.upstreamError, httpStatus: 503)))
            #expect(bench.take().last == "renewal failed upstreamError")
            #expect(bench.session.state == state)
            bench.mustRenew()
        }
    }

    @Test func `R185, R196: each kind of session has its own handler`() throws {
        for (kind, name) in zip(SocialPlusKind.allCases, ["session.will_renew", "session.on_token_renew"]) {
            var bench = try bench(.established, kind)
            bench.apply(.renewalDue(.handler, isForced: false))
            #expect(bench.take() == ["ask handler \(name) u-1"])
            bench.apply(.supplierChanged(.source))
            guard case .ask(let question)? = bench.effects.last else {
                Issue.record("nobody was asked")
                return
            }
            #expect(question.wish == (kind == .default ? .authToken : .accessToken))
            #expect(question.kind == kind && question.isRenewal)
        }
    }

    @Test func `R196: a token of the other kind is none`() throws {
        var first = try bench(.tokenExpired, .default)
        try first.mustRenew(with: token(#"{"userId":"u-1"}"#))
        #expect(first.take().last == "renewal failed malformed")
        for offer in [SocialPlusOffer.authToken(secret("t")), .bare] {
            var second = try bench(.tokenExpired, .accessToken)
            second.mustRenew(with: offer)
            #expect(second.take().last == "renewal failed malformed")
        }
    }

    @Test func `R187: a handler that is unable is left alone for a while`() throws {
        var bench = try bench()
        bench.mustRenew(with: .unable)
        #expect(bench.take().last == "renewal unable")
        #expect(bench.session.state == .tokenExpired)
        let until = bench.now.boot + .seconds(600)
        #expect(bench.session.nextWakeUp == until && bench.session.pausedUntil == until)
        _ = bench.renew()
        #expect(bench.take() == ["renewal declined \(SocialPlusRefusal.paused(until: until))"])
        bench.now = bench.now + Milliseconds(599_999)
        bench.apply(.wokeUp)
        #expect(bench.take() == [])
        bench.now = bench.now + Milliseconds(1)
        bench.apply(.wokeUp)
        #expect(bench.take() == ["want renewal"])
        bench.mustRenew()
    }

    @Test func `R187: the pause ends with another supplier, and a person may force a renewal`() throws {
        var replaced = try bench()
        replaced.mustRenew(with: .unable)
        _ = replaced.take()
        replaced.apply(.supplierChanged(.nobody))
        #expect(replaced.take() == [])
        replaced.apply(.supplierChanged(.handler))
        #expect(replaced.take() == ["want renewal"])

        var forced = try bench()
        forced.mustRenew(with: .unable)
        _ = forced.take()
        forced.apply(.renewalDue(.handler, isForced: true))
        #expect(forced.take() == ["ask handler session.will_renew u-1"])
    }

    @Test func `R188: without a token a session is renewed outside secure mode only`() throws {
        var open = try bench(isSecure: false)
        open.mustRenew(with: .bare)
        #expect(open.take().last == "session u-1 -")
        var secure = try bench()
        secure.mustRenew(with: .bare)
        #expect(secure.take().last == "renewal failed empty")
        #expect(secure.session.state == .tokenExpired)
    }

    @Test func `R189: a renewal takes one token, once, and only one runs`() throws {
        var bench = try bench()
        bench.apply(.renewalDue(.handler, isForced: false))
        #expect(bench.session.renewalID == 1)
        bench.apply(.renewalDue(.handler, isForced: true))
        bench.apply(.offered(WaiterID(1), 2, .authToken(secret("t"))))
        bench.apply(.offered(WaiterID(2), 1, .authToken(secret("t"))))
        bench.apply(.offered(WaiterID(3), 1, .authToken(secret("t"))))
        bench.apply(.offered(nil, 1, .unable))
        let unknown = SocialPlusReply.failure(.renewalUnknown)
        #expect(
            bench.take() == [
                "ask handler session.will_renew u-1", "renewal declined alreadyRunning",
                "answer 1 \(unknown)", "session u-1 t", "answer 3 \(unknown)",
            ])
        #expect(bench.session.renewalID == nil)
        bench.apply(.exchangeSucceeded(1, issuedAt: nil, refreshToken: nil))
        #expect(bench.take().suffix(2) == ["renewed", "answer 2 offerTaken"])
        bench.apply(.offered(WaiterID(4), 1, .authToken(secret("t"))))
        #expect(bench.take().last == "answer 4 \(unknown)")
    }

    @Test func `R189: an offer that cannot be sent is spent as well`() throws {
        var bench = try bench()
        bench.apply(.renewalDue(.handler, isForced: false))
        bench.apply(.offered(WaiterID(1), 1, .authToken(secret("with space"))))
        #expect(
            bench.take().suffix(2) == [
                "renewal failed malformed",
                "answer 1 \(SocialPlusReply.failure(.exchange(RefreshFailure(.malformed))))",
            ])
        bench.apply(.offered(WaiterID(2), 1, .authToken(secret("t"))))
        #expect(bench.take() == ["answer 2 \(SocialPlusReply.failure(.renewalUnknown))"])
    }

    @Test func `R189: another handler makes the question of the last one invalid`() throws {
        var bench = try bench()
        bench.apply(.renewalDue(.handler, isForced: false))
        bench.apply(.supplierChanged(.handler))
        bench.apply(.offered(WaiterID(1), 1, .authToken(secret("old"))))
        bench.apply(.offered(WaiterID(2), 2, .authToken(secret("new"))))
        bench.apply(.supplierChanged(.source))
        #expect(
            bench.take() == [
                "ask handler session.will_renew u-1", "cancel", "ask handler session.will_renew u-1",
                "answer 1 \(SocialPlusReply.failure(.renewalUnknown))", "session u-1 new",
            ])
    }

    @Test func `R28: another handler is asked for a login's token, under another number`() throws {
        var bench = try SocialPlusBench(.notLoggedIn)
        bench.apply(.loginRequested(WaiterID(9), try SocialPlusBench.user(), .from(.source)))
        bench.apply(.loginSupplierChanged(.handler))
        bench.apply(.offered(nil, 1, .authToken(secret("old"))))
        bench.apply(.loginSupplierChanged(.nobody))
        bench.apply(.offered(nil, 2, .authToken(secret("new"))))
        bench.apply(.loginSupplierChanged(.handler))
        #expect(
            bench.take() == [
                "not_logged_in > establishing logging_in", "ask source credential.fetch u-1", "cancel",
                "ask handler credential.fetch u-1", "session u-1 new",
            ])
    }

    @Test func `R189: whoever gave the token is told what came of it, whatever that is`() throws {
        let ban = RefreshFailure(.terminated, providerCode: "400312")
        let ends: [(SocialPlusEvent, SocialPlusReply)] = [
            (.exchangeSucceeded(1, issuedAt: nil, refreshToken: nil), .offerTaken),
            (.exchangeFailed(1, RefreshFailure(.timeout)), .failure(.exchange(RefreshFailure(.timeout)))),
            (.exchangeFailed(1, ban), .failure(.exchange(ban))),
            (.reported(WaiterID(8), code: 400_312), .failure(.exchange(ban))),
            (.logoutRequested(WaiterID(8)), .failure(.loggedOut)),
            (.secureLogoutRequested(WaiterID(8)), .failure(.loggedOut)),
        ]
        for (end, reply) in ends {
            var bench = try bench()
            bench.apply(.renewalDue(.handler, isForced: false))
            bench.apply(.offered(WaiterID(2), 1, .authToken(secret("t"))))
            #expect(!bench.take().contains { $0.hasPrefix("answer") })
            bench.apply(end)
            #expect(bench.take().contains("answer 2 \(reply)"))
        }
    }

    @Test func `R199, R205: without a handler a session is not renewed, and says why`() throws {
        var bench = try bench(.tokenExpired, .accessToken)
        bench.apply(.renewalDue(.nobody, isForced: true))
        #expect(bench.take() == ["renewal declined handlerRequired"])
        bench.apply(.renewalDue(.handler, isForced: false))
        bench.apply(.supplierChanged(.nobody))
        #expect(bench.take().suffix(2) == ["cancel", "renewal declined handlerRequired"])
        bench.apply(.supplierChanged(.handler))
        #expect(bench.take() == ["want renewal"])
        let at = bench.now.boot
        #expect(bench.session.refusal(.handler, isForced: false, at: at) == nil)
        #expect(bench.session.refusal(.nobody, isForced: false, at: at) == .handlerRequired)
        bench.apply(.reported(WaiterID(1), code: 400_312))
        #expect(bench.session.refusal(.handler, isForced: true, at: at) == .stateInvalid(.terminated))
    }

    @Test func `R192, R197: a renewed access token is the same user's`() throws {
        var good = try bench(.tokenExpired, .accessToken)
        try good.mustRenew(with: token(#"{"userId":"u-1"}"#))
        #expect(good.take().last?.hasPrefix("verify ey") == true)
        good.apply(.exchangeSucceeded(1, issuedAt: nil, refreshToken: nil))
        #expect(good.session.state == .established)

        var unverified = try bench(.tokenExpired, .accessToken, verifies: false)
        try unverified.mustRenew(with: token(#"{"userId":"u-1"}"#))
        #expect(
            unverified.take().suffix(4) == [
                "persist established", "accept unverified", "token_expired > established renewed", "renewed",
            ])

        for (payload, kind) in [
            (#"{"userId":"u-2"}"#, "otherUser"), ("{}", "malformed"), (#"{"userId":"u-1","exp":1}"#, "stale"),
        ] {
            var bad = try bench(.tokenExpired, .accessToken)
            try bad.mustRenew(with: token(payload))
            #expect(bad.take().last == "renewal failed \(kind)")
            #expect(bad.session.state == .tokenExpired)
        }
    }

    @Test func `R202: whether there is a session comes before who could renew it`() throws {
        for state in SocialPlusState.allCases where !state.isSession {
            var bench = try SocialPlusBench(state)
            bench.apply(.renewalDue(.nobody, isForced: true))
            #expect(bench.take() == ["renewal declined \(SocialPlusRefusal.stateInvalid(state))"])
        }
    }
}
