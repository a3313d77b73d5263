import Broker
import BrokerSupport
import CredentialCore
import RPCServer
import Secrets
import Testing

@Suite struct `Handlers` {
    private static func rpc(
        _ name: String = "bot", timeout: Milliseconds = AccountDefinition.usualCallbackTimeout,
        startsByItself: Bool = true
    ) -> AccountDefinition {
        AccountDefinition(
            name: Definitions.name(name), source: .rpc,
            access: AccessRules(use: Definitions.user(7), operate: Definitions.user(8)),
            startsByItself: startsByItself, callbackTimeout: timeout)
    }

    private static func question(
        id: Int = 1, account: String = "bot", reason: String = "initial", want: String = "credentials",
        deadline: Int = 1_767_225_615
    ) -> String {
        #"{"jsonrpc":"2.0","id":\#(id),"method":"credential.fetch","params":{"account":"\#(account)","#
            + #""provider":"generic","reason":"\#(reason)","want":"\#(want)","deadline":\#(deadline)}}"#
    }

    private static func registered(
        id: Int = 1, kinds: String = #""credential.fetch""#, want: String = "credentials",
        replaced: Bool = false
    ) -> String {
        #"{"jsonrpc":"2.0","id":\#(id),"result":{"account":"bot","kinds":[\#(kinds)],"want":"\#(want)","#
            + #""replaced":\#(replaced)}}"#
    }

    private static let notResponse =
        "its answer was no JSON-RPC 2.0 response, which has jsonrpc, and a result or an error but not both, not even null"
    private static let get =
        #"{"jsonrpc":"2.0","id":7,"method":"token.get","params":{"account":"bot"}}"# + "\n"

    private func lines(_ text: String) -> [String] { text.split(separator: "\n").map(String.init) }

