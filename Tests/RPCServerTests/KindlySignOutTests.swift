import Broker
import BrokerSupport
import CredentialCore
import Secrets
import Testing

/// Sign-outs while the platform is being shown a credential: it is told of them behind that, whatever came of it.
@Suite struct `Signing out of Kindly` {
    private let bot = KindlyBot()
    private static let signOut =
        #"{"jsonrpc":"2.0","id":7,"method":"auth.deauthenticate","params":{"account":"bot"}}"#
    private static let signIn =
        #"{"jsonrpc":"2.0","id":8,"method":"auth.authenticate","params":{"account":"bot"}}"#
    private static let done = #"{"jsonrpc":"2.0","id":7,"result":{"account":"bot"}}"# + "\n"
    private static let signedOut = #"nobody is signed in to the account; chatauth doctor says what to do"#

    /// A daemon whose account holds `token-1`, bound, or nothing; from now on requests are out until they are let go.
    private func stage(isSignedIn: Bool = true) throws -> (Stage, MemoryConnection) {
        let (stage, client) = try bot.stage()
        if !isSignedIn { _ = stage.ask(client, Self.signOut) }
        stage.advance(.seconds(2))
        stage.fetcher.backend = nil
        bot.issued = "token-2"
        return (stage, client)
    }

    /// Lets the platform, or the backend, answer what has been out for longest.
    private func letGo(_ stage: Stage) throws {
        let request = try #require(stage.fetcher.out.first)
        stage.fetcher.end(bot.answer(request))
        stage.run()
    }

    /// What is out, by the end of its path.
    private func out(_ stage: Stage) -> [String] {
        stage.fetcher.out.map { String($0.url.text.split(separator: "/").last ?? "") }
    }

    /// Has `token-2` be shown to the platform by a sign-in, and leaves that request out.
    private func signingIn(_ stage: Stage, _ client: MemoryConnection) throws {
        stage.receive(Self.signIn + "\n", from: client)
        stage.run()
        #expect(out(stage) == ["token"])
        try letGo(stage)
        #expect(out(stage) == ["chat"])
    }

