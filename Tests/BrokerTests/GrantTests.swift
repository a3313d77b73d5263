import Broker
import BrokerSupport
import CredentialCore
import Secrets
import Testing

@Suite struct `Grants that are spent` {
    @Test func `an imported grant is spent for a token, and its successor is stored`() throws {
        let bench = try GrantBench([Definitions.oauth("a")])
        bench.importGrant()
        #expect(bench.get("a").contains(#""bearer_token":"at-1""#))
        #expect(bench.stored == "rt-2")
        #expect(bench.storedState == .usable)
        #expect(bench.held?.generation == Generation(2))
        // Not before it is due.
        bench.stage.advance(.seconds(3500))
        #expect(bench.server.tokenCalls == 1)
        bench.stage.advance(.seconds(100))
        #expect(bench.server.tokenCalls == 2)
        #expect(bench.stored == "rt-3")
        #expect(bench.server.reuses == 0)
    }

    @Test
    func `the intent is on disk before the token is sent, and the successor before anybody is answered`()
        throws
    {
        let bench = try GrantBench([Definitions.oauth("a")])
        bench.hold()
        let token = AuthorizationServer.text(bench.server.issue())
        bench.stage.receive(
            #"{"jsonrpc":"2.0","id":1,"method":"grant.import","params":{"grant":"g","refresh_token":"\#(token)"}}"#
                + "\n", from: bench.admin)
        while bench.stage.store.completeOne() {
            let isOut = bench.stage.fetcher.out.contains { $0.url.text.hasSuffix("/token") }
            #expect(!isOut || bench.storedState == .spending)
        }
        // Where the token is to be sent is asked first.
        bench.serve()
        while bench.stage.fetcher.out.first?.url.text.hasSuffix("/token") == false {
            _ = bench.stage.fetcher.completeOne()
        }
        bench.hold()
        #expect(bench.stage.fetcher.out.isEmpty)
        bench.stage.run()
        #expect(bench.stage.fetcher.out.count == 1)
        #expect(bench.storedState == .spending)
        let request = try #require(bench.stage.fetcher.out.first)
        _ = bench.admin.take()
        bench.stage.receive(
            #"{"jsonrpc":"2.0","id":2,"method":"token.get","params":{"account":"a"}}"# + "\n",
            from: bench.admin)
        bench.stage.fetcher.end(bench.server.respond(request))
        // Nothing is answered, as nothing is on disk.
        #expect(bench.admin.take() == "")
        #expect(bench.stage.store.completeOne())
        #expect(bench.stored == "rt-2")
        #expect(bench.admin.take() == "")
        bench.stage.run()
        #expect(bench.admin.take().contains(#""bearer_token":"at-1""#))
    }

