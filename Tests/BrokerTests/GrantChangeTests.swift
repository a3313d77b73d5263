import Broker
import BrokerSupport
import CredentialCore
import Secrets
import Testing

@Suite struct `Grants among disks, operators and ends` {
    @Test func `a full disk keeps the token at home, and the old credential is served`() throws {
        let bench = try GrantBench([Definitions.oauth("a")])
        bench.importGrant()
        bench.stage.store.failure = .full
        bench.stage.advance(.seconds(3580))
        #expect(bench.server.tokenCalls == 1)
        let text = bench.get("a")
        #expect(text.contains(#""bearer_token":"at-1""#))
        #expect(text.contains(#""stale":true"#))
        #expect(text.contains("store_full"))
        bench.stage.store.failure = nil
        bench.stage.advance(.seconds(400))
        #expect(bench.get("a").contains(#""bearer_token":"at-2""#))
        #expect(bench.server.reuses == 0)
    }

    @Test func `what a spent grant brought is handed out when its successor is on disk, and not before`()
        throws
    {
        let bench = try GrantBench([Definitions.oauth("a")])
        bench.importGrant()
        bench.hold()
        bench.stage.advance(.seconds(3580))
        bench.stage.store.failure = .full
        try bench.answerOne()
        #expect(bench.get("a").contains(#""bearer_token":"at-1""#))
        #expect(bench.stored == "rt-2")
        #expect(bench.stage.call(bench.admin, "grant.list").contains(#""stored":false"#))
        bench.stage.advance(.seconds(3))
        #expect(bench.get("a").contains(#""bearer_token":"at-1""#))
        bench.stage.store.failure = nil
        bench.stage.advance(.seconds(2))
        #expect(bench.get("a").contains(#""bearer_token":"at-2""#))
        #expect(bench.stored == "rt-3")
        #expect(bench.stage.call(bench.admin, "grant.list").contains(#""stored":true"#))
        bench.serve()
        bench.stage.advance(.seconds(3600))
        #expect(bench.server.reuses == 0)
    }

    @Test func `the end waits for a token that is out and stores its successor`() throws {
        let bench = try GrantBench([Definitions.oauth("a"), Definitions.oauth("b", scope: ["y"])])
        bench.importGrant()
        bench.hold()
        bench.stage.advance(.seconds(3590))
        #expect(bench.stage.fetcher.out.count == 1)
        bench.stage.broker.shutDown()
        bench.stage.run()
        #expect(bench.stage.fetcher.out.count == 1)
        #expect(bench.stage.broker.pendingGrants == 1)
        #expect(bench.stage.broker.pendingChanges > 0)
        try bench.answerOne()
        #expect(bench.stage.broker.pendingChanges == 0)
        #expect(bench.storedState == .usable)
        // Nothing is begun for the other one.
        #expect(bench.stage.fetcher.out.isEmpty)
        let stored = try #require(bench.stored)
        #expect(bench.server.live == [stored])
    }

    @Test func `the end takes back an intent that was not carried out`() throws {
        let bench = try GrantBench([Definitions.oauth("a")])
        bench.importGrant()
        let calls = bench.server.tokenCalls
        bench.hold()
        // The intent is with the disk, which has not answered.
        bench.stage.clock.now = bench.stage.clock.now + .seconds(3580)
        bench.stage.broker.wakeUp()
        bench.stage.broker.shutDown()
        bench.stage.run()
        #expect(bench.stage.fetcher.out.isEmpty)
        #expect(bench.server.tokenCalls == calls)
        #expect(bench.storedState == .usable)
        #expect(bench.stage.broker.pendingChanges == 0)
    }

