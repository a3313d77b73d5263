import Broker
import BrokerSupport
import CredentialCore
import Testing

/// Chats that the platform has forgotten, or whose token it does not take any more.
@Suite struct `Chats that Kindly does not know any more` {
    private let bot = KindlyBot()

    private func headers(_ stage: Stage, _ client: MemoryConnection) -> String {
        stage.call(client, "headers.get", #"{"account":"bot","route":"message"}"#)
    }

    private func doctor(_ stage: Stage, _ client: MemoryConnection) -> String {
        stage.call(client, "account.doctor", #"{"account":"bot"}"#)
    }

    private func forgetChat(_ status: Int) {
        bot.unknownChatTokens = ["chat-token"]
        bot.unknownStatus = status
        bot.chatToken = "chat-token-2"
        bot.issued = "token-2"
    }

    @Test(arguments: [401, 403, 404])
    func `R48: they are connected again with the same id, and bound to`(_ status: Int) throws {
        let (stage, client) = try bot.stage()
        let chat = stage.chat(client)
        stage.advance(.seconds(2))
        forgetChat(status)
        let asked = bot.routes.count
        _ = stage.call(client, "auth.refresh", #"{"account":"bot"}"#)
        #expect(doctor(stage, client).contains(#""code":"chat_unknown""#))
        stage.advance(.seconds(1))
        #expect(bot.routes.dropFirst(asked) == ["auth/chat", "connect", "auth/chat"])
        #expect(bot.binds.last?.chat == chat && bot.binds.last?.bearer == "token-2")
        #expect(stage.chat(client) == chat)
        #expect(headers(stage, client).contains(#"["kindly-chatbubble-token","chat-token-2"]"#))
        #expect(
            stage.call(client, "credentials.inspect", #"{"account":"bot"}"#).contains(
                #""binding":{"state":"authenticated""#))
        #expect(!doctor(stage, client).contains("chat_unknown"))
        #expect(bot.violations.isEmpty)
    }

    @Test func `R48: whoever signs in finds them connected again`() throws {
        let (stage, client) = try bot.stage()
        let chat = stage.chat(client)
        stage.advance(.seconds(2))
        forgetChat(404)
        #expect(
            stage.call(client, "auth.authenticate", #"{"account":"bot"}"#).contains(#""generation":2"#))
        #expect(bot.binds.last?.chat == chat && bot.binds.last?.bearer == "token-2")
        #expect(headers(stage, client).contains(#"["kindly-chatbubble-token","chat-token-2"]"#))
        let binds = bot.binds.count
        stage.advance(.seconds(600))
        #expect(bot.binds.count == binds)
    }

    @Test func `where that does not help it is done after growing pauses, not all the time`() throws {
        let (stage, client) = try bot.stage()
        stage.advance(.seconds(2))
        forgetChat(403)
        bot.unknownChatTokens.insert("chat-token-2")
        _ = stage.call(client, "auth.refresh", #"{"account":"bot"}"#)
        stage.advance(.seconds(3600))
        #expect((3...60).contains(bot.routes.filter { $0 == "connect" }.count))
        bot.unknownChatTokens = []
        stage.advance(.seconds(300))
        #expect(
            stage.call(client, "credentials.inspect", #"{"account":"bot"}"#).contains(
                #""binding":{"state":"authenticated""#))
    }

    @Test func `what a restart finds in the store is the token that the chat has now`() throws {
        let (stage, client) = try bot.stage()
        stage.advance(.seconds(2))
        forgetChat(404)
        _ = stage.call(client, "auth.refresh", #"{"account":"bot"}"#)
        stage.advance(.seconds(2))
        let second = try Stage(isOpen: false, accounts: [KindlyBot.account()])
        for credential in stage.store.contents.credentials { second.store.put(credential) }
        for state in stage.store.contents.states { second.store.put(state) }
        second.fetcher.backend = { [bot] in bot.answer($0) }
        second.open()
        let other = try #require(second.connect())
        #expect(headers(second, other).contains(#"["kindly-chatbubble-token","chat-token-2"]"#))
    }

    @Test(arguments: [KindlyDefinition.Connecting.client, .broker])
    func `a client's own chat is the client's to connect, and doctor says so`(
        _ connecting: KindlyDefinition.Connecting
    ) throws {
        let (stage, client) = try bot.stage(KindlyBot.account(connecting: connecting))
        bot.unknownChatTokens = ["its-token"]
        let connects = bot.routes.filter { $0 == "connect" }.count
        _ = stage.call(client, "chat.attach", #"{"account":"bot","chat_id":"its-own","token":"its-token"}"#)
        stage.advance(.seconds(600))
        #expect(bot.routes.filter { $0 == "connect" }.count == connects)
        let findings = doctor(stage, client)
        #expect(findings.contains(#""code":"chat_unknown""#) && findings.contains("chat.attach"))
        _ = stage.call(client, "chat.attach", #"{"account":"bot","chat_id":"its-own","token":"its-new-one"}"#)
        #expect(
            stage.call(client, "credentials.inspect", #"{"account":"bot"}"#).contains(
                #""binding":{"state":"authenticated""#))
    }
}
