import Broker
import BrokerSupport
import CredentialCore
import RPCServer
import Testing

@Suite struct `Frames from clients` {
    static let request = #"{"jsonrpc":"2.0","id":1,"method":"token.get","params":{"account":"bot"}}"#

    @Test func `a frame may be split at every byte`() throws {
        let (stage, client) = try Stage.serving()
        let bytes = Array((Self.request + "\n").utf8)
        for cut in 0...bytes.count {
            stage.receive(Array(bytes[..<cut]), from: client)
            stage.receive(Array(bytes[cut...]), from: client)
            stage.run()
            #expect(client.take() == Expected.token() + "\n")
        }
        for byte in bytes { stage.receive([byte], from: client) }
        #expect(client.take() == Expected.token() + "\n")
    }

    @Test func `requests may be pipelined and lines may end with a carriage return`() throws {
        let (stage, client) = try Stage.serving()
        stage.receive(Self.request + "\r\n\n\r\n" + Self.request + "\n" + Self.request + "\n", from: client)
        stage.run()
        #expect(client.takeLines() == [Expected.token(), Expected.token(), Expected.token()])
    }

    /// What the same bytes are answered with by a client for whom nothing is prepared, which is asked one call at a time.
    private func answers(_ lines: [String], _ stage: Stage) throws -> [String] {
        try lines.flatMap { line in
            let client = try #require(stage.connect())
            defer { client.close(flush: false) }
            return stage.ask(client, line).split(separator: "\n").map(String.init)
        }
    }

