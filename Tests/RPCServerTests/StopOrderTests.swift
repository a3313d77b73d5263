import Broker
import BrokerSupport
import CredentialCore
import Secrets
import Testing

/// Stops that come while something is under way (R58): whoever waits is told, nothing that comes later counts, and a start goes on.
@Suite struct `Stops in between` {
    enum Place: CaseIterable, Sendable { case generic, kindly, chatbase, described }

    /// An account at a platform, what that answers, and what somebody wants of it.
    private struct World {
        let definition: AccountDefinition
        let answer: (FetchRequest) -> Result<FetchResponse, FetchFailure>
        let calls: [(method: String, rest: String)]

        init(_ place: Place) throws {
            switch place {
            case .generic:
                definition = Definitions.http("bot")
                answer = { _ in PlatformAnswers.json(200, #"{"token":"new","expires_in":3600}"#) }
                calls = [
                    ("token.get", ""), ("auth.refresh", ""), ("credentials.save_token", #","token":"saved""#),
                ]
            case .kindly:
                definition = try KindlyBot.account()
                answer = { [bot = KindlyBot()] in bot.answer($0) }
                calls = [("token.get", ""), ("auth.authenticate", ""), ("headers.get", "")]
            case .chatbase:
                let agent = try ChatbaseAgent.account("bot", hasSource: true)
                definition = agent
                answer = { [agent = ChatbaseAgent()] in agent.answer($0) }
                calls = [("identity.identify", #","token":"jwt-b""#), ("token.get", ""), ("headers.get", "")]
            case .described:
                let bind = BindDefinition(url: try HTTPURL("https://platform.example/bind"), order: .before)
                let source = try HTTPSource(url: HTTPURL("https://backend.example/token"))
                definition = AccountDefinition(
                    name: Definitions.name("bot"), platform: .described(bind), source: .http(source))
                answer = { _ in PlatformAnswers.json(200, #"{"token":"new","expires_in":3600}"#) }
                calls = [
                    ("credentials.save_token", #","token":"saved""#), ("token.get", ""), ("auth.refresh", ""),
                ]
            }
        }
    }

    private func line(_ method: String, _ rest: String = "", id: Int) -> String {
        #"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)","params":{"account":"bot"\#(rest)}}"# + "\n"
    }

    @Test(arguments: Place.allCases, [false, true])
    func `nobody hangs, nothing is installed afterwards, and a start goes on`(
        _ place: Place, _ isDiskSlow: Bool
    ) throws {
        // Stopped before the first answer of the network, behind the first one, and so on.
        for answered in 0..<6 {
            let world = try World(place)
            let stage = try Stage(accounts: [world.definition])
            let client = try #require(stage.connect())
            stage.advance(.zero)
            for (index, call) in world.calls.enumerated() {
                stage.receive(line(call.method, call.rest, id: index + 1), from: client)
            }
            stage.run()
            for _ in 0..<answered {
                guard let request = stage.fetcher.out.first else { break }
                stage.fetcher.end(world.answer(request), of: request)
                stage.run()
            }
            stage.store.isHeld = isDiskSlow
            stage.receive(line("account.stop", id: 9), from: client)
            stage.run()
            let account = try #require(stage.account("bot"))
            let generation = account.session.generation
            while let request = stage.fetcher.out.first {
                stage.fetcher.end(world.answer(request), of: request)
                stage.run()
            }
            stage.store.isHeld = false
            stage.advance(.seconds(60))
            let ids = client.takeLines().compactMap { $0.member("id") }.sorted()
            #expect(ids == (world.calls.indices.map { String($0 + 1) } + ["9"]).sorted(), "\(answered)")
            #expect(account.session.standing == .stopped)
            #expect(account.session.held?.credential == nil)
            #expect(account.session.generation == generation || isDiskSlow, "\(answered)")
            #expect(stage.fetcher.out.isEmpty)

            stage.fetcher.backend = world.answer
            _ = stage.ask(client, line("account.start", id: 10))
            stage.advance(.seconds(60))
            _ = client.take()
            #expect(stage.ask(client, line("token.get", id: 11)).contains(#""bearer_token""#), "\(answered)")
        }
    }
}
