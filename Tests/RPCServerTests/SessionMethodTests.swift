import Broker
import BrokerSupport
import CredentialCore
import Secrets
import Testing

@Suite struct `Sessions at social.plus` {
    private let network = SocialNetwork()

    private static let noSession = Expected.error(
        140, "nobody is logged in; chatauth session login does that", "session_state_invalid",
        rest: #","account":"app""#)
    private static let banned = Expected.error(
        141,
        "the platform ended the session for good: the user is banned from the network; only chatauth session logout leaves this state",
        "terminated", rest: #","account":"app""#)

    private func loggedIn(
        _ account: AccountDefinition? = nil
    ) throws -> (Stage, MemoryConnection) {
        let (stage, client) = try network.stage(account)
        let answer = stage.session(client, "login", #","auth_token":"at-1""#)
        #expect(answer.contains(#""state":"established","user_id":"anna","kind":"default""#))
        network.forget()
        return (stage, client)
    }

    // MARK: Login

    @Test func `R152, R161, R162: a login makes a session of key and auth token, and says who it is`() throws
    {
        let (stage, client) = try network.stage()
        let answer = stage.session(client, "login", #","auth_token":"at-1""#)
        let device = try #require(network.devices.first)
        #expect(
            answer == #"{"jsonrpc":"2.0","id":1,"result":{"account":"app","state":"established","#
                + #""user_id":"anna","kind":"default","device_id":"\#(device)","expires_at":1767229200,"#
                + #""generation":1,"handler":false,"next_renewal_at":null,"#
                + #""why_no_renew":"handler_required"}}"#)
        #expect(stage.session(client, "state") == answer)
        #expect(stage.token(client).contains(#""bearer_token":"access-1""#))
        #expect(
            stage.call(client, "headers.get", #"{"account":"app"}"#).contains(
                #"["Authorization","Bearer access-1"]"#))
        #expect(network.log == ["POST at-1"] && network.violations.isEmpty)
    }

    @Test func `R172, R173, R182: each step is told once, and established when the token is there`() throws {
        let (stage, client) = try network.stage()
        let watcher = try #require(stage.connect())
        _ = stage.call(watcher, "events.subscribe", #"{"topics":["session","token"]}"#)
        _ = stage.session(client, "login", #","auth_token":"at-1""#)
        let told = watcher.takeLines().map { line in
            ["establishing", "token.changed", "established"].first { word in
                line.contains(word == "token.changed" ? word : #""to":"\#(word)""#)
            } ?? line
        }
        #expect(told == ["establishing", "token.changed", "established"])
    }

    @Test func `R166: there is no token before a login, and during one it is waited for`() throws {
        let (stage, client) = try network.stage()
        #expect(stage.token(client) == Self.noSession)
        stage.fetcher.backend = nil
        stage.begin(client, "session.login", #","auth_token":"at-1""#)
        let other = try #require(stage.connect())
        stage.begin(other, "token.get")
        #expect(other.take().isEmpty && stage.state(other) == "establishing")
        stage.fetcher.backend = { [network] in network.answer($0) }
        stage.run()
        #expect(other.take().contains(#""bearer_token":"access-1""#))
        #expect(client.take().contains(#""state":"established""#))
    }

    @Test func `R157: in secure mode a login without anybody to ask is refused before any network`() throws {
        let (stage, client) = try network.stage()
        #expect(stage.session(client, "login").contains(#""kind":"handler_required""#))
        let (open, other) = try network.stage(SocialNetwork.account(isSecure: false))
        #expect(network.log.isEmpty)
        #expect(open.session(other, "login").contains(#""state":"established""#))
        #expect(network.log == ["POST -"] && stage.fetcher.all.isEmpty)
    }

    @Test func `R155, R156: what the platform does not take is refused before any network`() throws {
        let (stage, client) = try network.stage()
        let long = String(repeating: "x", count: 101)
        #expect(
            stage.session(client, "login", #","user_id":"""#)
                == Expected.invalidParams(
                    "user_id must have 1 to 50 characters, none of them a control character"))
        #expect(stage.session(client, "login", #","display_name":"\#(long)""#).contains("display_name"))
        #expect(stage.session(client, "login", #","auth_token":"\#(long)""#).contains("auth_token"))
        #expect(network.log.isEmpty && stage.state(client) == "not_logged_in")
    }

    @Test func `R154, R174: a refused login leaves nothing behind and hints at the region`() throws {
        let (stage, client) = try network.stage()
        #expect(
            stage.session(client, "login", #","auth_token":"bad""#)
                == Expected.error(
                    127,
                    "the platform refused the login (status 401, code 400100); check api_key, and that region or base_url is the app's",
                    "credential_rejected",
                    rest: #","http_status":401,"provider_code":"400100","account":"app""#))
        #expect(stage.state(client) == "not_logged_in" && stage.store.credentials.isEmpty)
    }

    @Test func `R159, R160: the source is asked for the auth token, and its refusal is the login's`() throws {
        let (stage, client) = try network.stage(SocialNetwork.account(hasSource: true))
        network.issued = nil
        #expect(stage.session(client, "login").contains(#""kind":"callback_rejected""#))
        network.issued = "at-2"
        #expect(stage.session(client, "login").contains(#""state":"established""#))
        #expect(network.log == ["backend", "backend", "POST at-2"])
    }

    @Test func `R200: a login that takes too long is none`() throws {
        let (stage, client) = try network.stage()
        let other = try #require(stage.connect())
        stage.begin(other, "events.subscribe")
        network.isDown = false
        stage.fetcher.backend = nil
        stage.begin(client, "session.login", #","auth_token":"at-1""#)
        stage.advance(.seconds(31))
        #expect(client.take().contains(#""kind":"login_timeout""#))
        #expect(stage.state(client) == "not_logged_in" && stage.fetcher.cancelled.count == 1)
    }

    @Test func `R174: a session that the disk does not take is none`() throws {
        let (stage, client) = try network.stage()
        _ = stage.call(client, "device.id", #"{"account":"app"}"#)
        stage.store.failure = .full
        let answer = stage.session(client, "login", #","auth_token":"at-1""#)
        #expect(answer.contains(#""kind":"store_full""#))
        #expect(answer.contains("nobody is logged in, so log in again when there is room"))
        // Nobody would ever end what the platform made.
        #expect(network.log == ["POST at-1", "DELETE access-1"])
        stage.store.failure = nil
        #expect(stage.state(client) == "not_logged_in" && stage.token(client) == Self.noSession)
        #expect(stage.session(client, "login", #","auth_token":"at-1""#).contains("established"))
    }

    @Test func `R174: where the platform does not end a session that the disk did not take that is logged`()
        throws
    {
        let (stage, client) = try network.stage()
        _ = stage.call(client, "device.id", #"{"account":"app"}"#)
        stage.store.failure = .full
        stage.fetcher.backend = nil
        stage.begin(client, "session.login", #","auth_token":"at-1""#)
        stage.fetcher.end(network.answer(try #require(stage.fetcher.out.first)))
        stage.run()
        let other = try #require(stage.connect())
        #expect(client.take().isEmpty && stage.state(other) == "establishing")
        // Whoever gives the login up meanwhile does not keep the session open.
        #expect(stage.session(other, "logout").contains(#""state":"not_logged_in""#))
        #expect(client.take().contains("somebody logged out meanwhile"))
        #expect(stage.fetcher.out.count == 1 && stage.fetcher.cancelled.isEmpty)
        stage.fetcher.fail(.connectionLost)
        stage.run()
        #expect(
            stage.records.lines.contains {
                $0.contains("A session that the disk did not take stays open at the platform")
            })
    }

    @Test func `R174: a login that a restart would forget is told so, and remembered when there is room`()
        throws
    {
        let (stage, client) = try network.stage()
        _ = stage.call(client, "device.id", #"{"account":"app"}"#)
        stage.store.failure = .full
        stage.store.refusedChanges = { if case .putState = $0 { true } else { false } }
        #expect(
            stage.session(client, "login", #","auth_token":"at-1""#)
                == Expected.error(
                    401,
                    "the disk refused it; free space in the state directory; the user is logged in nevertheless, and a restart before there is room would forget that",
                    "store_full", retryable: true, rest: #","account":"app""#))
        #expect(stage.state(client) == "established" && stage.token(client).contains("access-1"))
        stage.store.failure = nil
        stage.advance(.seconds(1))
        let (next, other) = try network.stage(after: stage)
        #expect(next.state(other) == "established" && network.log == ["POST at-1"])
    }

    @Test
    func `R174, R190: an access token that the disk does not take is the customer's, and is not revoked`()
        throws
    {
        let (stage, client) = try network.stage()
        let handler = try #require(stage.connect())
        stage.register(handler, "session.on_token_renew")
        stage.store.failure = .full
        let token = "e30.eyJ1c2VySWQiOiJhbm5hIn0.c2ln"
        #expect(
            stage.session(client, "login_with_access_token", #","access_token":"\#(token)""#).contains(
                #""kind":"store_full""#))
        #expect(network.log == ["GET \(token)"] && stage.state(client) == "not_logged_in")
    }

    @Test func `R174: without room for the device nothing is sent at all`() throws {
        let (stage, client) = try network.stage()
        stage.store.failure = .full
        #expect(
            stage.session(client, "login", #","auth_token":"at-1""#).contains(
                "the disk refused it; free space in the state directory; nobody is logged in"))
        #expect(network.log.isEmpty)
    }

    @Test func `a second login waits for a logout`() throws {
        let (stage, client) = try loggedIn()
        #expect(
            stage.session(client, "login", #","auth_token":"at-2""#)
                == Expected.error(
                    140, "the session is established; chatauth session logout ends it before another login",
                    "session_state_invalid", rest: #","account":"app""#))
        #expect(network.log.isEmpty)
    }

    @Test func `who waits shorter than the login takes is told so, and the login goes on`() throws {
        let (stage, client) = try network.stage()
        stage.fetcher.backend = nil
        stage.begin(client, "session.login", #","auth_token":"at-1","wait":2"#)
        stage.advance(.seconds(3))
        #expect(client.take().contains(#""kind":"deadline_exceeded""#))
        stage.fetcher.backend = { [network] in network.answer($0) }
        stage.run()
        #expect(client.take().isEmpty && stage.state(client) == "established")
    }

    @Test func `an account that is to be logged in from the start on is, again and again until it works`()
        throws
    {
        network.isDown = true
        let account = try SocialNetwork.account(hasSource: true, logsIn: true)
        let (stage, client) = try network.stage(account)
        #expect(stage.state(client) == "not_logged_in")
        // Whoever asks meanwhile need not do anything.
        let told = stage.token(client)
        #expect(told.contains(#""kind":"session_state_invalid","retryable":true,"retry_after_seconds":"#))
        #expect(told.contains("nobody is logged in yet; the account logs in by itself"))
        network.isDown = false
        stage.advance(.seconds(60))
        #expect(stage.state(client) == "established")
    }

    // MARK: Logout

    @Test func `R163, R179: a logout ends the session here, and a second one finds none`() throws {
        let (stage, client) = try loggedIn(SocialNetwork.account(hasSource: true))
        #expect(
            stage.session(client, "logout").contains(#""state":"not_logged_in","user_id":null"#))
        #expect(stage.session(client, "logout").contains(#""already_logged_out":true"#))
        #expect(stage.token(client) == Self.noSession)
        stage.advance(.seconds(7200))
        #expect(stage.state(client) == "not_logged_in" && network.log.isEmpty)
        let (next, other) = try network.stage(after: stage)
        #expect(next.state(other) == "not_logged_in")
    }

    @Test func `R164: where the platform does not revoke, nothing at all is changed`() throws {
        let (stage, client) = try loggedIn()
        let watcher = try #require(stage.connect())
        _ = stage.call(
            watcher, "events.subscribe", #"{"topics":["session","token","auth","account"]}"#)
        let before = (stage.session(client, "state"), stage.token(client))
        network.refusal = (503, nil)
        #expect(
            stage.session(client, "secure_logout")
                == Expected.error(
                    142, "the platform did not revoke the session (status 503); nothing was changed",
                    "revoke_failed",
                    retryable: true, rest: #","http_status":503,"account":"app""#))
        network.refusal = nil
        network.isDown = true
        stage.advance(.seconds(1))
        #expect(stage.session(client, "secure_logout").contains(#""kind":"revoke_failed""#))
        #expect(stage.session(client, "state") == before.0 && stage.token(client) == before.1)
        #expect(watcher.take().isEmpty)
        network.isDown = false
        stage.advance(.seconds(2))
        #expect(stage.session(client, "secure_logout").contains(#""state":"not_logged_in""#))
        #expect(network.log == ["DELETE access-1", "DELETE access-1", "DELETE access-1"])
        #expect(network.violations.isEmpty && stage.token(client) == Self.noSession)
    }

    @Test func `a platform in trouble is not asked again at once, whatever it is asked for`() throws {
        let (stage, client) = try loggedIn()
        network.refusal = (503, nil)
        _ = stage.session(client, "secure_logout")
        network.refusal = nil
        #expect(
            stage.session(client, "secure_logout")
                == Expected.error(
                    301, "the platform (apix.eu.amity.co) answered with an error: status 503",
                    "upstream_error",
                    retryable: true,
                    rest: #","retry_after_seconds":1,"http_status":503,"account":"app""#))
        #expect(network.log == ["DELETE access-1"])
        // What asks nobody goes on.
        #expect(stage.session(client, "logout").contains(#""state":"not_logged_in""#))
        #expect(stage.session(client, "secure_logout").contains(#""already_logged_out":true"#))
        #expect(stage.session(client, "login", #","auth_token":"at-1""#).contains("upstream_error"))
        stage.advance(.seconds(1))
        #expect(stage.session(client, "login", #","auth_token":"at-1""#).contains("established"))
    }

    @Test(arguments: [
        (404, 400_400, "terminated", false), (403, 400_312, "terminated", false),
        (400, 400_000, "upstream_error", true), (422, 500_000, "upstream_error", true),
        (401, 400_100, "credential_rejected", false),
    ])
    func `R95: what the platform said of one user's login is not said of another's, and again of the same`(
        _ status: Int, _ code: Int, _ kind: String, _ isRetryable: Bool
    ) throws {
        let (stage, client) = try network.stage()
        network.refusal = (status, code)
        for _ in 0..<3 {
            let answer = stage.session(client, "login", #","auth_token":"at-1""#)
            #expect(answer.contains(#""kind":"\#(kind)","retryable":\#(isRetryable)"#))
            #expect(!answer.contains("retry_after_seconds"))
        }
        network.refusal = nil
        #expect(
            stage.session(client, "login", #","user_id":"bob","auth_token":"at-2""#).contains(
                #""state":"established","user_id":"bob""#))
        #expect(network.log == ["POST at-1", "POST at-1", "POST at-1", "POST at-2"])
    }

    @Test func `R154: no such user, or no such network: both are said`() throws {
        let (stage, client) = try network.stage()
        network.refusal = (404, 400_400)
        #expect(
            stage.session(client, "login", #","auth_token":"at-1""#).contains(
                "the platform refused the login: there is no such user, any more (status 404, code 400400); check that region or base_url is the app's"
            ))
    }

    @Test func `a row of refused tokens is held back, each of them another`() throws {
        let (stage, client) = try network.stage()
        for number in 1...5 {
            stage.advance(.seconds(5))
            #expect(
                stage.session(client, "login", #","auth_token":"bad-\#(number)""#).contains(
                    #""kind":"credential_rejected""#))
        }
        network.forget()
        #expect(
            stage.session(client, "login", #","auth_token":"at-1""#)
                == Expected.error(
                    202,
                    "the platform refused too often within a minute; the next time is after a pause",
                    "rate_limited", retryable: true, rest: #","retry_after_seconds":40,"account":"app""#))
        #expect(network.log.isEmpty)
        stage.advance(.seconds(40))
        #expect(stage.session(client, "login", #","auth_token":"bad-6""#).contains("credential_rejected"))
        #expect(stage.session(client, "login", #","auth_token":"at-1""#).contains("rate_limited"))
        stage.advance(.seconds(5))
        #expect(stage.session(client, "login", #","auth_token":"at-1""#).contains("established"))
    }

    @Test func `renewals that fail do not hold up who wants to sign out`() throws {
        let (stage, client) = try loggedIn(SocialNetwork.account(hasSource: true))
        network.refusal = (503, nil)
        #expect(stage.call(client, "auth.refresh", #"{"account":"app"}"#).contains(#""http_status":503"#))
        network.refusal = nil
        #expect(stage.session(client, "secure_logout").contains(#""state":"not_logged_in""#))
    }

    @Test func `what comes to a login behind a logout changes nothing`() throws {
        let (stage, client) = try network.stage()
        stage.fetcher.backend = nil
        stage.begin(client, "session.login", #","auth_token":"at-1""#)
        let request = try #require(stage.fetcher.out.first)
        let other = try #require(stage.connect())
        #expect(stage.session(other, "logout").contains(#""state":"not_logged_in""#))
        #expect(client.take().contains("somebody logged out meanwhile"))
        #expect(stage.fetcher.cancelled == [request.id])
        stage.broker.fetchDidEnd(request.id, network.answer(request))
        stage.run()
        #expect(stage.state(client) == "not_logged_in" && stage.store.credentials.isEmpty)
    }

    // MARK: Bans

    @Test func `R178, R180, R198: a ban ends the session at once, and only a logout leaves that state`()
        throws
    {
        let (stage, client) = try loggedIn()
        let handler = try #require(stage.connect())
        stage.register(handler, "session.will_renew")
        #expect(
            stage.session(client, "report", #","code":400312"#).contains(
                #""termination_code":"400312","why_no_renew":"terminated","accepted":true"#))
        #expect(stage.token(client) == Self.banned)
        #expect(
            stage.session(client, "login", #","auth_token":"at-1""#)
                == Expected.error(
                    140, "the session is terminated; only chatauth session logout leaves that state",
                    "session_state_invalid", rest: #","account":"app""#))
        stage.advance(.seconds(7200))
        #expect(handler.take().isEmpty && network.log.isEmpty)
        let (next, other) = try network.stage(after: stage)
        #expect(next.state(other) == "terminated" && next.token(other) == Self.banned)
        #expect(next.session(other, "logout").contains(#""state":"not_logged_in""#))
    }

    @Test func `R198: of a hundred clients who wait, none gets a token behind a ban`() throws {
        let (stage, client) = try loggedIn(SocialNetwork.account(hasSource: true))
        let clients = try (0..<100).map { _ in try #require(stage.connect()) }
        stage.fetcher.backend = nil
        for client in clients {
            stage.receive(
                #"{"jsonrpc":"2.0","id":1,"method":"token.get","params":{"account":"app","min_valid":3601}}"#
                    + "\n", from: client)
        }
        stage.begin(client, "auth.refresh")
        #expect(clients.allSatisfy { $0.take().isEmpty } && stage.fetcher.out.count == 1)
        let request = try #require(stage.fetcher.out.first)
        let witness = try #require(stage.connect())
        _ = stage.session(witness, "report", #","code":400312"#)
        #expect(Set(clients.map { $0.take() }) == [Self.banned + "\n"])
        #expect(client.take() == Self.banned + "\n")
        stage.broker.fetchDidEnd(request.id, network.answer(request))
        stage.run()
        #expect(stage.state(witness) == "terminated" && stage.fetcher.out.isEmpty)
    }

    // MARK: Restart

    @Test func `R170: who was logged in still is after a restart, without a request`() throws {
        let (stage, client) = try loggedIn()
        let before = stage.session(client, "state")
        let (next, other) = try network.stage(after: stage)
        #expect(next.session(other, "state") == before && network.log.isEmpty)
        #expect(next.token(other).contains(#""bearer_token":"access-1""#))
    }

    @Test func `R171: a session that ended meanwhile is renewed at once`() throws {
        let account = try SocialNetwork.account(hasSource: true)
        let (stage, _) = try loggedIn(account)
        let (next, other) = try network.stage(account, after: stage, later: .seconds(7200))
        #expect(network.log == ["backend", "POST at-1"])
        #expect(next.token(other).contains(#""bearer_token":"access-2""#))
    }

    @Test func `another network is another life`() throws {
        let (stage, client) = try loggedIn()
        stage.broker.configure([try SocialNetwork.account(base: "https://apix.us.amity.co")])
        stage.run()
        #expect(stage.state(client) == "not_logged_in")
        #expect(stage.token(client).contains(#""kind":"account_parked""#))
        stage.broker.configure([try SocialNetwork.account()])
        stage.run()
        #expect(stage.state(client) == "established")
        #expect(stage.token(client).contains(#""bearer_token":"access-1""#))
    }
}
