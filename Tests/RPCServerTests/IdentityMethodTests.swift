import Broker
import BrokerSupport
import CredentialCore
import Secrets
import Testing

@Suite struct `Identities at Chatbase` {
    private let agent = ChatbaseAgent()

    @Test func `R74, R97: headers work with no token and no start: the device speaks for itself`() throws {
        let (stage, client) = try agent.stage()
        let headers = stage.call(client, "headers.get", #"{"account":"desk"}"#)
        let device = agent.device(stage, client)
        #expect(
            headers == #"{"jsonrpc":"2.0","id":1,"result":{"headers":[["X-Device-Id","\#(device)"]],"#
                + #""generation":0,"expires_at":null,"auth_state":"anonymous"}}"#)
        #expect(stage.fetcher.all.isEmpty)
    }

    @Test func `R77: the device is an upper-case UUID, on disk before it is told`() throws {
        let (stage, client) = try agent.stage()
        stage.store.failure = .full
        #expect(
            stage.call(client, "device.id", #"{"account":"desk"}"#)
                == Expected.error(
                    401, "the disk refused it; free space in the state directory", "store_full",
                    retryable: true))
        stage.store.failure = nil
        let made = agent.device(stage, client)
        #expect(made.uppercased() == made && made.split(separator: "-").map(\.count) == [8, 4, 4, 4, 12])
        #expect(agent.device(stage, client) == made)
    }

    @Test func `R78: a hundred clients on a cold start share one device`() throws {
        let (stage, _) = try agent.stage()
        let clients = try (0..<100).map { _ in try #require(stage.connect()) }
        for client in clients {
            stage.receive(
                #"{"jsonrpc":"2.0","id":1,"method":"device.id","params":{"account":"desk"}}"# + "\n",
                from: client)
        }
        stage.run()
        #expect(Set(clients.map { $0.take() }).count == 1)
        #expect(stage.store.states.count == 1)
    }

    @Test func `R78: one's own accounts share a device, a machine's do not, unless they name one`() throws {
        let two = [try ChatbaseAgent.account("a"), try ChatbaseAgent.account("b")]
        let (own, client) = try agent.stage(two)
        #expect(agent.device(own, client, "a") == agent.device(own, client, "b"))

        let rules = AccessRules(use: Definitions.user(1000), operate: Definitions.user(1000))
        func system(_ device: String?) throws -> Bool {
            let accounts = try ["a", "b"].map { name in
                let account = try ChatbaseAgent.account(name, device: device)
                return AccountDefinition(
                    name: account.name, provider: account.provider, platform: account.platform, access: rules)
            }
            let (stage, client) = try agent.stage(accounts, instance: .system(admins: []))
            return agent.device(stage, client, "a") == agent.device(stage, client, "b")
        }
        #expect(try !system(nil))
        #expect(try system("kiosk"))
    }

    @Test
    func
        `R73, R82, R87 to R90: a token that the server takes is the identity, and the conversations move later`()
        throws
    {
        let (stage, client) = try agent.stage()
        let answer = stage.call(client, "identity.identify", #"{"account":"desk","token":"jwt-a"}"#)
        let device = agent.device(stage, client)
        #expect(
            answer == #"{"jsonrpc":"2.0","id":1,"result":{"account":"desk","device_id":"\#(device)","#
                + #""auth_state":"identified","is_identified":true,"expired":false,"expires_at":null,"#
                + #""generation":1,"current_user_id":null,"current_conversation_id":null,"merge":"pending"}}"#
        )
        #expect(
            stage.call(client, "headers.get", #"{"account":"desk"}"#).contains(
                #"["X-Device-Id","\#(device)"],["X-User-Token","jwt-a"]]"#))
        #expect(agent.violations.isEmpty)
        #expect(agent.verifications.map(\.device) == [device])
        #expect(agent.verifications.map(\.user) == [nil])
    }

    @Test func `R86: a refused token changes nothing, with a user signed in and without`() throws {
        let (stage, client) = try agent.stage()
        let refusal = Expected.error(
            127, "the platform (chat.example) refused the credential: status 401, code AUTH_INVALID_JWT",
            "credential_rejected",
            rest: #","http_status":401,"provider_code":"AUTH_INVALID_JWT","account":"desk""#)
        let before = agent.state(stage, client)
        let first = stage.call(client, "identity.identify", #"{"account":"desk","token":"bad"}"#)
        #expect(first == refusal)
        #expect(agent.state(stage, client).contains(#""auth_state":"anonymous""#))
        #expect(before.contains(#""auth_state":"anonymous""#))
        _ = stage.call(client, "identity.identify", #"{"account":"desk","token":"jwt-a"}"#)
        let signedIn = agent.state(stage, client)
        #expect(stage.call(client, "identity.identify", #"{"account":"desk","token":"worse"}"#) == first)
        #expect(agent.state(stage, client) == signedIn)
        // The token that is held goes along while another is shown.
        #expect(agent.verifications.map(\.user) == [nil, nil, "jwt-a"])
    }

    @Test func `R98, R100, R101: whoever signs in or out begins without user and conversation`() throws {
        let (stage, client) = try agent.stage()
        func report() {
            _ = stage.call(
                client, "identity.report", #"{"account":"desk","user_id":"u","conversation_id":"c"}"#)
        }
        let known = #""current_user_id":"u","current_conversation_id":"c""#
        let unknown = #""current_user_id":null,"current_conversation_id":null"#
        report()
        #expect(agent.state(stage, client).contains(known))
        _ = stage.call(client, "identity.identify", #"{"account":"desk","token":"jwt-a"}"#)
        #expect(agent.state(stage, client).contains(unknown))
        report()
        _ = stage.call(client, "identity.identify", #"{"account":"desk","token":"jwt-a"}"#)
        #expect(agent.state(stage, client).contains(unknown))
        report()
        let device = agent.device(stage, client)
        let requests = stage.fetcher.all.count
        let answer = stage.call(client, "identity.logout", #"{"account":"desk"}"#)
        #expect(answer.contains(unknown) && answer.contains(#""auth_state":"anonymous""#))
        // R100: without a request; the device stays.
        #expect(stage.fetcher.all.count == requests)
        #expect(agent.device(stage, client) == device)
        #expect(
            stage.call(client, "identity.logout", #"{"account":"desk"}"#).contains(
                #""already_anonymous":true"#))
    }

    @Test func `R103: a switch leaves the old identity out, and everything as it was when it fails`() throws {
        let (stage, client) = try agent.stage()
        _ = stage.call(client, "identity.identify", #"{"account":"desk","token":"jwt-a"}"#)
        let before = agent.state(stage, client)
        _ = stage.call(client, "identity.switch", #"{"account":"desk","token":"bad"}"#)
        #expect(agent.state(stage, client) == before)
        _ = stage.call(client, "identity.switch", #"{"account":"desk","token":"jwt-b"}"#)
        #expect(agent.state(stage, client).contains(#""generation":2"#))
        #expect(agent.verifications.map(\.user) == [nil, nil, nil])
    }

    @Test func `R102, R103: whoever takes another's place is told of like a sign-out and a sign-in`() throws {
        // {"user_id":"u-42"} twice and {"user_id":"u-7"}
        let (ours, again) = ("e30.eyJ1c2VyX2lkIjoidS00MiJ9.eA", "e30.eyJ1c2VyX2lkIjoidS00MiJ9.eQ")
        let theirs = "e30.eyJ1c2VyX2lkIjoidS03In0.eA"
        agent.accepted = [ours, again, theirs]
        let (stage, client) = try agent.stage()
        let watcher = try #require(stage.connect())
        _ = stage.call(watcher, "events.subscribe", #"{"topics":["identity"]}"#)
        let came = #""from":"anonymous","to":"identified","cause":"identified""#
        let left = #""from":"identified","to":"anonymous","cause":"switched""#
        func told(_ method: String, _ token: String) -> [String] {
            _ = stage.call(client, method, #"{"account":"desk","token":"\#(token)"}"#)
            let lines = watcher.take().split(separator: "\n").filter { $0.contains("identity.changed") }
            return lines.map { line in
                [came, left].first { line.contains($0) } ?? String(line)
            }
        }
        #expect(told("identity.identify", ours) == [came])
        #expect(told("identity.identify", again) == [])
        #expect(told("identity.identify", theirs) == [left, came])
        #expect(told("identity.switch", ours) == [left, came])
    }

    @Test func `R93: who was signed in still is after a restart, without a request`() throws {
        let (first, client) = try agent.stage()
        _ = first.call(client, "identity.identify", #"{"account":"desk","token":"jwt-a"}"#)
        _ = first.call(client, "identity.report", #"{"account":"desk","user_id":"u"}"#)
        let before = agent.state(first, client)
        let second = try Stage(isOpen: false, accounts: [ChatbaseAgent.account()])
        let stored = first.store.contents
        for credential in stored.credentials { second.store.put(credential) }
        for state in stored.states { second.store.put(state) }
        second.open()
        let other = try #require(second.connect())
        #expect(agent.state(second, other) == before)
        #expect(second.fetcher.all.isEmpty)
    }

    @Test func `R88: who signs in is followed by a hint to list again, a renewal and a refusal are not`()
        throws
    {
        let (stage, client) = try agent.stage()
        let watcher = try #require(stage.connect())
        _ = stage.call(watcher, "events.subscribe", #"{"topics":["identity"]}"#)
        _ = stage.call(client, "identity.identify", #"{"account":"desk","token":"jwt-a"}"#)
        let told = watcher.takeLines()
        #expect(told.count == 2)
        #expect(told.first?.contains(#""to":"identified""#) == true)
        #expect(
            told.last
                == #"{"jsonrpc":"2.0","method":"identity.merge_hint","params":{"account":"desk","merge":"pending","suggestion":"list_conversations_again"}}"#
        )
        _ = stage.call(client, "identity.identify", #"{"account":"desk","token":"bad"}"#)
        #expect(watcher.takeLines() == [])
        _ = stage.call(client, "identity.switch", #"{"account":"desk","token":"jwt-b"}"#)
        #expect(watcher.takeLines().filter { $0.contains("merge_hint") }.count == 1)
    }

    @Test func `R102: that nobody is signed in any more is told, so that clients clear what they show`()
        throws
    {
        let (stage, client) = try agent.stage()
        _ = stage.call(client, "identity.identify", #"{"account":"desk","token":"jwt-a"}"#)
        let watcher = try #require(stage.connect())
        _ = stage.call(watcher, "events.subscribe", #"{"topics":["identity"]}"#)
        _ = stage.call(client, "identity.logout", #"{"account":"desk"}"#)
        let told = watcher.take()
        #expect(told.contains(#""method":"identity.changed""#))
        #expect(told.contains(#""from":"identified","to":"anonymous","cause":"logged_out""#))
    }

    @Test func `R94, R95: an expired identity is kept and sent as stale, and token.get asks for a sign-in`()
        throws
    {
        let (stage, client) = try agent.stage()
        // {"user_id":"u","exp":1767225700}: 100 s from now.
        let token = "e30.eyJ1c2VyX2lkIjoidSIsImV4cCI6MTc2NzIyNTcwMH0.eA"
        agent.accepted.insert(token)
        _ = stage.call(client, "identity.identify", #"{"account":"desk","token":"\#(token)"}"#)
        stage.advance(.seconds(200))
        let state = agent.state(stage, client)
        #expect(state.contains(#""auth_state":"identified","is_identified":true,"expired":true"#))
        let headers = stage.call(client, "headers.get", #"{"account":"desk"}"#)
        #expect(headers.contains(#"["X-User-Token","\#(token)"]"#) && headers.contains(#""stale":true"#))
        #expect(
            stage.call(client, "token.get", #"{"account":"desk"}"#)
                == Expected.error(
                    120,
                    "the credential has ended, and there is no source of another; chatauth doctor says what to do",
                    "sign_in_needed",
                    rest: #","account":"desk""#))
    }

    @Test func `R95: after a 401 and without a source it takes a sign-in, and the headers stay`() throws {
        let (stage, client) = try agent.stage()
        _ = stage.call(client, "identity.identify", #"{"account":"desk","token":"jwt-a"}"#)
        #expect(
            stage.call(client, "token.reject", #"{"account":"desk","http_status":401}"#).contains(
                #""accepted":true"#))
        #expect(stage.call(client, "token.get", #"{"account":"desk"}"#).contains(#""kind":"sign_in_needed""#))
        let headers = stage.call(client, "headers.get", #"{"account":"desk"}"#)
        #expect(headers.contains(#"["X-User-Token","jwt-a"]"#) && headers.contains(#""stale":true"#))
        #expect(agent.state(stage, client).contains(#""auth_state":"identified""#))
        _ = stage.call(client, "identity.identify", #"{"account":"desk","token":"jwt-b"}"#)
        #expect(stage.call(client, "token.get", #"{"account":"desk"}"#).contains(#""bearer_token":"jwt-b""#))
    }

    @Test func `R96: a stored identity is shown to the server again at a start, where that is configured`()
        throws
    {
        let (first, client) = try agent.stage([ChatbaseAgent.account(identifiesOnStart: true)])
        _ = first.call(client, "identity.identify", #"{"account":"desk","token":"jwt-a"}"#)
        func restarted() throws -> (Stage, MemoryConnection) {
            let second = try Stage(isOpen: false, accounts: [ChatbaseAgent.account(identifiesOnStart: true)])
            for credential in first.store.contents.credentials { second.store.put(credential) }
            for state in first.store.contents.states { second.store.put(state) }
            second.fetcher.backend = { [agent] in agent.answer($0) }
            second.open()
            return (second, try #require(second.connect()))
        }
        let (second, other) = try restarted()
        #expect(agent.verifications.map(\.token) == ["jwt-a", "jwt-a"])
        #expect(second.call(other, "token.get", #"{"account":"desk"}"#).contains(#""bearer_token":"jwt-a""#))
        agent.isDown = true
        let (third, another) = try restarted()
        #expect(third.call(another, "token.get", #"{"account":"desk"}"#).contains(#""bearer_token":"jwt-a""#))
        agent.isDown = false
        agent.accepted = []
        let (last, one) = try restarted()
        #expect(last.call(one, "token.get", #"{"account":"desk"}"#).contains(#""kind":"sign_in_needed""#))
        #expect(agent.state(last, one).contains(#""auth_state":"identified""#))
    }

    @Test func `R95: after a 401 one token is fetched, verified and handed out`() throws {
        let (stage, client) = try agent.stage([ChatbaseAgent.account(hasSource: true)])
        #expect(
            stage.call(client, "token.get", #"{"account":"desk"}"#).contains(#""bearer_token":"jwt-a""#))
        agent.issued = "jwt-b"
        stage.advance(.seconds(2))
        _ = stage.call(
            client, "token.reject", #"{"account":"desk","http_status":401,"code":"AUTH_INVALID_JWT"}"#)
        #expect(
            stage.call(client, "token.get", #"{"account":"desk"}"#).contains(#""bearer_token":"jwt-b""#))
        #expect(agent.verifications.map(\.token) == ["jwt-a", "jwt-b"])
    }

    @Test(arguments: ["identity.identify", "identity.switch", "auth.authenticate"])
    func `R86: who is not taken in place of somebody changes nothing, then and later`(_ method: String) throws
    {
        let (stage, client) = try agent.stage([ChatbaseAgent.account(hasSource: true)])
        stage.advance(.seconds(2))
        let get = { stage.call(client, "token.get", #"{"account":"desk"}"#) }
        let before = get()
        #expect(before.contains(#""generation":1,"bearer_token":"jwt-a""#))
        agent.issued = "bad"
        let params =
            method == "auth.authenticate" ? #"{"account":"desk"}"# : #"{"account":"desk","token":"bad"}"#
        #expect(stage.call(client, method, params).contains(#""provider_code":"AUTH_INVALID_JWT""#))
        #expect(get() == before)
        stage.advance(.seconds(1800))
        #expect(get() == before)
        #expect(agent.verifications.map(\.token) == ["jwt-a", "bad"])
    }

    @Test func `R86: what the source gives and the server refuses never becomes the identity`() throws {
        agent.issued = "bad"
        let (stage, client) = try agent.stage([ChatbaseAgent.account(hasSource: true)])
        let answer = stage.call(client, "token.get", #"{"account":"desk"}"#)
        #expect(answer.contains(#""http_status":401,"provider_code":"AUTH_INVALID_JWT""#))
        #expect(agent.state(stage, client).contains(#""auth_state":"anonymous""#))
    }

    @Test func `what the server refuses three times is shown to it once an hour from then on`() throws {
        agent.issued = "bad"
        let (stage, client) = try agent.stage([ChatbaseAgent.account(hasSource: true)])
        stage.advance(.seconds(600))
        #expect(agent.verifications.count == 3)
        #expect(
            stage.call(client, "token.get", #"{"account":"desk"}"#).contains(
                "the platform refused three times what the source gave"))
        stage.advance(.seconds(7200))
        #expect(agent.verifications.count == 5)
        agent.issued = "jwt-a"
        _ = stage.call(client, "auth.refresh", #"{"account":"desk"}"#)
        #expect(agent.state(stage, client).contains(#""auth_state":"identified""#))
    }

    @Test func `R86: whoever signed in is told so, where somebody signs out before the disk has it`() throws {
        let (stage, client) = try agent.stage()
        let other = try #require(stage.connect())
        _ = agent.device(stage, client)
        stage.store.isHeld = true
        stage.receive(
            #"{"jsonrpc":"2.0","id":1,"method":"identity.identify","params":{"account":"desk","token":"jwt-a"}}"#
                + "\n", from: client)
        stage.run()
        #expect(agent.verifications.count == 1)
        stage.receive(
            #"{"jsonrpc":"2.0","id":1,"method":"identity.logout","params":{"account":"desk"}}"# + "\n",
            from: other)
        stage.store.isHeld = false
        stage.run()
        #expect(client.take().contains(#""id":1,"result":"#))
        #expect(other.take().contains(#""auth_state":"anonymous""#))
        #expect(agent.state(stage, client).contains(#""auth_state":"anonymous""#))
    }

    @Test func `after a sign-out the source is not asked until somebody signs in`() throws {
        let (stage, client) = try agent.stage([ChatbaseAgent.account(hasSource: true)])
        _ = stage.call(client, "identity.logout", #"{"account":"desk"}"#)
        let requests = stage.fetcher.all.count
        stage.advance(.seconds(7200))
        #expect(
            stage.call(client, "token.get", #"{"account":"desk"}"#)
                == Expected.error(
                    120, "nobody is signed in to the account; chatauth doctor says what to do",
                    "sign_in_needed",
                    rest: #","account":"desk""#))
        #expect(stage.fetcher.all.count == requests)
        #expect(
            stage.call(client, "identity.identify", #"{"account":"desk"}"#).contains(
                #""auth_state":"identified""#))
    }

    @Test func `two who identify at once go one after the other, and the last one stays`() throws {
        let (stage, client) = try agent.stage()
        let other = try #require(stage.connect())
        for (connection, token) in [(client, "jwt-a"), (other, "jwt-b")] {
            stage.receive(
                #"{"jsonrpc":"2.0","id":1,"method":"identity.identify","params":{"account":"desk","token":"\#(token)"}}"#
                    + "\n", from: connection)
        }
        stage.run()
        #expect(client.take().contains(#""id":1,"result":"#))
        #expect(other.take().contains(#""generation":2"#))
        #expect(agent.verifications.map(\.token) == ["jwt-a", "jwt-b"])
    }

    @Test func `a sign-out ends a sign-in that is under way`() throws {
        let (stage, client) = try agent.stage()
        stage.fetcher.backend = nil
        stage.receive(
            #"{"jsonrpc":"2.0","id":1,"method":"identity.identify","params":{"account":"desk","token":"jwt-a"}}"#
                + "\n", from: client)
        stage.run()
        let other = try #require(stage.connect())
        #expect(
            stage.call(other, "identity.logout", #"{"account":"desk"}"#).contains(
                #""already_anonymous":true"#))
        #expect(client.take().contains(#""kind":"sign_in_needed""#))
        #expect(stage.fetcher.cancelled.count == 1)
        #expect(agent.state(stage, client).contains(#""auth_state":"anonymous""#))
    }

    @Test
    func
        `a sign-out wins over an identity that is on its way to the disk, and over a source that is being asked`()
        throws
    {
        let (stage, client) = try agent.stage([ChatbaseAgent.account(hasSource: true)])
        _ = stage.call(client, "identity.logout", #"{"account":"desk"}"#)
        stage.fetcher.backend = nil
        stage.receive(
            #"{"jsonrpc":"2.0","id":1,"method":"identity.identify","params":{"account":"desk"}}"# + "\n",
            from: client)
        stage.run()
        let other = try #require(stage.connect())
        #expect(stage.call(other, "identity.logout", #"{"account":"desk"}"#).contains(#""anonymous""#))
        stage.fetcher.backend = { [agent] in agent.answer($0) }
        stage.run()
        stage.advance(.seconds(60))
        #expect(client.take().contains(#""kind":"sign_in_needed""#))
        #expect(agent.state(stage, client).contains(#""auth_state":"anonymous""#))
    }

    @Test func `the token that was just refused is not shown again, and a platform in trouble is left alone`()
        throws
    {
        let (stage, client) = try agent.stage()
        let params = #"{"account":"desk","token":"bad"}"#
        let first = stage.call(client, "identity.identify", params)
        #expect(stage.call(client, "identity.identify", params) == first)
        #expect(agent.verifications.count == 1)
        agent.isDown = true
        let failed = stage.call(client, "identity.identify", #"{"account":"desk","token":"jwt-a"}"#)
        #expect(failed.contains(#""http_status":503"#))
        for _ in 0..<20 {
            let answer = stage.call(client, "identity.identify", #"{"account":"desk","token":"jwt-a"}"#)
            #expect(answer.contains(#""retry_after_seconds":1"#))
        }
        #expect(agent.verifications.count == 2)
        agent.isDown = false
        stage.advance(.seconds(2))
        #expect(
            stage.call(client, "identity.identify", #"{"account":"desk","token":"jwt-a"}"#).contains(
                #""auth_state":"identified""#))
    }

    @Test func `a row of refused tokens is held back, those that wait for their turn too`() throws {
        let (stage, client) = try agent.stage()
        let others = try (0..<8).map { _ in try #require(stage.connect()) }
        stage.fetcher.backend = nil
        for (number, other) in others.enumerated() {
            stage.receive(
                #"{"jsonrpc":"2.0","id":1,"method":"identity.identify","params":{"account":"desk","token":"bad-\#(number)"}}"#
                    + "\n", from: other)
        }
        stage.fetcher.backend = { [agent] in agent.answer($0) }
        stage.run()
        #expect(agent.verifications.count == 5)
        let answers = others.map { $0.take() }
        #expect(answers.prefix(5).allSatisfy { $0.contains(#""kind":"credential_rejected""#) })
        #expect(
            answers.dropFirst(5).allSatisfy {
                $0.contains(#""kind":"rate_limited","retryable":true,"retry_after_seconds":60"#)
            })
        stage.advance(.seconds(60))
        #expect(
            stage.call(client, "identity.identify", #"{"account":"desk","token":"jwt-a"}"#).contains(
                #""auth_state":"identified""#))
    }

    @Test func `R103: what a source says of another user signs nobody out`() throws {
        // {"user_id":"u-42"} and {"user_id":"u-7"}
        let ours = "e30.eyJ1c2VyX2lkIjoidS00MiJ9.eA"
        let theirs = "e30.eyJ1c2VyX2lkIjoidS03In0.eA"
        agent.accepted = [ours, theirs]
        agent.issued = ours
        let (stage, client) = try agent.stage([ChatbaseAgent.account(hasSource: true)])
        _ = stage.call(client, "identity.switch", #"{"account":"desk","token":"\#(theirs)"}"#)
        stage.advance(.seconds(2))
        _ = stage.call(client, "auth.refresh", #"{"account":"desk"}"#)
        #expect(
            stage.call(client, "token.get", #"{"account":"desk"}"#).contains(
                #""bearer_token":"\#(theirs)""#))
        stage.advance(.seconds(2))
        _ = stage.call(client, "auth.authenticate", #"{"account":"desk"}"#)
        stage.advance(.seconds(2))
        _ = client.take()
        #expect(
            stage.call(client, "token.get", #"{"account":"desk"}"#).contains(#""bearer_token":"\#(ours)""#))
    }

    @Test func `a token is never saved past the server`() throws {
        let (stage, client) = try agent.stage()
        #expect(
            stage.call(client, "credentials.save_token", #"{"account":"desk","token":"jwt-a"}"#)
                == Expected.error(
                    140, "the platform must see this account's token first: chatauth identity identify",
                    "session_state_invalid", rest: #","account":"desk""#))
    }

    @Test func `another agent is another life, on the same device`() throws {
        let (stage, client) = try agent.stage([ChatbaseAgent.account()])
        _ = stage.call(client, "identity.identify", #"{"account":"desk","token":"jwt-a"}"#)
        _ = stage.call(client, "identity.report", #"{"account":"desk","user_id":"u"}"#)
        let device = agent.device(stage, client)
        stage.broker.configure([
            AccountDefinition(
                name: Definitions.name("desk"), provider: .chatbase,
                platform: .chatbase(
                    ChatbaseDefinition(agentID: "agent-2", baseURL: try HTTPURL("https://chat.example/api"))))
        ])
        #expect(agent.state(stage, client).contains(#""current_user_id":null"#))
        #expect(
            stage.call(client, "headers.get", #"{"account":"desk"}"#).contains(#""kind":"account_parked""#))
        #expect(agent.device(stage, client) == device)
    }

    @Test func `whoever signs in decides what becomes of an identity that was meant for another agent`()
        throws
    {
        let (stage, client) = try agent.stage([ChatbaseAgent.account()])
        _ = stage.call(client, "identity.identify", #"{"account":"desk","token":"jwt-a"}"#)
        stage.broker.configure([
            AccountDefinition(
                name: Definitions.name("desk"), provider: .chatbase,
                platform: .chatbase(
                    ChatbaseDefinition(agentID: "agent-2", baseURL: try HTTPURL("https://chat.example/api")))
            )
        ])
        #expect(stage.call(client, "token.get", #"{"account":"desk"}"#).contains("account_parked"))
        #expect(
            stage.call(client, "identity.identify", #"{"account":"desk","token":"jwt-b"}"#).contains(
                #""auth_state":"identified""#))
        // What was parked is not shown to the other agent.
        #expect(agent.verifications.map(\.user) == [nil, nil])
        #expect(
            stage.call(client, "token.get", #"{"account":"desk"}"#).contains(#""bearer_token":"jwt-b""#))
    }

    @Test func `R95: what a token was not taken for is not said of the next one`() throws {
        let (stage, client) = try agent.stage([ChatbaseAgent.account()])
        stage.fetcher.backend = { _ in
            PlatformAnswers.json(400, #"{"error":{"code":"VALIDATION_INVALID_BODY","message":"no"}}"#)
        }
        for _ in 0..<2 {
            #expect(
                stage.call(client, "identity.identify", #"{"account":"desk","token":"jwt-x"}"#).contains(
                    #""http_status":400,"provider_code":"VALIDATION_INVALID_BODY""#))
        }
        stage.fetcher.backend = { [agent] in agent.answer($0) }
        #expect(
            stage.call(client, "identity.identify", #"{"account":"desk","token":"jwt-a"}"#).contains(
                #""auth_state":"identified""#))
    }

    @Test(arguments: ["auth.authenticate", "identity.identify"])
    func `whoever has the source sign in decides about it, too, and where that fails it stays`(
        _ method: String
    ) throws {
        let (stage, client) = try agent.stage([ChatbaseAgent.account(hasSource: true)])
        func get() -> String { stage.call(client, "token.get", #"{"account":"desk"}"#) }
        #expect(get().contains(#""bearer_token":"jwt-a""#))
        let known = try ChatbaseAgent.account(hasSource: true)
        let elsewhere = try ChatbaseDefinition(
            agentID: "agent-2", baseURL: HTTPURL("https://chat.example/api"))
        let moved = AccountDefinition(
            name: known.name, provider: .chatbase, platform: .chatbase(elsewhere), source: known.source)
        stage.broker.configure([moved])
        stage.advance(.seconds(5))
        let parked = Expected.error(
            105,
            "the identity was meant for another destination; put the old configuration back, sign in again, or forget it with chatauth identity logout",
            "account_parked", rest: #","account":"desk""#)
        #expect(get() == parked)
        #expect(stage.call(client, "auth.refresh", #"{"account":"desk"}"#) == parked)
        agent.accepted = []
        #expect(
            stage.call(client, method, #"{"account":"desk"}"#).contains(#""kind":"credential_rejected""#))
        #expect(get() == parked)
        agent.accepted = ["jwt-b"]
        agent.issued = "jwt-b"
        stage.advance(.seconds(5))
        #expect(get() == parked && agent.verifications.count == 2)
        #expect(stage.call(client, method, #"{"account":"desk"}"#).contains(#""generation":2"#))
        #expect(get().contains(#""bearer_token":"jwt-b""#))
        // What was parked is not shown to the other agent.
        #expect(agent.verifications.map(\.user) == [nil, nil, nil])
    }
}
