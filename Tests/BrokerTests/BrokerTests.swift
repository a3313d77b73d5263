import Broker
import BrokerSupport
import CredentialCore
import Secrets
import Testing

@Suite struct `Broker and configuration` {
    private func tokenIsFresh(_ stage: Stage, _ name: String) -> Bool? {
        stage.account(name)?.session.isFresh(at: stage.clock.now, minValid: .zero)
    }

    @Test func `an account that vanishes and returns has its credential back`() throws {
        let stage = try Stage(accounts: [Definitions.http("a"), Definitions.http("b")])
        stage.advance(.zero)
        stage.fetcher.answer(#"{"token":"1","expires_in":3600}"#)
        stage.fetcher.answer(#"{"token":"2","expires_in":3600}"#)
        stage.run()
        stage.broker.configure([Definitions.http("b")])
        #expect(stage.account("a") == nil)
        #expect(tokenIsFresh(stage, "b") == true)
        stage.broker.configure([Definitions.http("a"), Definitions.http("b")])
        #expect(tokenIsFresh(stage, "a") == true)
        #expect(stage.account("a")?.session.generation == Generation(1))
        stage.advance(.seconds(60))
        #expect(stage.fetcher.all.count == 2)
    }

    @Test func `what reaches the disk after an account has vanished is there when it returns`() throws {
        let stage = try Stage(accounts: [Definitions.http("a")])
        stage.advance(.zero)
        stage.fetcher.answer(#"{"token":"1","expires_in":3600}"#)
        stage.broker.configure([])
        stage.run()
        stage.broker.configure([Definitions.http("a")])
        stage.run()
        #expect(tokenIsFresh(stage, "a") == true)
        #expect(stage.fetcher.all.count == 1)
    }

    @Test func `a source that changes while a refresh is out is asked instead of the old one`() throws {
        let stage = try Stage(accounts: [Definitions.http("a")])
        stage.advance(.zero)
        #expect(stage.fetcher.out.map(\.url.text) == ["https://a.example/token"])
        stage.broker.configure([Definitions.http("a", host: "new")])
        #expect(stage.fetcher.out.isEmpty)
        stage.advance(.seconds(1))
        #expect(stage.fetcher.out.map(\.url.text) == ["https://new.example/token"])
        #expect(stage.broker.flightCount == 1)
    }

    @Test func `changed rules leave the credential and a refresh that is out alone`() throws {
        let stage = try Stage(accounts: [Definitions.http("a")])
        stage.advance(.zero)
        stage.broker.configure([Definitions.http("a", access: AccessRules(use: Definitions.user(7)))])
        stage.fetcher.answer(#"{"token":"1","expires_in":3600}"#)
        stage.run()
        #expect(tokenIsFresh(stage, "a") == true)
        #expect(stage.fetcher.all.count == 1)
    }

    @Test func `an account is stopped and started by configuration`() throws {
        let stage = try Stage(accounts: [Definitions.http("a", startsByItself: false)])
        stage.advance(.seconds(60))
        #expect(stage.fetcher.all.isEmpty)
        stage.broker.configure([Definitions.http("a")])
        #expect(stage.fetcher.all.count == 1)
        stage.broker.configure([Definitions.http("a", startsByItself: false)])
        #expect(stage.fetcher.out.isEmpty)
    }

    @Test func `a configured name hides the added account of that name, and gives it back`() throws {
        let stage = try Stage()
        let client = try #require(stage.connect())
        _ = stage.call(client, "account.add", #"{"account":"a"}"#)
        _ = stage.call(client, "credentials.save_token", #"{"account":"a","token":"t"}"#)
        stage.broker.configure([Definitions.http("a")])
        #expect(stage.account("a")?.definition.origin == .configuration)
        stage.broker.configure([])
        #expect(stage.account("a")?.definition.origin == .rpc)
        #expect(stage.account("a")?.definition.source == nil)

        let later = try Stage(isOpen: false, accounts: [Definitions.http("a")])
        for change in stage.store.submitted { later.store.submit(change) }
        while later.store.completeOne() {}
        later.open()
        #expect(later.account("a")?.definition.origin == .configuration)
        #expect(later.records.lines.contains { $0.contains("has the name of a configured one") })
        later.broker.configure([])
        #expect(later.account("a")?.definition.origin == .rpc)
    }

    @Test func `opening twice does not throw away what is newer than the disk`() throws {
        let stage = try Stage(accounts: [Definitions.http("a")])
        stage.advance(.zero)
        stage.fetcher.answer(#"{"token":"1","expires_in":3600}"#)
        stage.run()
        stage.broker.storeDidOpen(
            StoreContents(credentials: [], accounts: [], lastWrittenAt: nil, epoch: 1))
        #expect(tokenIsFresh(stage, "a") == true)
    }

    @Test func `R208: a wall clock that was set back refreshes first and believes itself again later`() throws
    {
        let stage = try Stage(isOpen: false, accounts: [Definitions.plain("a"), Definitions.http("b")])
        let future = stage.clock.now.wall + .seconds(100)
        for name in ["a", "b"] {
            stage.store.put(
                try Definitions.stored(
                    name, token: "t", generation: 4, expiresAt: future + .seconds(3600),
                    receivedAt: Instant(wall: future, boot: BootTime(milliseconds: 1)), bootID: "boot-0"))
        }
        stage.store.lastWrittenAt = future
        stage.open()
        #expect(tokenIsFresh(stage, "a") == false)
        stage.advance(.zero)
        #expect(stage.fetcher.out.map(\.partition) == ["b"])
        stage.advance(.seconds(120))
        #expect(tokenIsFresh(stage, "a") == true)
    }

    @Test func `a credential for another destination is parked and not used`() throws {
        let stage = try Stage(isOpen: false, accounts: [Definitions.plain("a")])
        stage.store.put(
            try Definitions.stored(
                "a", token: "t", generation: 4, expiresAt: nil, receivedAt: stage.clock.now,
                destination: "provider=other"))
        stage.open()
        let client = try #require(stage.connect())
        #expect(stage.call(client, "token.get", #"{"account":"a"}"#).contains(#""kind":"account_parked""#))
    }

    @Test func `shutting down begins nothing, and what is on its way to the disk arrives`() throws {
        let stage = try Stage(accounts: [Definitions.http("a"), Definitions.http("b")])
        stage.advance(.zero)
        stage.fetcher.end(
            .success(
                FetchResponse(
                    status: 200, retryAfter: nil, date: nil, contentType: nil,
                    body: SecretBytes(#"{"token":"1"}"#))),
            of: "a")
        #expect(stage.broker.pendingChanges == 1)
        stage.broker.shutDown()
        #expect(stage.fetcher.out.isEmpty)
        #expect(stage.broker.flightCount == 0)
        stage.run()
        #expect(stage.broker.pendingChanges == 0)
        #expect(stage.store.credentials.count == 1)
        stage.advance(.seconds(7200))
        #expect(stage.fetcher.all.count == 2)
        #expect(stage.waker.moment == nil)
    }

    @Test func `a disk that is full does not keep a token from those who wait`() throws {
        let stage = try Stage(accounts: [Definitions.http("a")])
        stage.store.failure = .full
        stage.advance(.zero)
        stage.fetcher.answer(#"{"token":"1","expires_in":3600}"#)
        stage.run()
        #expect(tokenIsFresh(stage, "a") == true)
        stage.store.failure = nil
        stage.advance(.seconds(60))
        #expect(stage.store.credentials.count == 1)
    }

    @Test func `a late answer for a removed account changes nothing`() throws {
        let stage = try Stage()
        let client = try #require(stage.connect())
        _ = stage.call(
            client, "account.add", #"{"account":"a","source":{"kind":"http","url":"https://b.example/"}}"#)
        stage.advance(.zero)
        let request = try #require(stage.fetcher.out.first)
        _ = stage.call(client, "account.remove", #"{"account":"a"}"#)
        stage.broker.fetchDidEnd(request.id, .failure(.timeout))
        stage.run()
        #expect(stage.fetcher.cancelled == [request.id])
        #expect(stage.broker.accountCount == 0)
        #expect(stage.store.credentials.isEmpty)
    }

    @Test func `what is saved while an account is being removed does not stay behind`() throws {
        let stage = try Stage()
        let client = try #require(stage.connect())
        _ = stage.call(client, "account.add", #"{"account":"a"}"#)
        _ = stage.call(client, "credentials.save_token", #"{"account":"a","token":"t"}"#)
        let calls = [
            ("account.remove", ""), ("account.start", ""), ("credentials.save_token", #","token":"u""#),
        ]
        for (method, more) in calls {
            stage.receive(
                #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":{"account":"a"\#(more)}}"# + "\n",
                from: client)
        }
        stage.run()
        #expect(client.takeLines().count == 3)
        #expect(stage.store.credentials.isEmpty && stage.store.accounts.isEmpty)
    }
}

@Suite struct `Wake-ups` {
    @Test func `a day of failing sources asks for a moment a bounded number of times`() throws {
        let stage = try Stage(accounts: (0..<3).map { Definitions.http("a\($0)", host: "one") })
        stage.fetcher.backend = { _ in .failure(.connectionFailed) }
        stage.advance(.seconds(24 * 3600))
        // Backing off to five minutes, and the origin's breaker is asked before the network is.
        #expect(stage.fetcher.all.count > 100)
        #expect(stage.fetcher.all.count < 3 * 24 * 60)
        #expect(stage.waker.requests < 20 * 24 * 60)
    }

    @Test func `a day of fresh tokens wakes up for the reviews and the refreshes`() throws {
        let stage = try Stage(accounts: [Definitions.http("a")])
        stage.fetcher.backend = { _ in .success(Self.token) }
        stage.advance(.seconds(24 * 3600))
        #expect(stage.fetcher.all.count == 25)
        #expect(stage.waker.requests < 2 * 24 * 60)
    }

    private static let token = FetchResponse(
        status: 200, retryAfter: nil, date: nil, contentType: nil,
        body: SecretBytes(#"{"token":"t","expires_in":3600}"#))

    @Test func `R208: suspending for hours refreshes at the first look`() throws {
        let stage = try Stage(accounts: [Definitions.http("a")])
        stage.advance(.zero)
        stage.fetcher.answer(#"{"token":"1","expires_in":3600}"#)
        stage.run()
        // The boot clock jumps; no timer has fired.
        stage.clock.now = stage.clock.now + .seconds(7200)
        let client = try #require(stage.connect())
        stage.receive(
            #"{"jsonrpc":"2.0","id":1,"method":"token.get","params":{"account":"a"}}"# + "\n", from: client)
        #expect(client.take() == "")
        #expect(stage.fetcher.out.count == 1)
    }

    @Test func `a wall clock set forward refreshes within a minute`() throws {
        let stage = try Stage(accounts: [Definitions.http("a")])
        stage.advance(.zero)
        stage.fetcher.answer(#"{"token":"1","expires_in":3600}"#)
        stage.run()
        stage.clock.now.wall = stage.clock.now.wall + .seconds(7200)
        stage.advance(.seconds(60))
        #expect(stage.fetcher.out.count == 1)
    }

    @Test func `accounts that are due together are spread, and only to earlier`() throws {
        let stage = try Stage(isOpen: false, accounts: (0..<500).map { Definitions.http("a\($0)") })
        let expiry = stage.clock.now.wall + .seconds(3600)
        for index in 0..<500 {
            stage.store.put(
                try Definitions.stored(
                    "a\(index)", token: "t", generation: 1, expiresAt: expiry, receivedAt: stage.clock.now))
        }
        stage.open()
        stage.fetcher.backend = { _ in .success(Self.token) }
        stage.advance(.seconds(3539))
        #expect(stage.fetcher.all.isEmpty)
        var counts: [Int] = []
        for _ in 0..<31 {
            let before = stage.fetcher.all.count
            stage.advance(.seconds(1))
            counts.append(stage.fetcher.all.count - before)
        }
        #expect(counts.reduce(0, +) == 500)
        #expect(counts.allSatisfy { $0 < 40 })
        #expect(counts[30] >= 8)
    }
}

@Suite struct `Many accounts` {
    @Test func `ten thousand accounts come, are found, and go`() throws {
        let names = (0..<10_000).map { "account-\($0)" }
        let stage = try Stage(accounts: names.map { Definitions.plain($0) })
        for name in names { #expect(stage.account(name)?.name.text == name) }
        #expect(stage.broker.accountsByName().map(\.name.text) == names.sorted())
        let kept = names.filter { $0.hasSuffix("7") }
        stage.broker.configure(kept.map { Definitions.plain($0) })
        #expect(stage.broker.accountCount == 1000)
        for name in names {
            #expect((stage.account(name) != nil) == name.hasSuffix("7"))
        }
    }

    @Test func `thousands of accounts at one origin go eight at a time`() throws {
        let stage = try Stage(accounts: (0..<2000).map { Definitions.http("a\($0)", host: "one") })
        stage.advance(.zero)
        var most = 0
        while !stage.fetcher.out.isEmpty {
            most = max(most, stage.fetcher.out.count)
            stage.fetcher.answer(#"{"token":"1","expires_in":3600}"#)
            stage.run()
        }
        #expect(most == 8)
        #expect(stage.broker.stateCounts()[.fresh] == 2000)
        #expect(stage.fetcher.all.count == 2000)
    }

    @Test func `an origin that is down is asked by few of its accounts`() throws {
        let stage = try Stage(accounts: (0..<2000).map { Definitions.http("a\($0)", host: "one") })
        stage.advance(.zero)
        while !stage.fetcher.out.isEmpty {
            stage.fetcher.fail(.connectionFailed)
            stage.run()
        }
        // Five failures open the breaker while eight and what followed the first four were out.
        #expect(stage.fetcher.all.count == 12)
        stage.advance(.seconds(29))
        #expect(stage.fetcher.out.isEmpty)
        // Whoever was sent away knows what is wrong with it.
        #expect(
            stage.account("a1999")?.session.failures.last
                .map { $0.kind == .overloaded && $0.cause == .origin(.fetch(.connectionFailed)) } == true)
        stage.advance(.seconds(3))
        #expect(stage.fetcher.out.count == 1)
        stage.fetcher.answer(#"{"token":"1","expires_in":3600}"#)
        stage.advance(.seconds(400))
        #expect(stage.fetcher.out.count == 8)
    }

    @Test func `thousands whose secret is of no use take no stack`() throws {
        let reference = SecretReference.file(path: "/secret")
        let header = HTTPSource.Header(name: "Authorization", value: .secret(reference, prefix: "Bearer "))
        let stage = try Stage(
            accounts: (0..<5000).map { Definitions.http("a\($0)", host: "one", headers: [header]) })
        stage.files.contents = [reference: SecretBytes("good")]
        stage.advance(.zero)
        #expect(stage.fetcher.out.count == 8)
        stage.files.contents = [reference: SecretBytes("a\nb")]
        stage.advance(.seconds(20))
        #expect(stage.broker.flightCount <= 8)
    }
}
