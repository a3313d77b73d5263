import ChatAuthAPI
import Glibc
import Testing

private let token = #"{"bearer_token":"abc","token_type":"Bearer"}"#

@Suite struct `chatauth when something fails` {
    @Test(arguments: ErrorKind.allCases)
    func `ends with the status of the kind and prints no data`(_ kind: ErrorKind) {
        withProgram { program in
            let properties = kind.properties
            let outcome = program.run(
                ["get-token", "bot"],
                [
                    .error(
                        properties.code, message: "what failed; what to do",
                        data: #"{"kind":"\#(kind.rawValue)","retryable":\#(properties.isRetryable)}"#)
                ])
            #expect(outcome.status == properties.exit.rawValue)
            #expect(outcome.output == "")
            #expect(outcome.errors == "chatauth: what failed; what to do\n")
        }
    }

    @Test func `says when to come back`() {
        withProgram { program in
            let outcome = program.run(
                ["get-token", "bot"],
                [
                    .error(
                        202, message: "too many",
                        data: #"{"kind":"rate_limited","retryable":true,"retry_after_seconds":29.9}"#)
                ])
            #expect(outcome.status == 6)
            #expect(outcome.errors == "chatauth: too many; try again in 29 s\n")
        }
    }

    @Test func `passes over a number of seconds that is none`() {
        withProgram { program in
            let outcome = program.run(
                ["get-token", "bot"],
                [
                    .error(
                        202, message: "too many",
                        data: #"{"kind":"rate_limited","retry_after_seconds":-9223372036854775808}"#)
                ])
            #expect(outcome.status == 6)
            #expect(outcome.errors == "chatauth: too many\n")
        }
    }

    @Test(
        arguments: [
            (-32601, "{}", 2), (-32602, "{}", 2), (-32603, "{}", 1),
            (9999, #"{"kind":"new_kind","retryable":true}"#, 6),
            (9999, #"{"kind":"new_kind","retryable":false}"#, 1),
        ] as [(Int64, String, Int32)])
    func `judges a kind that it does not know by its code`(_ code: Int64, _ data: String, _ status: Int32) {
        withProgram { program in
            let outcome = program.run(["get-token", "bot"], [.error(code, message: "m", data: data)])
            #expect(outcome.status == status)
            #expect(outcome.output == "")
        }
    }

    @Test func `lets no control byte of a message reach the terminal`() {
        withProgram { program in
            let outcome = program.run(
                ["get-token", "bot"],
                [.error(100, message: #"\u001b]0;owned\u0007 \u202eabc\u009b1m\nline"#, data: "{}")])
            #expect(outcome.errors == "chatauth: \\u{1b}]0;owned\\u{7} \\u{202e}abc\\u{9b}1m\\u{a}line\n")
        }
    }

    @Test(arguments: [
        ["get-token"], ["get-token", "a\nb"], ["get-token", ".hidden"], ["get-token", "a", "b"],
        ["get-token", ""],
        ["get-token", String(repeating: "x", count: 65)], ["get-token", "bot", "--min-valid", "-1"],
        ["get-token", "bot", "--min-valid", "1e3"], ["get-token", "bot", "--wait", "99999999999999999999"],
        ["get-token", "bot", "--wait"], ["get-token", "bot", "--format", "xml"],
        ["get-token", "bot", "--forc"],
        ["get-token", "bot", "--force=1"], ["get-token", "bot", "--token", "secret"],
        ["get-token", "bot", "--force", "--force"],
        ["get-token", "bot", "--generation", "1"], ["get-token", "bot", "--json", "--format", "env"],
        ["nonsense"], ["account"], ["account", "nonsense"], ["status", "bot", "--names"],
        ["call", "Token.Get"],
        ["call", "token.get", "[1"], ["call", "token.get", "1"], ["exec", "bot"],
        ["exec", "bot", "--fd", "1", "--", "true"],
        ["exec", "bot", "--env", "A=B", "--", "true"],
        ["exec", "bot", "--env", "A", "--fd", "3", "--", "true"],
        ["save", "bot", "--id-token-file", "-", "--access-token-file", "-"], ["account", "add", "a/b"],
        ["account", "add", "bot", "--allow-use", "chat"],
    ])
    func `refuses a command line before it asks anybody`(_ arguments: [String]) {
        withProgram { program in
            let outcome = program.run(arguments)
            #expect(outcome.status == 2)
            #expect(outcome.output == "")
            #expect(outcome.errors.hasPrefix("chatauth: "))
            #expect(outcome.errors.hasSuffix("\n"))
            #expect(!outcome.errors.dropLast().contains("\n"))
        }
    }

    @Test func `never repeats the value of an option that does not exist`() {
        withProgram { program in
            let outcome = program.run(["get-token", "bot", "--token=hunter2"])
            #expect(outcome.status == 2)
            #expect(!outcome.errors.contains("hunter2"))
        }
    }

    @Test func `says that nobody listens`() {
        withProgram { program in
            let outcome = program.run(
                ["get-token", "bot"], environment: ["CHATAUTH_SOCKET=\(program.directory)/nobody"])
            #expect(outcome.status == 3)
            #expect(outcome.output == "")
            #expect(
                outcome.errors == """
                    chatauth: cannot reach the daemon at \(program.directory)/nobody: No such file or directory; \
                    start chatauthd, or say where it listens with --socket

                    """)
        }
    }

    @Test(arguments: [
        #"{"jsonrpc":"2.0","id":1,"result":{"bearer_tok"#, "",
        "{\"jsonrpc\":\"2.0\",\"method\":\"x.changed\"}\n",
    ])
    func `says that the connection was lost`(_ bytes: String) {
        withProgram { program in
            let outcome = program.run(["get-token", "bot"], [.lastBytes(bytes)])
            #expect(outcome.status == 3)
            #expect(outcome.output == "")
        }
    }

    @Test(arguments: [
        "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"bearer_token\":\"a\",}}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"bearer_token\":\"a\",\"bearer_token\":\"b\"}}\n",
        "{\"jsonrpc\":\"1.0\",\"id\":$ID,\"result\":{\"bearer_token\":\"a\"}}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{}}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"bearer_token\":1}}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"error\":{\"code\":1}}\n",
        "[]\n", "HTTP/1.1 400 Bad Request\n",
        String(repeating: "x", count: 4_200_000),
    ])
    func `takes no answer that is none`(_ bytes: String) {
        withProgram { program in
            let outcome = program.run(["get-token", "bot"], [.lastBytes(bytes)])
            #expect(outcome.status == 1)
            #expect(outcome.output == "")
        }
    }

    @Test func `passes over what does not answer its question`() {
        withProgram { program in
            let outcome = program.run(
                ["get-token", "bot"],
                [
                    .bytes(
                        "{\"jsonrpc\":\"2.0\",\"method\":\"token.changed\",\"params\":{}}\n"
                            + "{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{\"bearer_token\":\"other\"}}\n"
                            + "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":\(token)}\r\n")
                ])
            #expect(outcome.status == 0)
            #expect(outcome.output == "abc\n")
        }
    }

    @Test func `gives up on a daemon that says nothing`() {
        withProgram { program in
            let outcome = program.run(["get-token", "bot", "--timeout", "0.2"], [.silence])
            #expect(outcome.status == 9)
            #expect(outcome.output == "")
        }
    }

    @Test func `fails when the output cannot be written`() {
        withProgram { program in
            let full = program.run(["get-token", "bot"], [.result(token)], to: .path("/dev/full"))
            #expect(full.status == 1)
            #expect(full.errors == "chatauth: cannot write the output: No space left on device\n")
            let broken = program.run(["get-token", "bot"], [.result(token)], to: .closedPipe)
            #expect(broken.status == 1)
            #expect(broken.errors == "chatauth: cannot write the output: Broken pipe\n")
            let closed = program.run(["get-token", "bot"], [.result(token)], to: .closed)
            #expect(closed.status == 1)
            #expect(closed.requests.count == 1)
            #expect(program.run(["--help"], to: .path("/dev/full")).status == 1)
        }
    }

    @Test func `sends no secret to a socket that others could have put there`() {
        withProgram { program in
            chmod(program.directory, 0o777)
            let outcome = program.run(["save", "bot"], input: "secret\n")
            #expect(outcome.status == 7)
            #expect(outcome.output == "")
        }
    }
}
