import Broker
import BrokerSupport
import CredentialCore
import Testing

@Suite struct `Events` {
    private static let all = #"{"topics":["token","auth","account","daemon"]}"#

    private func event(_ topic: String, _ members: String) -> String {
        #"{"jsonrpc":"2.0","method":"\#(topic).changed","params":{\#(members)}}"#
    }

    @Test func `a subscriber gets the state first, then each change once and in order`() throws {
        let (stage, client) = try Stage.serving()
        #expect(
            stage.call(client, "events.subscribe", Self.all)
                == #"{"jsonrpc":"2.0","id":1,"result":{"topics":["account","auth","daemon","token"],"#
                + #""accounts":[{"account":"bot","state":"fresh","generation":1}],"store":"open"}}"#)
        stage.advance(.seconds(3570))
        #expect(
            client.takeLines() == [event("account", #""account":"bot","from":"fresh","to":"refreshing""#)])
        stage.fetcher.fail(.timeout)
        stage.run()
        #expect(
            client.takeLines() == [
                event("account", #""account":"bot","from":"refreshing","to":"stale""#),
                event(
                    "auth",
                    #""account":"bot","cause":"refresh_failed","error":{"kind":"upstream_timeout","#
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
        let lines = client.takeLines()
        #expect(lines.first == event("account", #""account":"bot","from":"refreshing","to":"fresh""#))
        #expect(
            lines.contains {
                $0.hasPrefix(
                    #"{"jsonrpc":"2.0","method":"token.changed","params":{"account":"bot","cause":"replaced","generation":2"#
                )
            })
        #expect(lines.filter { $0 == event("auth", #""account":"bot","cause":"recovered""#) }.count == 1)
        #expect(lines.count == 3)
    }

    @Test func `one's own changes are told between question and answer`() throws {
        let (stage, client) = try Stage.serving()
        _ = stage.call(client, "events.subscribe", #"{"topics":["token"]}"#)
        #expect(
            stage.call(client, "credentials.delete", #"{"account":"bot"}"#).split(separator: "\n") == [
                event("token", #""account":"bot","cause":"deleted","generation":2"#)[...],
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
                event("token", #""account":"mine","cause":"replaced","generation":1,"expires_at":null"#)
            ])
        stage.broker.configure([Definitions.plain("mine")])
        _ = stage.call(root, "credentials.save_token", #"{"account":"mine","token":"u"}"#)
        #expect(user.takeLines() == [])
    }

    @Test func `a slow reader gets one overflow marker and goes on when it has read`() throws {
        let (stage, client) = try Stage.serving()
        let slow = try #require(stage.connect())
        _ = stage.call(slow, "events.subscribe", #"{"topics":["token"]}"#)
        slow.isReading = false
        for _ in 0..<4000 {
            _ = stage.call(client, "credentials.save_token", #"{"account":"bot","token":"t"}"#)
        }
        #expect(!slow.isClosed)
        #expect(slow.unsentBytes < 300_000)
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
                event("token", #""account":"bot","cause":"replaced","generation":4002,"expires_at":null"#)
            ])
    }

    @Test func `who unsubscribes, or goes, is told nothing`() throws {
        let (stage, client) = try Stage.serving()
        let other = try #require(stage.connect())
        for subscriber in [client, other] { _ = stage.call(subscriber, "events.subscribe", Self.all) }
        #expect(stage.call(client, "events.unsubscribe") == #"{"jsonrpc":"2.0","id":1,"result":{}}"#)
        other.close(flush: false)
        stage.advance(.seconds(3570))
        #expect(client.receivedBytes == 0)
    }

    @Test func `accounts and the store are topics of the daemon`() throws {
        let stage = try Stage(isOpen: false)
        let client = try #require(stage.connect())
        _ = stage.call(client, "events.subscribe", #"{"topics":["daemon"]}"#)
        stage.open()
        #expect(
            client.takeLines() == [
                event("daemon", #""cause":"store","to":"open""#), event("daemon", #""cause":"accounts""#),
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
