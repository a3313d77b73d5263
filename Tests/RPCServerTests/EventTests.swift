import Broker
import BrokerSupport
import CredentialCore
import Testing

@Suite struct `Events` {
    private static let all = #"{"topics":["token","auth","account","daemon"]}"#

    private func event(_ topic: String, _ members: String) -> String {
        #"{"jsonrpc":"2.0","method":"\#(topic).changed","params":{\#(members)}}"#
    }

    @Test func `R182: a subscriber gets the state first, then each change once and in order`() throws {
        let (stage, client) = try Stage.serving()
        #expect(
            stage.call(client, "events.subscribe", Self.all)
                == #"{"jsonrpc":"2.0","id":1,"result":{"topics":["account","auth","daemon","token"],"#
                + #""accounts":[{"account":"bot","state":"fresh","generation":1,"auth":"authenticated"}],"store":"open"}}"#
        )
        stage.advance(.seconds(3570))
        #expect(
            client.takeLines() == [
                event(
                    "account",
                    #""account":"bot","from":"fresh","to":"refreshing","cause":"refresh_started""#)
            ])
        stage.fetcher.fail(.timeout)
        stage.run()
        #expect(
            client.takeLines() == [
                event(
                    "account", #""account":"bot","from":"refreshing","to":"stale","cause":"refresh_failed""#),
                event(
                    "auth",
                    #""account":"bot","from":"authenticated","to":"failing","cause":"refresh_failed","error":{"kind":"upstream_timeout","#
                        + #""message":"the source did not answer in time: it took longer than its timeout"}"#),
            ])
        // A second failure is no news.
        stage.advance(.seconds(1))
        stage.fetcher.fail(.timeout)
        stage.run()
        _ = client.take()
        stage.advance(.seconds(10))
        _ = client.take()
        stage.fetcher.answer(#"{"token":"def","expires_in":3600}"#)
        stage.run()
        #expect(
            client.takeLines() == [
                event("account", #""account":"bot","from":"refreshing","to":"fresh","cause":"refreshed""#),
                event("auth", #""account":"bot","from":"failing","to":"authenticated","cause":"recovered""#),
                event(
                    "token",
                    #""account":"bot","from":1,"to":2,"cause":"replaced","generation":2,"expires_at":1767232772"#
                ),
            ])
    }

    @Test func `one's own changes are told between question and answer`() throws {
        let (stage, client) = try Stage.serving()
        _ = stage.call(client, "events.subscribe", #"{"topics":["token"]}"#)
        #expect(
            stage.call(client, "credentials.delete", #"{"account":"bot"}"#).split(separator: "\n") == [
                event("token", #""account":"bot","from":1,"to":2,"cause":"deleted","generation":2"#)[...],
                #"{"jsonrpc":"2.0","id":1,"result":{"account":"bot","generation":2}}"#,
            ])
    }

    @Test func `nobody is told of accounts that he may not use, or did not ask for`() throws {
        let rules = AccessRules(use: Definitions.user(7))
        let stage = try Stage(
            instance: .system(admins: []),
            accounts: [
                Definitions.plain("mine", access: rules), Definitions.plain("other"),
                Definitions.plain("third", access: rules),
            ])
        let user = try #require(stage.connect(uid: 7))
        let root = try #require(stage.connect(uid: 0, onAdminSocket: true))
        #expect(
            stage.call(
                user, "events.subscribe", #"{"topics":["token"],"accounts":["mine","other","none","."]}"#)
                == #"{"jsonrpc":"2.0","id":1,"result":{"topics":["token"],"accounts":"#
                + #"[{"account":"mine","state":"sign_in_needed","generation":0}],"store":"open"}}"#)
        for account in ["other", "third", "mine"] {
            _ = stage.call(root, "credentials.save_token", #"{"account":"\#(account)","token":"t"}"#)
        }
        #expect(
            user.takeLines() == [
                event(
                    "token",
                    #""account":"mine","from":0,"to":1,"cause":"replaced","generation":1,"expires_at":null"#)
            ])
        stage.broker.configure([Definitions.plain("mine")])
        _ = stage.call(root, "credentials.save_token", #"{"account":"mine","token":"u"}"#)
        #expect(user.takeLines() == [])
    }

    @Test func `R183: a slow reader gets one overflow marker and goes on when it has read`() throws {
        let (stage, client) = try Stage.serving()
        let slow = try #require(stage.connect())
        _ = stage.call(slow, "events.subscribe", #"{"topics":["token"]}"#)
        slow.isReading = false
        for _ in 0..<4000 {
            _ = stage.call(client, "credentials.save_token", #"{"account":"bot","token":"t"}"#)
        }
        #expect(!slow.isClosed)
        #expect(slow.unsentBytes < 66_000)
        let lines = slow.takeLines()
        #expect(lines.last == #"{"jsonrpc":"2.0","method":"events.overflow"}"#)
        #expect(lines.filter { $0.contains("overflow") }.count == 1)
        for (index, line) in lines.dropLast().enumerated() {
            #expect(line.contains(#""generation":\#(index + 2),"#))
        }
        slow.isReading = true
        _ = stage.call(client, "credentials.save_token", #"{"account":"bot","token":"t"}"#)
        #expect(
            slow.takeLines() == [
                event(
                    "token",
                    #""account":"bot","from":4001,"to":4002,"cause":"replaced","generation":4002,"expires_at":null"#
                )
            ])
    }

    @Test func `R183: who unsubscribes, or goes, is told nothing`() throws {
        let (stage, client) = try Stage.serving()
        let other = try #require(stage.connect())
        for subscriber in [client, other] { _ = stage.call(subscriber, "events.subscribe", Self.all) }
        #expect(stage.call(client, "events.unsubscribe") == #"{"jsonrpc":"2.0","id":1,"result":{}}"#)
        other.close(flush: false)
        stage.advance(.seconds(3570))
        #expect(client.receivedBytes == 0)
    }

    @Test func `handlers, identities and sessions are topics, and push is one in time`() throws {
        let (stage, client) = try Stage.serving()
        let bot = try #require(stage.account("bot"))
        stage.broker.report(.session, "established", cause: "login", of: bot)
        #expect(
            stage.call(client, "events.subscribe", #"{"topics":["handler","identity","session","push"]}"#)
                == #"{"jsonrpc":"2.0","id":1,"result":{"topics":["handler","identity","push","session"],"#
                + #""accounts":[{"account":"bot","state":"fresh","generation":1,"handler":[],"#
                + #""identity":null,"session":"established"}],"store":"open"}}"#)
        stage.broker.report(.identity, "identified", cause: "identify", of: bot)
        stage.broker.report(.identity, "identified", cause: "identify", of: bot)
        stage.broker.report(.session, "terminated", cause: "globally_banned", of: bot)
        #expect(
            client.takeLines() == [
                event(
                    "identity", #""account":"bot","from":null,"to":"identified","cause":"identify""#),
                event(
                    "session",
                    #""account":"bot","from":"established","to":"terminated","cause":"globally_banned""#),
            ])
        let handler = try #require(stage.connect())
        _ = stage.call(handler, "handler.register", #"{"account":"bot"}"#)
        handler.close(flush: false)
        #expect(
            client.takeLines() == [
                event(
                    "handler",
                    #""account":"bot","kind":"credential.fetch","from":"absent","to":"registered","cause":"registered""#
                ),
                event(
                    "handler",
                    #""account":"bot","kind":"credential.fetch","from":"registered","to":"absent","cause":"disconnected""#
                ),
            ])
    }

    @Test func `what a platform says of signing in goes before what the session knows`() throws {
        let (stage, client) = try Stage.serving()
        let bot = try #require(stage.account("bot"))
        stage.broker.report(.auth, "anonymous", cause: "callback_timeout", of: bot)
        #expect(
            stage.call(client, "events.subscribe", #"{"topics":["auth"]}"#).contains(
                #""auth":"anonymous"}"#))
    }

    @Test func `an account that comes or goes is told with all that is known of it`() throws {
        let (stage, client) = try Stage.serving()
        _ = stage.call(client, "events.subscribe", Self.all)
        stage.broker.configure([])
        #expect(
            client.takeLines() == [
                event("account", #""account":"bot","from":"fresh","to":null,"cause":"removed""#),
                event("auth", #""account":"bot","from":"authenticated","to":null,"cause":"removed""#),
                event("token", #""account":"bot","from":1,"to":null,"cause":"removed""#),
                event("daemon", #""cause":"accounts""#),
            ])
        stage.broker.configure([Definitions.http("bot")])
        #expect(
            client.takeLines() == [
                event("account", #""account":"bot","from":null,"to":"fresh","cause":"added""#),
                event("auth", #""account":"bot","from":null,"to":"authenticated","cause":"added""#),
                event(
                    "token",
                    #""account":"bot","from":null,"to":1,"cause":"added","generation":1,"expires_at":1767229200"#
                ),
                event("daemon", #""cause":"accounts""#),
            ])
    }

    @Test func `where nothing is fetched, it is told in time that somebody has to bring another token`()
        throws
    {
        let stage = try Stage(accounts: [Definitions.plain("desk")])
        let client = try #require(stage.connect())
        _ = stage.call(
            client, "credentials.save_token", #"{"account":"desk","token":"t","expires_at":1767225700}"#)
        _ = stage.call(client, "events.subscribe", #"{"topics":["account"]}"#)
        stage.advance(Milliseconds(69_999))
        #expect(client.receivedBytes == 0)
        stage.advance(Milliseconds(1))
        #expect(
            client.takeLines() == [
                event("account", #""account":"desk","from":"fresh","to":"due","cause":"due""#)
            ])
        stage.advance(.seconds(30))
        #expect(
            client.takeLines() == [
                event(
                    "account", #""account":"desk","from":"due","to":"sign_in_needed","cause":"no_source""#)
            ])
    }

    @Test func `a subscription cannot be in a batch, whose answer would come behind changes`() throws {
        let (stage, client) = try Stage.serving()
        #expect(
            stage.ask(
                client,
                #"[{"jsonrpc":"2.0","id":1,"method":"events.subscribe","params":{"topics":["token"]}}]"#)
                == "[" + Expected.error(-32600, "events.subscribe cannot be in a batch", "invalid_request")
                + "]\n")
    }

    @Test func `accounts and the store are topics of the daemon`() throws {
        let stage = try Stage(isOpen: false)
        let client = try #require(stage.connect())
        _ = stage.call(client, "events.subscribe", #"{"topics":["daemon"]}"#)
        stage.open()
        #expect(
            client.takeLines() == [
                event("daemon", #""cause":"store","from":"sealed","to":"open""#),
                event("daemon", #""cause":"accounts""#),
            ])
        _ = stage.call(client, "account.add", #"{"account":"new"}"#)
        stage.store.failure = .full
        stage.broker.configure([Definitions.http("bot")])
        _ = client.take()
        stage.advance(.zero)
        stage.fetcher.answer(#"{"token":"abc","expires_in":3600}"#)
        stage.run()
        #expect(client.takeLines() == [event("daemon", #""account":"bot","cause":"store_full""#)])
    }
}
