import BrokerSupport
import CredentialCore
import Testing

@Suite struct `JSON-RPC 2.0` {
    @Test(arguments: [
        "", "   ", "nonsense", "{", #"{"a":1"#, "\u{1}", #"{"a":1,"a":2}"#, #"{"a":1}}"#, "[1,]",
        "\u{feff}{}",
        String(repeating: "[", count: 100_000), String(repeating: "A", count: 100_000),
    ])
    func `what is no JSON is a parse error`(text: String) throws {
        let (stage, client) = try Stage.serving()
        #expect(stage.ask(client, text) == (text.isEmpty ? "" : Expected.parseError + "\n"))
        #expect(!client.isClosed)
    }

    @Test func `bytes that are no UTF-8 and NUL bytes are a parse error`() throws {
        let (stage, client) = try Stage.serving()
        for bytes in [[0xFF, 0x0A], [0x22, 0xC0, 0x80, 0x22, 0x0A], [0, 0, 0x0A]] as [[UInt8]] {
            stage.receive(bytes, from: client)
            #expect(client.take() == Expected.parseError + "\n")
        }
    }

    @Test(arguments: [
        ("5", "null"), (#""text""#, "null"), ("null", "null"), ("{}", "null"), ("[]", "null"),
        (#"{"jsonrpc":"2.0","id":1}"#, "1"), (#"{"jsonrpc":"1.0","id":"x","method":"rpc.hello"}"#, #""x""#),
        (#"{"id":7,"method":"rpc.hello"}"#, "7"),
        (#"{"jsonrpc":"2.0","id":null,"method":"rpc.hello"}"#, "null"),
        (#"{"jsonrpc":"2.0","id":1.5,"method":"rpc.hello"}"#, "null"),
        (#"{"jsonrpc":"2.0","id":[],"method":"rpc.hello"}"#, "null"),
        (#"{"jsonrpc":"2.0","id":1,"method":5}"#, "1"),
        (#"{"jsonrpc":"2.0","id":1,"method":"rpc.hello","params":5}"#, "1"),
    ])
    func `what is no request is an invalid request`(text: String, id: String) throws {
        let (stage, client) = try Stage.serving()
        #expect(stage.ask(client, text) == Expected.invalidRequest(id: id) + "\n")
    }

    @Test func `an unknown method is answered so`() throws {
        let (stage, client) = try Stage.serving()
        let expected = Expected.error(
            -32601, "no such method; rpc.discover lists them", "method_not_found")
        #expect(stage.call(client, "token.steal") == expected)
        #expect(stage.call(client, "") == expected)
        #expect(stage.call(client, String(repeating: "m", count: 100_000)) == expected)
    }

    @Test(arguments: [
        "0", "-1", "9223372036854775807", #""""#, #""ä\n\u00e4""#, #""a b""#, "-9223372036854775808",
    ])
    func `the id comes back byte for byte, fast or slow`(id: String) throws {
        let (stage, client) = try Stage.serving()
        let line = #"{"jsonrpc":"2.0","id":\#(id),"method":"token.get","params":{"account":"bot"}}"#
        #expect(stage.ask(client, line) == Expected.token(id: id) + "\n")
        #expect(stage.ask(client, line) == Expected.token(id: id) + "\n")
        #expect(
            stage.ask(client, #"{"jsonrpc":"2.0","id":\#(id),"method":"x"}"#).hasPrefix(
                #"{"jsonrpc":"2.0","id":\#(id),"error""#))
    }

    @Test func `R55: a notification gets no answer, whatever becomes of it`() throws {
        let (stage, client) = try Stage.serving()
        #expect(stage.ask(client, #"{"jsonrpc":"2.0","method":"rpc.nothing"}"#) == "")
        #expect(stage.ask(client, #"{"jsonrpc":"2.0","method":"token.get","params":[1]}"#) == "")
        #expect(
            stage.ask(client, #"{"jsonrpc":"2.0","method":"token.get","params":{"account":"bot"}}"#) == "")
        #expect(
            stage.ask(
                client,
                #"{"jsonrpc":"2.0","method":"credentials.save_token","params":{"account":"bot","token":"n"}}"#
            )
                == "")
        #expect(stage.call(client, "token.get", #"{"account":"bot"}"#).contains(#""bearer_token":"n""#))
    }

    @Test func `an answer to no question is dropped`() throws {
        let (stage, client) = try Stage.serving()
        #expect(stage.ask(client, #"{"jsonrpc":"2.0","id":1,"result":5}"#) == "")
        #expect(stage.ask(client, #"[{"jsonrpc":"2.0","id":1,"result":5}]"#) == "")
        #expect(stage.call(client, "daemon.metrics").contains(#"chatauth_responses_stray_total 2\n"#))
    }

    // MARK: Batches

    private func member(_ id: Int, _ method: String = "token.get", _ params: String = #"{"account":"bot"}"#)
        -> String
    {
        #"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)","params":\#(params)}"#
    }

    @Test func `a batch is answered once, in its order, without its notifications`() throws {
        let (stage, client) = try Stage.serving()
        let batch =
            "["
            + [
                member(1), #"{"jsonrpc":"2.0","method":"rpc.hello"}"#, member(2, "x.y"), "5", "[1]",
                member(3, "token.get", #"{"account":"none"}"#), member(4),
            ].joined(separator: ",") + "]"
        let missing = Expected.error(
            id: "2", -32601, "no such method; rpc.discover lists them", "method_not_found")
        let unknown = Expected.unknownAccount.replacingFirstID("3")
        #expect(
            stage.ask(client, batch) == "["
                + [
                    Expected.token(), missing, Expected.invalidRequest(), Expected.invalidRequest(), unknown,
                    Expected.token(id: "4"),
                ].joined(separator: ",") + "]\n")
    }

    @Test func `a batch waits for the last of its members and keeps their order`() throws {
        let (stage, client) = try Stage.serving()
        stage.receive(
            "["
                + [
                    member(1, "credentials.save_token", #"{"account":"bot","token":"x"}"#),
                    member(2, "rpc.nothing"),
                ].joined(separator: ",") + "]\n", from: client)
        #expect(client.take() == "")
        stage.run()
        #expect(
            client.take() == "["
                + [
                    #"{"jsonrpc":"2.0","id":1,"result":{"account":"bot","saved":true,"generation":2,"expires_at":null}}"#,
                    Expected.error(
                        id: "2", -32601, "no such method; rpc.discover lists them", "method_not_found"),
                ].joined(separator: ",") + "]\n")
    }

    @Test func `members of a batch do not wait for a refresh, whatever they ask for`() throws {
        let stage = try Stage(accounts: [Definitions.http("bot")])
        let client = try #require(stage.connect())
        stage.receive("[" + member(1, "token.get", #"{"account":"bot","wait":20}"#) + "]\n", from: client)
        stage.run()
        #expect(
            client.take() == "["
                + Expected.error(
                    500, "no valid token within the time to wait", "deadline_exceeded", retryable: true,
                    rest: #","retry_after_seconds":1,"account":"bot""#) + "]\n")
    }

    @Test func `a batch has one to sixteen members`() throws {
        let (stage, client) = try Stage.serving()
        let sixteen = (1...16).map { member($0) }
        let answer = stage.ask(client, "[" + sixteen.joined(separator: ",") + "]")
        #expect(answer == "[" + (1...16).map { Expected.token(id: "\($0)") }.joined(separator: ",") + "]\n")
        let seventeen = sixteen + [member(17)]
        #expect(
            stage.ask(client, "[" + seventeen.joined(separator: ",") + "]") == Expected.invalidRequest()
                + "\n")
        let many = Array(repeating: "1", count: 10_000).joined(separator: ",")
        #expect(stage.ask(client, "[" + many + "]") == Expected.invalidRequest() + "\n")
    }

    @Test func `a batch of notifications gets no answer`() throws {
        let (stage, client) = try Stage.serving()
        #expect(
            stage.ask(
                client, #"[{"jsonrpc":"2.0","method":"rpc.hello"},{"jsonrpc":"2.0","method":"x"}]"#) == "")
    }

    // MARK: Parameters

    @Test(
        arguments: [
            ("token.get", nil, "token.get needs account"),
            ("token.get", "{}", "token.get needs account"),
            ("token.get", "[]", "token.get takes its parameters by name, in an object"),
            ("token.get", #"{"account":null}"#, "account must be a string"),
            ("token.get", #"{"account":5}"#, "account must be a string"),
            (
                "token.get", #"{"account":"bot","minvalid":5}"#,
                "unknown parameter; token.get takes account, min_valid, wait, force"
            ),
            (
                "token.get", #"{"account":"bot","min_valid":-1}"#,
                "min_valid must be a number of seconds from 0 to 31536000"
            ),
            (
                "token.get", #"{"account":"bot","min_valid":1e300}"#,
                "min_valid must be a number of seconds from 0 to 31536000"
            ),
            (
                "token.get", #"{"account":"bot","wait":"1"}"#,
                "wait must be a number of seconds from 0 to 31536000"
            ),
            ("token.get", #"{"account":"bot","force":1}"#, "force must be true or false"),
            ("token.reject", #"{"account":"bot","generation":1.5}"#, "generation must be an integer"),
            ("token.reject", #"{"account":"bot","code":5}"#, "code must be a string of at most 64 bytes"),
            ("headers.get", #"{"account":"bot","route":5}"#, "route must be a string of at most 256 bytes"),
            ("credentials.save", #"{"account":"bot","id_token":5}"#, "id_token must be a string"),
            (
                "credentials.save", #"{"account":"bot","id_token":"a","expires_at":[]}"#,
                "expires_at must be seconds since the epoch or an RFC 3339 text"
            ),
            ("credentials.save_token", #"{"account":"bot"}"#, "credentials.save_token needs token"),
            ("credentials.delete", "{}", "credentials.delete needs account"),
            ("credentials.inspect", "{}", "credentials.inspect needs account"),
            ("account.add", "{}", "account.add needs account"),
            ("account.list", #"{"limit":0}"#, "limit must be from 1 to 1000"),
            ("account.list", #"{"limit":1001}"#, "limit must be from 1 to 1000"),
            ("account.list", #"{"cursor":5}"#, "cursor must be a string of at most 64 bytes"),
            ("account.show", #"{"account":"bot","x":1}"#, "unknown parameter; account.show takes account"),
            (
                "auth.refresh", #"{"account":"bot","reason":5}"#,
                "reason must be a string of at most 256 bytes"
            ),
            ("events.subscribe", "{}", "events.subscribe needs topics"),
            (
                "events.subscribe", #"{"topics":[]}"#,
                "topics must be some of account, auth, daemon, handler, identity, push, session, token"
            ),
            (
                "events.subscribe", #"{"topics":["token","x"]}"#,
                "topics must be some of account, auth, daemon, handler, identity, push, session, token"
            ),
            ("events.subscribe", #"{"topics":"token"}"#, "topics must be an array of at most 16 strings"),
            ("events.subscribe", #"{"topics":[5]}"#, "topics must be an array of strings"),
            ("events.unsubscribe", #"{"x":1}"#, "unknown parameter; events.unsubscribe takes none"),
            ("daemon.set_log_level", "{}", "daemon.set_log_level needs level"),
            (
                "daemon.set_log_level", #"{"level":"fault"}"#,
                "level must be error, warning, notice, info or debug"
            ),
            ("daemon.set_log_level", #"{"level":5}"#, "level must be a string of at most 16 bytes"),
            ("rpc.hello", #"{"client":5}"#, "client must be a string of at most 128 bytes"),
            ("daemon.status", "[]", "daemon.status takes its parameters by name, in an object"),
        ] as [(String, String?, String)])
    func `parameters are checked`(method: String, params: String?, message: String) throws {
        let (stage, client) = try Stage.serving()
        #expect(stage.call(client, method, params) == Expected.invalidParams(message))
    }

    @Test func `a name may be written with escapes`() throws {
        let (stage, client) = try Stage.serving()
        #expect(stage.call(client, "token.get", #"{"account":"\u0062ot"}"#) == Expected.token())
        #expect(stage.call(client, "token.get", #"{"acc\u006funt":"bot"}"#) == Expected.token())
        #expect(stage.call(client, "token\\u002eget", #"{"account":"bot"}"#) == Expected.token())
    }
}

extension String {
    /// The same response under another id.
    func replacingFirstID(_ id: String) -> String {
        #"{"jsonrpc":"2.0","id":"# + id + dropFirst(#"{"jsonrpc":"2.0","id":1"#.count)
    }
}