    private func isBound(_ stage: Stage, _ client: MemoryConnection) -> Bool {
        stage.call(client, "credentials.inspect", #"{"account":"bot"}"#).contains(
            #""binding":{"state":"authenticated""#)
    }

    private func isForgotten(_ stage: Stage) -> Bool {
        stage.account("bot")?.session.held == nil
            && stage.store.credentials[Definitions.name("bot")]?.held == nil
    }

    @Test(arguments: [true, false])
    func `R51, R54: one behind a bind that is out waits for it, and ends what it bound`(
        _ wasSignedIn: Bool
    ) throws {
        let (stage, client) = try stage(isSignedIn: wasSignedIn)
        let before = bot.ends.count
        try signingIn(stage, client)
        // Here it is over at once; whoever was signing in is told so.
        #expect(stage.ask(client, Self.signOut).contains(Self.signedOut))
        #expect(isForgotten(stage))
        #expect(out(stage) == ["chat"])
        try letGo(stage)
        #expect(out(stage) == ["invalidate"])
        #expect(client.take() == "")
        try letGo(stage)
        #expect(client.take() == Self.done)
        #expect(bot.ends.dropFirst(before) == ["token-2"])
        stage.advance(.seconds(7200))
        #expect(stage.fetcher.out.isEmpty && isForgotten(stage))
        #expect(stage.ask(client, Self.signOut).contains(#""already_anonymous":true"#))
    }

    @Test func `a bind that was refused has bound nobody: what was bound before is ended`() throws {
        let (stage, client) = try stage()
        bot.refused = ["token-2"]
        try signingIn(stage, client)
        _ = stage.ask(client, Self.signOut)
        try letGo(stage)
        try letGo(stage)
        #expect(client.take() == Self.done)
        #expect(bot.ends == ["token-1"])
    }

    @Test func `where nobody was bound there is nothing to tell`() throws {
        let (stage, client) = try stage(isSignedIn: false)
        bot.refused = ["token-2"]
        try signingIn(stage, client)
        _ = stage.ask(client, Self.signOut)
        try letGo(stage)
        #expect(client.take() == Self.done)
        #expect(stage.fetcher.out.isEmpty)
    }

    @Test func `after a bind that did not come back either may be bound, and the first yes is enough`() throws
    {
        let (stage, client) = try stage()
        bot.bindFailure = .timeout
        try signingIn(stage, client)
        _ = stage.ask(client, Self.signOut)
        try letGo(stage)
        bot.refused = ["token-2"]
        try letGo(stage)
        #expect(client.take() == "")
        try letGo(stage)
        #expect(client.take() == Self.done)
        #expect(bot.ends == ["token-2", "token-1"])
    }

    @Test func `one that never left is not sent behind a sign-out`() throws {
        let (stage, client) = try stage()
        try signingIn(stage, client)
        // Behind it in the same chat: a bind that waits for its turn.
        _ = stage.call(client, "credentials.save", #"{"account":"bot","id_token":"e30.e30.eA"}"#)
        #expect(out(stage) == ["chat"])
        _ = stage.ask(client, Self.signOut)
        try letGo(stage)
        #expect(out(stage) == ["invalidate"])
        try letGo(stage)
        #expect(client.take() == Self.done)
        #expect(bot.binds.map(\.bearer) == ["token-1", "token-2"])
    }

    @Test func `the bind of what was saved or renewed is waited for as well`() throws {
        let (stage, client) = try stage()
        _ = stage.call(client, "credentials.save", #"{"account":"bot","id_token":"e30.e30.eA"}"#)
        #expect(out(stage) == ["chat"])
        #expect(stage.ask(client, Self.signOut) == "")
        #expect(isForgotten(stage))
        try letGo(stage)
        try letGo(stage)
        #expect(client.take() == Self.done)
        #expect(bot.ends == ["e30.e30.eA"])
    }

    @Test func `whoever signs in behind a sign-out is bound behind it`() throws {
        let (stage, client) = try stage()
        try signingIn(stage, client)
        _ = stage.ask(client, Self.signOut)
        bot.issued = "token-3"
        stage.advance(.seconds(1))
        stage.receive(Self.signIn + "\n", from: client)
        stage.run()
        #expect(out(stage) == ["chat", "token"])
        stage.fetcher.end(
            bot.answer(try #require(stage.fetcher.out.last)), of: stage.fetcher.out.last?.partition)
        stage.run()
        #expect(out(stage) == ["chat"])
        try letGo(stage)
        #expect(out(stage) == ["invalidate"])
        try letGo(stage)
        #expect(client.take() == Self.done)
        #expect(out(stage) == ["chat"])
        try letGo(stage)
        #expect(client.take().contains(#""id":8,"result""#))
        #expect(bot.ends == ["token-2"])
        #expect(bot.binds.map(\.bearer) == ["token-1", "token-2", "token-3"])
        #expect(isBound(stage, client))
    }

    @Test func `two sign-outs at once are told the same`() throws {
        let (stage, client) = try stage()
        let other = try #require(stage.connect())
        try signingIn(stage, client)
        _ = stage.ask(client, Self.signOut)
        _ = stage.ask(other, Self.signOut)
        bot.invalidateStatus = 500
        while !stage.fetcher.out.isEmpty { try letGo(stage) }
        let (first, second) = (client.take(), other.take())
        #expect(first.contains(#""kind":"revoke_failed""#) && first.contains(#""cleared":true"#))
        #expect(first == second)
    }

    @Test(arguments: [
        FetchFailure.timeout, .connectionFailed, .connectionLost, .nameNotResolved, .workerLost,
    ])
    func `R54: where the platform cannot be told it is over here, and told to the caller alone`(
        _ failure: FetchFailure
    ) throws {
        let (stage, client) = try stage()
        try signingIn(stage, client)
        _ = stage.ask(client, Self.signOut)
        bot.invalidateFailure = failure
        try letGo(stage)
        #expect(isForgotten(stage))
        try letGo(stage)
        let answer = client.take()
        #expect(answer.contains(#""code":142,"message":"forgotten here, but the platform may know the user"#))
        #expect(answer.contains(#""retryable":false"#) && answer.contains(#""cleared":true"#))
        bot.invalidateFailure = nil
        stage.advance(.seconds(7200))
        #expect(stage.fetcher.out.isEmpty && isForgotten(stage))
        #expect(bot.ends == ["token-2"])
    }

    @Test func `a disk that does not forget leaves everything as it was`() throws {
        let (stage, client) = try stage()
        try signingIn(stage, client)
        stage.store.failure = .full
        #expect(stage.ask(client, Self.signOut).contains(#""kind":"store_full""#))
        stage.store.failure = nil
        #expect(stage.account("bot")?.session.held != nil)
        #expect(bot.ends.isEmpty)
    }

    @Test func `a sign-in that may have bound somebody is told to the platform by a sign-out, and only then`()
        throws
    {
        let (stage, client) = try stage(isSignedIn: false)
        let before = bot.ends.count
        bot.bindFailure = .timeout
        try signingIn(stage, client)
        try letGo(stage)
        #expect(client.take().contains(#""kind":"upstream_timeout""#))
        stage.advance(.seconds(600))
        #expect(bot.ends.count == before)
        _ = stage.ask(client, Self.signOut)
        try letGo(stage)
        #expect(client.take() == Self.done)
        #expect(bot.ends.dropFirst(before) == ["token-2"])
    }

    @Test func `R50: a sign-in that may have bound somebody else has what is held be bound again`() throws {
        let (stage, client) = try stage()
        bot.bindFailure = .timeout
        try signingIn(stage, client)
        try letGo(stage)
        #expect(client.take().contains(#""kind":"upstream_timeout""#))
        bot.bindFailure = nil
        bot.isBackendDown = true
        while let next = stage.fetcher.out.first {
            stage.fetcher.end(bot.answer(next))
            stage.run()
        }
        #expect(bot.binds.map(\.bearer) == ["token-1", "token-2", "token-1"])
        #expect(isBound(stage, client))
    }

    @Test func `whoever forgets a credential tells nobody, and nothing of it is kept`() throws {
        let (stage, client) = try stage()
        stage.fetcher.backend = { [bot] in bot.answer($0) }
        _ = stage.call(client, "credentials.delete", #"{"account":"bot"}"#)
        // A new source would sign in again after the one, and not after the other.
        #expect(stage.ask(client, Self.signOut).contains(#""already_anonymous":true"#) == false)
        #expect(stage.ask(client, Self.signOut).contains(#""already_anonymous":true"#))
        #expect(bot.ends.isEmpty)
    }

    @Test
    func `a sign-out before anybody was signed in lasts, whatever is tried again, started or asked for`()
        throws
    {
        bot.isBackendDown = true
        let stage = try Stage(accounts: [KindlyBot.account()])
        stage.fetcher.backend = { [bot] in bot.answer($0) }
        stage.advance(.zero)
        let client = try #require(stage.connect())
        #expect(stage.ask(client, Self.signOut).contains("already_anonymous") == false)
        #expect(stage.ask(client, Self.signOut).contains(#""already_anonymous":true"#))
        bot.isBackendDown = false
        stage.advance(.seconds(600))
        for method in ["account.start", "account.stop", "account.start"] {
            _ = stage.call(client, method, #"{"account":"bot"}"#)
            stage.advance(.seconds(10))
            #expect(stage.call(client, "token.get", #"{"account":"bot"}"#).contains(#""error""#))
        }
        #expect(bot.binds.isEmpty)
        _ = stage.call(client, "auth.authenticate", #"{"account":"bot"}"#)
        #expect(bot.binds.map(\.bearer) == ["token-1"])
    }

    @Test func `what was meant for another platform is forgotten, and that nobody was told is said`() throws {
        let (stage, client) = try stage()
        stage.broker.configure([try KindlyBot.account(base: "https://other.example/chatbubble/v2")])
        stage.run()
        let answer = stage.ask(client, Self.signOut)
        #expect(answer.contains("the store is cleared, but nobody was told: the account was parked"))
        #expect(answer.contains(#""kind":"revoke_failed","retryable":false"#))
        #expect(answer.contains(#""cleared":true"#))
        #expect(isForgotten(stage))
        #expect(bot.ends.isEmpty)
    }
}
