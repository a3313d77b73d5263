import BrokerSupport
import CredentialCore
import Testing

/// Whoever is answered because a session took a step finds it in the new state: the change is told first, on the same connection
/// before the answer.
@Suite struct `A session's steps are told before anybody is answered` {
    private let network = SocialNetwork()

    /// An expired session whose renewal is under way, and a client that is told of its steps and waits for its next token.
    private func waiting() throws -> (Stage, MemoryConnection) {
        let (stage, client) = try network.stage(SocialNetwork.account(hasSource: true))
        _ = stage.session(client, "login", #","auth_token":"at-1""#)
        network.isDown = true
        stage.advance(.seconds(3700))
        network.isDown = false
        #expect(stage.state(client) == "token_expired")
        _ = stage.call(client, "events.subscribe", #"{"topics":["session"]}"#)
        stage.fetcher.backend = nil
        for _ in 0..<60 where stage.fetcher.out.isEmpty { stage.advance(.seconds(10)) }
        stage.begin(client, "token.get")
        stage.begin(client, "auth.refresh")
        #expect(client.take().isEmpty)
        return (stage, client)
    }

    /// Lets everything go on: what was sent, in order.
    private func order(_ stage: Stage, _ client: MemoryConnection) -> [String] {
        stage.fetcher.backend = { [network] in network.answer($0) }
        stage.run()
        return client.takeLines().map { line in
            line.member("method") == "session.changed"
                ? line.member("to") ?? line : line.contains(#""error""#) ? "failure" : "success"
        }
    }

    @Test func `R176: who waits for a token gets it from a session that is established`() throws {
        let (stage, client) = try waiting()
        #expect(order(stage, client) == ["established", "success", "success"])
    }

    @Test func `R178, R198: who waits for a token is told of a ban by a session that is terminated`() throws {
        let (stage, client) = try waiting()
        network.refusal = (403, 400_312)
        #expect(order(stage, client) == ["terminated", "failure", "failure"])
    }

    @Test func `R179: who waits for a token is told of a logout by a session that is not there`() throws {
        let (stage, client) = try waiting()
        stage.begin(client, "session.logout")
        #expect(order(stage, client) == ["not_logged_in", "failure", "failure", "success"])
    }

    @Test(arguments: [true, false])
    func `R173, R174: who waits for a login is answered behind its end`(_ isRefused: Bool) throws {
        let (stage, client) = try network.stage()
        _ = stage.call(client, "events.subscribe", #"{"topics":["session"]}"#)
        stage.fetcher.backend = nil
        stage.begin(client, "session.login", #","auth_token":"at-1""#)
        stage.begin(client, "token.get")
        if isRefused { network.refusal = (401, 400_100) }
        let end =
            isRefused ? ["not_logged_in", "failure", "failure"] : ["established", "success", "success"]
        #expect(order(stage, client) == ["establishing"] + end)
    }
}
