import Broker
import BrokerSupport
import CredentialCore
import Secrets
import Testing

@Suite struct `Chats with Kindly` {
    private let bot = KindlyBot()
    private static let now = 1_767_225_600

    private func stage(_ account: AccountDefinition? = nil) throws -> (Stage, MemoryConnection) {
        try bot.stage(account)
    }

    private func chat(_ stage: Stage, _ client: MemoryConnection) -> String { stage.chat(client) }

    private func token(_ stage: Stage, _ client: MemoryConnection) -> String {
        stage.call(client, "token.get", #"{"account":"bot"}"#)
    }

    @Test func `R30, R5, R59: a start connects the chat, asks the source with its name and binds what comes`()
        throws
    {
        let (stage, client) = try stage()
        let chat = chat(stage, client)
        #expect(chat.count == 36)
        #expect(bot.routes.sorted() == ["auth/chat", "connect"])
        #expect(bot.binds.map(\.bearer) == ["token-1"])
        #expect(bot.binds.map(\.chat) == [chat])
        #expect(bot.bodies == [#"{"chatId":"\#(chat)","account":"bot","reason":"initial"}"#])
        #expect(bot.violations.isEmpty)
        #expect(token(stage, client).contains(#""bearer_token":"token-1""#))
    }

    @Test(arguments: [
        (#""expires_at":1767225700"#, 1_767_225_700), (#""expires_at":1767225700.9"#, 1_767_225_700),
        (#""expires_at":1767225700000"#, 1_767_225_700), (#""expires_at":"1767225700""#, 1_767_225_700),
        (#""expires_at":"2026-01-01T00:01:40.000Z""#, 1_767_225_700),
        (#""data":{"expires_at":1767225700}"#, 1_767_225_700),
    ])
    func `R35: until when the platform honours it counts, in every format`(
        _ body: String, _ expiresAt: Int
    ) throws {
        bot.expiry = body
        let (stage, client) = try stage()
        let answer = token(stage, client)
        #expect(answer.contains(#""expires_at":\#(expiresAt),"expiry_source":"backend""#))
        #expect(answer.contains(#""refresh_at":\#(expiresAt - 30)"#))
    }

    @Test func `R38: it is refreshed before the platform's expiry, and bound again`() throws {
        bot.expiry = #""expires_at":1767225700"#
        let (stage, client) = try stage()
        bot.issued = "token-2"
        bot.expiry = #""expires_at":1767235700"#
        stage.advance(.seconds(75))
        #expect(bot.binds.map(\.bearer) == ["token-1", "token-2"])
        #expect(token(stage, client).contains(#""generation":2,"bearer_token":"token-2""#))
        // The chat is the same, and was connected once.
        #expect(Set(bot.binds.map(\.chat)).count == 1)
        #expect(bot.routes.filter { $0 == "connect" }.count == 1)
    }

    @Test func `R32: a 401 to the bind brings one other token, a second one the end`() throws {
        bot.refused = ["token-1"]
        let (stage, client) = try stage()
        bot.issued = "token-2"
        stage.advance(.seconds(2))
        #expect(bot.binds.map(\.bearer) == ["token-1", "token-2"])
        #expect(token(stage, client).contains(#""bearer_token":"token-2""#))

        bot.refused = ["token-2", "token-3"]
        bot.issued = "token-3"
        _ = stage.call(client, "auth.authenticate", #"{"account":"bot"}"#)
        stage.advance(.seconds(60))
        #expect(bot.binds.map(\.bearer).last == "token-3")
    }

    @Test func `R66: a token that is refused and comes again is not bound again, and nothing loops`() throws {
        bot.refused = ["token-1"]
        let (stage, client) = try stage()
        stage.advance(.seconds(600))
        #expect(bot.binds.count == 1)
        #expect(bot.bodies.count < 20)
        #expect(token(stage, client).contains(#""kind":"stale_credential""#))
    }

    @Test func `a get never waits for a bind, and one that cannot be made is tried again`() throws {
        bot.bindStatus = 503
        let (stage, client) = try stage()
        #expect(token(stage, client).contains(#""bearer_token":"token-1""#))
        bot.bindStatus = 200
        bot.expiry = #""expires_at":1767235700"#
        stage.advance(.seconds(60))
        #expect(token(stage, client).contains(#""expiry_source":"backend""#))
    }

    @Test
    func `R48, R49: signing in asks the source past the cache, binds to the same chat and answers then`()
        throws
    {
        let (stage, client) = try stage()
        let chat = chat(stage, client)
        bot.issued = "token-2"
        stage.advance(.seconds(2))
        let answer = stage.call(client, "auth.authenticate", #"{"account":"bot"}"#)
        #expect(answer.contains(#""generation":2"#))
        #expect(bot.binds.map(\.bearer) == ["token-1", "token-2"])
        #expect(self.chat(stage, client) == chat)
        #expect(bot.bodies.last?.contains(#""reason":"authenticate""#) == true)
    }

    @Test func `R50: where the source gives nothing, the old credential stays`()
        throws
    {
        let (stage, client) = try stage()
        stage.advance(.seconds(2))
        bot.isBackendDown = true
        #expect(
            stage.call(client, "auth.authenticate", #"{"account":"bot"}"#).contains(
                #""kind":"upstream_error""#))
        #expect(token(stage, client).contains(#""bearer_token":"token-1""#))
    }

    @Test func `R50: where the platform refuses who signs in, the old credential stays`() throws {
        let (stage, client) = try stage()
        bot.issued = "token-2"
        bot.refused = ["token-2"]
        stage.advance(.seconds(2))
        #expect(
            stage.call(client, "auth.authenticate", #"{"account":"bot"}"#).contains(#""http_status":401"#))
        #expect(token(stage, client).contains(#""bearer_token":"token-1""#))
    }

    @Test(arguments: [true, false])
    func `R50: a sign-in that fails changes nothing, then and later`(_ isRefused: Bool) throws {
        let (stage, client) = try stage()
        stage.advance(.seconds(2))
        let before = stage.call(client, "credentials.inspect", #"{"account":"bot"}"#)
        bot.issued = "token-2"
        if isRefused { bot.refused = ["token-2"] } else { bot.bindStatus = 400 }
        #expect(
            stage.call(client, "auth.authenticate", #"{"account":"bot"}"#).contains(
                #""http_status":\#(isRefused ? 401 : 400)"#))
        #expect(stage.call(client, "credentials.inspect", #"{"account":"bot"}"#) == before)
        bot.bindStatus = 200
        stage.advance(.seconds(3600))
        #expect(stage.call(client, "credentials.inspect", #"{"account":"bot"}"#) == before)
        #expect(bot.bodies.count == 2)
        #expect(bot.binds.map(\.bearer) == ["token-1", "token-2"])
    }

    @Test(arguments: [
        (FetchFailure?.some(.timeout), 200, 302, "did not answer in time: it took longer than its timeout"),
        (.nameNotResolved, 200, 300, "cannot be reached: its name does not resolve"),
        (nil, 503, 301, "answered with an error: status 503"),
        (nil, 401, 127, "refused the credential: status 401"),
    ])
    func `R50: what the platform does wrong is said of the platform, by name to who may know it`(
        _ failure: FetchFailure?, _ status: Int, _ code: Int, _ words: String
    ) throws {
        let rules = AccessRules(use: Definitions.user(7), operate: Definitions.user(8))
        let stage = try Stage(instance: .system(admins: []), accounts: [KindlyBot.account(access: rules)])
        stage.fetcher.backend = { [bot] in bot.answer($0) }
        stage.advance(.seconds(2))
        bot.bindFailure = failure
        bot.bindStatus = status
        let operator8 = try #require(stage.connect(uid: 8))
        _ = stage.call(operator8, "auth.deauthenticate", #"{"account":"bot"}"#)
        let answer = stage.call(operator8, "auth.authenticate", #"{"account":"bot"}"#)
        #expect(
            answer.contains(#""error":{"code":\#(code),"message":"the platform (bot.example) \#(words)""#))
        let shown = stage.call(operator8, "account.show", #"{"account":"bot"}"#)
        #expect(shown.contains("the platform (bot.example) \(words)"))
        let user7 = try #require(stage.connect(uid: 7))
        let seen = stage.call(user7, "account.show", #"{"account":"bot"}"#)
        #expect(seen.contains("the platform \(words)") && !seen.contains("bot.example"))
    }

    @Test
    func `R51 to R53: signing out unbinds, forgets, keeps the chat, and is done at once the second time`()
        throws
    {
        let (stage, client) = try stage()
        let chat = chat(stage, client)
        #expect(
            stage.call(client, "auth.deauthenticate", #"{"account":"bot"}"#)
                == #"{"jsonrpc":"2.0","id":1,"result":{"account":"bot"}}"#)
        #expect(bot.routes.last == "auth/chat/invalidate")
        let requests = stage.fetcher.all.count
        #expect(
            stage.call(client, "auth.deauthenticate", #"{"account":"bot"}"#).contains(
                #""already_anonymous":true"#))
        stage.advance(.seconds(7200))
        #expect(stage.fetcher.all.count == requests)
        #expect(self.chat(stage, client) == chat)
        #expect(token(stage, client).contains(#""kind":"sign_in_needed""#))
        let headers = stage.call(client, "headers.get", #"{"account":"bot","route":"message"}"#)
        #expect(headers.contains(#""auth_state":"anonymous""#) && !headers.contains("Authorization"))
    }

    @Test(arguments: [401, 500])
    func `R54: what the platform does not hear of is forgotten all the same, and told`(
        _ status: Int
    ) throws {
        bot.invalidateStatus = status
        let (stage, client) = try stage()
        let answer = stage.call(client, "auth.deauthenticate", #"{"account":"bot"}"#)
        #expect(answer.contains(#""kind":"revoke_failed""#) && answer.contains(#""cleared":true"#))
        #expect(stage.account("bot")?.session.held == nil)
        #expect(stage.store.credentials[Definitions.name("bot")]?.held == nil)
    }

    @Test func `R20 to R23: which headers a route takes`() throws {
        let (stage, client) = try stage(KindlyBot.account(hasSource: false))
        _ = stage.call(
            client, "credentials.save",
            #"{"account":"bot","id_token":"e30.e30.eA","access_token":"opaque","issuer":"https://idp.example"}"#
        )
        for (route, hasCompanion) in [
            ("auth/chat", true), ("message", true), ("trigger", true), ("latest", false), ("connect", false),
        ] {
            let headers = stage.call(client, "headers.get", #"{"account":"bot","route":"\#(route)"}"#)
            #expect(headers.contains(#"["Authorization","Bearer e30.e30.eA"]"#))
            #expect(headers.contains(#"["X-Access-Token","opaque"]"#) == hasCompanion)
            #expect(headers.contains(#"["X-Auth-Issuer","https://idp.example"]"#) == hasCompanion)
        }
        #expect(stage.call(client, "headers.get", #"{"account":"bot"}"#).contains("X-Access-Token"))
        #expect(
            stage.call(client, "headers.get", #"{"account":"bot","route":"message?x=1"}"#)
                == Expected.invalidParams(
                    "route must be 1 to 64 of a-z 0-9 / _ -, such as auth/chat, message, trigger or latest"))
    }

    @Test func `R14: an access token that is the ID token once more is dropped, and that can be seen`() throws
    {
        let (stage, client) = try stage(KindlyBot.account(hasSource: false))
        _ = stage.call(
            client, "credentials.save",
            #"{"account":"bot","id_token":"e30.e30.eA","access_token":"e30.e30.eA"}"#)
        #expect(!stage.call(client, "headers.get", #"{"account":"bot"}"#).contains("X-Access-Token"))
        #expect(stage.records.lines.contains { $0.contains("the ID token once more") })
    }

    @Test func `R16: an opaque ID token beside an access token is refused before any network`() throws {
        let (stage, client) = try stage(KindlyBot.account(hasSource: false))
        let binds = bot.binds.count
        let answer = stage.call(
            client, "credentials.save", #"{"account":"bot","id_token":"opaque","access_token":"other"}"#)
        #expect(answer.contains(#""kind":"companion_invalid""#))
        #expect(stage.account("bot")?.session.held == nil)
        #expect(bot.binds.count == binds)
    }

    @Test func `R17: tokens that are no pair are refused where that is configured`() throws {
        // {"alg":"RS256"}.{"at_hash":"AAAA"}
        let pair =
            #"{"account":"bot","id_token":"eyJhbGciOiJSUzI1NiJ9.eyJhdF9oYXNoIjoiQUFBQSJ9.eA","access_token":"abc"}"#
        let (strict, client) = try stage(KindlyBot.account(hasSource: false, isStrict: true))
        #expect(
            strict.call(client, "credentials.save", pair).contains(#""kind":"companion_mismatch""#))
        #expect(strict.account("bot")?.session.held == nil)
        let (lax, other) = try stage(KindlyBot.account(hasSource: false))
        #expect(lax.call(other, "credentials.save", pair).contains(#""generation":1"#))
        #expect(lax.records.lines.contains { $0.contains("at_hash") })
    }

    @Test func `R45, R46: a saved token is bound, and a second one replaces it wholesale`() throws {
        let (stage, client) = try stage(KindlyBot.account(hasSource: false))
        _ = stage.call(
            client, "credentials.save",
            #"{"account":"bot","id_token":"e30.e30.eA","access_token":"opaque","issuer":"https://idp.example"}"#
        )
        _ = stage.call(client, "credentials.save", #"{"account":"bot","id_token":"e30.e30.eQ"}"#)
        #expect(bot.binds.map(\.bearer) == ["e30.e30.eA", "e30.e30.eQ"])
        let headers = stage.call(client, "headers.get", #"{"account":"bot"}"#)
        #expect(!headers.contains("X-Access-Token") && !headers.contains("X-Auth-Issuer"))
    }

    @Test func `R7: after a source that gives nothing the chat is anonymous, and says why`() throws {
        bot.isBackendDown = true
        let (stage, client) = try stage()
        let headers = stage.call(client, "headers.get", #"{"account":"bot","route":"message"}"#)
        #expect(
            headers.contains(#""auth_state":"anonymous","reason":"upstream_error""#)
                && headers.contains("kindly-chatbubble-token"))
    }

    @Test func `R57: a reset begins another chat, which is connected and bound`() throws {
        let (stage, client) = try stage()
        let old = chat(stage, client)
        _ = stage.call(client, "chat.reset", #"{"account":"bot"}"#)
        stage.run()
        let new = chat(stage, client)
        #expect(old != new)
        #expect(bot.binds.map(\.chat) == [old, new])
    }

    @Test func `what was bound to one chat is bound to the next as well, however often that fails`() throws {
        let (stage, client) = try stage()
        bot.issued = "token-2"
        stage.advance(.seconds(2))
        _ = stage.call(client, "auth.authenticate", #"{"account":"bot"}"#)
        bot.bindStatus = 503
        _ = stage.call(client, "chat.attach", #"{"account":"bot","chat_id":"its-own","token":"its-token"}"#)
        stage.advance(.seconds(2))
        bot.bindStatus = 200
        stage.advance(.seconds(120))
        #expect(bot.binds.last?.chat == "its-own")
        #expect(
            stage.call(client, "credentials.inspect", #"{"account":"bot"}"#).contains(
                #""binding":{"state":"authenticated""#))
    }

    @Test func `R57: a refusal that belonged to one chat does not outlive it`() throws {
        bot.refused = ["token-1"]
        let (stage, client) = try stage()
        stage.advance(.seconds(60))
        bot.refused = []
        _ = stage.call(client, "chat.reset", #"{"account":"bot"}"#)
        stage.advance(.seconds(120))
        #expect(token(stage, client).contains(#""bearer_token":"token-1""#))
    }

    @Test func `what is saved decides about what is parked, and a sealed store says that it is sealed`()
        throws
    {
        let (stage, client) = try stage(KindlyBot.account(hasSource: false))
        let save = #"{"account":"bot","token":"e30.e30.eA"}"#
        _ = stage.call(client, "credentials.save_token", save)
        stage.broker.configure([
            AccountDefinition(
                name: Definitions.name("bot"), provider: .kindly,
                platform: .kindly(
                    KindlyDefinition(
                        botKey: "bot-2", market: "market",
                        baseURL: try HTTPURL("https://other.example/chatbubble/v2"))))
        ])
        stage.run()
        #expect(token(stage, client).contains(#""kind":"account_parked""#))
        #expect(stage.call(client, "credentials.save_token", save).contains(#""generation":2"#))
        #expect(token(stage, client).contains(#""bearer_token":"e30.e30.eA""#))

        let sealed = try Stage(isOpen: false, accounts: [KindlyBot.account()])
        let other = try #require(sealed.connect())
        #expect(sealed.call(other, "credentials.save_token", save).contains(#""kind":"store_sealed""#))
    }

    @Test func `a chat that is attached and given up in one breath leaves one that is connected and bound`()
        throws
    {
        let (stage, client) = try stage()
        for (method, params) in [
            ("chat.attach", #"{"account":"bot","chat_id":"its-own","token":"its-token"}"#),
            ("chat.reset", #"{"account":"bot"}"#),
        ] {
            stage.receive(
                #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(params)}"# + "\n", from: client)
        }
        stage.run()
        _ = client.take()
        stage.advance(.seconds(60))
        let now = chat(stage, client)
        #expect(now != "its-own")
        #expect(bot.binds.last?.chat == now)
        #expect(bot.violations.isEmpty)
    }

    @Test func `a chat that the disk refuses is not the account's, and the one before is bound again`() throws
    {
        let (stage, client) = try stage()
        let before = chat(stage, client)
        stage.store.failure = .full
        #expect(
            stage.call(
                client, "chat.attach", #"{"account":"bot","chat_id":"its-own","token":"its-token"}"#
            ).contains(#""kind":"store_full""#))
        #expect(stage.call(client, "chat.reset", #"{"account":"bot"}"#).contains(#""kind":"store_full""#))
        stage.store.failure = nil
        stage.advance(.seconds(60))
        #expect(chat(stage, client) == before)
        #expect(bot.binds.last?.chat == before)
    }

    @Test func `a client brings its own chat, and what is held is bound to it`() throws {
        let (stage, client) = try stage(KindlyBot.account(connecting: .client))
        #expect(bot.routes.isEmpty)
        let answer = stage.call(
            client, "chat.attach", #"{"account":"bot","chat_id":"its-own","token":"its-token"}"#)
        #expect(answer.contains(#""chat_id":"its-own","connected":true,"attached":true"#))
        #expect(bot.binds.map(\.chat) == ["its-own"])
        #expect(bot.routes == ["auth/chat"])
    }

    @Test func `R58: a stop gives nothing away and loses nothing; a restart binds nothing twice`() throws {
        let (stage, client) = try stage()
        let chat = chat(stage, client)
        _ = stage.call(client, "account.stop", #"{"account":"bot"}"#)
        #expect(token(stage, client).contains(#""kind":"account_stopped""#))
        _ = stage.call(client, "account.start", #"{"account":"bot"}"#)
        #expect(token(stage, client).contains(#""bearer_token":"token-1""#))
        #expect(self.chat(stage, client) == chat)
        #expect(bot.binds.count == 1)

        let second = try Stage(isOpen: false, accounts: [KindlyBot.account()])
        let contents = stage.store.contents
        for credential in contents.credentials { second.store.put(credential) }
        for state in contents.states { second.store.put(state) }
        second.fetcher.backend = { [bot] in bot.answer($0) }
        second.open()
        let other = try #require(second.connect())
        #expect(self.chat(second, other) == chat)
        #expect(bot.binds.count == 1)
    }

    @Test func `R59: a hundred clients on a cold start share one chat`() throws {
        let (stage, _) = try stage(KindlyBot.account(hasSource: false, connecting: .client))
        let clients = try (0..<100).map { _ in try #require(stage.connect()) }
        for client in clients {
            stage.receive(
                #"{"jsonrpc":"2.0","id":1,"method":"chat.id","params":{"account":"bot"}}"# + "\n",
                from: client)
        }
        stage.run()
        #expect(Set(clients.map { $0.take() }).count == 1)
    }

    @Test
    func `R40: that an opaque token has no expiry is told once the platform has said none either, and once`()
        throws
    {
        bot.expiry = #""expires_at":1767235700"#
        let (stage, client) = try stage(KindlyBot.account(hasSource: false))
        let watcher = try #require(stage.connect())
        let begin = stage.call(watcher, "events.subscribe", #"{"topics":["auth"]}"#)
        #expect(begin.contains(#""auth":"anonymous","warnings":[]"#))
        func save(_ token: String) -> [String] {
            _ = stage.call(
                client, "credentials.save",
                #"{"account":"bot","id_token":"\#(token)","issuer":"https://i.example"}"#)
            stage.run()
            return watcher.takeLines().filter { $0.contains("credential.warning") }
        }
        // The platform says until when it holds.
        #expect(save("opaque-1") == [])
        bot.expiry = ""
        #expect(
            save("opaque-2") == [
                #"{"jsonrpc":"2.0","method":"credential.warning","params":{"account":"bot","kind":"opaque_without_expiry","generation":2}}"#
            ])
        #expect(save("opaque-3") == [])
        // It is gone, and comes back.
        #expect(save("e30.e30.eA") == [])
        #expect(save("opaque-4").count == 1)
        #expect(
            stage.call(watcher, "events.subscribe", #"{"topics":["auth"]}"#).contains(
                #""warnings":["opaque_without_expiry"]"#))
        // A platform that cannot be asked says nothing.
        _ = save("e30.e30.eA")
        bot.bindStatus = 503
        #expect(save("opaque-5").count == 1)
    }

    @Test func `whoever watches sees the chat signed in and out, each change once`() throws {
        let (stage, client) = try stage()
        let watcher = try #require(stage.connect())
        let state = stage.call(watcher, "events.subscribe", #"{"topics":["auth"]}"#)
        #expect(state.contains(#""authenticated""#))
        _ = stage.call(client, "auth.deauthenticate", #"{"account":"bot"}"#)
        let lines = watcher.take().split(separator: "\n").filter { $0.contains("auth.changed") }
        #expect(lines.count == 1)
        #expect(
            lines.first?.contains(
                #""from":"authenticated","to":"anonymous","cause":"signed_out""#) == true)
    }
}