    @Test func `a sign-out ends grant and token here and at the server`() throws {
        let bench = try GrantBench([Definitions.oauth("a")])
        bench.importGrant()
        let answer = bench.stage.call(bench.admin, "auth.deauthenticate", #"{"account":"a"}"#)
        #expect(answer.contains(#""result""#))
        #expect(bench.server.revoked == ["rt-2", "at-1"])
        #expect(bench.stored == nil)
        #expect(bench.held == nil)
        bench.stage.advance(.seconds(2))
        #expect(bench.get("a").contains(#""kind":"sign_in_needed""#))
        let lines = bench.server.lines.count
        let again = bench.stage.call(bench.admin, "auth.deauthenticate", #"{"account":"a"}"#)
        #expect(again.contains(#""already_anonymous":true"#))
        #expect(bench.server.lines.count == lines)
    }

    @Test func `a sign-out forgets here whatever the server says, and tells what it said`() throws {
        let bench = try GrantBench([Definitions.oauth("a")])
        bench.importGrant()
        bench.server.revocationStatus = 500
        let answer = bench.stage.call(bench.admin, "auth.deauthenticate", #"{"account":"a"}"#)
        #expect(answer.contains(#""kind":"revoke_failed""#))
        #expect(answer.contains(#""cleared":true"#))
        #expect(bench.stored == nil)
        #expect(bench.stage.account("a")?.session.held == nil)
    }

    @Test func `a grant that others spend outlives the sign-out of one`() throws {
        let bench = try GrantBench([Definitions.oauth("a"), Definitions.oauth("b")])
        bench.importGrant()
        _ = bench.stage.call(bench.admin, "auth.deauthenticate", #"{"account":"a"}"#)
        #expect(bench.server.revoked == ["at-1"])
        #expect(bench.stored == "rt-2")
    }

    @Test func `what comes for a grant that was deleted meanwhile is revoked`() throws {
        let bench = try GrantBench([Definitions.oauth("a")])
        bench.importGrant()
        bench.hold()
        bench.stage.advance(.seconds(3580))
        #expect(bench.stage.fetcher.out.count == 1)
        _ = bench.stage.call(bench.admin, "grant.delete", #"{"grant":"g"}"#)
        #expect(bench.stored == nil)
        try bench.answerOne()
        bench.serve()
        bench.stage.run()
        #expect(bench.server.revoked == ["rt-2", "rt-3"])
        #expect(bench.stored == nil)
        #expect(bench.server.live.isEmpty)
    }

    @Test func `a late answer for the old grant does not touch the imported one`() throws {
        let bench = try GrantBench([Definitions.oauth("a")])
        bench.importGrant()
        bench.hold()
        bench.stage.advance(.seconds(3580))
        let late = try #require(bench.stage.fetcher.out.first)
        bench.importGrant()
        #expect(bench.stored == "rt-3")
        bench.stage.fetcher.answer(#"{"error":"invalid_grant"}"#, status: 400)
        bench.stage.run()
        #expect(late.url.text.hasSuffix("/token"))
        #expect(bench.held?.state != .dead)
        bench.serve()
        bench.stage.advance(.seconds(5))
        #expect(bench.get("a").contains(#""bearer_token":"at-2""#))
        #expect(bench.server.reuses == 0)
    }

    @Test func `a saved credential wins over the answer that is out, and the successor is kept`() throws {
        let bench = try GrantBench([Definitions.oauth("a")])
        bench.importGrant()
        bench.hold()
        bench.stage.advance(.seconds(3580))
        _ = bench.stage.call(bench.admin, "credentials.save_token", #"{"account":"a","token":"mine"}"#)
        try bench.answerOne()
        #expect(bench.get("a").contains(#""bearer_token":"mine""#))
        #expect(bench.stored == "rt-3")
        #expect(bench.storedState == .usable)
    }

    @Test func `a grant that was meant for another server is neither sent nor revoked there`() throws {
        let bench = try GrantBench([Definitions.oauth("a")]) { stage in
            stage.store.put(
                GrantTests.left(.usable, "rt-1", uncertain: 0, destination: Destination("provider=oauth;old"))
            )
        }
        bench.stage.advance(.seconds(24 * 3600))
        #expect(bench.server.tokenCalls == 0)
        #expect(bench.get("a").contains(#""kind":"account_parked""#))
        #expect(bench.stored == "rt-1")
        let answer = bench.stage.call(bench.admin, "grant.delete", #"{"grant":"g","revoke":true}"#)
        #expect(answer.contains(#""cleared":true"#))
        #expect(bench.server.lines.allSatisfy { !$0.contains("rt-1") })
        #expect(bench.stored == nil)
    }

    @Test func `a check spends no grant`() throws {
        let bench = try GrantBench([Definitions.oauth("a")])
        bench.importGrant()
        let calls = bench.server.tokenCalls
        let answer = bench.stage.call(bench.admin, "account.check", #"{"account":"a"}"#)
        #expect(answer.contains(#""ok":true,"grant_spent":false"#))
        #expect(bench.server.tokenCalls == calls)
        #expect(bench.stored == "rt-2")
    }

    @Test func `a check that nothing answers ends by itself`() throws {
        let source = SourceDefinition.file(FileSource(file: .file(path: "/token"), format: .token))
        let stage = try Stage(
            accounts: [AccountDefinition(name: Definitions.name("a"), source: source, startsByItself: false)])
        let client = try #require(stage.connect())
        stage.files.isHung = true
        #expect(stage.call(client, "account.check", #"{"account":"a"}"#) == "")
        stage.advance(.seconds(16))
        #expect(client.take().contains(#""kind":"upstream_timeout""#))
        // What comes after all belongs to no later check.
        stage.files.isHung = false
        stage.files.contents = [.file(path: "/token"): SecretBytes("t")]
        #expect(stage.call(client, "account.check", #"{"account":"a"}"#).contains(#""ok":true"#))
    }
}

private typealias GrantTests = `Grants that are spent`
