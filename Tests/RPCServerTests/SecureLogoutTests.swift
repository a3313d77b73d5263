import Broker
import BrokerSupport
import CredentialCore
import Testing

/// Secure logouts at awkward moments: while a login is under way, and cut short in the middle (R164).
@Suite struct `Secure logouts` {
    private let network = SocialNetwork()

    private func loggedIn() throws -> (Stage, MemoryConnection) {
        let (stage, client) = try network.stage()
        _ = stage.session(client, "login", #","auth_token":"at-1""#)
        network.forget()
        return (stage, client)
    }

    /// A session whose revocation the platform has carried out and nobody here has heard of.
    private func cut(_ end: (Stage) -> Void) throws -> Stage {
        let (stage, client) = try loggedIn()
        stage.fetcher.backend = nil
        stage.begin(client, "session.secure_logout")
        #expect(stage.fetcher.out.count == 1)
        #expect(stage.token(try #require(stage.connect())).contains(#""bearer_token":"access-1""#))
        end(stage)
        network.forget()
        return stage
    }

    // MARK: During a login

    @Test(arguments: [true, false])
    func `R164: what a login makes is revoked behind a secure logout`(_ isRefused: Bool) throws {
        let (stage, client) = try network.stage()
        let other = try #require(stage.connect())
        stage.fetcher.backend = nil
        stage.begin(client, "session.login", #","auth_token":"at-1""#)
        stage.begin(other, "session.secure_logout")
        #expect(other.take().isEmpty && stage.fetcher.cancelled.isEmpty)
        let login = try #require(stage.fetcher.out.first)
        stage.fetcher.end(network.answer(login))
        stage.run()
        #expect(client.take().contains(#""state":"established""#))
        if isRefused { network.refusal = (500, nil) }
        let revocation = try #require(stage.fetcher.out.first)
        stage.fetcher.end(network.answer(revocation))
        stage.run()
        #expect(network.log == ["POST at-1", "DELETE access-1"])
        #expect(
            other.take().contains(isRefused ? #""kind":"revoke_failed""# : #""state":"not_logged_in""#))
        #expect(stage.state(client) == (isRefused ? "established" : "not_logged_in"))
    }

    @Test func `R164, R174: behind a login that fails there is nothing to revoke`() throws {
        let (stage, client) = try network.stage()
        let other = try #require(stage.connect())
        stage.fetcher.backend = nil
        stage.begin(client, "session.login", #","auth_token":"bad""#)
        stage.begin(other, "session.secure_logout")
        let login = try #require(stage.fetcher.out.first)
        stage.fetcher.end(network.answer(login))
        stage.run()
        #expect(client.take().contains(#""kind":"credential_rejected""#))
        #expect(other.take().contains(#""state":"not_logged_in""#))
        #expect(network.log == ["POST bad"])
    }

    @Test func `R200: a secure logout waits no longer than the login may take`() throws {
        let (stage, client) = try network.stage()
        let other = try #require(stage.connect())
        stage.fetcher.backend = nil
        stage.begin(client, "session.login", #","auth_token":"at-1""#)
        stage.begin(other, "session.secure_logout")
        stage.advance(.seconds(31))
        #expect(client.take().contains(#""kind":"login_timeout""#))
        // What the platform made of the login is not known.
        let told = other.take()
        #expect(told.contains(#""kind":"revoke_failed""#) && told.contains("may have made a session"))
        #expect(stage.state(client) == "not_logged_in")
    }

    @Test func `an account that logs in by itself does not do so again behind a secure logout`() throws {
        let account = try SocialNetwork.account(hasSource: true, logsIn: true)
        network.isDown = true
        let (stage, client) = try network.stage(account)
        stage.advance(.seconds(25))
        network.isDown = false
        stage.fetcher.backend = nil
        for _ in 0..<20 where stage.fetcher.out.isEmpty { stage.advance(.seconds(10)) }
        let source = try #require(stage.fetcher.out.first)
        stage.fetcher.end(network.answer(source))
        stage.run()
        #expect(stage.state(client) == "establishing" && stage.fetcher.out.count == 1)
        stage.begin(client, "session.secure_logout")
        stage.fetcher.fail(.connectionLost)
        stage.run()
        #expect(client.take().contains(#""kind":"revoke_failed""#))
        stage.fetcher.backend = { [network] in network.answer($0) }
        stage.advance(.seconds(7200))
        #expect(stage.state(client) == "not_logged_in")
    }

    @Test func `a stop before the intent is on the disk is told as that, and nothing was sent`() throws {
        let (stage, client) = try network.stage()
        let other = try #require(stage.connect())
        _ = stage.session(client, "login", #","auth_token":"at-1""#)
        network.forget()
        stage.store.isHeld = true
        stage.begin(other, "session.secure_logout")
        _ = stage.call(client, "account.stop", #"{"account":"app"}"#)
        stage.store.isHeld = false
        stage.run()
        #expect(other.take().contains(#""kind":"account_stopped""#))
        #expect(network.log.isEmpty)
    }

    // MARK: Cut short

    @Test func `R164: a kill in the middle is made good at the next start`() throws {
        let stage = try cut { _ in }
        network.refusal = (401, 400_100)
        let (next, client) = try network.stage(after: stage)
        #expect(network.log == ["DELETE access-1"] && next.state(client) == "not_logged_in")
        #expect(next.store.credentials.values.allSatisfy { $0.held == nil })
        let (last, other) = try network.stage(after: next)
        #expect(network.log == ["DELETE access-1"] && last.state(other) == "not_logged_in")
    }

    @Test func `R164: so is an end of the daemon`() throws {
        let stage = try cut {
            $0.broker.shutDown()
            $0.run()
        }
        let (next, client) = try network.stage(after: stage)
        #expect(network.log == ["DELETE access-1"] && next.state(client) == "not_logged_in")
    }

    @Test(arguments: [(500, nil), (403, 400_300)] as [(Int, Int?)])
    func `R164: where that is refused the session is as it was, and nothing is sent again`(
        _ refusal: (Int, Int?)
    ) throws {
        let stage = try cut { _ in }
        network.refusal = refusal
        let (next, client) = try network.stage(after: stage)
        network.refusal = nil
        #expect(next.state(client) == "established" && next.token(client).contains("access-1"))
        #expect(
            next.records.lines.contains {
                $0.contains("A secure logout that was cut short cannot be finished, and the session stays")
            })
        let (last, other) = try network.stage(after: next)
        #expect(network.log == ["DELETE access-1"] && last.state(other) == "established")
    }

    @Test(arguments: [FetchFailure.connectionFailed, .timeout, .tlsFailed, .workerNotStarted])
    func `R164: without a network it is tried until the platform says something`(_ failure: FetchFailure)
        throws
    {
        let stage = try cut { _ in }
        network.failure = failure
        let (next, client) = try network.stage(after: stage)
        #expect(next.session(client, "state").contains(#""why_no_renew":"signing_out""#))
        #expect(
            next.records.lines.contains {
                $0.contains("A secure logout that was cut short has no answer yet, and is tried again")
            })
        next.advance(.seconds(600))
        #expect(network.log.count > 2 && network.log.count < 60)
        // Neither does a restart forget it.
        network.forget()
        let (last, other) = try network.stage(after: next)
        #expect(network.log == ["DELETE access-1"] && last.state(other) == "established")
        network.failure = nil
        last.advance(.seconds(5))
        #expect(
            network.log == ["DELETE access-1", "DELETE access-1"] && last.state(other) == "not_logged_in")
    }

    @Test func `R164: what has no answer yet is given up by a logout, and keeps nobody from logging in`()
        throws
    {
        let stage = try cut { _ in }
        network.isDown = true
        let (next, client) = try network.stage(after: stage)
        next.advance(.seconds(600))
        #expect(next.session(client, "logout").contains(#""state":"not_logged_in""#))
        network.isDown = false
        network.forget()
        next.advance(.seconds(600))
        #expect(network.log.isEmpty)
        #expect(next.session(client, "login", #","auth_token":"at-1""#).contains("established"))
    }

    @Test func `R164: whoever wants it once more is told at once, and is paced as ever`() throws {
        let stage = try cut { _ in }
        network.isDown = true
        let (next, client) = try network.stage(after: stage)
        network.forget()
        #expect(next.session(client, "secure_logout").contains(#""kind":"revoke_failed""#))
        #expect(next.session(client, "secure_logout").contains(#""kind":"upstream_unreachable""#))
        #expect(network.log == ["DELETE access-1"] && next.state(client) == "established")
        network.isDown = false
        next.advance(.seconds(5))
        #expect(next.state(client) == "not_logged_in")
    }

    @Test func `R164: a stopped account finishes it when it works again`() throws {
        let (stage, client) = try loggedIn()
        stage.fetcher.backend = nil
        stage.begin(client, "session.secure_logout")
        let other = try #require(stage.connect())
        _ = stage.call(other, "account.stop", #"{"account":"app"}"#)
        #expect(client.take().contains(#""kind":"account_stopped""#))
        #expect(stage.session(other, "state").contains(#""why_no_renew":"account_stopped""#))
        stage.fetcher.backend = { [network] in network.answer($0) }
        stage.advance(.seconds(600))
        #expect(network.log.isEmpty)
        _ = stage.call(other, "account.start", #"{"account":"app"}"#)
        stage.advance(.zero)
        #expect(network.log == ["DELETE access-1"] && stage.state(client) == "not_logged_in")
    }

    @Test func `R164: an account that is taken away and put back finishes it, too`() throws {
        let stage = try cut {
            $0.broker.configure([])
            $0.run()
        }
        stage.fetcher.backend = { [network] in network.answer($0) }
        stage.broker.configure([try SocialNetwork.account()])
        stage.advance(.zero)
        #expect(network.log == ["DELETE access-1"])
        #expect(stage.state(try #require(stage.connect())) == "not_logged_in")
    }

    @Test func `R164: what a logout forgets is not finished`() throws {
        let (stage, client) = try loggedIn()
        stage.fetcher.backend = nil
        stage.begin(client, "session.secure_logout")
        let other = try #require(stage.connect())
        _ = stage.call(other, "account.stop", #"{"account":"app"}"#)
        #expect(stage.session(other, "logout").contains(#""state":"not_logged_in""#))
        let (next, _) = try network.stage(after: stage)
        #expect(network.log.isEmpty && next.store.credentials.values.allSatisfy { $0.held == nil })
    }

    @Test func `R180: a session that the platform has ended is left without a request`() throws {
        let (stage, client) = try loggedIn()
        _ = stage.session(client, "report", #","code":400312"#)
        #expect(stage.session(client, "secure_logout").contains(#""state":"not_logged_in""#))
        #expect(stage.session(client, "secure_logout").contains(#""already_logged_out":true"#))
        #expect(network.log.isEmpty)
    }

    @Test(arguments: [
        (403, 400_312, "the user is banned from the network"),
        (404, 400_400, "there is no such user, any more"),
    ])
    func `R164, R178: where the platform ends the session with its answer that is what is said`(
        _ status: Int, _ code: Int, _ cause: String
    ) throws {
        let (stage, client) = try loggedIn()
        network.refusal = (status, code)
        #expect(
            stage.session(client, "secure_logout")
                == Expected.error(
                    141,
                    "the platform did not revoke the session, and has ended it (status \(status), code \(code)): \(cause); chatauth session logout ends it here",
                    "terminated",
                    rest: #","http_status":\#(status),"provider_code":"\#(code)","account":"app""#))
        #expect(stage.state(client) == "terminated")
        #expect(stage.session(client, "secure_logout").contains(#""state":"not_logged_in""#))
    }

    @Test func `R178: a session that is reported to be over while it is revoked is not as it was`() throws {
        let (stage, client) = try loggedIn()
        stage.fetcher.backend = nil
        stage.begin(client, "session.secure_logout")
        let other = try #require(stage.connect())
        _ = stage.session(other, "report", #","code":400312"#)
        stage.fetcher.fail(.connectionLost)
        stage.run()
        #expect(
            client.take().contains(
                "has ended it (code 400312): the user is banned from the network; chatauth session logout"))
    }

    // MARK: Parked

    /// A session at a network that is not the configured one.
    private func parked() throws -> (Stage, MemoryConnection) {
        let (stage, client) = try loggedIn()
        stage.broker.configure([try SocialNetwork.account(base: "https://apix.us.amity.co")])
        stage.run()
        return (stage, client)
    }

    private static let parked = Expected.error(
        105,
        "the session was meant for another destination; put the old configuration back, log in again, or forget it with chatauth session logout",
        "account_parked", rest: #","account":"app""#)

    @Test
    func `R164: whoever wants another token while a session is ended is told so, and nothing has failed`()
        throws
    {
        let (stage, client) = try network.stage(SocialNetwork.account(hasSource: true))
        _ = stage.session(client, "login")
        stage.advance(.seconds(5))
        _ = stage.call(client, "events.subscribe", #"{"topics":["session","auth","account"]}"#)
        stage.fetcher.backend = nil
        let other = try #require(stage.connect())
        // The source is asked for a renewal, which has to make way.
        stage.begin(other, "auth.refresh")
        let leaving = try #require(stage.connect())
        stage.begin(leaving, "session.secure_logout")
        let ending = Expected.error(
            140, "the session is being ended; try again when that is over", "session_state_invalid",
            retryable: true, rest: #","retry_after_seconds":1,"account":"app""#)
        #expect(other.take() == ending + "\n")
        #expect(stage.session(other, "renew") == ending)
        stage.begin(other, "token.get", #","force":true"#)
        #expect(other.take().isEmpty)
        stage.advance(.seconds(2))
        let forced = other.take()
        #expect(forced.contains(#""bearer_token":"access-1""#) && !forced.contains("stale"))
        stage.fetcher.fail(.connectionLost)
        stage.run()
        #expect(leaving.take().contains(#""kind":"revoke_failed""#))
        #expect(client.takeLines().allSatisfy { !$0.contains("failed") && !$0.contains("stale") })
        stage.fetcher.backend = { [network] in network.answer($0) }
        stage.advance(.seconds(2))
        #expect(stage.token(other).contains(#""bearer_token":"access-2""#))
    }

    @Test func `R164: a session that is parked cannot be revoked, and stays`() throws {
        let (stage, client) = try parked()
        for _ in 0..<2 { #expect(stage.session(client, "secure_logout") == Self.parked) }
        #expect(network.log.isEmpty && stage.token(client) == Self.parked)
        stage.broker.configure([try SocialNetwork.account()])
        stage.run()
        #expect(stage.state(client) == "established" && stage.token(client).contains("access-1"))
    }

    @Test func `R164: nor does it go with a login beside it that comes to nothing`() throws {
        let (stage, client) = try parked()
        stage.fetcher.backend = nil
        stage.begin(client, "session.login", #","auth_token":"bad""#)
        let other = try #require(stage.connect())
        #expect(stage.session(other, "secure_logout") == Self.parked)
        stage.fetcher.end(network.answer(try #require(stage.fetcher.out.first)))
        stage.run()
        #expect(client.take().contains(#""kind":"credential_rejected""#))
        stage.broker.configure([try SocialNetwork.account()])
        stage.run()
        #expect(stage.state(client) == "established")
    }

    @Test func `R163: a logout forgets what is parked, and says that there was something`() throws {
        let (stage, client) = try parked()
        let answer = stage.session(client, "logout")
        #expect(answer.contains(#""state":"not_logged_in""#) && !answer.contains("already_logged_out"))
        #expect(stage.session(client, "logout").contains(#""already_logged_out":true"#))
        stage.broker.configure([try SocialNetwork.account()])
        stage.run()
        #expect(stage.state(client) == "not_logged_in" && network.log.isEmpty)
    }

    @Test func `R43, R164: a stopped account signs nobody out at the platform`() throws {
        let (stage, client) = try loggedIn()
        _ = stage.call(client, "account.stop", #"{"account":"app"}"#)
        #expect(stage.session(client, "secure_logout").contains(#""kind":"account_stopped""#))
        _ = stage.call(client, "account.start", #"{"account":"app"}"#)
        #expect(stage.state(client) == "established" && network.log.isEmpty)
    }

    @Test func `a full disk does not keep anybody from signing out`() throws {
        let (stage, client) = try loggedIn()
        stage.store.failure = .full
        #expect(stage.session(client, "secure_logout").contains(#""kind":"store_full""#))
        #expect(network.log == ["DELETE access-1"] && stage.state(client) == "not_logged_in")
    }
}
