import BrokerSupport
import CredentialCore
import Testing

/// What clients saw of a session at the platform: `session.report` and `token.reject` (R175, R178).
@Suite struct `Reports of what a platform said` {
    private let network = SocialNetwork()

    private func loggedIn() throws -> (Stage, MemoryConnection) {
        let (stage, client) = try network.stage(SocialNetwork.account(hasSource: true))
        _ = stage.session(client, "login", #","auth_token":"at-1""#)
        network.forget()
        return (stage, client)
    }

    private func reject(_ stage: Stage, _ client: MemoryConnection, _ rest: String) -> String {
        stage.call(client, "token.reject", #"{"account":"app"\#(rest)}"#)
    }

    // MARK: The disk

    @Test func `R178: a report is answered when the disk has it`() throws {
        let (stage, client) = try loggedIn()
        stage.receive(
            #"{"jsonrpc":"2.0","id":1,"method":"session.report","params":{"account":"app","code":400312}}"#
                + "\n", from: client)
        var writes = 0
        while !stage.store.waiting.isEmpty {
            #expect(client.take().isEmpty)
            stage.store.completeOne()
            writes += 1
        }
        #expect(writes == 2 && client.take().contains(#""state":"terminated""#))
    }

    @Test
    func `R178: what the disk does not keep of a ban is no success, and holds as long as the daemon lives`()
        throws
    {
        let (stage, client) = try loggedIn()
        stage.store.failure = .full
        let answer = stage.session(client, "report", #","code":400312"#)
        #expect(answer.contains(#""kind":"store_full""#))
        #expect(answer.contains("a restart would forget that"))
        #expect(stage.state(client) == "terminated")
        #expect(stage.token(client).contains(#""kind":"terminated""#))
        stage.store.failure = nil
        stage.advance(.seconds(2))
        let (next, other) = try network.stage(after: stage)
        #expect(next.state(other) == "terminated")
    }

    // MARK: token.reject

    @Test func `R178, R198: a refused token with the code of a ban ends the session`() throws {
        let (stage, client) = try loggedIn()
        _ = stage.call(client, "events.subscribe", #"{"topics":["session"]}"#)
        stage.begin(client, "token.reject", #","http_status":403,"code":"400312""#)
        let lines = client.takeLines()
        #expect(lines.count == 2 && lines.first?.contains(#""to":"terminated""#) == true)
        #expect(lines.last?.contains(#""accepted":true"#) == true)
        stage.advance(.seconds(7200))
        #expect(network.log.isEmpty && stage.state(client) == "terminated")
    }

    @Test
    func `R175: "unauthorised" with a refused token is worth one renewal, and the end only during that`()
        throws
    {
        let (stage, client) = try loggedIn()
        stage.advance(.seconds(5))
        _ = stage.call(client, "events.subscribe", #"{"topics":["session"]}"#)
        stage.begin(client, "token.reject", #","http_status":401,"code":"400100""#)
        let lines = client.takeLines()
        #expect(lines.count == 3 && lines[0].contains(#""to":"token_expired","cause":"unauthorized""#))
        #expect(lines[1].contains(#""accepted":true"#) || lines[2].contains(#""accepted":true"#))
        #expect(network.log == ["backend", "POST at-1"] && stage.state(client) == "established")
        #expect(reject(stage, client, #","generation":1,"code":"400312""#).contains(#""accepted":false"#))

        let (other, second) = try loggedIn()
        other.advance(.seconds(5))
        network.refusal = (401, 400_100)
        #expect(reject(other, second, #","code":"400100""#).contains(#""accepted":true"#))
        #expect(other.state(second) == "terminated")
    }

    @Test(arguments: ["", "banned", "400311", "99999999999999999999"])
    func `a code that says nothing of the session is worth what a refusal is`(_ code: String) throws {
        let (stage, client) = try loggedIn()
        stage.advance(.seconds(5))
        #expect(reject(stage, client, #","code":"\#(code)""#).contains(#""accepted":true"#))
        #expect(network.log == ["backend", "POST at-1"] && stage.state(client) == "established")
    }

    @Test func `R178: from who may only use the account the code of a ban is worth a renewal`() throws {
        let (stage, client) = try network.stage(
            SocialNetwork.account(hasSource: true, access: AccessRules(use: Definitions.user(7))),
            instance: .system(admins: []))
        #expect(stage.session(client, "state").contains("account_unknown"))
        let admin = try #require(stage.connect(uid: 0, onAdminSocket: true))
        _ = stage.session(admin, "login", #","auth_token":"at-1""#)
        network.forget()
        stage.advance(.seconds(5))
        let user = try #require(stage.connect(uid: 7))
        #expect(reject(stage, user, #","code":"400312""#).contains(#""accepted":true"#))
        #expect(network.log == ["backend", "POST at-1"] && stage.state(admin) == "established")
    }
}
