import Broker
import BrokerSupport
import CredentialCore
import Secrets
import Testing

@Suite struct `Grants at the edges` {
    @Test func `while sealed nobody is told that he was signed out`() throws {
        let stage = try Stage(isOpen: false, accounts: [Definitions.oauth("a")])
        let client = try #require(stage.connect(onAdminSocket: true))
        #expect(
            stage.call(client, "auth.deauthenticate", #"{"account":"a"}"#).contains(#""kind":"store_sealed""#)
        )
    }

    @Test func `a token of one server is neither handed out nor revoked when another one is configured`()
        throws
    {
        func account(_ issuer: String) -> AccountDefinition {
            let source = OAuthSource(
                endpoints: OAuthSource.Endpoints(issuer: issuer), flow: .clientCredentials,
                clientID: "client",
                authentication: .none)
            return AccountDefinition(name: Definitions.name("a"), provider: .generic, source: .oauth(source))
        }
        let bench = try GrantBench([account(AuthorizationServer.issuer)])
        #expect(bench.get("a").contains(#""bearer_token":"at-1""#))
        bench.hold()
        bench.stage.broker.configure([account("https://other.example")])
        bench.stage.run()
        #expect(bench.get("a", #","wait":0"#).contains(#""kind":"account_parked""#))
        _ = bench.stage.call(bench.admin, "auth.deauthenticate", #"{"account":"a"}"#)
        #expect(bench.stage.fetcher.out.allSatisfy { $0.method == .get })
    }

    @Test func `a sign-out ends the refresh token that came while it was on its way to the disk`() throws {
        let bench = try GrantBench([Definitions.oauth("a")])
        bench.importGrant()
        bench.hold()
        bench.stage.advance(.seconds(3580))
        let request = try #require(bench.stage.fetcher.out.first)
        bench.stage.receive(
            #"{"jsonrpc":"2.0","id":1,"method":"auth.deauthenticate","params":{"account":"a"}}"# + "\n",
            from: bench.admin)
        bench.stage.fetcher.end(bench.server.respond(request))
        bench.serve()
        bench.stage.run()
        #expect(bench.server.revoked.contains("rt-3"))
        #expect(bench.server.live.isEmpty)
        #expect(bench.stored == nil)
    }

    @Test(arguments: [(403, HeldGrant.State.usable), (404, .usable), (400, .possiblySpent)])
    func `after a lost answer only the server's refusal gives a grant up`(
        status: Int, state: HeldGrant.State
    ) throws {
        let bench = try GrantBench([Definitions.oauth("a")])
        bench.importGrant()
        bench.hold()
        bench.stage.advance(.seconds(3580))
        bench.stage.fetcher.fail(.timeout)
        bench.stage.run()
        bench.stage.advance(.seconds(3))
        #expect(bench.stage.fetcher.out.count == 1)
        bench.stage.fetcher.answer("", status: status, contentType: nil)
        bench.stage.run()
        #expect(bench.storedState == state)
    }

    @Test(arguments: ["\\u00e9", "a\\nb"])
    func `a successor that cannot be sent leaves a grant that is spent, and is not tried again`(
        _ token: String
    ) throws {
        let bench = try GrantBench([Definitions.oauth("a")])
        bench.importGrant()
        bench.hold()
        bench.stage.advance(.seconds(3580))
        let body = #"{"access_token":"at","refresh_token":"\#(token)"}"#
        bench.stage.fetcher.end(
            .success(
                FetchResponse(
                    status: 200, retryAfter: nil, date: nil, contentType: "application/json",
                    body: AuthorizationServer.secret(body))))
        bench.stage.run()
        #expect(bench.storedState == .possiblySpent)
        bench.stage.advance(.seconds(7200))
        #expect(bench.stage.fetcher.out.allSatisfy { $0.method == .get })
    }

    @Test func `a secret that is set signs nobody in again`() throws {
        let reference = SecretReference.secret(Definitions.name("s"))
        let bench = try GrantBench([
            Definitions.oauth("a", authentication: .form([reference]), flow: .clientCredentials)
        ])
        func set() { _ = bench.stage.call(bench.admin, "secret.set", #"{"secret":"s","value":"x"}"#) }
        set()
        #expect(bench.server.tokenCalls == 1)
        _ = bench.stage.call(bench.admin, "auth.deauthenticate", #"{"account":"a"}"#)
        set()
        bench.stage.advance(.seconds(60))
        #expect(bench.server.tokenCalls == 1)
        #expect(bench.get("a").contains(#""bearer_token":"at-2""#))
    }

    @Test func `what waits for its turn at the end is not sent any more`() throws {
        let bench = try GrantBench(
            (0..<8).map { Definitions.oauth("m\($0)", flow: .clientCredentials) } + [Definitions.oauth("a")])
        bench.importGrant()
        bench.hold()
        bench.stage.advance(.seconds(3580))
        // Eight are out, which is all that one server gets at once.
        #expect(bench.stage.fetcher.out.count == 8)
        #expect(bench.storedState == .spending)
        let sent = bench.stage.fetcher.all.count
        bench.stage.broker.shutDown()
        bench.stage.run()
        while !bench.stage.fetcher.out.isEmpty {
            bench.stage.fetcher.fail(.connectionFailed)
            bench.stage.run()
        }
        #expect(bench.stage.fetcher.all.count == sent)
        #expect(bench.storedState == .usable)
        #expect(bench.stage.broker.pendingChanges == 0)
    }

    @Test func `a check that outlives its account ends without it`() throws {
        let bench = try GrantBench([])
        bench.hold()
        bench.stage.broker.configure([Definitions.oauth("a")])
        bench.stage.run()
        _ = bench.stage.call(bench.admin, "account.check", #"{"account":"a"}"#)
        bench.stage.broker.configure([])
        bench.stage.advance(.seconds(120))
        while !bench.stage.fetcher.out.isEmpty { bench.stage.fetcher.fail(.connectionFailed) }
        bench.stage.run()
        #expect(bench.stage.account("a") == nil)
    }

    @Test func `a key that is replaced replaces the tokens that were signed with it`() throws {
        let source = JWTSource(
            key: .secret(Definitions.name("k")), algorithm: .hs256, lifetime: .seconds(3600), claims: [])
        let bench = try GrantBench([
            AccountDefinition(name: Definitions.name("a"), source: .jwt(source))
        ])
        func set(_ value: String) {
            _ = bench.stage.call(bench.admin, "secret.set", #"{"secret":"k","value":"\#(value)"}"#)
        }
        set("the first key of this account")
        let first = bench.get("a")
        #expect(first.contains(#""generation":1"#))
        bench.stage.advance(.seconds(5))
        set("another key, since the first leaked")
        let second = bench.get("a")
        #expect(second.contains(#""generation":2"#))
        // The same key again outdates what was signed with it as well: nobody compares keys.
        bench.stage.advance(.seconds(5))
        set("another key, since the first leaked")
        #expect(bench.get("a").contains(#""generation":3"#))
    }

    @Test func `an account whose grant is parked is parked`() throws {
        let bench = try GrantBench([Definitions.oauth("a")]) { stage in
            stage.store.put(
                GrantTests.left(.usable, "rt-1", uncertain: 0, destination: Destination("provider=oauth;old"))
            )
        }
        bench.stage.advance(.seconds(2))
        #expect(bench.get("a", #","wait":0"#).contains(#""kind":"account_parked""#))
        #expect(bench.stage.broker.stateCounts() == [.parked: 1])
    }
}

private typealias GrantTests = `Grants that are spent`
