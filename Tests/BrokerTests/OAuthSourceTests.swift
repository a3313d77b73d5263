import Broker
import BrokerSupport
import CredentialCore
import Secrets
import Testing

@Suite struct `OAuth sources` {
    private let first = SecretReference.secret(Definitions.name("first"))
    private let second = SecretReference.secret(Definitions.name("second"))

    private func secret(_ name: String, _ value: String) -> HeldSecret {
        HeldSecret(
            name: Definitions.name(name), value: AuthorizationServer.secret(value), generation: Generation(1),
            setAt: WallTime(seconds: 1))
    }

    private func machine(_ authentication: OAuthSource.ClientAuthentication) -> AccountDefinition {
        Definitions.oauth("a", authentication: authentication, flow: .clientCredentials)
    }

    @Test func `a client gets a token for what it has itself`() throws {
        let bench = try GrantBench([machine(.none)])
        #expect(bench.get("a").contains(#""bearer_token":"at-1""#))
        #expect(bench.server.lines.last == "POST /token client")
    }

    @Test func `metadata are asked for once, at the second place where the first has none`() throws {
        let bench = try GrantBench([
            Definitions.oauth("a", flow: .clientCredentials),
            Definitions.oauth("b", flow: .clientCredentials),
        ])
        bench.server.knowsOAuthMetadata = false
        bench.stage.advance(.zero)
        #expect(bench.get("a").contains(#""bearer_token":"at-"#))
        #expect(bench.get("b").contains(#""bearer_token":"at-"#))
        #expect(
            bench.server.lines.filter { $0.hasPrefix("GET") } == [
                "GET /.well-known/oauth-authorization-server", "GET /.well-known/openid-configuration",
            ])
    }

    @Test func `another issuer's metadata are not believed`() throws {
        let bench = try GrantBench([])
        bench.server.metadataIssuer = "https://evil.example"
        bench.stage.broker.configure([machine(.none)])
        bench.stage.advance(.zero)
        let text = bench.get("a")
        #expect(text.contains(#""error""#))
        #expect(bench.server.tokenCalls == 0)
    }

    @Test func `the next client secret is tried in the same turn, and the first one the next time`() throws {
        let bench = try GrantBench([
            Definitions.oauth("a", authentication: .form([first, second]))
        ]) { stage in
            stage.store.put(secret("first", "old"))
            stage.store.put(secret("second", "new"))
        }
        bench.server.clientSecret = "new"
        bench.importGrant()
        #expect(bench.get("a").contains(#""bearer_token":"at-1""#))
        #expect(
            bench.server.lines.filter { $0.hasPrefix("POST") } == [
                "POST /token refused old", "POST /token refresh rt-1",
            ])
        bench.stage.advance(.seconds(3600))
        #expect(bench.server.lines.filter { $0.hasPrefix("POST") }.suffix(1) == ["POST /token refresh rt-2"])
        #expect(bench.server.tokenCalls == 3)
        #expect(bench.stage.records.lines.contains { $0.hasPrefix("Another client secret") })
    }

    @Test func `a client that is refused with every secret leaves the grant alone`() throws {
        let bench = try GrantBench([
            Definitions.oauth("a", authentication: .form([first, second]))
        ]) { stage in
            stage.store.put(secret("first", "old"))
            stage.store.put(secret("second", "older"))
        }
        bench.server.clientSecret = "new"
        bench.importGrant()
        #expect(bench.get("a").contains("every client secret"))
        #expect(bench.held?.state == .usable)
        _ = bench.stage.call(bench.admin, "secret.set", #"{"secret":"second","value":"new"}"#)
        bench.stage.advance(.seconds(2))
        #expect(bench.get("a").contains(#""bearer_token":"at-1""#))
        #expect(bench.server.reuses == 0)
    }

    @Test func `a secret that is missing is named, and setting it helps at once`() throws {
        let bench = try GrantBench([machine(.form([first]))])
        bench.server.clientSecret = "new"
        bench.stage.advance(.zero)
        #expect(bench.get("a").contains("there is no secret first"))
        _ = bench.stage.call(bench.admin, "secret.set", #"{"secret":"first","value":"new"}"#)
        bench.stage.advance(.seconds(2))
        #expect(bench.get("a").contains(#""bearer_token":"at-1""#))
    }

    @Test func `introspection says when an opaque token ends`() throws {
        let bench = try GrantBench([])
        bench.server.expiresIn = nil
        bench.stage.broker.configure([machine(.none)])
        bench.stage.advance(.zero)
        #expect(bench.get("a").contains(#""expires_at":1767229200,"expiry_source":"backend""#))
        #expect(bench.server.lines.last == "POST /introspect at-1")
    }

    @Test func `an introspection that fails costs neither grant nor token`() throws {
        let bench = try GrantBench([Definitions.oauth("a")])
        bench.server.expiresIn = nil
        bench.server.introspectionStatus = 500
        bench.importGrant()
        #expect(bench.get("a").contains(#""bearer_token":"at-1""#))
        #expect(bench.stored == "rt-2")
    }

    @Test func `an ID token that cannot be believed is not handed out, and the grant goes on`() throws {
        let bench = try GrantBench([Definitions.oauth("a")])
        bench.server.idToken = "e30.e30.AAAA"
        bench.importGrant()
        #expect(bench.get("a").contains(#""kind":"credential_rejected""#))
        // Its successor was stored before anybody looked at the ID token.
        #expect(bench.stored == "rt-2")
        #expect(bench.storedState == .usable)
        bench.server.idToken = nil
        bench.stage.advance(.seconds(30))
        #expect(bench.get("a").contains(#""bearer_token":"at-"#))
        #expect(bench.server.reuses == 0)
    }

    @Test func `keys that one authority vouched for are not believed by who trusts another`() throws {
        let bench = try GrantBench([
            Definitions.oauth("a", flow: .clientCredentials),
            Definitions.oauth("b", flow: .clientCredentials),
            Definitions.oauth("c", flow: .clientCredentials, caFile: "/etc/other-ca.pem"),
        ])
        bench.server.idToken = "e30.e30.AAAA"
        for account in ["a", "b", "c"] { _ = bench.get(account) }
        let asked = bench.stage.fetcher.all.filter { $0.url.text.hasSuffix("/keys") }
        #expect(asked.map(\.caFile) == [nil, "/etc/other-ca.pem"])
    }

    @Test func `an origin that is down is not asked, and no intent is written for it`() throws {
        let bench = try GrantBench(
            (0..<6).map { Definitions.oauth("a\($0)", flow: .clientCredentials) } + [Definitions.oauth("g")])
        bench.importGrant()
        bench.stage.advance(.seconds(3500))
        bench.stage.fetcher.backend = { _ in .failure(.connectionFailed) }
        bench.stage.advance(.seconds(200))
        let requests = bench.stage.fetcher.all.count
        let changes = bench.stage.store.submitted.count
        bench.stage.advance(.seconds(20))
        #expect(bench.stage.fetcher.all.count - requests <= 2)
        #expect(bench.stage.store.submitted.count - changes <= 4)
        bench.serve()
        bench.stage.advance(.seconds(400))
        #expect(bench.stage.broker.stateCounts() == [.fresh: 7])
    }

    @Test func `those who were sent away from an origin come back one by one`() throws {
        let stage = try Stage(accounts: (0..<100).map { Definitions.http("a\($0)", host: "one") })
        stage.fetcher.backend = { _ in .failure(.connectionFailed) }
        stage.advance(.seconds(1))
        let moments = stage.broker.allAccounts.compactMap { $0.session.nextAttempt(at: stage.clock.now) }
        #expect(moments.count == 100)
        #expect(Set(moments).count > 60)
        let before = stage.fetcher.all.count
        stage.advance(.seconds(120))
        // One probe for each time that it opens, and a few seconds between them.
        #expect(stage.fetcher.all.count - before <= 12)
    }
}
