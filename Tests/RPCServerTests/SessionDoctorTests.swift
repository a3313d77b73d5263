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
        #expect(refused.contains("the region that is configured (eu)"))
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

    // {"userId":"anna"}, {"userId":"anna","exp":1767225640}: 40 s from the beginning.
    private static let annas = "e30.eyJ1c2VySWQiOiJhbm5hIn0.c2ln"
    private static let short = "e30.eyJ1c2VySWQiOiJhbm5hIiwiZXhwIjoxNzY3MjI1NjQwfQ.c2ln"

    private func logIn(_ stage: Stage, _ client: MemoryConnection, _ token: String) -> String {
        stage.session(client, "login_with_access_token", #","access_token":"\#(token)""#)
    }

    @Test func `R204: each way in which an access token fails is remembered until one works`() throws {
        let (stage, client) = try network.stage()
        func state() -> String { stage.session(client, "state") }
        #expect(!state().contains("last_login_error"))
        #expect(logIn(stage, client, Self.annas).contains("handler_required"))
        #expect(
            state().contains(
                #""last_login_error":{"kind":"handler_required","message":"somebody must give the session's next token"#
            ))
        #expect(diagnosis(stage, client).contains("register a handler for session.on_token_renew"))
        let handler = try #require(stage.connect())
        stage.register(handler, "session.on_token_renew")
        #expect(logIn(stage, client, "opaque").contains("credential_malformed"))
        #expect(
            state().contains(
                #""kind":"credential_malformed","message":"the access token is no JWT with the claim userId","cause":"request"}"#
            ))
        stage.advance(.seconds(7))
        network.refusal = (401, 400_100)
        #expect(logIn(stage, client, Self.annas).contains("credential_rejected"))
        let refused = state()
        #expect(refused.contains(#""cause":"verification","http_status":401,"provider_code":"400100"}"#))
        #expect(refused.contains(#""last_login_error_at":1767225607"#))
        #expect(diagnosis(stage, client).contains("sign it with the key that is configured in the console"))
        #expect(
            stage.call(client, "account.show", #"{"account":"app"}"#).contains(#""cause":"verification""#))
        network.refusal = nil
        _ = logIn(stage, client, Self.annas)
        #expect(!state().contains("last_login_error"))
    }

    @Test func `R200: what a login by a source and by the clock came to is remembered`() throws {
        let (stage, client) = try network.stage(SocialNetwork.account(hasSource: true))
        network.issued = nil
        _ = stage.session(client, "login")
        #expect(
            stage.session(client, "state").contains(
                #""last_login_error":{"kind":"callback_rejected","message":"the source refused to give a credential: status 401","cause":"source","http_status":401}"#
            ))
        #expect(diagnosis(stage, client).contains("the backend does not vouch for the user"))
        stage.fetcher.backend = nil
        stage.begin(client, "session.login", #","auth_token":"at-1""#)
        stage.advance(.seconds(31))
        let other = try #require(stage.connect())
        #expect(
            stage.session(other, "state").contains(#""kind":"login_timeout""#)
                && stage.session(other, "state").contains(#""cause":"timeout""#))
    }

    @Test func `R201, R202: a token that hardly lives, or of which nobody knows the end, is a warning`()
        throws
    {
        for (token, warnings) in [(Self.annas, "expiry_unknown"), (Self.short, "lifetime_short")] {
            let network = SocialNetwork()
            let (stage, client) = try network.stage()
            let handler = try #require(stage.connect())
            stage.register(handler, "session.on_token_renew")
            _ = logIn(stage, client, token)
            for method in ["account.show", "credentials.inspect"] {
                let answer = stage.call(client, method, #"{"account":"app"}"#)
                #expect(answer.contains(#""warnings":["\#(warnings)"],"session":{"state":"established""#))
            }
        }
    }

    @Test func `R201: renewals are counted for each session`() throws {
        let (stage, client) = try network.stage(SocialNetwork.account(hasSource: true))
        let admin = try #require(stage.connect(onAdminSocket: true))
        _ = stage.session(client, "login")
        stage.advance(.seconds(7300))
        network.issued = nil
        stage.advance(.seconds(3600))
        let metrics = stage.call(admin, "daemon.metrics")
        #expect(metrics.contains(#"chatauth_session_renewals_total{account=\"app\"} 2\n"#))
        #expect(metrics.contains(#"# TYPE chatauth_session_renewals_failed counter\n"#))
        #expect(!metrics.contains(#"chatauth_session_renewals_failed_total{account=\"app\"} 0\n"#))
    }

    @Test func `R177: that a renewal failed is an event, once in a row`() throws {
        let (stage, client) = try network.stage(SocialNetwork.account(hasSource: true))
        _ = stage.session(client, "login")
        _ = stage.call(client, "events.subscribe", #"{"topics":["session"]}"#)
        network.isDown = true
        stage.advance(.seconds(3590))
        let lines = client.takeLines()
        #expect(lines.count == 1)
        #expect(
            lines.first?.hasPrefix(
                #"{"jsonrpc":"2.0","method":"session.renewal_failed","params":{"account":"app","state":"established","next_renewal_at":17672"#
            ) == true)
        #expect(
            lines.first?.contains(#""error":{"kind":"upstream_unreachable","message":"the platform"#) == true)
    }

    @Test func `R202, R205: in every state it is said why no token is asked for`() throws {
        let (stage, client) = try network.stage()
        func reason() -> String { stage.session(client, "state").member("why_no_renew") ?? "-" }
        #expect(reason() == "not_logged_in")
        let handler = try #require(stage.connect())
        stage.register(handler, "session.on_token_renew")
        stage.fetcher.backend = nil
        stage.begin(handler, "session.login", #","auth_token":"at-1""#)
        #expect(reason() == "establishing")
        stage.fetcher.backend = { [network] in network.answer($0) }
        stage.run()
        #expect(reason() == "handler_of_other_kind")
        stage.register(handler, "session.will_renew")
        #expect(reason() == "-")
        _ = stage.call(client, "account.stop", #"{"account":"app"}"#)
        #expect(reason() == "account_stopped")
        _ = stage.call(client, "account.start", #"{"account":"app"}"#)
        stage.advance(.seconds(3580))
        #expect(reason() == "renewing")
        stage.answer(handler, #"{"unable":true}"#)
        #expect(reason() == "paused")
        stage.fetcher.backend = nil
        let other = try #require(stage.connect())
        stage.begin(other, "session.secure_logout")
        #expect(reason() == "signing_out")
        stage.fetcher.fail(.connectionLost)
        stage.run()
        #expect(reason() == "paused")
        handler.close(flush: false)
        #expect(reason() == "handler_required")
        _ = stage.session(client, "report", #","code":400312"#)
        #expect(reason() == "terminated")

        let endless = SocialNetwork()
        let (second, caller) = try endless.stage()
        let renewer = try #require(second.connect())
        second.register(renewer, "session.on_token_renew")
        _ = logIn(second, caller, Self.annas)
        #expect(
            second.session(caller, "state").contains(#""next_renewal_at":null,"why_no_renew":"no_expiry""#))
        second.advance(.seconds(5))
        _ = second.call(caller, "token.reject", #"{"account":"app"}"#)
        _ = renewer.take()
        second.answer(renewer, #"{"unable":true}"#)
        #expect(second.session(caller, "state").contains(#""why_no_renew":"paused""#))
    }
}
