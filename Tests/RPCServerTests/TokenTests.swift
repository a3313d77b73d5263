import Broker
import BrokerSupport
import CredentialCore
import Secrets
import Testing

@Suite struct `token.get` {
    private static let get = #"{"jsonrpc":"2.0","id":1,"method":"token.get","params":{"account":"bot"}}"#

    @Test func `the first answer, the second and the slow one are the same bytes`() throws {
        let (stage, client) = try Stage.serving()
        let first = stage.ask(client, Self.get)
        #expect(first == Expected.token() + "\n")
        stage.receive(Self.get + "\n", from: client)
        #expect(client.take() == first)
        // A fraction, a null and another order take the slow way.
        #expect(stage.call(client, "token.get", #"{"account":"bot","min_valid":0.5}"#) + "\n" == first)
        #expect(stage.call(client, "token.get", #"{"min_valid":null,"account":"bot"}"#) + "\n" == first)
        #expect(
            stage.call(client, "token.get", #"{"account":"bot","min_valid":30,"wait":5}"#) + "\n" == first)
    }

    @Test func `the cached way makes no call and asks nobody`() throws {
        let (stage, client) = try Stage.serving()
        _ = stage.ask(client, Self.get)
        let (writes, fetches, entries) = (
            stage.store.submitted.count, stage.fetcher.all.count, stage.audit.entries.count
        )
        for _ in 0..<1000 { stage.receive(Self.get + "\n", from: client) }
        #expect(client.takeLines().count == 1000)
        #expect(stage.store.submitted.count == writes)
        #expect(stage.fetcher.all.count == fetches)
        #expect(stage.audit.entries.count == entries)
    }

    @Test func `a client that has gone is forgotten, with all that it held`() throws {
        let stage = try Stage.serving().0
        weak var connection: MemoryConnection?
        weak var state: AnyObject?
        func comeAndGo() throws {
            let client = try #require(stage.connect())
            for _ in 0..<3 { _ = stage.call(client, "token.get", #"{"account":"bot"}"#) }
            connection = client
            state = client.state
            #expect(state != nil)
            client.close(flush: false)
        }
        try comeAndGo()
        stage.advance(.seconds(2))
        #expect(connection == nil)
        #expect(state == nil)
    }

    @Test func `many callers cause one request and all get the same`() throws {
        let stage = try Stage(limits: .generous, accounts: [Definitions.http("bot")])
        var clients: [MemoryConnection] = []
        for _ in 0..<100 {
            let client = try #require(stage.connect())
            for id in 0..<100 {
                stage.receive(
                    #"{"jsonrpc":"2.0","id":\#(id),"method":"token.get","params":{"account":"bot"}}"# + "\n",
                    from: client)
            }
            clients.append(client)
        }
        stage.run()
        #expect(stage.fetcher.all.count == 1)
        let looks = stage.audit.entries.count
        #expect(looks == 0)
        stage.fetcher.answer(#"{"token":"abc","expires_in":3600}"#)
        stage.run()
        #expect(stage.fetcher.all.count == 1)
        for client in clients {
            let lines = client.takeLines()
            #expect(lines.count == 100)
            for (id, line) in lines.enumerated() { #expect(line == Expected.token(id: "\(id)")) }
        }
        // One record a connection before, one for what went there again a second later.
        #expect(stage.audit.entries.count == 100)
        stage.advance(.seconds(1))
        #expect(stage.audit.entries.count == 200)
        #expect(stage.audit.lines.last == "repeated uid=1000 token.get bot g1 x99")
    }

    @Test func `a caller that goes away cancels nothing and takes nothing from the others`() throws {
        let stage = try Stage(limits: .tiny, accounts: [Definitions.http("bot")])
        let first = try #require(stage.connect())
        let second = try #require(stage.connect())
        stage.receive(Self.get + "\n", from: first)
        stage.receive(Self.get + "\n", from: second)
        let third = try #require(stage.connect())
        let overloaded = Expected.error(
            501, "too many calls of this user are waiting", "overloaded", retryable: true,
            rest: #","retry_after_seconds":1"#)
        #expect(stage.ask(third, Self.get) == overloaded + "\n")
        first.close(flush: false)
        #expect(stage.ask(third, Self.get) == "")
        stage.fetcher.answer(#"{"token":"abc","expires_in":3600}"#)
        stage.run()
        #expect(second.take() == Expected.token() + "\n")
        #expect(third.take() == Expected.token() + "\n")
        #expect(stage.fetcher.all.count == 1)
        // Nothing was handed to the one that had gone, and nobody says so.
        #expect(
            stage.audit.lines == [
                "handed_out uid=1000 token.get bot g1", "handed_out uid=1000 token.get bot g1",
            ])
    }

    @Test func `when all have gone the refresh goes on`() throws {
        let stage = try Stage(accounts: [Definitions.http("bot")])
        let gone = try #require(stage.connect())
        stage.receive(Self.get + "\n", from: gone)
        gone.close(flush: false)
        stage.fetcher.answer(#"{"token":"abc","expires_in":3600}"#)
        stage.run()
        let client = try #require(stage.connect())
        #expect(stage.ask(client, Self.get) == Expected.token() + "\n")
        #expect(stage.fetcher.all.count == 1)
    }

    @Test func `those who stay are answered at their deadlines`() throws {
        let stage = try Stage(accounts: [Definitions.http("bot")])
        let clients = try (1...9).map { _ in try #require(stage.connect()) }
        let waits = [9, 3, 5, 1, 8, 2, 7, 6, 4]
        for (client, wait) in zip(clients, waits) {
            stage.receive(
                #"{"jsonrpc":"2.0","id":1,"method":"token.get","params":{"account":"bot","wait":\#(wait)}}"#
                    + "\n", from: client)
        }
        for (client, wait) in zip(clients, waits) where [1, 2, 5].contains(wait) {
            client.close(flush: false)
        }
        for second in 1...9 {
            stage.advance(.seconds(1))
            let told = zip(clients, waits).filter { !$0.0.take().isEmpty }.map(\.1)
            #expect(told == ([1, 2, 5].contains(second) ? [] : [second]))
        }
    }

    @Test func `one hanging backend does not hold up another account`() throws {
        let stage = try Stage(accounts: [Definitions.http("bot"), Definitions.http("slow")])
        stage.advance(.zero)
        stage.fetcher.end(.success(Self.response(#"{"token":"abc","expires_in":3600}"#)), of: "bot")
        stage.run()
        let client = try #require(stage.connect())
        _ = stage.ask(client, Self.get)
        stage.receive(
            #"{"jsonrpc":"2.0","id":9,"method":"token.get","params":{"account":"slow"}}"# + "\n" + Self.get
                + "\n", from: client)
        #expect(client.take() == Expected.token() + "\n")
        #expect(stage.fetcher.out.map(\.partition) == ["slow"])
    }

    private static func response(_ body: StaticString) -> FetchResponse {
        FetchResponse(
            status: 200, retryAfter: nil, date: nil, contentType: "application/json", body: SecretBytes(body))
    }

    @Test func `a due token is answered at once and refreshed behind the answer`() throws {
        let (stage, client) = try Stage.serving()
        _ = stage.ask(client, Self.get)
        stage.advance(.seconds(3570))
        #expect(stage.fetcher.out.count == 1)
        #expect(stage.ask(client, Self.get) == Expected.token(state: "refreshing") + "\n")
        stage.fetcher.answer(#"{"token":"def","expires_in":3600}"#)
        stage.run()
        #expect(
            stage.ask(client, Self.get)
                == Expected.token("def", generation: 2, expiresAt: 1_767_232_770, refreshAt: 1_767_232_740)
                + "\n")
    }

    @Test func `a failed refresh serves what is valid and says so`() throws {
        let (stage, client) = try Stage.serving()
        stage.advance(.seconds(3570))
        stage.fetcher.answer("<html>", status: 503, contentType: "text/html")
        stage.run()
        #expect(
            stage.ask(client, Self.get)
                == Expected.token(
                    state: "stale",
                    rest: #","stale":true,"refresh_error":{"kind":"upstream_error","#
                        + #""message":"the source answered with an error: status 503","http_status":503}"#)
                + "\n")
        #expect(
            stage.call(client, "headers.get", #"{"account":"bot"}"#)
                == #"{"jsonrpc":"2.0","id":1,"result":{"headers":[["Authorization","Bearer abc"]],"#
                + #""generation":1,"expires_at":1767229200,"stale":true}}"#)
    }

    @Test func `a token that cannot live as long as is asked is short lived and asked for once`() throws {
        let (stage, client) = try Stage.serving()
        stage.receive(
            #"{"jsonrpc":"2.0","id":1,"method":"token.get","params":{"account":"bot","min_valid":7200}}"#
                + "\n",
            from: client)
        stage.advance(.seconds(1))
        stage.fetcher.answer(#"{"token":"abc","expires_in":3600}"#)
        stage.run()
        let expected = Expected.token(
            generation: 2, expiresAt: 1_767_229_200, refreshAt: 1_767_229_170, rest: #","short_lived":true"#)
        let answer = client.take()
        #expect(answer.contains(#""short_lived":true"#))
        _ = expected
        let again = stage.call(client, "token.get", #"{"account":"bot","min_valid":7200}"#)
        #expect(again.contains(#""short_lived":true"#))
        #expect(stage.fetcher.all.count == 2)
    }

    // MARK: Nothing valid

    @Test(
        arguments: [
            (
                500, "<html>", "text/html", 301, "the source answered with an error: status 500",
                "upstream_error", "500"
            ),
            (
                403, "<html>", "text/html", 301, "the source answered with an error: status 403",
                "upstream_error", "403"
            ),
            (
                302, "", "", 301,
                "the source answered with an error: status 302; redirects are not followed", "upstream_error",
                "302"
            ),
            (
                401, #"{"error":"no_user"}"#, "application/json", 124,
                "the source refused to give a credential: status 401, code no_user", "callback_rejected",
                #"401,"provider_code":"no_user""#
            ),
            (
                200, #"{"ok":false}"#, "application/json", 125,
                "the source answered without a token; check the names in fields", "credential_empty", "200"
            ),
            (
                200, "", "", 125, "the source answered without a token; check the names in fields",
                "credential_empty", "200"
            ),
            (
                200, "<html>", "text/html", 301, "the source's answer cannot be read as a credential",
                "upstream_error", "200"
            ),
        ] as [(Int, StaticString, String, Int, String, String, String)])
    func `what a backend answers wrongly is told apart`(
        status: Int, body: StaticString, type: String, code: Int, message: String, kind: String, facts: String
    ) throws {
        let stage = try Stage(accounts: [Definitions.http("bot")])
        let client = try #require(stage.connect())
        stage.receive(Self.get + "\n", from: client)
        stage.fetcher.answer(body, status: status, contentType: type)
        stage.run()
        #expect(
            client.take()
                == Expected.error(
                    code, message, kind, retryable: true,
                    rest: #","retry_after_seconds":1,"http_status":\#(facts),"account":"bot""#) + "\n")
    }

    @Test(arguments: [
        (
            FetchFailure.nameNotResolved, 300, "the source cannot be reached: its name does not resolve",
            "upstream_unreachable"
        ),
        (
            .connectionFailed, 300, "the source cannot be reached: nothing accepts the connection",
            "upstream_unreachable"
        ),
        (
            .connectionLost, 300, "the source cannot be reached: the connection broke off",
            "upstream_unreachable"
        ),
        (.proxyFailed, 300, "the source cannot be reached: the proxy failed", "upstream_unreachable"),
        (
            .timeout, 302, "the source did not answer in time: it took longer than its timeout",
            "upstream_timeout"
        ),
        (
            .certificateExpired, 303,
            "no trusted connection to the source: its certificate has expired, or this clock is wrong",
            "tls_failed"
        ),
        (
            .certificateWrongHost, 303,
            "no trusted connection to the source: its certificate is for another host", "tls_failed"
        ),
        (
            .certificateUntrusted, 303,
            "no trusted connection to the source: its certificate is from an authority that is not trusted; ca_file names one that is",
            "tls_failed"
        ),
        (.tlsFailed, 303, "no trusted connection to the source: the TLS handshake failed", "tls_failed"),
        (
            .malformedResponse, 301, "the source answered with an error: its answer is not HTTP",
            "upstream_error"
        ),
        (
            .caFileUnreadable, 301,
            "the source could not be asked: ca_file cannot be read by the fetch worker", "upstream_error"
        ),
        (
            .workerLost, 301, "the source could not be asked: the fetch worker ended or does not answer",
            "upstream_error"
        ),
        (
            .badRequest, 301, "the source could not be asked: the request cannot be sent as configured",
            "upstream_error"
        ),
    ])
    func `what goes wrong on the way is told apart`(
        failure: FetchFailure, code: Int, message: String, kind: String
    ) throws {
        let stage = try Stage(accounts: [Definitions.http("bot")])
        let client = try #require(stage.connect())
        stage.receive(Self.get + "\n", from: client)
        stage.fetcher.fail(failure)
        stage.run()
        #expect(
            client.take()
                == Expected.error(
                    code, message, kind, retryable: true, rest: #","retry_after_seconds":1,"account":"bot""#)
                + "\n")
    }

    @Test func `who waits is answered at the end of his time`() throws {
        let stage = try Stage(accounts: [Definitions.http("bot")])
        let client = try #require(stage.connect())
        stage.receive(
            #"{"jsonrpc":"2.0","id":1,"method":"token.get","params":{"account":"bot","wait":2.5}}"# + "\n",
            from: client)
        stage.advance(Milliseconds(2499))
        #expect(client.take() == "")
        stage.advance(Milliseconds(1))
        #expect(
            client.take()
                == Expected.error(
                    500, "no valid token within the time to wait", "deadline_exceeded", retryable: true,
                    rest: #","retry_after_seconds":1,"account":"bot""#) + "\n")
    }

    @Test func `Retry-After is passed on`() throws {
        let stage = try Stage(accounts: [Definitions.http("bot")])
        let client = try #require(stage.connect())
        stage.receive(Self.get + "\n", from: client)
        stage.fetcher.answer("", status: 429, retryAfter: .seconds(77))
        stage.run()
        #expect(
            client.take()
                == Expected.error(
                    301, "the source answered with an error: status 429", "upstream_error", retryable: true,
                    rest: #","retry_after_seconds":77,"http_status":429,"account":"bot""#) + "\n")
        #expect(stage.fetcher.all.count == 1)
        stage.advance(.seconds(76))
        #expect(stage.fetcher.all.count == 1)
        stage.advance(.seconds(1))
        #expect(stage.fetcher.all.count == 2)
    }

    @Test func `an account without a source says how it gets a token`() throws {
        let stage = try Stage(accounts: [Definitions.plain("bot")])
        let client = try #require(stage.connect())
        #expect(
            stage.ask(client, Self.get)
                == Expected.error(
                    121,
                    "the account has no source to get a credential from; chatauth doctor says how to give it one",
                    "no_source", rest: #","account":"bot""#) + "\n")
    }

    @Test func `a stopped account says so`() throws {
        let (stage, client) = try Stage.serving()
        _ = stage.ask(client, Self.get)
        _ = stage.call(client, "account.stop", #"{"account":"bot"}"#)
        #expect(
            stage.ask(client, Self.get)
                == Expected.error(
                    102, "the account is stopped; chatauth account start lets it work again",
                    "account_stopped",
                    rest: #","account":"bot""#) + "\n")
    }

    @Test func `R92: a sealed store says so`() throws {
        let stage = try Stage(isOpen: false, accounts: [Definitions.http("bot")])
        let client = try #require(stage.connect())
        #expect(
            stage.ask(client, Self.get)
                == Expected.error(
                    400, "the store is sealed; chatauth status says what is missing", "store_sealed",
                    retryable: true, rest: #","account":"bot""#) + "\n")
    }

    @Test func `a sealed store denies no account, since it may have any`() throws {
        let sealed = Expected.error(
            400, "the store is sealed; chatauth status says what is missing", "store_sealed", retryable: true)
        let stage = try Stage(
            instance: .system(admins: []), isOpen: false,
            accounts: [Definitions.http("bot", access: AccessRules(use: Definitions.user(7)))])
        // Who may know of nothing is told the same of what is there and of what is not.
        let stranger = try #require(stage.connect(uid: 9))
        for (method, rest) in [
            ("token.get", ""), ("headers.get", ""), ("token.reject", ""),
            ("credentials.save_token", #","token":"a""#), ("account.show", ""),
        ] {
            for name in ["bot", "added"] {
                #expect(stage.call(stranger, method, #"{"account":"\#(name)"\#(rest)}"#) == sealed)
            }
        }
        #expect(stage.call(stranger, "token.get", #"{"account":"no name"}"#) == Expected.unknownAccount)
        stage.open()
        for name in ["bot", "added"] {
            #expect(stage.call(stranger, "token.get", #"{"account":"\#(name)"}"#) == Expected.unknownAccount)
        }
    }

    @Test func `a stopping daemon sends away who waits`() throws {
        let stage = try Stage(accounts: [Definitions.http("bot")])
        let client = try #require(stage.connect())
        stage.receive(Self.get + "\n", from: client)
        stage.broker.shutDown()
        let stopping = Expected.error(
            502, "the daemon is stopping", "shutting_down", retryable: true,
            rest: #","retry_after_seconds":1,"account":"bot""#)
        #expect(client.take() == stopping + "\n")
        #expect(stage.ask(client, Self.get) == stopping + "\n")
        #expect(stage.fetcher.out.isEmpty)
        #expect(stage.waker.moment == nil)
    }

    // MARK: Force, reject, sizes

    @Test func `force refreshes first, and who may only use the account once in half a minute`() throws {
        let (stage, _) = try Stage.serving(instance: .system(admins: []))
        let client = try #require(stage.connect(uid: 7))
        stage.advance(.seconds(2))
        let line = #"{"jsonrpc":"2.0","id":1,"method":"token.get","params":{"account":"bot","force":true}}"#
        stage.receive(line + "\n", from: client)
        #expect(client.take() == "")
        stage.fetcher.answer(#"{"token":"def","expires_in":3600}"#)
        stage.run()
        #expect(client.take().contains(#""bearer_token":"def""#))
        stage.advance(.seconds(10))
        #expect(
            stage.ask(client, line)
                == Expected.error(
                    202, "forced too often; the next time is after a pause", "rate_limited", retryable: true,
                    rest: #","retry_after_seconds":20,"account":"bot""#) + "\n")
    }

    @Test(arguments: [4097, 65_535, 65_536, 70_000, 262_144])
    func `long tokens come back byte for byte`(length: Int) throws {
        let (stage, client) = try Stage.serving()
        let id = String((0..<length).map { Character(UnicodeScalar(UInt8(33 + $0 % 90))) })
            .replacing("\"", with: "x").replacing("\\", with: "y")
        let access = String(id.dropLast()) + " "
        _ = stage.call(
            client, "credentials.save", #"{"account":"bot","id_token":"\#(id)","access_token":"\#(access)"}"#)
        for _ in 0..<2 {
            #expect(
                stage.ask(client, Self.get)
                    == #"{"jsonrpc":"2.0","id":1,"result":{"account":"bot","generation":2,"bearer_token":"\#(id)","#
                    + #""token_type":"Bearer","companion_access_token":"\#(access)","expires_at":null,"#
                    + #""expiry_source":null,"expiries":{"backend":null,"hint":null,"exp":null},"#
                    + #""refresh_at":null,"state":"fresh"}}"# + "\n")
        }
    }

    @Test func `headers are complete`() throws {
        let (stage, client) = try Stage.serving()
        _ = stage.call(
            client, "credentials.save",
            #"{"account":"bot","id_token":"i","access_token":"a","issuer":"https://i.example"}"#)
        #expect(
            stage.call(client, "headers.get", #"{"account":"bot","route":"chat"}"#)
                == #"{"jsonrpc":"2.0","id":1,"result":{"headers":[["Authorization","Bearer i"],"#
                + #"["X-Access-Token","a"],["X-Auth-Issuer","https://i.example"]],"generation":2,"expires_at":null}}"#
        )
    }

    @Test func `headers that are described are all there are`() throws {
        let placeholder = HTTPSource.Header(name: "X-Session", value: .literal("s {bearer}"))
        let account = AccountDefinition(
            name: Definitions.name("desk"), requestHeaders: [placeholder],
            access: AccessRules(use: Definitions.user(1000)))
        let stage = try Stage(instance: .user(uid: 1000), accounts: [account])
        stage.advance(.zero)
        let client = try #require(stage.connect())
        _ = stage.call(client, "credentials.save", #"{"account":"desk","id_token":"i","access_token":"a"}"#)
        #expect(
            stage.call(client, "headers.get", #"{"account":"desk"}"#)
                == #"{"jsonrpc":"2.0","id":1,"result":{"headers":[["X-Session","s i"]],"#
                + #""generation":1,"expires_at":null}}"#)
    }
}

extension Limits {
    /// Room for thousands of calls.
    static var generous: Limits { .user }

    /// Two calls and three connections.
    static var tiny: Limits {
        Limits(
            connectionsPerUID: 3, connectionsPerSystemUID: 4, pendingPerUID: 2, connectionsShared: 2,
            connectionsTotal: 8)
    }
}
