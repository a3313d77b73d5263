import CLinux
import Glibc
import Testing

private func request(_ method: String, _ params: String, id: Int = 1) -> String {
    #"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)","params":\#(params)}"#
}

@Suite struct `chatauth commands` {
    @Test(
        arguments: [
            (["headers", "bot", "--route", "chat"], "headers.get", #"{"account":"bot","route":"chat"}"#),
            (["reject", "bot"], "token.reject", #"{"account":"bot"}"#),
            (
                [
                    "reject", "bot", "--generation", "3", "--http-status", "401", "--code",
                    "expired \"token\"",
                ], "token.reject",
                #"{"account":"bot","generation":3,"http_status":401,"code":"expired \"token\""}"#
            ),
            (["account", "remove", "bot"], "account.remove", #"{"account":"bot"}"#),
            (["account", "start", "bot"], "account.start", #"{"account":"bot"}"#),
            (["account", "stop", "bot"], "account.stop", #"{"account":"bot"}"#),
            (["account", "check", "bot"], "account.check", #"{"account":"bot"}"#),
            (["account", "show", "bot"], "account.show", #"{"account":"bot"}"#),
            (["account", "list"], "account.list", "{}"),
            (
                [
                    "account", "add", "bot", "--provider", "generic", "--allow-use", "user:chat",
                    "--allow-use", "group:agents",
                    "--allow-operate", "user:root", "--no-autostart",
                ], "account.add",
                #"{"account":"bot","provider":"generic","allow":{"use":[{"user":"chat"},{"group":"agents"}],"operate":[{"user":"root"}]},"autostart":false}"#
            ),
            (
                ["auth", "refresh", "bot", "--reason", "by hand", "--wait", "5"], "auth.refresh",
                #"{"account":"bot","reason":"by hand","wait":5}"#
            ),
            (["status"], "daemon.status", "{}"),
            (["status", "bot"], "account.show", #"{"account":"bot"}"#),
            (["store", "status"], "store.status", "{}"),
            (["metrics"], "daemon.metrics", "{}"),
            (["reload"], "daemon.reload", "{}"),
            (["call", "rpc.discover"], "rpc.discover", "{}"),
            (["call", "token.get", "{\"account\":\n \"bot\"}"], "token.get", #"{"account":  "bot"}"#),
        ] as [([String], String, String)])
    func `send exactly one request`(_ arguments: [String], _ method: String, _ params: String) {
        withProgram { program in
            let outcome = program.run(
                arguments, [.result(##"{"headers":[],"accounts":[],"ok":true,"openmetrics":"# EOF\n"}"##)])
            #expect(outcome.requests == [request(method, params)])
            #expect(outcome.status == 0)
            #expect(outcome.errors == "")
        }
    }

    @Test(arguments: [
        ["reject", "bot"], ["account", "remove", "bot"], ["account", "start", "bot"],
        ["account", "stop", "bot"],
        ["auth", "refresh", "bot"], ["reload"], ["account", "add", "bot"],
    ])
    func `that change something say nothing unless JSON is asked for`(_ arguments: [String]) {
        withProgram { program in
            #expect(program.run(arguments, [.result(#"{"generation":8}"#)]).output == "")
            #expect(
                program.run(arguments + ["--json"], [.result(#"{"generation":8}"#)]).output
                    == "{\"generation\":8}\n")
        }
    }

    @Test func `print the whole answer as JSON`() {
        withProgram { program in
            for arguments in [
                ["status"], ["status", "bot"], ["store", "status"], ["metrics"], ["headers", "bot"],
                ["call", "x.y"],
            ] {
                let outcome = program.run(
                    arguments + ["--json"], [.result(#"{"a":[1,{"b":null}],"new":"\u001b"}"#)])
                #expect(outcome.output == #"{"a":[1,{"b":null}],"new":"\u001b"}"# + "\n")
            }
        }
    }

    @Test func `show a line a member, also what they do not know`() {
        withProgram { program in
            let status =
                #"{"account":"bot","state":"fresh","expires_at":1900000000,"expires_at_text":"2030-03-17T17:46:40Z","#
                + #""refresh_at":null,"expiries":{"exp":1900000000,"hint":null},"rules":[],"odd":["a","b\u001b"],"note":"x\ny"}"#
            let outcome = program.run(["status", "bot"], [.result(status)])
            #expect(
                outcome.output == """
                    account: bot
                    state: fresh
                    expires_at: 2030-03-17T17:46:40Z
                    refresh_at: -
                    expiries.exp: 2030-03-17T17:46:40Z
                    expiries.hint: -
                    rules: -
                    odd: a, b\\u{1b}
                    note: x\\u{a}y

                    """)
        }
    }

    @Test func `colour a state on a terminal only, and not with NO_COLOR`() {
        withProgram { program in
            let status = #"{"version":"1","state":"sealed"}"#
            #expect(
                program.run(["status"], [.result(status)], to: .terminal).output
                    == "version: 1\r\nstate:   \u{1B}[31msealed\u{1B}[0m\r\n")
            #expect(
                program.run(
                    ["status"], [.result(status)], to: .terminal,
                    environment: ["NO_COLOR=1", "CHATAUTH_SOCKET=\(program.directory)/chatauth.sock"]
                ).output == "version: 1\r\nstate:   sealed\r\n")
        }
    }

    @Test func `give each remark a line of its own, since it has commas`() {
        withProgram { program in
            let status = #"{"remarks":["a, and b","c"],"kinds":["x","y"]}"#
            #expect(
                program.run(["status"], [.result(status)]).output
                    == "remarks: a, and b\nremarks: c\nkinds: x, y\n")
        }
    }

    @Test func `points to the commands of a group that is not followed by one`() {
        withProgram { program in
            let outcome = program.run(["session"], [])
            #expect(outcome.status == 2)
            #expect(
                outcome.errors
                    == "chatauth: session must be followed by what to do; see chatauth help session\n")
        }
    }

    @Test func `print metrics as they came`() {
        withProgram { program in
            let outcome = program.run(["metrics"], [.result(##"{"openmetrics":"a 1\n# EOF\n"}"##)])
            #expect(outcome.output == "a 1\n# EOF\n")
        }
    }

    @Test func `list all pages of accounts`() {
        withProgram { program in
            let first =
                #"{"accounts":[{"account":"a","provider":"generic","state":"fresh","generation":3,"expires_at":1,"#
                + #""expires_at_text":"1970-01-01T00:00:01Z","refresh_at":null,"source":"http"}],"cursor":"a"}"#
            let second = #"{"accounts":[{"account":"bb","provider":"generic","state":"expired"}]}"#
            let script: [Program.Step] = [.result(first), .result(second)]
            let plain = program.run(["account", "list"], script)
            #expect(
                plain.requests == [
                    request("account.list", "{}"), request("account.list", #"{"cursor":"a"}"#, id: 2),
                ])
            #expect(
                plain.output
                    == "a\tgeneric\tfresh\t3\t1970-01-01T00:00:01Z\t-\thttp\nbb\tgeneric\texpired\t-\t-\t-\t-\n"
            )
            #expect(program.run(["account", "list", "--names"], script).output == "a\nbb\n")
            let json = program.run(["account", "list", "--json"], script).output
            #expect(
                json == #"{"accounts":["# + first.dropFirst(13).dropLast(15) + ","
                    + second.dropFirst(13).dropLast(2) + "]}\n")
            #expect(
                program.run(["account", "list"], script, to: .terminal).output
                    == "ACCOUNT  PROVIDER  STATE    GENERATION  EXPIRES_AT            REFRESH_AT  SOURCE\r\n"
                    + "a        generic   \u{1B}[32mfresh\u{1B}[0m    3           1970-01-01T00:00:01Z  -           http\r\n"
                    + "bb       generic   \u{1B}[31mexpired\u{1B}[0m  -           -                     -           -\r\n"
            )
        }
    }

    @Test func `R40, R88: watch prints what has become noticeable, and what is worth being asked for again`()
    {
        withProgram { program in
            let events =
                #"{"jsonrpc":"2.0","id":$ID,"result":{"accounts":[{"account":"bot","auth":"anonymous","warnings":["issuer_missing"]}]}}"#
                + "\n"
                + #"{"jsonrpc":"2.0","method":"credential.warning","params":{"account":"bot","kind":"opaque_without_expiry","generation":2}}"#
                + "\n"
                + #"{"jsonrpc":"2.0","method":"identity.merge_hint","params":{"account":"desk","merge":"pending","suggestion":"list_conversations_again"}}"#
                + "\n"
            #expect(
                program.run(["watch"], [.lastBytes(events)]).output.split(separator: "\n") == [
                    #"state account=bot auth=anonymous warnings=["issuer_missing"]"#,
                    "credential.warning account=bot kind=opaque_without_expiry generation=2",
                    "identity.merge_hint account=desk merge=pending suggestion=list_conversations_again",
                ])
        }
    }

    @Test func `watch prints an event a line`() {
        withProgram { program in
            let events =
                #"{"jsonrpc":"2.0","method":"token.changed","params":{"account":"bot","from":"fresh","to":"due","cause":null,"why":"two words","at":1,"at_text":"1970-01-01T00:00:01Z"}}"#
                + "\n" + #"{"jsonrpc":"2.0","id":$ID,"result":{}}"# + "\n"
                + #"{"jsonrpc":"2.0","method":"events.overflow"}"# + "\n"
            let outcome = program.run(["watch", "bot", "--topic", "token"], [.lastBytes(events)])
            #expect(
                outcome.requests == [request("events.subscribe", #"{"topics":["token"],"accounts":["bot"]}"#)]
            )
            #expect(
                outcome.output
                    == "token.changed account=bot from=fresh to=due why=\"two words\" at=1970-01-01T00:00:01Z\nevents.overflow\n"
            )
            #expect(outcome.status == 3)
            let raw = program.run(["watch", "--json"], [.lastBytes(events)])
            #expect(
                raw.requests == [
                    request(
                        "events.subscribe",
                        #"{"topics":["token","auth","identity","session","account","handler","daemon","push"]}"#
                    )
                ])
            #expect(
                raw.output.split(separator: "\n").last == #"{"jsonrpc":"2.0","method":"events.overflow"}"#)
        }
    }
}

@Suite struct `chatauth commands that read files` {
    @Test func `save one token from standard input`() {
        withProgram { program in
            for end in ["", "\n", "\r\n"] {
                let outcome = program.run(
                    ["save", "bot", "--expires-at", "1900000000"], [.result("{}")], input: "abc.def" + end)
                #expect(outcome.status == 0)
                #expect(outcome.output == "")
                #expect(
                    outcome.requests == [
                        request(
                            "credentials.save_token",
                            #"{"account":"bot","token":"abc.def","expires_at":1900000000}"#)
                    ])
            }
        }
    }

    @Test(arguments: [
        "soon", "1e400", "-1", "1.5", "2030-01-01", "2030-01-01T00:00:00", "2030-13-01T00:00:00Z",
        "2030-01-01T24:00:00Z", "2030-01-01T00:00:00.Z", "2030-01-01T00:00:00+1:00", "2030-01-01T00:00:00Zx",
        "1234567890123456789",
    ])
    func `save nothing whose expiry is no time`(_ time: String) {
        withProgram { program in
            let outcome = program.run(["save", "bot", "--expires-at", time], input: "abc")
            #expect(outcome.status == 2)
            #expect(outcome.errors.contains("seconds since 1970 or an RFC 3339 time"))
            #expect(outcome.requests.isEmpty)
        }
    }

    @Test(arguments: ["2030-01-01t00:00:00z", "2030-12-31T23:59:60.25+05:30", "2030-01-01T00:00:00-00:00"])
    func `save with an expiry in any form of RFC 3339`(_ time: String) {
        withProgram { program in
            let outcome = program.run(
                ["save", "bot", "--expires-at", time], [.result("{}")], input: "abc")
            #expect(outcome.status == 0)
            #expect(
                outcome.requests == [
                    request(
                        "credentials.save_token",
                        #"{"account":"bot","token":"abc","expires_at":"\#(time)"}"#)
                ])
        }
    }

    @Test func `R44: save a pair from files`() {
        withProgram { program in
            let path = program.file("a", "id-token\n")
            let outcome = program.run(
                [
                    "save", "bot", "--id-token-file", path, "--access-token-file", "-", "--issuer",
                    "https://idp",
                    "--expires-at", "2030-01-01T00:00:00Z",
                ], [.result("{}")], input: "access\"token\\")
            #expect(outcome.status == 0)
            #expect(
                outcome.requests == [
                    request(
                        "credentials.save",
                        #"{"account":"bot","id_token":"id-token","access_token":"access\"token\\","issuer":"https://idp","expires_at":"2030-01-01T00:00:00Z"}"#
                    )
                ])
        }
    }

    @Test(arguments: [
        "", "\n", "a b", "a\nb", "a\n\n", "ä", "a\u{0}", String(repeating: "x", count: 262_145),
    ])
    func `save nothing that is no token`(_ text: String) {
        withProgram { program in
            let outcome = program.run(["save", "bot"], input: text)
            #expect(outcome.status == 2)
            #expect(outcome.output == "")
            #expect(
                outcome.errors.hasPrefix("chatauth: standard input: it is ")
                    || outcome.errors.contains("visible ASCII"))
        }
    }

    @Test func `save the largest token`() {
        withProgram { program in
            let token = String(repeating: "x", count: 262_144)
            let outcome = program.run(["save", "bot"], [.result("{}")], input: token + "\n")
            #expect(outcome.status == 0)
            #expect(
                outcome.requests == [
                    request("credentials.save_token", #"{"account":"bot","token":"\#(token)"}"#)
                ])
        }
    }

    @Test func `add an account from a file`() {
        withProgram { program in
            let path = program.file(
                "a",
                "{\n \"account\": \"other\",\n \"provider\": \"generic\",\n \"source\": {\n\"kind\": \"http\"}}\n"
            )
            let outcome = program.run(["account", "add", "bot", path, "--no-autostart"], [.result("{}")])
            #expect(outcome.status == 0)
            #expect(
                outcome.requests == [
                    request(
                        "account.add",
                        #"{"account":"bot","provider":"generic","source":{ "kind": "http"},"autostart":false}"#
                    )
                ])
            let twice = program.run(["account", "add", "bot", path, "--provider", "x"])
            #expect(twice.status == 2)
            #expect(twice.errors.hasPrefix("chatauth: provider is given by the file and by an option"))
        }
    }

    @Test func `add an account whose source stands in a file`() {
        withProgram { program in
            let outcome = program.run(
                ["account", "add", "bot", "--source", "-"], [.result("{}")], input: #"{"kind":"static"}"#)
            #expect(
                outcome.requests == [request("account.add", #"{"account":"bot","source":{"kind":"static"}}"#)]
            )
            #expect(program.run(["account", "add", "bot", "--source", "-"], input: "[]").status == 2)
            // What is given and not named is not left unread.
            let unread = program.run(["account", "add", "bot"], input: #"{"provider":"generic"}"#)
            #expect(unread.status == 2)
            #expect(unread.errors.contains("standard input is not read unless - stands for the file"))
            let named = program.run(
                ["account", "add", "bot", "--provider", "generic"], [.result("{}")], input: "next-bot\n")
            #expect(named.status == 0)
            #expect(program.run(["account", "add", "bot", "--source", "/nonexistent"]).status == 2)
        }
    }

    @Test func `call a method with parameters from standard input`() {
        withProgram { program in
            let outcome = program.run(["call", "a.b", "-"], [.result("[1]")], input: "{\"secret\":\n1}\n")
            #expect(outcome.requests == [request("a.b", "{\"secret\": 1} ")])
            #expect(outcome.output == "[1]\n")
        }
    }
}

@Suite struct `chatauth exec` {
    private let token = #"{"bearer_token":"abc'def","token_type":"Bearer"}"#

    @Test func `puts the token into a variable`() {
        withProgram { program in
            let outcome = program.run(
                [
                    "exec", "bot", "--min-valid", "60", "--", "sh", "-c",
                    "printf %s \"$CHATAUTH_TOKEN\"; exit 7",
                ],
                [.result(token)])
            #expect(outcome.status == 7)
            #expect(outcome.output == "abc'def")
            #expect(outcome.requests == [request("token.get", #"{"account":"bot","min_valid":60}"#)])
        }
    }

    @Test func `replaces a variable and leaves the others`() {
        withProgram { program in
            let outcome = program.run(
                ["exec", "bot", "--env", "TOKEN", "--", "env"], [.result(token)],
                environment: [
                    "PATH=/usr/bin:/bin", "TOKEN=old", "TOKENS=kept", "SWIFT_BACKTRACE=mine",
                    "CHATAUTH_SOCKET=\(program.directory)/chatauth.sock",
                ])
            #expect(outcome.status == 0)
            let kept = [
                "PATH=/usr/bin:/bin", "TOKENS=kept", "SWIFT_BACKTRACE=mine",
                "CHATAUTH_SOCKET=\(program.directory)/chatauth.sock",
            ]
            let expected = kept + type(of: program).sanitizer + ["TOKEN=abc'def", ""]
            #expect(outcome.output == expected.joined(separator: "\n"))
        }
    }

    @Test(arguments: ["3", "4", "700", "0"])
    func `lets the token be read from a descriptor`(_ number: String) {
        withProgram { program in
            let outcome = program.run(
                [
                    "exec", "bot", "--fd", number, "--", "bash", "-c",
                    "cat <&\(number); echo; env | grep -c abc",
                ],
                [.result(token)])
            #expect(outcome.output == "abc'def\n0\n")
        }
    }

    @Test func `hands on no other descriptor`() {
        withProgram { program in
            let count = ["--", "sh", "-c", "ls /proc/self/fd | wc -l"]
            let without = program.run(["exec", "bot"] + count, [.result(token)]).output
            let with = program.run(["exec", "bot", "--fd", "700"] + count, [.result(token)]).output
            #expect(Int(with.dropLast()) == Int(without.dropLast()).map { $0 + 1 })
        }
    }

    @Test func `lets nobody write to that descriptor`() {
        withProgram { program in
            let outcome = program.run(
                ["exec", "bot", "--fd", "3", "--", "sh", "-c", "echo x >&3 || echo refused"], [.result(token)]
            )
            #expect(outcome.output == "refused\n")
        }
    }

    @Test func `ends as a shell does when the program cannot be run`() {
        withProgram { program in
            let missing = program.run(["exec", "bot", "--", "/nonexistent"], [.result(token)])
            #expect(missing.status == 127)
            #expect(missing.errors == "chatauth: cannot run /nonexistent: No such file or directory\n")
            #expect(program.run(["exec", "bot", "--", "/dev/null"], [.result(token)]).status == 126)
        }
    }

    @Test func `hands on what stands behind the dashes as it is`() {
        withProgram { program in
            let outcome = program.run(
                ["exec", "bot", "--", "printf", "<%s>", "--force", "--", "a b", ""], [.result(token)])
            #expect(outcome.output == "<--force><--><a b><>")
        }
    }
}

@Suite struct `chatauth finds its daemon` {
    private let token = #"{"bearer_token":"abc","token_type":"Bearer"}"#

    @Test func `in the user's runtime directory`() {
        withProgram(socket: "chatauth/chatauth.sock") { program in
            let outcome = program.run(
                ["get-token", "bot"], [.result(token)], environment: ["XDG_RUNTIME_DIR=\(program.directory)"])
            #expect(outcome.output == "abc\n")
        }
    }

    @Test func `at the system's place when the user has none`() {
        withProgram { program in
            let outcome = program.run(
                ["get-token", "bot"], environment: ["XDG_RUNTIME_DIR=\(program.directory)"])
            // Where a system daemon runs it may answer; it does not know the account.
            #expect(
                outcome.status == 3
                    ? outcome.errors.contains(" /run/chatauth/chatauth.sock: ") : outcome.status == 4)
        }
    }

    @Test func `and never asks a second one`() {
        withProgram(socket: "chatauth/chatauth.sock") { program in
            let outcome = program.run(
                ["get-token", "bot"],
                [.error(100, message: "unknown", data: #"{"kind":"account_unknown","retryable":false}"#)],
                environment: ["XDG_RUNTIME_DIR=\(program.directory)"])
            #expect(outcome.status == 4)
            #expect(outcome.requests.count == 1)
        }
    }

    @Test func `and sends what only administrators may ask to the socket beside it`() {
        withProgram(socket: "chatauth-admin.sock") { program in
            let ordinary = program.directory + "/chatauth.sock"
            let listener = ordinary.utf8CString.withUnsafeBufferPointer {
                cl_listen_unix($0.baseAddress, $0.count - 1, 0o600, 16)
            }
            defer { close(listener) }
            for arguments in [
                ["store", "status"], ["reload"], ["account", "remove", "bot"], ["call", "store.status"],
            ] {
                let outcome = program.run(
                    arguments, [.result("{}")], environment: ["CHATAUTH_SOCKET=\(ordinary)"])
                #expect(outcome.status == 0)
                #expect(outcome.requests.count == 1)
            }
        }
    }
}
