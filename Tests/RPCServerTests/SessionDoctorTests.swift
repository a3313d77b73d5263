import BrokerSupport
import CredentialCore
import Testing

@Suite struct `The doctor of sessions at social.plus` {
    private let network = SocialNetwork()

    private func diagnosis(_ stage: Stage, _ client: MemoryConnection) -> String {
        stage.call(client, "account.doctor", #"{"account":"app"}"#)
    }

    @Test func `R154: a login that was refused is explained until the next one`() throws {
        let (stage, client) = try network.stage()
        #expect(diagnosis(stage, client).contains(#""severity":"warning","code":"session_missing""#))
        _ = stage.session(client, "login", #","auth_token":"bad""#)
        let refused = diagnosis(stage, client)
        #expect(refused.contains(#""severity":"error","code":"login_failed""#))
        #expect(refused.contains("the region that is configured (https://apix.eu.amity.co"))
        #expect(refused.contains(#""requirement":"R154""#))
        #expect(refused.contains(#""http_status":401,"provider_code":"400100""#))
        _ = stage.session(client, "login", #","auth_token":"at-1""#)
        #expect(!diagnosis(stage, client).contains("login_failed"))
    }

    @Test func `R158, R202: a session that nobody renews is said while it still works`() throws {
        let (stage, client) = try network.stage()
        _ = stage.session(client, "login", #","auth_token":"at-1""#)
        let alone = diagnosis(stage, client)
        #expect(alone.contains(#""severity":"warning","code":"renewal_handler_missing""#))
        #expect(alone.contains(#""ok":true"#))
        _ = stage.call(
            client, "handler.register", #"{"account":"app","kinds":["session.on_token_renew"]}"#)
        #expect(diagnosis(stage, client).contains(#""code":"renewal_handler_of_other_kind""#))
    }

    @Test func `R201, R205: a short life and a ban are named`() throws {
        network.lifetime = 40
        let (stage, client) = try network.stage(SocialNetwork.account(hasSource: true))
        _ = stage.session(client, "login", #","auth_token":"at-1""#)
        #expect(diagnosis(stage, client).contains(#""code":"lifetime_short""#))
        _ = stage.session(client, "report", #","code":400312"#)
        #expect(diagnosis(stage, client).contains(#""severity":"error","code":"session_terminated""#))
    }

    @Test func `R200: while a login is under way, and once it took too long`() throws {
        let (stage, client) = try network.stage()
        stage.fetcher.backend = nil
        stage.receive(
            #"{"jsonrpc":"2.0","id":1,"method":"session.login","params":{"account":"app","auth_token":"at-1","wait":60}}"#
                + "\n", from: client)
        stage.run()
        let other = try #require(stage.connect())
        #expect(diagnosis(stage, other).contains(#""code":"login_running""#))
        stage.advance(.seconds(31))
        let over = diagnosis(stage, other)
        #expect(over.contains(#""severity":"error","code":"login_failed""#))
        #expect(over.contains(#""requirement":"R200""#))
    }
}