    @Test func `ten thousand callers on one expiring grant cost one request`() throws {
        let bench = try GrantBench([Definitions.oauth("a")])
        bench.server.expiresIn = 10
        bench.importGrant()
        bench.hold()
        bench.stage.advance(.seconds(6))
        bench.stage.clock.now = bench.stage.clock.now + .seconds(5)
        let clients = try (0..<100).map { _ in try #require(bench.stage.connect()) }
        for client in clients {
            for id in 0..<100 {
                bench.stage.receive(
                    #"{"jsonrpc":"2.0","id":\#(id),"method":"token.get","params":{"account":"a"}}"# + "\n",
                    from: client)
            }
        }
        #expect(bench.stage.fetcher.out.count == 1)
        // Half of them do not wait for it.
        for client in clients.prefix(50) { client.close(flush: false) }
        try bench.answerOne()
        #expect(bench.server.tokenCalls == 2)
        for client in clients.suffix(50) {
            let lines = client.takeLines()
            #expect(lines.count == 100)
            #expect(lines.allSatisfy { $0.contains(#""bearer_token":"at-2""#) })
        }
        #expect(bench.server.reuses == 0)
    }

    @Test func `accounts that want the same share one answer`() throws {
        let bench = try GrantBench([Definitions.oauth("a"), Definitions.oauth("b"), Definitions.oauth("c")])
        bench.importGrant()
        #expect(bench.server.tokenCalls == 1)
        for name in ["a", "b", "c"] { #expect(bench.get(name).contains(#""bearer_token":"at-1""#)) }
        bench.stage.advance(.seconds(3600))
        #expect(bench.server.tokenCalls == 2)
        #expect(bench.server.reuses == 0)
    }

    @Test func `accounts that want different scopes spend in turn`() throws {
        let bench = try GrantBench([
            Definitions.oauth("a", scope: ["x"]), Definitions.oauth("b", scope: ["y"]),
        ])
        bench.hold()
        let token = AuthorizationServer.text(bench.server.issue())
        _ = bench.stage.call(bench.admin, "grant.import", #"{"grant":"g","refresh_token":"\#(token)"}"#)
        var most = 0
        while let request = bench.stage.fetcher.out.first {
            most = max(most, bench.stage.fetcher.out.count { $0.url.text.hasSuffix("/token") })
            bench.stage.fetcher.end(bench.server.respond(request))
            bench.stage.run()
        }
        #expect(most == 1)
        #expect(
            bench.server.lines.filter { $0.hasPrefix("POST") } == [
                "POST /token refresh rt-1 scope=x", "POST /token refresh rt-2 scope=y",
            ])
        #expect(bench.get("a").contains(#""bearer_token":"at-1""#))
        #expect(bench.get("b").contains(#""bearer_token":"at-2""#))
        #expect(bench.stored == "rt-3")
    }

    @Test func `a dead grant costs one request, however many ask and however long`() throws {
        let bench = try GrantBench([Definitions.oauth("a"), Definitions.oauth("b", scope: ["y"])])
        _ = bench.stage.call(bench.admin, "grant.import", #"{"grant":"g","refresh_token":"stolen"}"#)
        #expect(bench.server.tokenCalls == 1)
        for _ in 0..<200 {
            #expect(bench.get("a").contains(#""kind":"grant_dead""#))
            #expect(bench.get("b").contains(#""kind":"grant_dead""#))
        }
        for _ in 0..<20 {
            bench.stage.advance(.seconds(2))
            #expect(bench.get("b", #","force":true"#).contains(#""kind":"grant_dead""#))
        }
        bench.stage.advance(.seconds(48 * 3600))
        #expect(bench.server.tokenCalls == 1)
        #expect(bench.storedState == .dead)
        // Only a person can help, and then at once.
        bench.importGrant()
        bench.stage.advance(.seconds(2))
        #expect(bench.get("a").contains(#""bearer_token":"at-1""#))
        #expect(bench.get("b").contains(#""bearer_token":"at-2""#))
    }

    @Test func `a lost answer is followed by one retry and no second one`() throws {
        let bench = try GrantBench([Definitions.oauth("a")])
        bench.importGrant()
        bench.hold()
        bench.stage.advance(.seconds(3575))
        // Spent there, unknown here.
        try bench.loseAnswer()
        #expect(bench.get("a").contains(#""stale":true"#))
        #expect(bench.held?.uncertainAttempts == 1)
        bench.serve()
        bench.stage.advance(.seconds(3600))
        #expect(bench.server.tokenCalls == 3)
        #expect(bench.server.reuses == 1)
        #expect(bench.storedState == .possiblySpent)
        #expect(bench.get("a").contains("possibly spent"))
        bench.stage.advance(.seconds(48 * 3600))
        #expect(bench.server.tokenCalls == 3)
        bench.importGrant()
        #expect(bench.get("a").contains(#""bearer_token":"at-3""#))
    }

    @Test func `an answer that was lost on the way there is made good by the retry`() throws {
        let bench = try GrantBench([Definitions.oauth("a")])
        bench.importGrant()
        bench.hold()
        bench.stage.advance(.seconds(3575))
        bench.stage.fetcher.fail(.timeout)
        bench.serve()
        bench.stage.advance(.seconds(60))
        #expect(bench.get("a").contains(#""bearer_token":"at-2""#))
        #expect(bench.held?.uncertainAttempts == 0)
        #expect(bench.server.reuses == 0)
    }

    @Test(arguments: [
        FetchFailure.nameNotResolved, .connectionFailed, .connectTimeout, .certificateExpired,
        .workerNotStarted, .tooManyRequests,
    ])
    func `what was never sent costs nothing, however often`(failure: FetchFailure) throws {
        let bench = try GrantBench([Definitions.oauth("a")])
        bench.importGrant()
        bench.stage.fetcher.backend = { _ in .failure(failure) }
        bench.stage.advance(.seconds(6 * 3600))
        #expect(bench.held?.state == .usable)
        #expect(bench.held?.uncertainAttempts == 0)
        bench.serve()
        bench.stage.advance(.seconds(700))
        #expect(bench.get("a").contains(#""bearer_token":"at-2""#))
        #expect(bench.server.reuses == 0)
    }

    @Test(arguments: [500, 502, 503, 504, 429, 302])
    func `an outage of hours ends no grant`(status: Int) throws {
        let bench = try GrantBench([Definitions.oauth("a")])
        bench.importGrant()
        bench.stage.fetcher.backend = { _ in
            .success(
                FetchResponse(
                    status: status, retryAfter: nil, date: nil, contentType: "text/html",
                    body: SecretBytes("<html>invalid_grant</html>")))
        }
        bench.stage.advance(.seconds(6 * 3600))
        #expect(bench.held?.state == .usable)
        bench.serve()
        bench.stage.advance(.seconds(700))
        #expect(bench.get("a").contains(#""bearer_token":"at-2""#))
    }

    @Test func `an intent that an earlier run left is one attempt of which nobody knows the end`() throws {
        let bench = try GrantBench([Definitions.oauth("a")]) { stage in
            stage.store.put(Self.left(.spending, "stolen", uncertain: 0))
        }
        bench.stage.advance(.zero)
        #expect(bench.server.tokenCalls == 1)
        #expect(bench.storedState == .possiblySpent)
        #expect(bench.get("a").contains("possibly spent"))
    }

    @Test func `two crashes while it was out are the end of it`() throws {
        let bench = try GrantBench([Definitions.oauth("a")]) { stage in
            stage.store.put(Self.left(.spending, "rt-1", uncertain: 1))
        }
        bench.stage.advance(.seconds(48 * 3600))
        #expect(bench.server.tokenCalls == 0)
        #expect(bench.get("a").contains("possibly spent"))
    }

    static func left(
        _ state: HeldGrant.State, _ token: String, uncertain: Int, destination: Destination? = nil
    ) -> HeldGrant {
        HeldGrant(
            name: Definitions.name("g"), refreshToken: AuthorizationServer.secret(token),
            generation: Generation(4), destination: destination ?? Definitions.oauth("a").destination,
            receivedAt: WallTime(seconds: 1_767_225_000), state: state, uncertainAttempts: uncertain)
    }
}
