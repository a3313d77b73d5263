import Broker
import BrokerSupport
import CredentialCore
import Secrets
import Testing

@Suite struct `Renewals of sessions at social.plus` {
    private let network = SocialNetwork()

    /// A session of an hour, a client that logged it in, and one that is registered for its renewals.
    private func renewable(
        _ kind: String = "session.will_renew"
    ) throws -> (Stage, MemoryConnection, MemoryConnection) {
        let (stage, client) = try network.stage()
        let handler = try #require(stage.connect())
        stage.register(handler, kind)
        _ = stage.session(client, "login", #","auth_token":"at-1""#)
        network.forget()
        return (stage, client, handler)
    }

    // {"userId":"anna"} and {"userId":"bert"}.
    private static let annas = "e30.eyJ1c2VySWQiOiJhbm5hIn0.c2ln"
    private static let berts = "e30.eyJ1c2VySWQiOiJiZXJ0In0.c2ln"
    // {"userId":"anna","exp":1767229200}: an hour from the beginning.
    private static let annasHour = "e30.eyJ1c2VySWQiOiJhbm5hIiwiZXhwIjoxNzY3MjI5MjAwfQ.c2ln"

    @Test
    func `R185, R186, R208: half a minute before the end the handler is asked, and the session goes on`()
        throws
    {
        let (stage, client, handler) = try renewable()
        stage.advance(.seconds(3580))
        let question = handler.take()
        #expect(
            question.hasPrefix(
                #"{"jsonrpc":"2.0","id":1,"method":"session.will_renew","params":{"account":"app","#
                    + #""provider":"socialplus","user_id":"anna","reason":"expiring","renewal_id":"2","#))
        #expect(stage.session(client, "state").contains(#""renewal_id":"2","why_no_renew":"renewing""#))
        stage.answer(handler, #"{"auth_token":"at-2"}"#)
        #expect(stage.token(client).contains(#""bearer_token":"access-2""#))
        #expect(network.log == ["POST at-2"])
    }

    @Test func `R175, R176, R177: a session that cannot be renewed in time is expired until it can`() throws {
        let account = try SocialNetwork.account(hasSource: true)
        let (stage, client) = try network.stage(account)
        _ = stage.session(client, "login")
        let watcher = try #require(stage.connect())
        _ = stage.call(watcher, "events.subscribe", #"{"topics":["session"]}"#)
        network.isDown = true
        stage.advance(.seconds(3700))
        #expect(stage.state(client) == "token_expired")
        network.isDown = false
        stage.advance(.seconds(600))
        #expect(stage.state(client) == "established")
        let lines = watcher.takeLines().filter { !$0.contains("session.renewal_failed") }
        #expect(lines.count == 2)
        #expect(
            lines.first?.contains(#""from":"established","to":"token_expired","cause":"expired""#) == true)
        #expect(lines.last?.contains(#""from":"token_expired","to":"established","cause":"renewed""#) == true)
    }

    @Test func `R187: a handler that has no token is left alone for ten minutes`() throws {
        let (stage, client, handler) = try renewable()
        stage.advance(.seconds(3575))
        _ = handler.take()
        stage.answer(handler, #"{"unable":true}"#)
        #expect(stage.session(client, "state").contains(#""why_no_renew":"paused""#))
        stage.advance(.seconds(590))
        #expect(handler.take().isEmpty && stage.state(client) == "token_expired")
        #expect(stage.token(client).contains(#""kind":"callback_rejected""#))
        stage.advance(.seconds(20))
        #expect(handler.take().contains("session.will_renew"))
        stage.answer(handler, id: 2, #"{"auth_token":"at-2"}"#)
        #expect(stage.state(client) == "established")
    }

    @Test func `R189: a renewal takes one token, from whoever gives it first`() throws {
        let (stage, client, handler) = try renewable()
        stage.advance(.seconds(3580))
        _ = handler.take()
        let token = #"{"account":"app","renewal_id":"2","access_token":"e30.eyJ1c2VySWQiOiJhbm5hIn0.eA"}"#
        #expect(
            stage.call(client, "session.renew", token).contains(
                "the session is renewed with the other kind of token: give auth_token"))
        #expect(
            stage.session(client, "renew", #","renewal_id":"2","auth_token":"at-2""#).contains("established"))
        #expect(
            stage.session(client, "renew", #","renewal_id":"2","auth_token":"at-1""#)
                == Expected.error(
                    140, "no renewal waits for a token under that number, any more", "session_state_invalid",
                    rest: #","account":"app""#))
        let generation = stage.account("app")?.session.generation
        stage.answer(handler, #"{"auth_token":"at-1"}"#)
        #expect(network.log == ["POST at-2"] && stage.account("app")?.session.generation == generation)
    }

    @Test func `without a token session.renew has one asked for, pause or not`() throws {
        let (stage, client, handler) = try renewable()
        stage.begin(client, "session.renew")
        #expect(handler.take().contains(#""reason":"forced""#))
        stage.answer(handler, #"{"auth_token":"at-2"}"#)
        #expect(client.take().contains(#""state":"established""#))
        #expect(network.log == ["POST at-2"])
    }

    @Test func `R28, R185: the last of two handlers is asked, and the first one's answer is nobody's`() throws
    {
        let (stage, client, first) = try renewable()
        stage.advance(.seconds(3575))
        #expect(first.take().contains("session.will_renew"))
        let second = try #require(stage.connect())
        stage.receive(
            #"{"jsonrpc":"2.0","id":9,"method":"handler.register","params":{"account":"app","kinds":["session.will_renew"]}}"#
                + "\n", from: second)
        stage.run()
        #expect(second.take().contains(#""renewal_id":"3""#))
        stage.answer(first, #"{"auth_token":"at-1"}"#)
        #expect(network.log.isEmpty)
        stage.answer(second, id: 2, #"{"auth_token":"at-2"}"#)
        #expect(network.log == ["POST at-2"])
        #expect(stage.token(client).contains(#""bearer_token":"access-2""#))
    }

    @Test func `R28, R159: the last of two handlers is asked for a login's token, and the first is not`()
        throws
    {
        let (stage, client) = try network.stage()
        let first = try #require(stage.connect())
        stage.register(first, "credential.fetch")
        stage.begin(client, "session.login")
        #expect(first.take().contains(#""want":"auth_token""#))
        stage.advance(.seconds(10))
        let second = try #require(stage.connect())
        stage.receive(
            #"{"jsonrpc":"2.0","id":9,"method":"handler.register","params":{"account":"app"}}"# + "\n",
            from: second)
        stage.run()
        let question = second.take()
        #expect(question.contains(#""method":"credential.fetch""#) && question.contains("anna"))
        stage.answer(first, #"{"auth_token":"at-1"}"#)
        #expect(network.log.isEmpty && stage.state(first) == "establishing")
        stage.answer(second, id: 2, #"{"auth_token":"at-2"}"#)
        #expect(client.take().contains(#""state":"established""#))
        #expect(network.log == ["POST at-2"])
    }

    @Test func `R28: a handler that comes while the source is asked for a login's token is asked instead`()
        throws
    {
        let (stage, client) = try network.stage(SocialNetwork.account(hasSource: true))
        stage.fetcher.backend = nil
        stage.begin(client, "session.login")
        #expect(stage.fetcher.out.count == 1)
        let handler = try #require(stage.connect())
        stage.register(handler, "credential.fetch")
        #expect(stage.fetcher.out.isEmpty && stage.fetcher.cancelled.count == 1)
        stage.fetcher.backend = { [network] in network.answer($0) }
        stage.answer(handler, #"{"auth_token":"at-2"}"#)
        #expect(client.take().contains("established") && network.log == ["POST at-2"])
        // Behind the question nobody new is asked: the platform is.
        stage.register(try #require(stage.connect()), "credential.fetch")
        #expect(stage.state(client) == "established")
    }

    @Test func `R200: handlers that take turns have a login's time between them`() throws {
        let (stage, client) = try network.stage()
        var handlers = [try #require(stage.connect())]
        stage.register(handlers[0], "credential.fetch")
        stage.begin(client, "session.login")
        for _ in 0..<3 {
            stage.advance(.seconds(9))
            handlers.append(try #require(stage.connect()))
            stage.register(handlers[handlers.count - 1], "credential.fetch")
        }
        #expect(client.take().isEmpty)
        stage.advance(.seconds(4))
        #expect(client.take().contains(#""kind":"login_timeout""#))
    }

    @Test func `R28: where clients are the source the last of two is asked for the renewal`() throws {
        let usual = try SocialNetwork.account()
        let account = AccountDefinition(
            name: usual.name, provider: usual.provider, platform: usual.platform, source: .rpc)
        let (stage, client) = try network.stage(account)
        let first = try #require(stage.connect())
        stage.register(first, "credential.fetch")
        _ = stage.session(client, "login", #","auth_token":"at-1""#)
        network.forget()
        stage.advance(.seconds(3575))
        #expect(first.take().contains(#""reason":"expiring""#))
        let second = try #require(stage.connect())
        stage.receive(
            #"{"jsonrpc":"2.0","id":9,"method":"handler.register","params":{"account":"app"}}"# + "\n",
            from: second)
        stage.run()
        #expect(second.take().contains(#""reason":"expiring""#))
        stage.answer(first, #"{"auth_token":"at-1"}"#)
        #expect(network.log.isEmpty)
        stage.answer(second, id: 2, #"{"auth_token":"at-2"}"#)
        #expect(network.log == ["POST at-2"])
    }

    @Test func `R176: who has an ended session renewed is answered by one that is established`() throws {
        let (stage, client, handler) = try renewable()
        stage.advance(.seconds(3575))
        stage.answer(handler, #"{"unable":true}"#)
        stage.advance(.seconds(60))
        #expect(stage.state(client) == "token_expired")
        stage.begin(client, "session.renew")
        stage.answer(handler, id: 2, #"{"auth_token":"at-2"}"#)
        let answer = client.take()
        #expect(answer.contains(#""state":"established""#) && answer.contains(#""generation":2"#))
        #expect(stage.session(client, "state") + "\n" == answer)
    }

    @Test func `R189: who gives a renewal its token is told what the platform says of it`() throws {
        let (stage, client, handler) = try renewable()
        for (refusal, kind) in [((403, 400_300), "credential_rejected"), ((503, nil), "upstream_error")]
            as [((Int, Int?), String)]
        {
            stage.advance(.seconds(5))
            stage.begin(client, "session.renew")
            let number = try #require(handler.take().member("renewal_id"))
            network.refusal = refusal
            let other = try #require(stage.connect())
            let answer = stage.session(
                other, "renew", #","renewal_id":"\#(number)","auth_token":"at-2""#)
            #expect(answer.contains(#""kind":"\#(kind)""#) && !answer.contains("login"))
            #expect(client.take().contains(#""kind":"\#(kind)""#))
            network.refusal = nil
        }
    }

    @Test(arguments: ["session.logout", "session.secure_logout"])
    func `R189: who gives a renewal its token and is overtaken by a logout is told so`(_ method: String)
        throws
    {
        let (stage, client, handler) = try renewable()
        stage.advance(.seconds(3580))
        stage.fetcher.backend = nil
        let number = try #require(handler.take().member("renewal_id"))
        stage.begin(client, "session.renew", #","renewal_id":"\#(number)","auth_token":"at-2""#)
        #expect(client.take().isEmpty && stage.fetcher.out.count == 1)
        let other = try #require(stage.connect())
        stage.begin(other, method)
        #expect(client.take().contains("somebody logged out meanwhile"))
    }

    @Test func `a handler that answers and leaves has renewed the session`() throws {
        let (stage, client, handler) = try renewable()
        stage.advance(.seconds(3575))
        stage.fetcher.backend = nil
        stage.answer(handler, #"{"auth_token":"at-2"}"#)
        handler.close(flush: false)
        stage.fetcher.backend = { [network] in network.answer($0) }
        stage.run()
        #expect(stage.token(client).contains(#""bearer_token":"access-2""#))
        #expect(stage.session(client, "state").contains(#""why_no_renew":"handler_required""#))
    }

    @Test func `R198: a session that is banned while its handler thinks asks nobody again`() throws {
        let (stage, client, handler) = try renewable()
        stage.advance(.seconds(3580))
        _ = handler.take()
        _ = stage.session(client, "report", #","code":400312"#)
        stage.answer(handler, #"{"auth_token":"at-2"}"#)
        stage.advance(.seconds(7200))
        #expect(network.log.isEmpty && handler.take().isEmpty && stage.state(client) == "terminated")
    }

    @Test func `R178: "unauthorised" during a renewal is the end`() throws {
        let (stage, client, handler) = try renewable()
        stage.advance(.seconds(3580))
        stage.answer(handler, #"{"auth_token":"bad"}"#)
        let state = stage.session(client, "state")
        #expect(state.contains(#""state":"terminated""#) && state.contains(#""termination_code":"400100""#))
        #expect(
            stage.token(client)
                == Expected.error(
                    141,
                    "the platform ended the session for good: it called a renewal unauthorised: its token was not this user's, or the user is banned; only chatauth session logout leaves this state",
                    "terminated", rest: #","account":"app""#))
        let diagnosis = stage.call(client, "account.doctor", #"{"account":"app"}"#)
        #expect(diagnosis.contains("have whoever gives the tokens give a new one of this user each time"))
    }

    @Test func `R175: a rejected token is renewed once`() throws {
        let (stage, client, handler) = try renewable()
        stage.advance(.seconds(5))
        let answer = stage.call(client, "token.reject", #"{"account":"app","http_status":401}"#)
        #expect(answer.contains(#""accepted":true"#) && stage.state(client) == "token_expired")
        #expect(handler.take().contains(#""reason":"rejected""#))
        stage.answer(handler, #"{"auth_token":"at-2"}"#)
        #expect(stage.state(client) == "established")
        #expect(stage.token(client).contains(#""bearer_token":"access-2""#))
    }

    @Test func `R178: a client's "unauthorised" is worth one renewal`() throws {
        let (stage, client, handler) = try renewable()
        stage.advance(.seconds(5))
        let answer = stage.session(client, "report", #","code":400100"#)
        #expect(answer.contains(#""accepted":true"#) && answer.contains("token_expired"))
        stage.answer(handler, #"{"auth_token":"at-2"}"#)
        #expect(stage.token(client).contains(#""bearer_token":"access-2""#))
        #expect(stage.session(client, "report", #","code":1"#).contains(#""accepted":false"#))
    }

    // MARK: Access tokens

    @Test func `R191: without anybody to give the next one an access token is refused before any network`()
        throws
    {
        let (stage, client) = try network.stage()
        #expect(
            stage.session(client, "login_with_access_token", #","access_token":"\#(Self.annas)""#).contains(
                #""kind":"handler_required""#))
        #expect(network.log.isEmpty)
    }

    @Test func `R193, R194, R204: what is no token of a user is told apart, before any network`() throws {
        let (stage, client) = try network.stage()
        let handler = try #require(stage.connect())
        stage.register(handler, "session.on_token_renew")
        for (token, message) in [
            ("opaque", "the access token is no JWT"),
            ("e30.e30.c2ln", "the access token has no claim userId of 1 to 50 characters"),
        ] {
            #expect(
                stage.session(client, "login_with_access_token", #","access_token":"\#(token)""#)
                    == Expected.error(126, message, "credential_malformed"))
        }
        #expect(network.log.isEmpty)
        network.refusal = (401, 400_100)
        #expect(
            stage.session(client, "login_with_access_token", #","access_token":"\#(Self.annas)""#).contains(
                #""kind":"credential_rejected""#))
    }

    @Test func `R190, R204: one that has ended is refused where nobody else would say so`() throws {
        let (stage, client) = try network.stage(SocialNetwork.account(verifies: false))
        let handler = try #require(stage.connect())
        stage.register(handler, "session.on_token_renew")
        stage.advance(.seconds(3600))
        let ended = Expected.error(
            128, "the access token has ended", "stale_credential", retryable: true, rest: #","account":"app""#
        )
        #expect(
            stage.session(client, "login_with_access_token", #","access_token":"\#(Self.annasHour)""#)
                == ended)
        #expect(stage.store.credentials.isEmpty && handler.take().isEmpty)
        #expect(
            stage.session(client, "state").contains(
                #""last_login_error":{"kind":"stale_credential","message":"the access token has ended","cause":"request"}"#
            ))
        #expect(
            stage.call(client, "account.doctor", #"{"account":"app"}"#).contains(
                "the last login failed: the access token had ended"))
        #expect(
            stage.session(client, "login_with_access_token", #","access_token":"\#(Self.annas)""#).contains(
                "established"))
    }

    @Test func `R190: an access token is verified, or taken as it is, and no session is made`() throws {
        for verifies in [true, false] {
            let network = SocialNetwork()
            let (stage, client) = try network.stage(SocialNetwork.account(verifies: verifies))
            let handler = try #require(stage.connect())
            stage.register(handler, "session.on_token_renew")
            let answer = stage.session(
                client, "login_with_access_token", #","access_token":"\#(Self.annas)""#)
            #expect(
                answer.contains(#""state":"established","user_id":"anna","kind":"access_token""#)
                    && answer.contains(#""handler":true"#))
            #expect(network.log == (verifies ? ["GET \(Self.annas)"] : []))
            #expect(stage.token(client).contains(Self.annas))
        }
    }

    @Test func `R192, R196, R197: its own handler gives the next one, which is the same user's`() throws {
        let (stage, client) = try network.stage()
        let handler = try #require(stage.connect())
        let other = try #require(stage.connect())
        stage.register(handler, "session.on_token_renew")
        stage.register(other, "session.will_renew")
        _ = stage.session(
            client, "login_with_access_token", #","access_token":"\#(Self.annasHour)""#)
        network.forget()
        stage.advance(.seconds(3575))
        #expect(handler.take().contains(#""method":"session.on_token_renew""#))
        stage.answer(handler, #"{"access_token":"\#(Self.berts)"}"#)
        #expect(network.log.isEmpty)
        stage.advance(.seconds(10))
        stage.answer(handler, id: 2, #"{"access_token":"\#(Self.annas)"}"#)
        #expect(network.log == ["GET \(Self.annas)"] && other.take().isEmpty)
        #expect(stage.token(client).contains(Self.annas))
    }

    // {"userId":"bert"}, {}, no JWT, and a member of another name.
    @Test(arguments: [
        (#"{"access_token":"e30.eyJ1c2VySWQiOiJiZXJ0In0.c2ln"}"#, "credential_rejected", "is another user's"),
        (#"{"access_token":"e30.e30.c2ln"}"#, "credential_malformed", "has no claim userId"),
        (#"{"access_token":"opaque"}"#, "credential_malformed", "is no JWT"),
        (#"{"token":"opaque"}"#, "credential_empty", "has no token under the name that it was asked for"),
    ])
    func `R193, R194, R197: what is wrong with a renewal's token is said, and by the doctor`(
        _ given: String, _ kind: String, _ words: String
    ) throws {
        let (stage, client) = try network.stage()
        let handler = try #require(stage.connect())
        stage.register(handler, "session.on_token_renew")
        _ = stage.session(client, "login_with_access_token", #","access_token":"\#(Self.annasHour)""#)
        stage.advance(.seconds(3575))
        #expect(handler.take().contains("session.on_token_renew"))
        stage.begin(client, "session.renew")
        stage.answer(handler, given)
        let answer = client.take()
        #expect(answer.contains(#""kind":"\#(kind)""#) && answer.contains(words))
        #expect(network.log == ["GET \(Self.annasHour)"])
        let diagnosis = stage.call(client, "account.doctor", #"{"account":"app"}"#)
        #expect(diagnosis.contains("the session could not be renewed: the handler's"))
    }

    @Test func `R196, R199, R205: a handler of the other kind is never asked, and the state says why`() throws
    {
        let (stage, client, handler) = try renewable("session.on_token_renew")
        #expect(stage.session(client, "state").contains(#""why_no_renew":"handler_of_other_kind""#))
        stage.advance(.seconds(3700))
        #expect(handler.take().isEmpty && stage.state(client) == "token_expired")
        #expect(
            stage.token(client).contains(
                #""message":"nobody gives the next token: no handler is registered for session.will_renew, and there is no source","data":{"kind":"handler_required""#
            ))
        let late = try #require(stage.connect())
        stage.register(late, "session.will_renew")
        stage.answer(late, id: 1, #"{"auth_token":"at-2"}"#)
        #expect(stage.state(client) == "established")
    }
}
