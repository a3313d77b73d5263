import Broker
import BrokerSupport
import CredentialCore
import Secrets
import Testing

/// What the platform says of the end of what it takes, and what is told when there is nothing in its place.
@Suite struct `Credentials at Kindly that end` {
    private let bot = KindlyBot()

    private func inspect(_ stage: Stage, _ client: MemoryConnection) -> String {
        stage.call(client, "credentials.inspect", #"{"account":"bot"}"#)
    }

    private func token(_ stage: Stage, _ client: MemoryConnection) -> String {
        stage.call(client, "token.get", #"{"account":"bot"}"#)
    }

    private func doctor(_ stage: Stage, _ client: MemoryConnection) -> String {
        stage.call(client, "account.doctor", #"{"account":"bot"}"#)
    }

    /// A client that is told of sign-ins, and how it was when it began to listen.
    private func watcher(_ stage: Stage) throws -> MemoryConnection {
        let watcher = try #require(stage.connect())
        _ = stage.call(watcher, "events.subscribe", #"{"topics":["auth"]}"#)
        return watcher
    }

    private func changes(_ watcher: MemoryConnection) -> [String] {
        watcher.take().split(separator: "\n").filter { $0.contains("auth.changed") }.map { line in
            String(line.split(separator: #""params":"#, maxSplits: 1).last ?? "")
        }
    }

    private static func change(_ from: String, _ to: String, _ cause: String) -> String {
        #"{"account":"bot","from":"\#(from)","to":"\#(to)","cause":"\#(cause)"}}"#
    }

    // MARK: Over when it is bound

    @Test func `R182: an account that goes and comes back is told once each`() throws {
        let (stage, _) = try bot.stage()
        let watcher = try watcher(stage)
        stage.broker.configure([])
        stage.run()
        stage.broker.configure([try KindlyBot.account()])
        stage.run()
        stage.broker.configure([])
        stage.run()
        #expect(
            changes(watcher) == [
                #"{"account":"bot","from":"authenticated","to":null,"cause":"removed"}}"#,
                #"{"account":"bot","from":null,"to":"authenticated","cause":"added"}}"#,
                #"{"account":"bot","from":"authenticated","to":null,"cause":"removed"}}"#,
            ])
    }

    @Test func `R72: what Kindly takes and calls over has ended, and is not called refused`() throws {
        bot.expiry = #""expires_at":1767225500"#
        let (stage, client) = try bot.stage()
        stage.advance(.seconds(1))
        #expect(bot.binds.count == 2)
        #expect(
            token(stage, client)
                == Expected.error(
                    128,
                    "the platform (bot.example) took the credential, and says that it ended at 2025-12-31T23:58:20Z",
                    "stale_credential", retryable: true, rest: #","retry_after_seconds":1,"account":"bot""#))
        let seen = inspect(stage, client)
        #expect(seen.contains(#""expires_at":1767225500,"#) && seen.contains(#""expiry_source":"backend""#))
        #expect(seen.contains(#""expiries":{"backend":1767225500,"hint":null,"exp":null}"#))
        #expect(seen.contains(#""binding":{"state":"anonymous","cause":"expired""#))
        let findings = doctor(stage, client)
        #expect(findings.contains(#""code":"backend_expiry_past""#) && findings.contains("clock"))
        #expect(!findings.contains("bind_rejected"))

        // The source is not asked for ever, and it ends by itself.
        stage.advance(.seconds(3600))
        #expect(bot.bodies.count < 100)
        #expect(bot.bodies.allSatisfy { !$0.contains("rejected") })
        bot.expiry = #""expires_at":1767235700"#
        stage.advance(.seconds(300))
        #expect(token(stage, client).contains(#""state":"fresh""#))
        #expect(inspect(stage, client).contains(#""binding":{"state":"authenticated""#))
    }

    @Test func `R35: a platform whose clock is behind means a later moment than it says`() throws {
        bot.expiry = #""expires_at":1767225500"#
        bot.date = WallTime(seconds: 1_767_224_600)
        let (stage, client) = try bot.stage()
        #expect(token(stage, client).contains(#""expires_at":1767226500,"expiry_source":"backend""#))
        #expect(bot.binds.count == 1)
    }

    @Test func `R50: who is called over when he signs in is not signed in, and told why`() throws {
        let (stage, client) = try bot.stage()
        stage.advance(.seconds(2))
        bot.issued = "token-2"
        bot.expiries["token-2"] = #""expires_at":1767225500"#
        let answer = stage.call(client, "auth.authenticate", #"{"account":"bot"}"#)
        #expect(answer.contains(#""kind":"stale_credential""#) && answer.contains("2025-12-31T23:58:20Z"))
        #expect(token(stage, client).contains(#""generation":1,"bearer_token":"token-1""#))
        // Kindly has seen somebody else meanwhile.
        #expect(bot.binds.map(\.bearer) == ["token-1", "token-2", "token-1"])
    }

    // MARK: Nothing in its place

    @Test func `R7: a handler that does not answer in time leaves the chat anonymous, which is told once`()
        throws
    {
        let (stage, client) = try bot.stage(KindlyBot.account(hasSource: false))
        let watcher = try watcher(stage)
        let handler = try #require(stage.connect())
        _ = stage.call(handler, "handler.register", #"{"account":"bot"}"#)
        stage.advance(.seconds(15))
        #expect(changes(watcher) == [Self.change("anonymous", "anonymous", "callback_timeout")])
        stage.advance(.seconds(100))
        #expect(changes(watcher) == [])

        func answer(_ id: Int) {
            _ = stage.ask(
                handler, #"{"jsonrpc":"2.0","id":\#(id),"result":{"token":"token-1","expires_in":40}}"#)
        }
        let questions = handler.take().split(separator: "\n").count
        _ = stage.call(client, "auth.refresh", #"{"account":"bot","wait":0}"#)
        for id in 1...(questions + 2) { answer(id) }
        #expect(changes(watcher).last == Self.change("authenticating", "authenticated", "bound"))
        stage.advance(.seconds(120))
        #expect(changes(watcher) == [Self.change("authenticated", "anonymous", "callback_timeout")])
        #expect(
            inspect(stage, client).contains(#""binding":{"state":"anonymous","cause":"callback_timeout""#))
    }

    @Test
    func `a saved one that ends, and one that is refused, leave the chat anonymous, which is told once`()
        throws
    {
        let (stage, client) = try bot.stage(KindlyBot.account(hasSource: false))
        let watcher = try watcher(stage)
        func save(_ expiresAt: Int) {
            _ = stage.call(
                client, "credentials.save_token",
                #"{"account":"bot","token":"token-1","expires_at":\#(expiresAt)}"#)
            #expect(changes(watcher).last == Self.change("authenticating", "authenticated", "bound"))
        }
        save(1_767_225_700)
        stage.advance(.seconds(100))
        #expect(changes(watcher) == [Self.change("authenticated", "anonymous", "expired")])
        #expect(inspect(stage, client).contains(#""binding":{"state":"anonymous","cause":"expired""#))
        #expect(bot.binds.count == 1)
        stage.advance(.seconds(600))
        #expect(changes(watcher) == [])

        save(1_767_300_000)
        _ = stage.call(client, "token.reject", #"{"account":"bot","http_status":401}"#)
        #expect(changes(watcher) == [Self.change("authenticated", "anonymous", "refused_by_platform")])
        let seen = inspect(stage, client)
        #expect(seen.contains(#""sign_in_reason":"refused""#))
        #expect(
            token(stage, client)
                == Expected.error(
                    120, "the platform refused the credential, and there is no source of another",
                    "sign_in_needed", rest: #","account":"bot""#))
    }

    // MARK: Unreadable expiries

    @Test
    func `an expiry in the platform's answer that is no moment is warned of until there is a better one`()
        throws
    {
        bot.expiry = #""expires_at":"soon""#
        let (stage, client) = try bot.stage()
        #expect(inspect(stage, client).contains(#""expiry_implausible"]"#))
        #expect(
            stage.call(client, "account.show", #"{"account":"bot"}"#).contains(#""expiry_implausible"]"#))
        #expect(doctor(stage, client).contains(#""code":"expiry_implausible""#))
        #expect(stage.records.lines.contains { $0.contains("implausible") })
        bot.expiry = #""expires_at":1767235700"#
        stage.advance(.seconds(2))
        _ = stage.call(client, "auth.refresh", #"{"account":"bot"}"#)
        #expect(!inspect(stage, client).contains("implausible"))
        #expect(!doctor(stage, client).contains("implausible"))
    }

    @Test(arguments: [
        ("eyJhbGciOiJSUzI1NiJ9.eyJpc3Mi", "three parts"),
        ("eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4In0=.eA", "base64url"),
        ("eyJhbGciOiJSUzI1NiJ9.eA.eA", "JSON"),
    ])
    func `R63: a JWT that was cut off is called that, and nobody is sent to introspection`(
        _ token: String, _ words: String
    ) throws {
        bot.refused = [token]
        let (stage, client) = try bot.stage(KindlyBot.account(hasSource: false))
        _ = stage.call(client, "credentials.save_token", #"{"account":"bot","token":"\#(token)"}"#)
        let seen = inspect(stage, client)
        #expect(seen.contains(#""kind":"malformed_jwt""#) && seen.contains(#""warnings":["jwt_malformed"]"#))
        let findings = doctor(stage, client)
        #expect(findings.contains(#""code":"jwt_malformed""#) && findings.contains(words))
        #expect(findings.contains(#""kind":"malformed_jwt""#) && !findings.contains("opaque"))
    }
}