    private func answer(
        _ stage: Stage, _ client: MemoryConnection, id: Int = 1, _ result: String
    ) -> [String] {
        lines(stage.ask(client, #"{"jsonrpc":"2.0","id":\#(id),"result":\#(result)}"#))
    }

    @Test func `R4: who registers is asked at once, and what he answers is handed out`() throws {
        let stage = try Stage(accounts: [Self.rpc()])
        let client = try #require(stage.connect())
        #expect(
            lines(stage.call(client, "handler.register", #"{"account":"bot"}"#)) == [
                Self.registered(), Self.question(),
            ])
        #expect(answer(stage, client, #"{"id_token":"abc","expires_at":1767229200}"#) == [])
        #expect(stage.call(client, "token.get", #"{"account":"bot"}"#) == Expected.token())
    }

    @Test func `R3, R26: a token is asked of whoever has only that, and credentials go before it`() throws {
        let stage = try Stage(accounts: [Self.rpc()])
        let client = try #require(stage.connect())
        #expect(
            lines(stage.call(client, "handler.register", #"{"account":"bot","want":"token"}"#)) == [
                Self.registered(want: "token"), Self.question(want: "token"),
            ])
        _ = answer(stage, client, #"{"token":"abc","expires_at":1767225660}"#)
        #expect(
            stage.call(client, "token.get", #"{"account":"bot"}"#)
                == Expected.token(expiresAt: 1_767_225_660, refreshAt: 1_767_225_630))
        #expect(
            stage.call(client, "handler.register", #"{"account":"bot","want":"credentials"}"#)
                == Self.registered())
        // Less is not taken back: who gives both is asked for both, and told so.
        #expect(
            stage.call(client, "handler.register", #"{"account":"bot","want":"token"}"#) == Self.registered())
        stage.advance(.seconds(30))
        #expect(client.takeLines() == [Self.question(id: 2, reason: "expiring", deadline: 1_767_225_645)])
        _ = answer(stage, client, id: 2, #"{"token":"no","access_token":"def"}"#)
        #expect(stage.account("bot")?.session.held?.credential?.idToken == nil)
        #expect(stage.account("bot")?.session.generation == Generation(2))
    }

    @Test func `without a handler the account says that it needs one`() throws {
        let stage = try Stage(accounts: [Self.rpc()])
        let client = try #require(stage.connect())
        let required = Expected.error(
            122, "no handler is connected; chatauth handler list shows those that are", "handler_required",
            retryable: true, rest: #","retry_after_seconds":1,"account":"bot""#)
        #expect(stage.call(client, "token.get", #"{"account":"bot"}"#) == required)
        #expect(stage.call(client, "auth.refresh", #"{"account":"bot"}"#) == required)
        #expect(stage.call(client, "token.get", #"{"account":"bot","force":true}"#) == required)
        stage.advance(.seconds(3600))
        #expect(stage.broker.counters.refreshesStarted == 0)
        #expect(
            stage.call(client, "account.check", #"{"account":"bot"}"#)
                == #"{"jsonrpc":"2.0","id":1,"result":{"account":"bot","ok":false,"error":{"kind":"handler_required","#
                + #""message":"no handler is connected; chatauth handler list shows those that are"}}}"#)
    }

    @Test func `R28: a registered handler goes before the configured source, as long as it is connected`()
        throws
    {
        let (stage, client) = try Stage.serving()
        #expect(lines(stage.call(client, "handler.register", #"{"account":"bot"}"#)) == [Self.registered()])
        stage.advance(.seconds(3570))
        #expect(stage.fetcher.out.isEmpty)
        #expect(client.takeLines() == [Self.question(reason: "expiring", deadline: 1_767_229_185)])
        client.close(flush: false)
        stage.advance(.seconds(2))
        #expect(stage.fetcher.out.count == 1)
    }

    @Test
    func `R7, R65: a handler that hangs is waited for fifteen seconds, and what it says later is dropped`()
        throws
    {
        let stage = try Stage(accounts: [Self.rpc()])
        let client = try #require(stage.connect())
        let caller = try #require(stage.connect())
        _ = stage.call(client, "handler.register", #"{"account":"bot"}"#)
        stage.receive(Self.get, from: caller)
        stage.advance(Milliseconds(14_999))
        #expect(caller.receivedBytes == 0)
        stage.advance(Milliseconds(1))
        #expect(
            caller.take() == Expected.error(
                id: "7", 123, "the handler did not answer in time", "callback_timeout", retryable: true,
                rest: #","retry_after_seconds":1,"account":"bot""#) + "\n")
        #expect(answer(stage, client, #"{"token":"late"}"#) == [])
        #expect(stage.account("bot")?.session.held == nil)
        stage.advance(.seconds(1))
        #expect(client.takeLines() == [Self.question(id: 2, deadline: 1_767_225_631)])
        _ = answer(stage, client, id: 2, #"{"token":"abc"}"#)
        #expect(stage.account("bot")?.session.generation == Generation(1))
    }

    @Test func `how long is waited can be configured`() throws {
        let stage = try Stage(accounts: [Self.rpc(timeout: .seconds(40))])
        let client = try #require(stage.connect())
        let caller = try #require(stage.connect())
        _ = stage.call(client, "handler.register", #"{"account":"bot"}"#)
        stage.receive(
            #"{"jsonrpc":"2.0","id":7,"method":"token.get","params":{"account":"bot","wait":60}}"# + "\n",
            from: caller)
        stage.advance(Milliseconds(39_999))
        #expect(caller.receivedBytes == 0)
        stage.advance(Milliseconds(1))
        #expect(caller.take().contains(#""kind":"callback_timeout""#))
    }

    @Test(arguments: ["error", "disconnect", "end", "unregister"])
    func `R6: an error is a refusal, and so is going away`(_ how: String) throws {
        let stage = try Stage(accounts: [Self.rpc()])
        let client = try #require(stage.connect())
        let caller = try #require(stage.connect())
        _ = stage.call(client, "handler.register", #"{"account":"bot"}"#)
        stage.receive(Self.get, from: caller)
        switch how {
        case "error":
            stage.receive(
                #"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"nobody is signed in"}}"# + "\n",
                from: client)
        case "disconnect": client.close(flush: false)
        case "end": stage.server.connectionDidEndInput(client)
        default: _ = stage.call(client, "handler.unregister", #"{"account":"bot"}"#)
        }
        stage.run()
        #expect(
            caller.take() == Expected.error(
                id: "7", 124, "the handler refused to give a credential, or went away", "callback_rejected",
                retryable: true, rest: #","retry_after_seconds":1,"account":"bot""#) + "\n")
        guard how != "error" else { return }
        #expect(stage.call(caller, "token.get", #"{"account":"bot"}"#).contains("handler_required"))
    }

    @Test(arguments: [
        (#"{}"#, "credential_empty"), ("null", "credential_empty"), (#"{"token":""}"#, "credential_empty"),
        ("[]", "upstream_error"), (#"{"token":7}"#, "upstream_error"), (#""abc""#, "upstream_error"),
        (#"{"token":"a\nb"}"#, "upstream_error"), (#"{"token":"abc","expires_at":1}"#, "stale_credential"),
    ])
    func `R69: an answer that is no credential is told as what it is`(_ result: String, _ kind: String) throws
    {
        let stage = try Stage(accounts: [Self.rpc()])
        let client = try #require(stage.connect())
        let caller = try #require(stage.connect())
        _ = stage.call(client, "handler.register", #"{"account":"bot"}"#)
        stage.receive(Self.get, from: caller)
        _ = answer(stage, client, result)
        #expect(caller.take().contains(#""kind":"\#(kind)""#))
    }

    @Test func `the last to register is asked, and the one before is told`() throws {
        let stage = try Stage(accounts: [Self.rpc()])
        let first = try #require(stage.connect())
        let second = try #require(stage.connect())
        _ = stage.call(first, "handler.register", #"{"account":"bot"}"#)
        #expect(
            lines(stage.call(second, "handler.register", #"{"account":"bot"}"#))
                == [Self.registered(replaced: true)])
        #expect(
            first.takeLines() == [
                #"{"jsonrpc":"2.0","method":"handler.replaced","params":{"account":"bot","kinds":["credential.fetch"]}}"#
            ])
        // What the first was asked is not its business any more; the second is asked the same.
        #expect(answer(stage, first, #"{"token":"late"}"#) == [])
        stage.advance(.seconds(1))
        #expect(second.takeLines() == [Self.question(id: 2, deadline: 1_767_225_616)])
        _ = answer(stage, second, id: 2, #"{"token":"abc"}"#)
        #expect(stage.account("bot")?.session.generation == Generation(1))
        first.close(flush: false)
        #expect(stage.call(second, "handler.list").contains(#""own":true"#))
    }

    @Test func `R29: a registration outlives stop, start and reload, and an account that comes back`() throws
    {
        let stage = try Stage(accounts: [Self.rpc()])
        let client = try #require(stage.connect())
        _ = stage.call(client, "account.stop", #"{"account":"bot"}"#)
        #expect(lines(stage.call(client, "handler.register", #"{"account":"bot"}"#)) == [Self.registered()])
        #expect(stage.call(client, "account.start", #"{"account":"bot"}"#).contains(Self.question()))
        stage.broker.configure([])
        #expect(answer(stage, client, #"{"token":"late"}"#) == [])
        stage.broker.configure([Self.rpc()])
        stage.run()
        #expect(client.takeLines() == [Self.question(id: 2)])
    }

    @Test func `who signed out is not signed in by a handler`() throws {
        let stage = try Stage(accounts: [Self.rpc()])
        let client = try #require(stage.connect())
        _ = stage.call(client, "credentials.save_token", #"{"account":"bot","token":"t"}"#)
        _ = stage.call(client, "credentials.delete", #"{"account":"bot"}"#)
        #expect(lines(stage.call(client, "handler.register", #"{"account":"bot"}"#)) == [Self.registered()])
        stage.advance(.seconds(120))
        #expect(client.receivedBytes == 0)
        stage.receive(Self.get, from: client)
        #expect(client.takeLines() == [Self.question(deadline: 1_767_225_735)])
    }

    @Test func `R29: only operators may register, and unknown accounts are unknown`() throws {
        let stage = try Stage(instance: .system(admins: []), accounts: [Self.rpc()])
        let user = try #require(stage.connect(uid: 7))
        let stranger = try #require(stage.connect(uid: 9))
        #expect(stage.call(user, "handler.register", #"{"account":"bot"}"#).contains("permission_denied"))
        #expect(stage.call(stranger, "handler.register", #"{"account":"bot"}"#) == Expected.unknownAccount)
        #expect(stage.call(user, "handler.register", #"{"account":"none"}"#) == Expected.unknownAccount)
        #expect(stage.call(user, "handler.list") == #"{"jsonrpc":"2.0","id":1,"result":{"handlers":[]}}"#)
        let owner = try #require(stage.connect(uid: 8))
        #expect(
            lines(stage.call(owner, "handler.register", #"{"account":"bot"}"#)) == [
                Self.registered(), Self.question(),
            ])
        // Whoever loses the right to operate is not asked any more.
        stage.broker.configure([
            AccountDefinition(
                name: Definitions.name("bot"), source: .rpc,
                access: AccessRules(use: Definitions.user(7)))
        ])
        stage.advance(.seconds(60))
        #expect(owner.receivedBytes == 0)
        #expect(stage.call(user, "token.get", #"{"account":"bot"}"#).contains("handler_required"))
    }

    @Test(arguments: [
        (
            #"{"account":"bot","kinds":[]}"#,
            "kinds must be some of credential.fetch, session.will_renew, session.on_token_renew"
        ),
        (
            #"{"account":"bot","kinds":["x"]}"#,
            "kinds must be some of credential.fetch, session.will_renew, session.on_token_renew"
        ),
        (#"{"account":"bot","want":"x"}"#, "want must be credentials or token"),
    ])
    func `what is no registration is refused`(_ params: String, _ message: String) throws {
        let stage = try Stage(accounts: [Self.rpc()])
        let client = try #require(stage.connect())
        #expect(stage.call(client, "handler.register", params) == Expected.invalidParams(message))
    }

    @Test(arguments: ["session.will_renew", "session.on_token_renew"])
    func `who registers for what is never asked of the account is told so`(_ kind: String) throws {
        let stage = try Stage(accounts: [Self.rpc()])
        let client = try #require(stage.connect())
        #expect(
            stage.call(
                client, "handler.register", #"{"account":"bot","kinds":["credential.fetch","\#(kind)"]}"#)
                == Expected.error(
                    104,
                    "\(kind) is asked of accounts with provider socialplus only; this one has generic",
                    "account_invalid", rest: #","account":"bot""#))
        #expect(stage.call(client, "handler.list").contains(#""handlers":[]"#))
    }

    @Test func `handlers are listed to operators`() throws {
        let (stage, client) = try SocialNetwork().stage()
        _ = stage.call(
            client, "handler.register",
            #"{"account":"app","kinds":["session.will_renew","credential.fetch"],"want":"token"}"#)
        #expect(
            stage.call(client, "handler.list")
                == #"{"jsonrpc":"2.0","id":1,"result":{"handlers":[{"account":"app","#
                + #""kinds":["credential.fetch","session.will_renew"],"want":"token","uid":1000,"pid":4711,"#
                + #""registered_at":1767225600,"registered_at_text":"2026-01-01T00:00:00Z","own":true}]}}"#)
        #expect(
            stage.call(client, "handler.unregister", #"{"account":"app","kinds":["credential.fetch"]}"#)
                == #"{"jsonrpc":"2.0","id":1,"result":{"account":"app","kinds":["credential.fetch"]}}"#)
        #expect(stage.call(client, "handler.list").contains(#""kinds":["session.will_renew"]"#))
    }

    @Test func `an answer to no question changes nothing and is counted`() throws {
        let stage = try Stage(accounts: [Self.rpc()])
        let client = try #require(stage.connect())
        let other = try #require(stage.connect())
        for line in [
            #"{"jsonrpc":"2.0","id":9,"result":{"token":"x"}}"#, #"{"jsonrpc":"2.0","id":"1","result":{}}"#,
            #"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}"#,
        ] { #expect(stage.ask(client, line) == "") }
        _ = stage.call(client, "handler.register", #"{"account":"bot"}"#)
        // Nor does an answer of somebody who was not asked.
        #expect(answer(stage, other, #"{"token":"stolen"}"#) == [])
        #expect(stage.account("bot")?.session.state(at: stage.clock.now) == .refreshing)
        #expect(
            stage.call(client, "daemon.metrics").contains(#"chatauth_responses_stray_total 4\n"#))
        _ = answer(stage, client, #"{"token":"abc"}"#)
        #expect(stage.account("bot")?.session.generation == Generation(1))
    }

    @Test(arguments: [
        ("credential: abc", "its answer was not JSON", true),
        (
            #"{"jsonrpc":"2.0","id":"1","result":{}}"#,
            "its answer had the id as a text, and not as the number that it is", true
        ),
        (
            #"{"id":"1","result":{}}"#, Self.notResponse, true
        ),
        (
            #"{"jsonrpc":"2.0","id":1.5,"result":{}}"#,
            "its answer was no JSON-RPC response with the id of the question", true
        ),
        (
            #"{"id":1,"result":{"token":"x"}}"#, Self.notResponse, true
        ),
        (
            #"{"jsonrpc":"2.0","id":1,"result":{"token":"x"},"error":null}"#, Self.notResponse, true
        ),
        (
            #"{"jsonrpc":"2.0","id":1,"error":"no"}"#, Self.notResponse, true
        ),
        (
            #"{"result":{"token":"x"}}"#, "its answer was no JSON-RPC response with the id of the question",
            true
        ),
        (
            #"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#,
            "its answer was no JSON-RPC response with the id of the question", false
        ),
    ])
    func `R6: an answer that cannot be told to be one is a refusal at once`(
        _ line: String, _ cause: String, _ isRefused: Bool
    ) throws {
        let stage = try Stage(accounts: [Self.rpc()])
        let client = try #require(stage.connect())
        let caller = try #require(stage.connect())
        _ = stage.call(client, "handler.register", #"{"account":"bot"}"#)
        stage.receive(Self.get, from: caller)
        #expect(stage.ask(client, line).isEmpty != isRefused)
        #expect(
            caller.take() == Expected.error(
                id: "7", 124, "the handler gave no credential: \(cause)", "callback_rejected",
                retryable: true,
                rest: #","retry_after_seconds":1,"account":"bot""#) + "\n")
        stage.advance(.seconds(1))
        #expect(client.takeLines().last == Self.question(id: 2, deadline: 1_767_225_616))
        // What was asked before may still be answered: that is late, and nobody's business.
        #expect(answer(stage, client, #"{"token":"late"}"#) == [])
        #expect(stage.account("bot")?.session.state(at: stage.clock.now) == .refreshing)
        _ = answer(stage, client, id: 2, #"{"token":"abc"}"#)
        #expect(stage.account("bot")?.session.generation == Generation(1))
    }

    @Test(arguments: [
        #"{"jsonrpc":"2.0","id":9,"result":{"token":"x"}}"#, #"{"jsonrpc":"2.0","id":0,"result":{}}"#,
        #"{"jsonrpc":"2.0","id":"9","result":{}}"#, #"{"jsonrpc":"2.0","id":"one","result":{}}"#,
        #"{"jsonrpc":"2.0","id":9,"result":{"token":"x"},"error":null}"#, #"{"id":"one","result":{}}"#,
    ])
    func `an answer under an id that no question has is dropped, and what is out may still be answered`(
        _ line: String
    ) throws {
        let stage = try Stage(accounts: [Self.rpc()])
        let client = try #require(stage.connect())
        _ = stage.call(client, "handler.register", #"{"account":"bot"}"#)
        _ = stage.ask(client, line)
        #expect(stage.call(client, "daemon.metrics").contains(#"chatauth_responses_stray_total 1\n"#))
        #expect(stage.account("bot")?.session.state(at: stage.clock.now) == .refreshing)
        _ = answer(stage, client, #"{"token":"abc"}"#)
        #expect(stage.account("bot")?.session.generation == Generation(1))
    }

    @Test func `R6: what is no answer to one question leaves the others open`() throws {
        let stage = try Stage(accounts: [Self.rpc(), Self.rpc("other")])
        let client = try #require(stage.connect())
        _ = stage.call(client, "handler.register", #"{"account":"bot"}"#)
        _ = stage.call(client, "handler.register", #"{"account":"other"}"#)
        #expect(
            stage.ask(client, #"{"jsonrpc":"2.0","id":1,"result":{"token":"x"},"error":null}"#)
                == Expected.notResponse + "\n")
        #expect(stage.account("bot")?.session.failures.last?.cause == .handler(.notResponse))
        _ = answer(stage, client, id: 2, #"{"token":"abc"}"#)
        #expect(stage.account("other")?.session.generation == Generation(1))
    }

    @Test(arguments: ["null", "{}", #"{"id_token":"","token":null}"#])
    func `R9: a handler that answers without a token is told what to give, and not of fields`(
        _ result: String
    )
        throws
    {
        let stage = try Stage(accounts: [Self.rpc()])
        let client = try #require(stage.connect())
        _ = stage.call(client, "handler.register", #"{"account":"bot"}"#)
        _ = answer(stage, client, result)
        let told = stage.call(client, "token.get", #"{"account":"bot"}"#)
        #expect(
            told.contains(#""kind":"credential_empty""#)
                && told.contains("the handler answered without a token"))
        let findings = stage.call(client, "account.doctor", #"{"account":"bot"}"#)
        #expect(findings.contains(#""code":"credential_empty""#) && !findings.contains("fields"))
    }

    @Test func `R30: what was deleted is asked for again once somebody is there, unless somebody signed out`()
        throws
    {
        let account = AccountDefinition(
            name: Definitions.name("desk"), provider: .chatbase,
            platform: try ChatbaseAgent.account().platform, source: .rpc)
        func isAsked(after methods: String..., restarts: Bool) throws -> Bool {
            var (stage, client) = try ChatbaseAgent().stage([account])
            for method in methods {
                _ = stage.call(client, "identity.identify", #"{"account":"desk","token":"jwt-a"}"#)
                _ = stage.call(client, method, #"{"account":"desk"}"#)
            }
            if restarts {
                let contents = stage.store.contents
                stage = try Stage(isOpen: false, accounts: [account])
                for credential in contents.credentials { stage.store.put(credential) }
                for state in contents.states { stage.store.put(state) }
                stage.open()
                client = try #require(stage.connect())
            }
            return stage.call(client, "handler.register", #"{"account":"desk"}"#).contains(
                #""method":"credential.fetch""#)
        }
        for restarts in [false, true] {
            #expect(try isAsked(after: "credentials.delete", restarts: restarts))
            #expect(try !isAsked(after: "identity.logout", restarts: restarts))
            #expect(try !isAsked(after: "auth.deauthenticate", restarts: restarts))
            #expect(try !isAsked(after: "credentials.delete", "identity.logout", restarts: restarts))
            #expect(try isAsked(after: "identity.logout", "credentials.delete", restarts: restarts))
        }
    }

    @Test func `R42: one slow handler holds up nobody else`() throws {
        let stage = try Stage(accounts: [Self.rpc(), Self.rpc("other")])
        let client = try #require(stage.connect())
        _ = stage.call(client, "handler.register", #"{"account":"bot"}"#)
        let fast = try #require(stage.connect())
        _ = stage.call(fast, "handler.register", #"{"account":"other"}"#)
        _ = answer(stage, fast, id: 2, #"{"token":"abc"}"#)
        #expect(stage.account("other")?.session.generation == Generation(1))
        #expect(stage.account("bot")?.session.state(at: stage.clock.now) == .refreshing)
    }
}
