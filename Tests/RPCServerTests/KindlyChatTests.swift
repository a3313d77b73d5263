import Broker
import BrokerSupport
import CredentialCore
import Secrets
import Testing

/// Chats that clients bring, and chats that wait for their bot to be configured again.
@Suite struct `Chats that come and go` {
    private let bot = KindlyBot()
    private static let other = "https://other.example/chatbubble/v2"

    private func attach(
        _ stage: Stage, _ client: MemoryConnection, _ chat: String, token: String? = nil
    ) -> String {
        let own = token.map { #","token":"\#($0)""# } ?? ""
        return stage.call(client, "chat.attach", #"{"account":"bot","chat_id":"\#(chat)"\#(own)}"#)
    }

    private func binding(_ stage: Stage, _ client: MemoryConnection) -> String {
        let answer = stage.call(client, "credentials.inspect", #"{"account":"bot"}"#)
        return String(answer.drop { $0 != "{" }.split(separator: #""binding":"#, maxSplits: 1).last ?? "")
    }

    // MARK: Being told

    @Test func `a chat is nobody's before its row is on disk`() throws {
        let (stage, client) = try bot.stage()
        let before = stage.chat(client)
        let watcher = try #require(stage.connect())
        _ = stage.call(watcher, "events.subscribe", #"{"topics":["auth"]}"#)
        stage.receive(
            #"{"jsonrpc":"2.0","id":1,"method":"chat.attach","params":{"account":"bot","chat_id":"its-own","token":"t"}}"#
                + "\n", from: client)
        #expect(client.take() == "")
        stage.receive(
            #"{"jsonrpc":"2.0","id":2,"method":"chat.id","params":{"account":"bot"}}"# + "\n", from: client)
        #expect(client.take().contains(#""chat_id":"\#(before)""#))
        #expect(watcher.take() == "")
        stage.run()
        #expect(client.take().contains(#""chat_id":"its-own","connected":true,"attached":true"#))
        #expect(watcher.take().contains(#""from":"authenticated","to":"authenticating""#))
        #expect(bot.binds.last?.chat == "its-own")
    }

    @Test func `a disk that is full leaves the chat that there was, with what is bound to it`() throws {
        let (stage, client) = try bot.stage()
        let before = stage.chat(client)
        stage.store.failure = .full
        #expect(attach(stage, client, "its-own", token: "t").contains(#""kind":"store_full""#))
        #expect(stage.call(client, "chat.reset", #"{"account":"bot"}"#).contains(#""kind":"store_full""#))
        #expect(stage.chat(client) == before)
        stage.store.failure = nil
        stage.advance(.seconds(60))
        #expect(bot.binds.map(\.chat) == [before])
        // What the disk has is what is told.
        let (next, again) = try restarted(stage)
        #expect(next.chat(again) == before)
        #expect(bot.binds.count == 1)
    }

    @Test func `chats that come while a bind is out pile nothing up, and the last one is bound`() throws {
        let (stage, client) = try bot.stage()
        stage.fetcher.backend = nil
        _ = attach(stage, client, "its-own", token: "first")
        for number in 0..<3000 {
            #expect(attach(stage, client, "its-own", token: "t\(number)").contains(#""attached":true"#))
        }
        #expect(stage.fetcher.out.count == 1)
        stage.fetcher.backend = { [bot] in bot.answer($0) }
        stage.run()
        #expect(bot.binds.suffix(2).map(\.chat) == ["its-own", "its-own"])
        #expect(bot.binds.count == 3)
    }

    @Test func `two that come at once come one after the other, and each is told of its own`() throws {
        let (stage, client) = try bot.stage()
        for (id, chat) in [(1, "first"), (2, "second")] {
            stage.receive(
                #"{"jsonrpc":"2.0","id":\#(id),"method":"chat.attach","params":{"account":"bot","chat_id":"\#(chat)","token":"t"}}"#
                    + "\n", from: client)
        }
        stage.run()
        let answers = client.take().split(separator: "\n")
        #expect(answers.map { $0.contains(#""id":1"#) } == [true, false])
        #expect(answers.first?.contains(#""chat_id":"first""#) == true)
        #expect(answers.last?.contains(#""chat_id":"second""#) == true)
        stage.advance(.seconds(2))
        #expect(stage.chat(client) == "second")
        #expect(bot.binds.last?.chat == "second")
    }

    @Test
    func `a chat is connected once, however many wait for it, and has the name that the platform gives it`()
        throws
    {
        let stage = try Stage(accounts: [KindlyBot.account()])
        bot.chatName = "theirs"
        stage.advance(.zero)
        let client = try #require(stage.connect())
        // The connect and the first token are out; somebody signs in meanwhile.
        #expect(stage.fetcher.out.count == 2)
        stage.advance(.seconds(2))
        stage.receive(
            #"{"jsonrpc":"2.0","id":1,"method":"auth.authenticate","params":{"account":"bot"}}"# + "\n",
            from: client)
        stage.fetcher.backend = { [bot] in bot.answer($0) }
        stage.run()
        #expect(client.take().contains(#""generation":1"#))
        #expect(bot.routes == ["connect", "auth/chat"])
        #expect(bot.binds.map(\.chat) == ["theirs"])
        #expect(stage.chat(client) == "theirs")
    }

    // MARK: A chat that gets another name

    private func reached(_ stage: Stage, _ client: MemoryConnection) -> String {
        stage.call(client, "token.get", #"{"account":"bot"}"#)
    }

    @Test
    func `R5: whoever signs in to a chat that Kindly names otherwise has the source asked for that one`()
        throws
    {
        bot.hasTokensOfChats = true
        bot.isBackendDown = true
        bot.connectStatus = 503
        let (stage, client) = try bot.stage()
        stage.advance(.seconds(2))
        bot.isBackendDown = false
        bot.connectStatus = 200
        bot.chatName = "theirs"
        let asked = bot.bodies.count
        let answer = stage.call(client, "auth.authenticate", #"{"account":"bot"}"#)
        #expect(answer.contains(#""generation":1"#))
        #expect(bot.bodies[asked...].compactMap { $0.member("chatId") }.last == "theirs")
        #expect(bot.bodies.count - asked <= 2)
        #expect(bot.binds.map(\.bearer) == ["for-theirs"])
        #expect(reached(stage, client).contains(#""bearer_token":"for-theirs""#))
    }

    @Test(arguments: [true, false])
    func `R5: a token that was made for the chat's first name is replaced by one for its other name`(
        _ isConnectedFirst: Bool
    ) throws {
        bot.hasTokensOfChats = true
        bot.chatName = "theirs"
        let stage = try Stage(accounts: [KindlyBot.account()])
        stage.advance(.zero)
        let client = try #require(stage.connect())
        #expect(stage.fetcher.out.count == 2)
        let order = stage.fetcher.out.sorted {
            ($0.url.text.contains("connect") == isConnectedFirst)
                && ($1.url.text.contains("connect") != isConnectedFirst)
        }
        for request in order {
            stage.fetcher.end(bot.answer(request), of: request)
            stage.run()
        }
        stage.fetcher.backend = { [bot] in bot.answer($0) }
        stage.advance(.seconds(2))
        #expect(reached(stage, client).contains(#""bearer_token":"for-theirs""#))
        #expect(bot.binds.last?.bearer == "for-theirs" && bot.binds.last?.chat == "theirs")
        #expect(
            stage.call(client, "credentials.inspect", #"{"account":"bot"}"#).contains(
                #""binding":{"state":"authenticated""#))
    }

    // MARK: A chat's own token

    @Test func `a chat without its token is not connected, and doctor suspects that first`() throws {
        let (stage, client) = try bot.stage()
        #expect(
            attach(stage, client, "its-own").contains(
                #""chat_id":"its-own","connected":false,"attached":true"#))
        stage.advance(.seconds(2))
        #expect(binding(stage, client).contains(#""chat_id":"its-own","connected":false,"attached":true"#))
        let diagnosis = stage.call(client, "account.doctor", #"{"account":"bot"}"#)
        let codes = diagnosis.split(separator: #""code":""#).dropFirst().map { $0.prefix { $0 != "\"" } }
        #expect(codes.prefix(2) == ["chat_token_missing", "bind_rejected"])
        #expect(!diagnosis.contains("most likely the signature"))
        // With it, all is well again.
        bot.issued = "token-2"
        #expect(attach(stage, client, "its-own", token: "t").contains(#""connected":true"#))
        stage.advance(.seconds(60))
        #expect(binding(stage, client).contains(#""state":"authenticated""#))
    }

    @Test func `the chat that the daemon connected keeps its token, and what is bound to it`() throws {
        let (stage, client) = try bot.stage()
        let chat = stage.chat(client)
        #expect(
            attach(stage, client, chat).contains(#""chat_id":"\#(chat)","connected":true,"attached":false"#))
        #expect(stage.call(client, "headers.get", #"{"account":"bot"}"#).contains("chat-token"))
        #expect(bot.binds.count == 1)
        // With another token it is bound with that.
        #expect(attach(stage, client, chat, token: "t").contains(#""connected":true,"attached":true"#))
        #expect(
            stage.call(client, "headers.get", #"{"account":"bot"}"#).contains(
                #""kindly-chatbubble-token","t""#))
        #expect(bot.binds.count == 2)
    }

    @Test func `a chat that is brought once more is tried once more where it was refused`() throws {
        let (stage, client) = try bot.stage()
        bot.refused = ["token-1"]
        #expect(attach(stage, client, "its-own", token: "t").contains(#""connected":true"#))
        stage.advance(.seconds(60))
        bot.refused = []
        #expect(attach(stage, client, "its-own").contains(#""connected":true"#))
        stage.advance(.seconds(60))
        #expect(binding(stage, client).contains(#""state":"authenticated""#))
    }

    // MARK: Destinations

    private func restarted(
        _ stage: Stage, _ account: AccountDefinition? = nil
    ) throws -> (Stage, MemoryConnection) {
        let next = try Stage(isOpen: false, accounts: [account ?? KindlyBot.account()])
        for credential in stage.store.contents.credentials { next.store.put(credential) }
        for state in stage.store.contents.states { next.store.put(state) }
        next.fetcher.backend = { [bot] in bot.answer($0) }
        next.open()
        next.advance(.zero)
        return (next, try #require(next.connect()))
    }

    private func configure(_ stage: Stage, _ base: String) throws {
        stage.broker.configure([try KindlyBot.account(hasSource: false, base: base)])
        stage.run()
    }

    @Test(arguments: [false, true])
    func `a destination that comes back finds its chat, its token and what is bound`(_ restarts: Bool) throws
    {
        let here = "https://bot.example/chatbubble/v2"
        var (stage, client) = try bot.stage(KindlyBot.account(hasSource: false))
        _ = stage.call(client, "credentials.save", #"{"account":"bot","id_token":"e30.e30.eA"}"#)
        let chat = stage.chat(client)
        try configure(stage, Self.other)
        let elsewhere = stage.chat(client)
        #expect(elsewhere != chat)
        if restarts {
            (stage, client) = try restarted(stage, KindlyBot.account(hasSource: false, base: Self.other))
        }
        #expect(stage.chat(client) == elsewhere)
        let before = (bot.routes.count, bot.binds.count)
        try configure(stage, here)
        #expect(stage.chat(client) == chat)
        #expect(
            binding(stage, client).contains(#""state":"authenticated","chat_id":"\#(chat)","connected":true"#)
        )
        try configure(stage, Self.other)
        #expect(stage.chat(client) == elsewhere)
        #expect((bot.routes.count, bot.binds.count) == before)
    }

    @Test func `four destinations are remembered, and a chat that was left longest ago goes`() throws {
        let (stage, client) = try bot.stage(KindlyBot.account(hasSource: false))
        let bases = (1...5).map { "https://bot.example/chatbubble/v2/\($0)" }
        var chats: [String] = []
        for base in bases {
            try configure(stage, base)
            chats.append(stage.chat(client))
        }
        #expect(Set(chats).count == 5)
        for (base, chat) in zip(bases, chats).reversed().dropFirst().prefix(3) {
            try configure(stage, base)
            #expect(stage.chat(client) == chat)
        }
        try configure(stage, bases[0])
        #expect(stage.chat(client) != chats[0])
    }

    @Test func `a row of an earlier version is read as it is`() throws {
        let definition = try KindlyBot.account(hasSource: false)
        let stage = try Stage(isOpen: false, accounts: [definition])
        let row =
            #"{"destination":"\#(definition.destination.text)","state":{"chat_id":"old","chat_token":"t","attached":false},"bound":3}"#
        stage.store.put(
            StoredState(
                name: .account(Definitions.name("bot")), content: SecretBytes(copying: Array(row.utf8).span)))
        stage.fetcher.backend = { [bot] in bot.answer($0) }
        stage.open()
        let client = try #require(stage.connect())
        #expect(stage.chat(client) == "old")
        #expect(bot.routes.isEmpty)
    }
}
