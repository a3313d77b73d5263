import Broker
import BrokerSupport
import CredentialCore
import Testing

@Suite struct `Who may do what` {
    private static let system = InstanceKind.system(admins: Definitions.user(9))
    private static let denied = Expected.error(
        200, "your rules for this account allow to use it, not to operate it", "permission_denied",
        rest: #","account":"bot""#)
    private static let notAdmin = Expected.error(
        200, "only administrators may do this, on the administration socket", "permission_denied")

    private static let use = [
        "token.get", "headers.get", "credentials.inspect", "account.show", "token.reject",
    ]
    private static let operate = [
        "credentials.delete", "account.start", "account.stop", "account.check", "auth.refresh",
    ]

    private func line(_ method: String, _ account: String) -> String {
        #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":{"account":"\#(account)"}}"#
    }

    @Test func `R62, R209: an unknown account and a forbidden one are the same to a peer without rights`()
        throws
    {
        let (stage, _) = try Stage.serving(instance: Self.system)
        let stranger = try #require(stage.connect(uid: 1001))
        let other = try #require(stage.connect(uid: 1002))
        for method in Self.use + Self.operate {
            let forbidden = stage.ask(stranger, line(method, "bot"))
            #expect(forbidden == Expected.unknownAccount + "\n")
            #expect(forbidden == stage.ask(other, line(method, "tob")))
        }
        #expect(
            stage.audit.lines == [
                "denied uid=1001 token.get bot no_rule", "denied uid=1002 token.get no_account",
            ])
        stage.advance(.seconds(2))
        #expect(
            stage.audit.lines.suffix(2) == ["denied_summary uid=1001 * x9", "denied_summary uid=1002 * x9"])
    }

    @Test(arguments: [
        "", ".bot", "-bot", "b/t", "bot ", "bötli", "b\\u0000t", String(repeating: "b", count: 65),
    ])
    func `what is no name is unknown`(name: String) throws {
        let (stage, client) = try Stage.serving()
        #expect(stage.ask(client, line("token.get", name)) == Expected.unknownAccount + "\n")
        #expect(stage.audit.lines == ["denied uid=1000 token.get no_account"])
    }

    @Test func `use lets look and no more`() throws {
        let (stage, _) = try Stage.serving(instance: Self.system)
        let user = try #require(stage.connect(uid: 7))
        for method in Self.use { #expect(stage.ask(user, line(method, "bot")).contains(#""result""#)) }
        for method in Self.operate { #expect(stage.ask(user, line(method, "bot")) == Self.denied + "\n") }
        #expect(stage.ask(user, line("account.remove", "bot")) == Self.notAdmin + "\n")
    }

    @Test func `operate lets do all but administer`() throws {
        let (stage, _) = try Stage.serving(instance: Self.system)
        let operator_ = try #require(stage.connect(uid: 8))
        for method in ["credentials.inspect", "account.show", "account.stop", "account.start", "token.get"] {
            #expect(stage.ask(operator_, line(method, "bot")).contains(#""result""#))
        }
        for method in ["daemon.reload", "daemon.metrics", "store.status"] {
            #expect(stage.call(operator_, method) == Self.notAdmin)
        }
    }

    @Test(arguments: [
        (UInt32(0), true, true), (0, false, false), (9, true, true), (9, false, false), (7, true, false),
    ])
    func `administrators are administrators on their socket only`(uid: UInt32, socket: Bool, may: Bool) throws
    {
        let (stage, _) = try Stage.serving(instance: Self.system)
        let client = try #require(stage.connect(uid: uid, onAdminSocket: socket))
        #expect(stage.call(client, "daemon.reload").contains(#""result""#) == may)
        if uid != 7 { #expect(stage.ask(client, line("token.get", "bot")).contains(#""result""#) == may) }
    }

    @Test func `a group rule admits members, by the groups that the kernel reports`() throws {
        let rules = AccessRules(use: [AccessRule(uid: 5, gid: 50), AccessRule(gid: 60)].compactMap { $0 })
        let stage = try Stage(instance: Self.system, accounts: [Definitions.http("bot", access: rules)])
        let cases: [(UInt32, UInt32, [UInt32], Bool)] = [
            (5, 5, [50], true), (5, 50, [], true), (6, 6, [50], false), (6, 6, [1, 60], true),
            (5, 5, [], false),
        ]
        for (uid, gid, groups, may) in cases {
            let client = try #require(stage.connect(uid: uid, gid: gid, groups: groups))
            #expect((stage.ask(client, line("account.show", "bot")) != Expected.unknownAccount + "\n") == may)
        }
    }

    @Test func `in one's own instance one is everything and others are nothing`() throws {
        let (stage, client) = try Stage.serving()
        #expect(stage.call(client, "daemon.reload") == #"{"jsonrpc":"2.0","id":1,"result":{"accounts":0}}"#)
        let root = try #require(stage.connect(uid: 0, onAdminSocket: true))
        #expect(stage.ask(root, line("token.get", "bot")) == Expected.unknownAccount + "\n")
        #expect(stage.call(root, "daemon.reload") == Self.notAdmin)
        #expect(
            stage.call(root, "account.list") == #"{"jsonrpc":"2.0","id":1,"result":{"accounts":[]}}"#)
    }

    @Test func `R62: a right that is taken away is gone at the next request`() throws {
        let (stage, _) = try Stage.serving(instance: Self.system)
        let user = try #require(stage.connect(uid: 7))
        #expect(stage.ask(user, line("token.get", "bot")) == Expected.token() + "\n")
        stage.broker.configure([Definitions.http("bot", access: AccessRules(use: Definitions.user(6)))])
        #expect(stage.ask(user, line("token.get", "bot")) == Expected.unknownAccount + "\n")
        stage.broker.configure([Definitions.http("bot", access: AccessRules(operate: Definitions.user(7)))])
        #expect(stage.ask(user, line("token.get", "bot")) == Expected.token() + "\n")
    }

    @Test func `a right that is taken away while the audit log is busy is gone`() throws {
        let (stage, _) = try Stage.serving(instance: Self.system)
        let user = try #require(stage.connect(uid: 7))
        stage.audit.isHeld = true
        _ = stage.ask(user, line("token.get", "bot"))
        stage.broker.configure([Definitions.http("bot")])
        stage.audit.isHeld = false
        stage.run()
        #expect(user.take() == Expected.unknownAccount + "\n")
    }

    @Test func `lists and counts show what a peer may know`() throws {
        let mine = AccessRules(use: Definitions.user(7))
        let stage = try Stage(
            instance: Self.system,
            accounts: [
                Definitions.plain("a", access: mine), Definitions.plain("b"),
                Definitions.plain("c", access: mine),
                Definitions.plain("d", access: mine),
            ])
        let user = try #require(stage.connect(uid: 7))
        func entry(_ name: String) -> String {
            #"{"account":"\#(name)","state":"sign_in_needed","generation":0,"expires_at":null,"#
                + #""expires_at_text":null,"expiry_source":null,"refresh_at":null,"refresh_at_text":null,"#
                + #""provider":"generic","source":null}"#
        }
        func list(_ names: [String], _ cursor: String = "") -> String {
            #"{"jsonrpc":"2.0","id":1,"result":{"accounts":["# + names.map(entry).joined(separator: ",") + "]"
                + cursor + "}}"
        }
        #expect(stage.call(user, "account.list") == list(["a", "c", "d"]))
        #expect(stage.call(user, "account.list", #"{"limit":2}"#) == list(["a", "c"], #","cursor":"c""#))
        #expect(stage.call(user, "account.list", #"{"limit":2,"cursor":"c"}"#) == list(["d"]))
        #expect(stage.call(user, "account.list", #"{"limit":3}"#) == list(["a", "c", "d"]))
        #expect(stage.call(user, "account.list", #"{"cursor":"zzz"}"#) == list([]))
        #expect(stage.call(user, "daemon.status").contains(#""accounts":{"total":3,"fresh":0"#))
        #expect(!stage.call(user, "daemon.status").contains("remarks"))
    }
}

@Suite struct `Shares of what there is` {
    @Test func `named users have a share of their own and strangers share one`() throws {
        let rules = AccessRules(use: Definitions.user(1007) + Definitions.user(7))
        let stage = try Stage(
            instance: .system(admins: []), limits: .tiny, accounts: [Definitions.plain("a", access: rules)])
        #expect((0..<2).allSatisfy { stage.connect(uid: 2000 + $0) != nil })
        #expect(stage.connect(uid: 3000) == nil)
        let named = (0..<3).compactMap { _ in stage.connect(uid: 1007) }
        #expect(named.count == 3)
        #expect(stage.connect(uid: 1007) == nil)
        named[0].close(flush: false)
        #expect(stage.connect(uid: 1007) != nil)
        // A system user's share is another, and at last there is no room for anybody.
        #expect((0..<3).allSatisfy { _ in stage.connect(uid: 7) != nil })
        #expect(stage.connect(uid: 7) == nil)
    }

    @Test func `a share is given back as it was taken, whatever the rules say meanwhile`() throws {
        let rules = AccessRules(use: Definitions.user(1007))
        let named = Definitions.plain("a", access: rules)
        let stage = try Stage(instance: .system(admins: []), limits: .tiny, accounts: [named])
        for _ in 0..<20 {
            let one = try #require(stage.connect(uid: 1007))
            stage.broker.configure([])
            let two = try #require(stage.connect(uid: 1007))
            stage.broker.configure([named])
            one.close(flush: false)
            two.close(flush: false)
        }
        #expect((0..<3).allSatisfy { _ in stage.connect(uid: 1007) != nil })
        #expect((0..<2).allSatisfy { stage.connect(uid: 2000 + $0) != nil })
    }

    @Test func `calls that wait are counted for each user`() throws {
        let stage = try Stage(limits: .tiny, accounts: [Definitions.http("bot")])
        let client = try #require(stage.connect())
        let line = #"{"jsonrpc":"2.0","id":1,"method":"token.get","params":{"account":"bot"}}"# + "\n"
        stage.receive(line + line + line, from: client)
        #expect(
            client.take()
                == Expected.error(
                    501, "too many calls of this user are waiting", "overloaded", retryable: true,
                    rest: #","retry_after_seconds":1"#) + "\n")
        stage.fetcher.answer(#"{"token":"abc","expires_in":3600}"#)
        stage.run()
        #expect(client.takeLines().count == 2)
        stage.receive(line + line + line, from: client)
        #expect(client.takeLines() == Array(repeating: Expected.token(), count: 3))
    }
}
