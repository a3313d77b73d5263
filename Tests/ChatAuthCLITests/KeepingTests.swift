import Glibc
import Testing

private func request(_ method: String, _ params: String) -> String {
    #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(params)}"#
}

@Suite struct `chatauth grant and secret` {
    @Test(
        arguments: [
            (["grant", "list"], "grant.list", "{}"),
            (["grant", "delete", "g"], "grant.delete", #"{"grant":"g"}"#),
            (["grant", "delete", "g", "--no-revoke"], "grant.delete", #"{"grant":"g","revoke":false}"#),
            (["secret", "list"], "secret.list", "{}"),
            (["secret", "delete", "s"], "secret.delete", #"{"secret":"s"}"#),
            (["auth", "deauthenticate", "bot"], "auth.deauthenticate", #"{"account":"bot"}"#),
        ] as [([String], String, String)])
    func `send exactly one request`(_ arguments: [String], _ method: String, _ params: String) {
        withProgram { program in
            let outcome = program.run(arguments, [.result(#"{"grants":[],"secrets":[]}"#)])
            #expect(outcome.requests == [request(method, params)])
            #expect(outcome.status == 0)
            #expect(outcome.output == "")
            #expect(outcome.errors == "")
        }
    }

    @Test(
        arguments: [
            ("value", "value"), ("value\n", "value"), ("value\r\n", "value"), ("value\n\n", "value\\n"),
            ("value\r", "value\\r"), ("-----BEGIN\n\"\\ä\n", "-----BEGIN\\n\\\"\\\\ä"), ("\n\n", "\\n"),
        ])
    func `a value loses one line end and nothing else`(_ input: String, _ value: String) {
        withProgram { program in
            let typed = program.run(["secret", "set", "s"], [.result(#"{"secret":"s"}"#)], input: input)
            #expect(typed.status == 0)
            #expect(typed.output == "")
            #expect(typed.requests == [request("secret.set", #"{"secret":"s","value":"\#(value)"}"#)])
            let file = program.run(
                ["secret", "set", "s", "--file", program.file("a", input)], [.result(#"{"secret":"s"}"#)])
            #expect(file.requests == typed.requests)
        }
    }

    @Test func `a value is kept to the last byte where that is asked for`() {
        withProgram { program in
            let outcome = program.run(
                ["secret", "set", "s", "--exact"], [.result(#"{"secret":"s"}"#)], input: "value\r\n")
            #expect(outcome.requests == [request("secret.set", #"{"secret":"s","value":"value\r\n"}"#)])
        }
    }

    @Test func `a refresh token comes from standard input or from a file`() {
        withProgram { program in
            let plain = program.run(
                ["grant", "import", "g"], [.result(#"{"grant":"g","generation":1}"#)], input: "rt\n")
            #expect(plain.requests == [request("grant.import", #"{"grant":"g","refresh_token":"rt"}"#)])
            #expect(plain.output == "")
            let file = program.run(
                ["grant", "import", "g", "--account", "bot", "--file", program.file("a", "rt\n"), "--json"],
                [.result(#"{"grant":"g","generation":1}"#)])
            #expect(
                file.requests
                    == [request("grant.import", #"{"grant":"g","refresh_token":"rt","account":"bot"}"#)])
            #expect(file.output == "{\"grant\":\"g\",\"generation\":1}\n")
        }
    }

    @Test(
        arguments: [
            (["secret", "set", "s"], "", "standard input: it is empty"),
            (["secret", "set", "s"], "\n", "standard input: it is empty"),
            (
                ["secret", "set", "s"], String(repeating: "x", count: 65_537),
                "standard input: it is larger than 64 KiB, which is the limit"
            ),
            (
                ["grant", "import", "g"], String(repeating: "x", count: 262_145),
                "standard input: it is larger than 256 KiB, which is the limit"
            ),
        ] as [([String], String, String)])
    func `what cannot be kept is not sent`(_ arguments: [String], _ input: String, _ message: String) {
        withProgram { program in
            let outcome = program.run(arguments, input: input)
            #expect(outcome.status == 2)
            #expect(outcome.requests.isEmpty)
            #expect(outcome.errors == "chatauth: \(message)\n")
        }
    }

    @Test func `bytes that are no text are not sent as something else`() {
        withProgram { program in
            let outcome = program.run(["secret", "set", "s", "--file", "/proc/self/exe"])
            #expect(outcome.status == 2)
            #expect(outcome.requests.isEmpty)
            let path = program.file("a", "")
            let descriptor = open(path, O_WRONLY)
            _ = write(descriptor, [0x76, 0xFF, 0x0A] as [UInt8], 3)
            close(descriptor)
            let bytes = program.run(["secret", "set", "s", "--file", path])
            #expect(bytes.status == 2)
            #expect(bytes.requests.isEmpty)
            #expect(bytes.errors == "chatauth: \(path): it is not UTF-8 text; encode it, as base64 does\n")
        }
    }

    @Test(arguments: [
        ["secret", "set", "s", "hunter2"], ["grant", "import", "g", "hunter2"],
        ["secret", "set", "hunter2/x"], ["grant", "import", "hunter2=="], ["grant", "delete", "hunter2/"],
        ["grant", "import", "g", "--account", "hunter2/"], ["secret", "set", "--value=hunter2", "s"],
    ])
    func `a value on the command line is refused and not repeated`(_ arguments: [String]) {
        withProgram { program in
            let outcome = program.run(arguments, input: "value")
            #expect(outcome.status == 2)
            #expect(outcome.requests.isEmpty)
            #expect(!outcome.errors.contains("hunter2"))
        }
    }

    @Test func `no value goes to a socket that others may have put there`() {
        withProgram { program in
            chmod(program.directory, 0o777)
            for arguments in [["secret", "set", "s"], ["grant", "import", "g"]] {
                let outcome = program.run(arguments, input: "value")
                #expect(outcome.status == 7)
                #expect(outcome.requests.isEmpty)
            }
        }
    }

    @Test func `lists are tables with a heading on a terminal, and lines of fields elsewhere`() {
        withProgram { program in
            let grants =
                #"{"grants":[{"grant":"g","state":"possibly_spent","generation":3,"received_at":1,"#
                + #""received_at_text":"1970-01-01T00:00:01Z","accounts":["a","b"]}]}"#
            #expect(
                program.run(["grant", "list"], [.result(grants)]).output
                    == "g\tpossibly_spent\t3\t1970-01-01T00:00:01Z\ta, b\n")
            #expect(
                program.run(["grant", "list"], [.result(grants)], to: .terminal).output
                    == "GRANT  STATE           GENERATION  RECEIVED_AT           ACCOUNTS\r\n"
                    + "g      \u{1B}[31mpossibly_spent\u{1B}[0m  3           1970-01-01T00:00:01Z  a, b\r\n")
            let secrets =
                #"{"secrets":[{"secret":"s","generation":2,"set_at":1,"set_at_text":"1970-01-01T00:00:01Z","#
                + #""accounts":[]}]}"#
            #expect(
                program.run(["secret", "list"], [.result(secrets)]).output
                    == "s\t2\t1970-01-01T00:00:01Z\t-\n")
            #expect(program.run(["secret", "list", "--names"], [.result(secrets)]).output == "s\n")
            #expect(program.run(["secret", "list", "--json"], [.result(secrets)]).output == secrets + "\n")
        }
    }
}

@Suite struct `chatauth says what a person would not see` {
    private let stale =
        #"{"bearer_token":"old","token_type":"Bearer","stale":true,"refresh_error":{"kind":"upstream_timeout","#
        + #""message":"the source did not answer in time"}}"#

    @Test func `that a forced refresh failed, beside the token that still holds`() {
        withProgram { program in
            let outcome = program.run(["get-token", "bot", "--force"], [.result(stale)])
            #expect(outcome.status == 0)
            #expect(outcome.output == "old\n")
            #expect(
                outcome.errors
                    == "chatauth: warning: the refresh failed, this is the token from before, which still holds: "
                    + "the source did not answer in time\n")
            #expect(program.run(["get-token", "bot"], [.result(stale)]).errors == "")
        }
    }

    @Test func `that a source gives nothing is the status of account check`() {
        withProgram { program in
            let good = program.run(["account", "check", "bot"], [.result(#"{"account":"bot","ok":true}"#)])
            #expect(good.status == 0)
            #expect(good.output == "account: bot\nok: true\n")
            for (kind, status) in [("upstream_timeout", 9), ("grant_dead", 5), ("new_kind", 6)]
                as [(String, Int32)]
            {
                let bad = program.run(
                    ["account", "check", "bot"],
                    [.result(#"{"account":"bot","ok":false,"error":{"kind":"\#(kind)","message":"why\n"}}"#)])
                #expect(bad.status == status)
                #expect(bad.output == "")
                #expect(bad.errors == "chatauth: why\\u{a}\n")
            }
        }
    }

    @Test func `that what was saved has expired`() {
        withProgram { program in
            let past = program.run(
                ["save", "bot", "--expires-at", "1"],
                [.result(#"{"account":"bot","generation":1,"expires_at":1}"#)], input: "token")
            #expect(past.status == 0)
            #expect(
                past.errors
                    == "chatauth: warning: what was saved is of no use: it expired at 1970-01-01T00:00:01Z\n")
            let future = program.run(
                ["save", "bot"], [.result(#"{"account":"bot","generation":1,"expires_at":4102444800}"#)],
                input: "token")
            #expect(future.errors == "")
        }
    }

    @Test func `that an account that is watched is not there`() {
        withProgram { program in
            let state =
                #"{"jsonrpc":"2.0","id":$ID,"result":{"topics":[],"accounts":[{"account":"bot"}],"store":"open"}}"#
            let outcome = program.run(["watch", "bot", "nosuch"], [.lastBytes(state + "\n")])
            #expect(
                outcome.errors.hasPrefix(
                    "chatauth: warning: waiting for an account that is not there, or not yours: nosuch\n"))
            #expect(outcome.output == "state account=bot\nstate store=open\n")
        }
    }

    @Test func `a state by the daemon's word for it, whichever command shows it`() {
        withProgram { program in
            let account = #"{"account":"bot","state":"no_token","generation":0}"#
            #expect(
                program.run(["status", "bot"], [.result(account)]).output
                    == "account: bot\nstate: no_token\ngeneration: 0\n")
            let list = program.run(
                ["account", "list"], [.result(#"{"accounts":[\#(account)]}"#)], to: .terminal)
            #expect(list.output.contains("no_token"))
            let plain = program.run(["account", "list"], [.result(#"{"accounts":[\#(account)]}"#)])
            #expect(plain.output == "bot\t-\tno_token\t0\t-\t-\t-\n")
            let watched = program.run(
                ["watch"],
                [.lastBytes(#"{"jsonrpc":"2.0","id":$ID,"result":{"accounts":[\#(account)]}}"# + "\n")])
            #expect(watched.output == "state account=bot state=no_token generation=0\n")
        }
    }

    @Test func `moments as dates`() {
        withProgram { program in
            let account = #"{"next_attempt_at":1,"expiries":{"backend":null,"hint":60,"exp":1}}"#
            #expect(
                program.run(["status", "bot"], [.result(account)]).output
                    == "next_attempt_at: 1970-01-01T00:00:01Z\nexpiries.backend: -\n"
                    + "expiries.hint: 1970-01-01T00:01:00Z\nexpiries.exp: 1970-01-01T00:00:01Z\n")
        }
    }

    @Test func `every socket that was looked for`() {
        withProgram { program in
            let outcome = program.run(["status"], environment: ["XDG_RUNTIME_DIR=\(program.directory)/none"])
            guard outcome.status == 3 else {
                print("SKIPPED: a system's daemon is running here")
                return
            }
            #expect(
                outcome.errors
                    == "chatauth: cannot reach the daemon at /run/chatauth/chatauth.sock: No such file or directory; "
                    + "nor is there a socket at \(program.directory)/none/chatauth/chatauth.sock; "
                    + "start chatauthd, or say where it listens with --socket\n")
        }
    }
}