    @Test func `calls that repeat the last one are answered like all others, wherever they are cut`() throws {
        let (stage, client) = try Stage.serving()
        func get(_ id: String, _ rest: String = "") -> String {
            #"{"jsonrpc":"2.0","id":\#(id),"method":"token.get","params":{"account":"bot"\#(rest)}}"#
        }
        let spaced = #"{"jsonrpc": "2.0", "id": 7, "method": "token.get", "params": {"account": "bot"}}"#
        let lines = [
            get("1"), get("2"), get("123456789012345678"), get("0"), spaced, spaced, get("3"), get("4"),
            get("3", #","min_valid":60"#), get("4", #","min_valid":60"#), get("4", #","min_valid":61"#),
            get("01"),
            get("1234567890123456789"), get("\"a\""), get("5"), get("5"), get("-1"), get("1.0"), get("null"),
            get(""),
            get("6"), get("6") + " ", get("6"), " " + get("6"), get("6"), get("6") + "x", get("6"),
            get("7", #","min_valid":99999999"#), get("8"), get("8"),
        ]
        let expected = try answers(lines, stage)
        let bytes = Array(lines.map { $0 + "\n" }.joined().utf8)
        _ = stage.ask(client, get("1"))
        for cut in 0...bytes.count {
            stage.receive(Array(bytes[..<cut]), from: client)
            stage.receive(Array(bytes[cut...]), from: client)
            stage.run()
            let lines = client.takeLines()
            if lines != expected {
                Issue.record("cut at \(cut): \(lines)")
                return
            }
        }
    }

    @Test func `what is prepared ends with the credential and with the rules, for the next turn`() throws {
        let (stage, client) = try Stage.serving()
        for _ in 0..<3 { #expect(stage.ask(client, Self.request) == Expected.token() + "\n") }
        stage.policy = Policy(instance: .user(uid: 1))
        stage.broker.configure([Definitions.http("bot")])
        #expect(stage.ask(client, Self.request).contains(#""kind":"account_unknown""#))
    }

    @Test func `a frame of one mebibyte is read and one byte more ends the connection with an error`() throws
    {
        let (stage, client) = try Stage.serving()
        let room = (1 << 20) - Self.request.utf8.count
        let padding = String(repeating: " ", count: room)
        #expect(stage.ask(client, padding + Self.request) == Expected.token() + "\n")
        #expect(!client.isClosed)
        #expect(
            stage.ask(client, padding + " " + Self.request)
                == Expected.error(
                    id: "null", -32600, "the frame is too long; 1048576 bytes are allowed", "invalid_request")
                + "\n")
        #expect(client.isClosed)
    }

    @Test func `frames before one that is too long are answered`() throws {
        let (stage, client) = try Stage.serving()
        let long = String(repeating: "x", count: (1 << 20) + 1)
        stage.receive(#"{"jsonrpc":"2.0","id":1,"method":"x"}"# + "\n" + long, from: client)
        let lines = client.takeLines()
        #expect(lines.count == 2)
        #expect(lines.first?.contains("no such method") == true)
        #expect(lines.last?.contains("too long") == true)
        #expect(client.isClosed)
    }

    @Test func `an unfinished frame ends its connection after five seconds and not before`() throws {
        let (stage, client) = try Stage.serving()
        stage.receive(#"{"jsonrpc""#, from: client)
        stage.advance(Milliseconds(4999))
        #expect(!client.isClosed)
        stage.advance(Milliseconds(1))
        #expect(client.isClosed)
        #expect(client.take() == "")
    }

    @Test func `a frame that begins behind another has its own five seconds`() throws {
        let (stage, client) = try Stage.serving()
        stage.receive(#"{"jsonrpc""#, from: client)
        stage.advance(.seconds(4))
        stage.receive(#":"2.0","id":1,"method":"rpc.nothing"}"# + "\n" + #"{"jso"#, from: client)
        stage.advance(.seconds(4))
        #expect(!client.isClosed)
        stage.advance(.seconds(1))
        #expect(client.isClosed)
    }

    @Test func `each byte of a slow frame does not buy more time`() throws {
        let (stage, client) = try Stage.serving()
        for _ in 0..<5 {
            stage.receive(" ", from: client)
            stage.advance(Milliseconds(999))
        }
        #expect(!client.isClosed)
        stage.advance(Milliseconds(5))
        #expect(client.isClosed)
    }

    @Test func `an idle connection is never closed`() throws {
        let (stage, client) = try Stage.serving()
        stage.receive(#"{"jsonrpc":"2.0","method":"rpc.hello"}"# + "\n", from: client)
        for _ in 0..<24 {
            stage.advance(.seconds(3600))
            stage.fetcher.answer(#"{"token":"abc","expires_in":3600}"#)
        }
        #expect(!client.isClosed)
    }

    @Test func `of many slow frames each is closed in its time`() throws {
        let (stage, first) = try Stage.serving()
        let second = try #require(stage.connect())
        let third = try #require(stage.connect())
        stage.receive("{", from: first)
        stage.advance(.seconds(1))
        stage.receive("{", from: second)
        stage.advance(.seconds(1))
        stage.receive("{", from: third)
        stage.receive("}\n", from: second)
        stage.advance(.seconds(3))
        #expect([first.isClosed, second.isClosed, third.isClosed] == [true, false, false])
        stage.advance(.seconds(2))
        #expect([second.isClosed, third.isClosed] == [false, true])
        stage.advance(.seconds(60))
        #expect(!second.isClosed)
    }

    @Test func `unfinished frames of one user share a budget and give it back`() throws {
        let (stage, client) = try Stage.serving()
        let piece = String(repeating: "x", count: 1 << 20)
        var others: [MemoryConnection] = []
        for _ in 0..<16 {
            let other = try #require(stage.connect())
            stage.receive(piece, from: other)
            others.append(other)
        }
        #expect(others.allSatisfy { !$0.isClosed })
        stage.receive(#"{"json"#, from: client)
        #expect(
            client.take()
                == Expected.error(
                    id: "null", 501, "unfinished frames of this user take too much room", "overloaded",
                    retryable: true, rest: #","retry_after_seconds":1"#) + "\n")
        #expect(client.isClosed)
        // Another user has a budget of its own.
        let stranger = try #require(stage.connect(uid: 1001))
        stage.receive(piece, from: stranger)
        #expect(!stranger.isClosed)
        others[0].close(flush: false)
        let next = try #require(stage.connect())
        stage.receive(piece, from: next)
        #expect(!next.isClosed)
    }

    @Test func `nothing is taken from a client that is being closed`() throws {
        let (stage, client) = try Stage.serving()
        client.isReading = false
        stage.receive(String(repeating: "x", count: (1 << 20) + 1), from: client)
        #expect(!client.isClosed)
        let before = client.receivedBytes
        stage.receive(Self.request + "\n", from: client)
        stage.run()
        #expect(client.receivedBytes == before)
        client.isReading = true
        #expect(client.isClosed)
    }
}

@Suite struct `Clients that do not read` {
    @Test func `a client may leave one long reply and a mebibyte`() throws {
        let (stage, client) = try Stage.serving()
        let token = String(repeating: "t", count: 262_144)
        let pair = stage.call(
            client, "credentials.save",
            #"{"account":"bot","id_token":"\#(token)","access_token":"\#(token.dropLast())u"}"#)
        #expect(
            pair
                == #"{"jsonrpc":"2.0","id":1,"result":{"account":"bot","saved":true,"generation":2,"expires_at":null}}"#
        )
        client.isReading = false
        stage.receive(FramingTestsRequest.line, from: client)
        stage.run()
        let reply = client.unsentBytes
        #expect(reply > 524_288)
        // Beside the longest of them a mebibyte may wait.
        stage.receive(FramingTestsRequest.line, from: client)
        stage.receive(FramingTestsRequest.line, from: client)
        #expect(!client.isClosed)
        stage.receive(FramingTestsRequest.line, from: client)
        #expect(client.isClosed)
        #expect(client.receivedBytes == 3 * reply)
    }

    @Test func `a client that reads again is served on`() throws {
        let (stage, client) = try Stage.serving()
        client.isReading = false
        for _ in 0..<1000 { stage.receive(FramingTestsRequest.line, from: client) }
        #expect(!client.isClosed)
        client.isReading = true
        #expect(stage.ask(client, String(FramingTestsRequest.line.dropLast())).contains("abc"))
    }

    @Test func `a client that closes one direction still gets its answers`() throws {
        let (stage, client) = try Stage.serving()
        stage.receive(
            #"{"jsonrpc":"2.0","id":1,"method":"auth.refresh","params":{"account":"bot"}}"# + "\n",
            from: client)
        stage.server.connectionDidEndInput(client)
        #expect(!client.isClosed)
        stage.advance(.seconds(1))
        stage.fetcher.answer(#"{"token":"def","expires_in":3600}"#)
        stage.run()
        #expect(client.take().contains(#""generation":2"#))
        #expect(client.isClosed)
        let quiet = try #require(stage.connect())
        stage.server.connectionDidEndInput(quiet)
        #expect(quiet.isClosed)
    }
}

enum FramingTestsRequest {
    static let line = #"{"jsonrpc":"2.0","id":1,"method":"token.get","params":{"account":"bot"}}"# + "\n"
}
