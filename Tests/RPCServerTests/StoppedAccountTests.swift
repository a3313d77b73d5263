import Broker
import BrokerSupport
import CredentialCore
import Secrets
import Testing

/// Accounts that rest: their tokens are in the store and nowhere else (R58).
@Suite struct `Stopped accounts` {
    private static let bot = #"{"account":"bot"}"#
    private static let get = #"{"jsonrpc":"2.0","id":7,"method":"token.get","params":{"account":"bot"}}"#

    private func line(_ method: String, _ account: String = "bot", id: Int = 1) -> String {
        #"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)","params":{"account":"\#(account)"}}"# + "\n"
    }

    private func bearer(_ stage: Stage) -> SecretBytes? {
        stage.account("bot")?.session.held?.credential?.bearer
    }

    @Test func `R58: a stop leaves no token in memory, and a start has it again without network`() throws {
        let (stage, client) = try Stage.serving()
        // Asked for in its usual form, so that an answer is prepared, and with headers.
        for _ in 0..<3 { #expect(stage.ask(client, Self.get) == Expected.token(id: "7") + "\n") }
        _ = stage.call(client, "headers.get", Self.bot)
        weak let token = bearer(stage)
        weak let rendered = stage.account("bot")?.renderedToken
        #expect(token != nil && rendered != nil)
        _ = stage.call(client, "account.stop", Self.bot)
        #expect(token == nil && rendered == nil)
        #expect(stage.account("bot")?.session.held?.credential == nil)
        #expect(stage.call(client, "account.start", Self.bot).contains(#""state":"fresh","generation":1"#))
        #expect(stage.ask(client, Self.get) == Expected.token(id: "7") + "\n")
        #expect(stage.fetcher.all.count == 1)
    }

    @Test(arguments: ["credentials.inspect", "account.show", "events.subscribe"])
    func `what is said of a stopped account is what was said of it before`(_ method: String) throws {
        let (stage, client) = try Stage.serving()
        let params = method == "events.subscribe" ? #"{"topics":["token"]}"# : Self.bot
        let before = stage.call(client, method, params)
        _ = stage.call(client, "account.stop", Self.bot)
        weak let token = bearer(stage)
        let after = stage.call(client, method, params)
        #expect(after == before.replacing(#""state":"fresh""#, with: #""state":"stopped""#))
        // It was read to be looked at, and is gone again.
        #expect(token == nil && bearer(stage) == nil)
    }

    @Test func `doctor says what the tokens of a stopped account are`() throws {
        let (stage, client) = try Stage.serving()
        _ = stage.call(client, "account.stop", Self.bot)
        let answer = stage.call(client, "account.doctor", Self.bot)
        #expect(answer.contains(#""tokens":{"id_token":{"kind":"opaque"}}"#))
        #expect(answer.contains(#""code":"account_stopped""#))
        #expect(bearer(stage) == nil)
    }

    @Test func `R51: who signs out of a stopped account is unbound at the platform`() throws {
        let bot = KindlyBot()
        let (stage, client) = try bot.stage()
        _ = stage.call(client, "account.stop", Self.bot)
        #expect(
            stage.call(client, "auth.deauthenticate", Self.bot)
                == #"{"jsonrpc":"2.0","id":1,"result":{"account":"bot"}}"#)
        #expect(bot.ends == ["token-1"])
        #expect(stage.call(client, "credentials.inspect", Self.bot).contains(#""has_token":false"#))
    }

    @Test func `what the disk refused is kept until the disk takes it`() throws {
        let (stage, client) = try Stage.serving()
        stage.store.failure = .full
        _ = stage.ask(client, Self.get)
        stage.advance(.seconds(2))
        stage.receive(line("auth.refresh"), from: client)
        stage.fetcher.answer(#"{"token":"new","expires_in":3600}"#)
        stage.run()
        _ = client.take()
        _ = stage.call(client, "account.stop", Self.bot)
        #expect(bearer(stage)?.isEqual(to: SecretBytes("new")) == true)
        stage.store.failure = nil
        stage.advance(.seconds(30))
        #expect(bearer(stage) == nil)
        _ = stage.call(client, "account.start", Self.bot)
        #expect(stage.ask(client, Self.get).contains(#""bearer_token":"new""#))
    }

    @Test func `what is on its way to the disk when an account is stopped is not kept in memory either`()
        throws
    {
        let (stage, client) = try Stage.serving()
        stage.store.isHeld = true
        stage.receive(
            #"{"jsonrpc":"2.0","id":3,"method":"credentials.save_token","params":{"account":"bot","token":"saved"}}"#
                + "\n" + line("account.stop"), from: client)
        stage.store.isHeld = false
        stage.run()
        #expect(client.take().contains(#""id":3,"result":{"account":"bot","saved":true,"generation":2"#))
        #expect(bearer(stage) == nil)
        _ = stage.call(client, "account.start", Self.bot)
        #expect(stage.ask(client, Self.get).contains(#""bearer_token":"saved""#))
    }

    @Test(arguments: [
        (StoreFailure.corrupt(detail: .row), "store_corrupt"), (.io(code: 10), "store_full"),
        (.sealed, "store_sealed"), (.busy, "overloaded"),
    ])
    func `an account whose tokens cannot be read rests on, and whoever starts it is told why`(
        _ failure: StoreFailure, _ kind: String
    ) throws {
        let (stage, client) = try Stage.serving()
        _ = stage.call(client, "account.stop", Self.bot)
        stage.store.readFailure = failure
        for method in ["account.start", "credentials.inspect", "auth.deauthenticate"] {
            #expect(stage.call(client, method, Self.bot).contains(#""kind":"\#(kind)""#))
        }
        #expect(stage.call(client, "account.show", Self.bot).contains(#""state":"stopped","generation":1"#))
        stage.store.readFailure = nil
        #expect(stage.call(client, "account.start", Self.bot).contains(#""state":"fresh""#))
    }

    @Test func `a hundred accounts that wait for the disk keep nobody else waiting`() throws {
        let names = (0..<100).map { "rests-\($0)" }
        let stage = try Stage(accounts: [Definitions.http("bot")] + names.map { Definitions.plain($0) })
        stage.advance(.zero)
        stage.fetcher.answer(#"{"token":"abc","expires_in":3600}"#)
        let client = try #require(stage.connect())
        for name in names {
            _ = stage.call(client, "credentials.save_token", #"{"account":"\#(name)","token":"t-\#(name)"}"#)
        }
        for name in names { stage.receive(line("account.stop", name), from: client) }
        #expect(client.takeLines().count == 100)
        stage.store.isHeld = true
        for name in names { stage.receive(line("account.start", name), from: client) }
        stage.receive(Self.get + "\n", from: client)
        stage.run()
        #expect(client.take() == Expected.token(id: "7") + "\n")
        stage.store.isHeld = false
        stage.run()
        #expect(client.takeLines().count == 100)
        #expect(
            names.allSatisfy {
                stage.call(client, "token.get", #"{"account":"\#($0)"}"#).contains("t-\($0)")
            })
    }

    @Test func `a stop that overtakes a start wins, and two starts are one`() throws {
        let (stage, client) = try Stage.serving()
        _ = stage.call(client, "account.stop", Self.bot)
        stage.store.isHeld = true
        stage.receive(line("account.start") + line("account.stop", id: 2), from: client)
        stage.store.isHeld = false
        stage.run()
        #expect(client.takeLines().last?.contains(#""id":1,"error":{"code":102"#) == true)
        #expect(stage.account("bot")?.session.standing == .stopped)
        #expect(bearer(stage) == nil)
        stage.receive(line("account.start") + line("account.start", id: 2), from: client)
        stage.run()
        #expect(client.takeLines().count { $0.contains(#""state":"fresh""#) } == 2)
    }

    @Test func `an account that does not start by itself is opened without its tokens`() throws {
        let stage = try Stage(isOpen: false, accounts: [Definitions.http("bot", startsByItself: false)])
        stage.store.put(
            try Definitions.stored(
                "bot", token: "kept", generation: 4, expiresAt: nil, receivedAt: stage.clock.now,
                destination: Definitions.http("bot").destination.text))
        stage.open()
        #expect(stage.account("bot")?.session.isShelved == true)
        let client = try #require(stage.connect())
        _ = stage.call(client, "account.start", Self.bot)
        #expect(stage.ask(client, Self.get).contains(#""generation":4,"bearer_token":"kept""#))
        #expect(stage.fetcher.all.isEmpty)
    }

    @Test func `an account that rests, vanishes and comes back works with what it held`() throws {
        let (stage, client) = try Stage.serving()
        let definition = try #require(stage.account("bot")).definition
        _ = stage.call(client, "account.stop", Self.bot)
        stage.broker.configure([])
        stage.broker.configure([definition])
        stage.run()
        #expect(stage.ask(client, Self.get) == Expected.token(id: "7") + "\n")
    }

    @Test func `a removal that the disk refuses leaves the account at work`() throws {
        let stage = try Stage()
        let client = try #require(stage.connect())
        _ = stage.call(client, "account.add", #"{"account":"bot"}"#)
        _ = stage.call(client, "credentials.save_token", #"{"account":"bot","token":"kept"}"#)
        stage.store.failure = .full
        #expect(stage.call(client, "account.remove", Self.bot).contains(#""kind":"store_full""#))
        #expect(stage.ask(client, Self.get).contains(#""bearer_token":"kept""#))
    }

    @Test func `whom a sign-in that a stop cut short may have bound is bound over at the start`() throws {
        let bot = KindlyBot()
        let (stage, client) = try bot.stage()
        stage.advance(.seconds(2))
        stage.fetcher.backend = nil
        stage.receive(line("auth.authenticate"), from: client)
        stage.fetcher.answer(#"{"token":"token-2"}"#)
        stage.run()
        // The bind is out.
        stage.receive(line("account.stop"), from: client)
        stage.fetcher.answer("{}")
        stage.run()
        let told = client.takeLines()
        #expect(told.contains { $0.contains(#""kind":"account_stopped""#) })
        #expect(stage.account("bot")?.session.generation == Generation(1))
        stage.fetcher.backend = { bot.answer($0) }
        _ = stage.call(client, "account.start", Self.bot)
        #expect(bot.binds.last?.bearer == "token-1")
        #expect(bot.binds.count == 2)
    }

    @Test func `what a bind says of an account that was stopped while the daemon ends is nobody's`() throws {
        let bot = KindlyBot()
        let (stage, client) = try bot.stage()
        stage.advance(.seconds(2))
        bot.issued = "token-2"
        bot.expiry = #""expires_at":1767235600"#
        let answer = stage.fetcher.backend
        stage.fetcher.backend = nil
        stage.receive(line("auth.refresh"), from: client)
        stage.run()
        let source = try #require(stage.fetcher.out.first)
        stage.fetcher.end(bot.answer(source))
        stage.run()
        let bind = try #require(stage.fetcher.out.first)
        stage.broker.shutDown()
        _ = stage.call(client, "account.stop", #"{"account":"bot"}"#)
        stage.fetcher.backend = answer
        stage.fetcher.end(bot.answer(bind))
        stage.run()
        #expect(stage.store.credentials[Definitions.name("bot")]?.held?.credential != nil)
    }
}
