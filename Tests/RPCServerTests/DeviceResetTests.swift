import Broker
import BrokerSupport
import CredentialCore
import Testing

@Suite struct `A device that is made anew` {
    private let agent = ChatbaseAgent()

    /// Somebody is signed in on a device, whose id comes along.
    private func signedIn(
        hasSource: Bool = false, _ accounts: [AccountDefinition]? = nil
    ) throws -> (Stage, MemoryConnection, String) {
        let (stage, client) = try agent.stage(accounts ?? [ChatbaseAgent.account(hasSource: hasSource)])
        _ = stage.call(client, "identity.identify", #"{"account":"desk","token":"jwt-a"}"#)
        return (stage, client, agent.device(stage, client))
    }

    private func reset(_ stage: Stage, _ client: MemoryConnection) -> String {
        stage.call(client, "device.reset", #"{"account":"desk"}"#)
    }

    private func begin(_ method: String, _ stage: Stage, _ client: MemoryConnection) {
        stage.receive(
            #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":{"account":"desk"}}"# + "\n",
            from: client)
    }

    @Test func `R80, R87: an identity is verified again on the new device, alone, before they are paired`()
        throws
    {
        let (stage, client, old) = try signedIn()
        #expect(reset(stage, client).contains(#""device_id":""#))
        let new = agent.device(stage, client)
        #expect(new != old)
        #expect(agent.verifications.map(\.device) == [old, new])
        #expect(agent.verifications.map(\.user) == [nil, nil])
        #expect(
            agent.headers(stage, client).contains(#"["X-Device-Id","\#(new)"],["X-User-Token","jwt-a"]]"#))
        #expect(agent.state(stage, client).contains(#""auth_state":"identified""#))
    }

    @Test func `R98: what the server said of the old device is not said of the new one`() throws {
        for isSignedIn in [false, true] {
            let (stage, client) = try agent.stage()
            if isSignedIn {
                _ = stage.call(client, "identity.identify", #"{"account":"desk","token":"jwt-a"}"#)
            }
            _ = stage.call(
                client, "identity.report", #"{"account":"desk","user_id":"u","conversation_id":"c"}"#)
            _ = reset(stage, client)
            #expect(
                agent.state(stage, client).contains(
                    #""current_user_id":null,"current_conversation_id":null"#))
        }
    }

    @Test func `R86: who is refused on the new device is signed out, with the cause`() throws {
        let (stage, client, _) = try signedIn()
        let watcher = try #require(stage.connect())
        _ = stage.call(watcher, "events.subscribe", #"{"topics":["identity"]}"#)
        agent.accepted = []
        _ = reset(stage, client)
        let told = watcher.take()
        #expect(told.contains(#""from":"identified","to":"anonymous","cause":"refused_by_platform""#))
        #expect(agent.headers(stage, client).contains(#""auth_state":"anonymous""#))
        #expect(!agent.headers(stage, client).contains("X-User-Token"))
        let diagnosis = stage.call(client, "account.doctor", #"{"account":"desk"}"#)
        #expect(diagnosis.contains(#""code":"identity_rejected""#))
        #expect(diagnosis.contains("AUTH_INVALID_JWT"))
    }

    @Test func `R95: a source gives another token where the stored one is refused on the new device`() throws
    {
        let (stage, client, _) = try signedIn(hasSource: true)
        stage.advance(.seconds(2))
        agent.accepted = ["jwt-b"]
        agent.issued = "jwt-b"
        _ = reset(stage, client)
        let new = agent.device(stage, client)
        #expect(
            agent.headers(stage, client).contains(#"["X-Device-Id","\#(new)"],["X-User-Token","jwt-b"]]"#))
        #expect(agent.verifications.suffix(2).map(\.token) == ["jwt-a", "jwt-b"])
        #expect(agent.verifications.suffix(2).map(\.user) == [nil, nil])
    }

    @Test func `whoever wants headers meanwhile waits, and is never given the unverified pair`() throws {
        let (stage, client, old) = try signedIn()
        let other = try #require(stage.connect())
        let hasty = try #require(stage.connect())
        stage.fetcher.backend = nil
        begin("device.reset", stage, client)
        stage.run()
        begin("headers.get", stage, other)
        stage.run()
        #expect(client.receivedBytes == 0 && other.receivedBytes == 0)
        let answer = stage.call(hasty, "headers.get", #"{"account":"desk","wait":0}"#)
        #expect(answer.contains(#""kind":"deadline_exceeded""#))
        #expect(stage.fetcher.out.count == 1)
        stage.fetcher.backend = { [agent] in agent.answer($0) }
        stage.run()
        let new = agent.device(stage, hasty)
        #expect(new != old)
        #expect(other.take().contains(#"["X-Device-Id","\#(new)"],["X-User-Token","jwt-a"]]"#))
        #expect(client.take().contains(new))
    }

    @Test func `whoever waits for headers waits no longer than it said, and one that goes is forgotten`()
        throws
    {
        let (stage, client, _) = try signedIn()
        let other = try #require(stage.connect())
        let gone = try #require(stage.connect())
        stage.fetcher.backend = nil
        begin("device.reset", stage, client)
        stage.run()
        let wait =
            #"{"jsonrpc":"2.0","id":1,"method":"headers.get","params":{"account":"desk","wait":3}}"# + "\n"
        stage.receive(wait, from: other)
        stage.receive(wait, from: gone)
        stage.run()
        gone.close(flush: false)
        stage.advance(.seconds(2))
        #expect(other.receivedBytes == 0)
        stage.advance(.seconds(1))
        #expect(
            other.take() == Expected.error(
                500, "no valid token within the time to wait", "deadline_exceeded", retryable: true,
                rest: #","retry_after_seconds":1,"account":"desk""#) + "\n")
        #expect(stage.fetcher.out.count == 1)
        stage.fetcher.backend = { [agent] in agent.answer($0) }
        stage.run()
        #expect(other.receivedBytes == 0)
        #expect(agent.headers(stage, other).contains("X-User-Token"))
    }

    @Test
    func `while the platform cannot be asked there are no headers, and the next who wants some asks again`()
        throws
    {
        let (stage, client, _) = try signedIn()
        agent.isDown = true
        #expect(reset(stage, client).contains(#""device_id""#))
        let failed = agent.headers(stage, client)
        #expect(failed.contains(#""kind":"upstream_error","retryable":true,"retry_after_seconds":1"#))
        #expect(failed.contains("the platform (chat.example) answered with an error"))
        #expect(
            stage.call(client, "account.doctor", #"{"account":"desk"}"#).contains(
                #""code":"identity_unverified""#))
        agent.isDown = false
        stage.advance(.seconds(2))
        #expect(agent.headers(stage, client).contains("X-User-Token"))
    }

    @Test func `R78: all accounts that share the device are verified again`() throws {
        let (stage, client, _) = try signedIn([
            ChatbaseAgent.account(), ChatbaseAgent.account("other"), ChatbaseAgent.account("third"),
        ])
        _ = stage.call(client, "identity.identify", #"{"account":"other","token":"jwt-b"}"#)
        _ = reset(stage, client)
        let new = agent.device(stage, client)
        #expect(agent.verifications.suffix(2).map(\.token) == ["jwt-a", "jwt-b"])
        #expect(agent.verifications.suffix(2).map(\.device) == [new, new])
        #expect(
            stage.call(client, "headers.get", #"{"account":"third"}"#).contains(#""auth_state":"anonymous""#))
    }

    @Test func `a reset while a token is being verified is not paired with it`() throws {
        let (stage, client) = try agent.stage()
        let other = try #require(stage.connect())
        stage.fetcher.backend = nil
        stage.receive(
            #"{"jsonrpc":"2.0","id":1,"method":"identity.identify","params":{"account":"desk","token":"jwt-a"}}"#
                + "\n", from: client)
        stage.run()
        _ = reset(stage, other)
        stage.fetcher.backend = { [agent] in agent.answer($0) }
        stage.run()
        let new = agent.device(stage, client)
        #expect(agent.verifications.count == 2 && agent.verifications[0].device != new)
        #expect(agent.verifications[1].device == new)
        #expect(
            agent.headers(stage, client).contains(#"["X-Device-Id","\#(new)"],["X-User-Token","jwt-a"]]"#))
    }

    @Test func `another setting device and a restart behind a reset are no way around it`() throws {
        let (stage, client, old) = try signedIn()
        stage.broker.configure([try ChatbaseAgent.account(device: "kiosk")])
        stage.run()
        let new = agent.device(stage, client)
        #expect(new != old)
        #expect(
            agent.headers(stage, client).contains(#"["X-Device-Id","\#(new)"],["X-User-Token","jwt-a"]]"#))
        #expect(agent.verifications.map(\.device) == [old, new])

        let second = try Stage(isOpen: false, accounts: [ChatbaseAgent.account()])
        for credential in stage.store.contents.credentials { second.store.put(credential) }
        for state in stage.store.contents.states { second.store.put(state) }
        second.fetcher.backend = { [agent] in agent.answer($0) }
        second.open()
        #expect(agent.verifications.map(\.device) == [old, new, old])
    }

    @Test func `R97: the old device counts until the new one is on disk, and stays where that is refused`()
        throws
    {
        let (stage, client) = try agent.stage()
        let old = agent.device(stage, client)
        let other = try #require(stage.connect())
        begin("device.reset", stage, client)
        stage.receive(
            #"{"jsonrpc":"2.0","id":1,"method":"identity.state","params":{"account":"desk"}}"# + "\n",
            from: other)
        #expect(other.take().contains(#""device_id":"\#(old)""#))
        stage.store.failure = .full
        stage.run()
        #expect(client.take().contains(#""kind":"store_full""#))
        stage.store.failure = nil
        #expect(agent.device(stage, client) == old)
    }

    @Test func `R97: who asks who is signed in is told the device, made if there is none`() throws {
        let (stage, client) = try agent.stage()
        let state = agent.state(stage, client)
        #expect(state.contains(#""device_id":"\#(agent.device(stage, client))""#))
        let (full, other) = try agent.stage()
        full.store.failure = .full
        #expect(agent.state(full, other).contains(#""device_id":null,"auth_state":"anonymous""#))
    }

    @Test func `R98: a report is answered once it is on disk, and so is one that repeats it`() throws {
        let (stage, client) = try agent.stage()
        let other = try #require(stage.connect())
        let report =
            #"{"jsonrpc":"2.0","id":1,"method":"identity.report","params":{"account":"desk","user_id":"u"}}"#
            + "\n"
        stage.receive(report, from: client)
        stage.receive(report, from: other)
        #expect(client.receivedBytes == 0 && other.receivedBytes == 0)
        stage.store.failure = .full
        stage.run()
        #expect(client.take().contains(#""kind":"store_full""#))
        #expect(other.take().contains(#""kind":"store_full""#))
        // It is remembered, and whoever says it again is told whether the disk has it now.
        stage.receive(report, from: other)
        stage.store.failure = nil
        #expect(other.receivedBytes == 0)
        stage.run()
        #expect(other.take().contains(#""current_user_id":"u""#))
    }

    @Test func `R101: a sign-out is answered once what it forgot is forgotten on disk`() throws {
        let (stage, client) = try agent.stage()
        _ = stage.call(client, "identity.report", #"{"account":"desk","user_id":"u"}"#)
        begin("identity.logout", stage, client)
        #expect(client.receivedBytes == 0)
        stage.run()
        #expect(client.take().contains(#""already_anonymous":true"#))
    }
}
