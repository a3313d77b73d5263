import Testing

private let token =
    #"{"account":"bot","generation":7,"bearer_token":"abc.def","token_type":"Bearer","#
    + #""expires_at":1900000000,"expires_at_text":"2030-03-17T17:46:40Z","expiry_source":"exp","refresh_at":1,"state":"fresh"}"#

@Suite struct `chatauth get-token` {
    @Test func `R210: prints the token and a line end`() {
        withProgram { program in
            let outcome = program.run(["get-token", "bot"], [.result(token)])
            #expect(outcome.status == 0)
            #expect(outcome.output == "abc.def\n")
            #expect(outcome.errors == "")
            #expect(
                outcome.requests == [
                    #"{"jsonrpc":"2.0","id":1,"method":"token.get","params":{"account":"bot"}}"#
                ])
        }
    }

    @Test func `sends every option`() {
        withProgram { program in
            let outcome = program.run(
                ["get-token", "bot", "--min-valid", "300", "--wait=2.5", "--force"], [.result(token)])
            #expect(outcome.status == 0)
            #expect(
                outcome.requests == [
                    #"{"jsonrpc":"2.0","id":1,"method":"token.get","params":{"account":"bot","min_valid":300,"wait":2.500,"force":true}}"#
                ])
        }
    }

    @Test func `R95: reports the current token as refused before it asks for another`() {
        withProgram { program in
            let outcome = program.run(["get-token", "bot", "--after-401"], [.result("{}"), .result(token)])
            #expect(outcome.status == 0)
            #expect(outcome.output == "abc.def\n")
            #expect(
                outcome.requests == [
                    #"{"jsonrpc":"2.0","id":1,"method":"token.reject","params":{"account":"bot","http_status":401}}"#,
                    #"{"jsonrpc":"2.0","id":2,"method":"token.get","params":{"account":"bot"}}"#,
                ])
        }
    }

    @Test(
        arguments: [
            // The refresh failed.
            (
                #""generation":1,"stale":true,"refresh_error":{"kind":"stale_credential","message":"no"}"#,
                [], 6,
                "chatauth: the token was refused, and there is no other yet: the refresh failed\n"
            ),
            // Nothing gives another, and whoever reported it may only use the account.
            (
                #""generation":6"#, [], 10, "chatauth: the token was refused, and nothing gives another\n"
            ),
            (
                #""generation":5"#, ["--generation", "5"], 10,
                "chatauth: the token was refused, and nothing gives another\n"
            ),
        ] as [(String, [String], Int32, String)])
    func `does not answer a refusal with the token that was refused`(
        _ members: String, _ options: [String], _ status: Int32, _ errors: String
    ) {
        withProgram { program in
            let outcome = program.run(
                ["get-token", "bot", "--after-401"] + options,
                [
                    .result(#"{"account":"bot","accepted":false,"generation":6}"#),
                    .result(#"{"account":"bot","bearer_token":"abc.def","token_type":"Bearer",\#(members)}"#),
                ])
            #expect(outcome.status == status)
            #expect(outcome.output == "")
            #expect(outcome.errors == errors)
        }
    }

    @Test func `warns of a token that may have been refused`() {
        withProgram { program in
            let stale =
                #"{"bearer_token":"old","token_type":"Bearer","generation":1,"stale":true,"#
                + #""refresh_error":{"kind":"stale_credential","message":"the same again"}}"#
            let outcome = program.run(["get-token", "bot"], [.result(stale)])
            #expect(outcome.status == 0)
            #expect(outcome.output == "old\n")
            #expect(
                outcome.errors
                    == "chatauth: warning: this is the token from before, which may have been refused: the same again\n"
            )
        }
    }

    @Test func `reports the generation that the caller had`() {
        withProgram { program in
            let outcome = program.run(
                ["get-token", "bot", "--after-401", "--generation", "7"],
                [
                    .error(
                        127, message: "refused again",
                        data: #"{"kind":"credential_rejected","retryable":false}"#)
                ])
            #expect(outcome.status == 10)
            #expect(outcome.output == "")
            #expect(
                outcome.requests == [
                    #"{"jsonrpc":"2.0","id":1,"method":"token.reject","params":{"account":"bot","generation":7,"http_status":401}}"#
                ])
        }
    }

    @Test(arguments: [
        ("token", "abc.def\n"),
        ("header", "Authorization: Bearer abc.def\n"),
        ("json", token + "\n"),
        ("env", "CHATAUTH_TOKEN='abc.def'\nCHATAUTH_EXPIRES_AT=1900000000\n"),
        (
            "exec-credential",
            #"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"expirationTimestamp":"2030-03-17T17:46:40Z","token":"abc.def"}}"#
                + "\n"
        ),
    ])
    func `prints every format`(_ format: String, _ expected: String) {
        withProgram { program in
            let outcome = program.run(["get-token", "bot", "--format", format], [.result(token)])
            #expect(outcome.status == 0)
            #expect(outcome.output == expected)
        }
    }

    @Test func `prints the headers of the platform`() {
        withProgram { program in
            let headers =
                #"{"headers":[["Authorization","Bearer abc"],["X-App","q\"uote"]],"generation":7,"expires_at":null}"#
            let outcome = program.run(
                ["get-token", "bot", "--format", "headers", "--wait", "1"], [.result(headers)])
            #expect(outcome.status == 0)
            #expect(outcome.output == "Authorization: Bearer abc\nX-App: q\"uote\n")
            #expect(
                outcome.requests == [
                    #"{"jsonrpc":"2.0","id":1,"method":"headers.get","params":{"account":"bot","wait":1}}"#
                ])
        }
    }

    @Test func `leaves the expiry out of formats when nobody knows it`() {
        withProgram { program in
            let eternal =
                #"{"account":"bot","generation":1,"bearer_token":"x","token_type":"Bearer","expires_at":null,"state":"fresh"}"#
            let outcome = program.run(
                ["get-token", "bot", "--format", "exec-credential"], [.result(eternal)])
            #expect(
                outcome.output
                    == #"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"x"}}"#
                    + "\n")
            #expect(
                program.run(["get-token", "bot", "--format", "env"], [.result(eternal)]).output
                    == "CHATAUTH_TOKEN='x'\n")
        }
    }

    @Test func `quotes what a shell and curl would read`() {
        withProgram { program in
            let odd =
                #"{"bearer_token":"a'b\"c\\d$(x)","token_type":"Bearer","companion_access_token":"e'f","expires_at":1.75}"#
            #expect(
                program.run(["get-token", "bot", "--format", "env"], [.result(odd)]).output
                    == #"CHATAUTH_TOKEN='a'\''b"c\d$(x)'"# + "\n" + #"CHATAUTH_COMPANION_TOKEN='e'\''f'"#
                    + "\nCHATAUTH_EXPIRES_AT=1\n")
            let headers = #"{"headers":[["Authorization","Bearer a'b\"c\\d$(x)"],["X-Device-Id","1"]]}"#
            #expect(
                program.run(["get-token", "bot", "--format", "curl"], [.result(headers)]).output
                    == #"header = "Authorization: Bearer a'b\"c\\d$(x)""# + "\n"
                    + #"header = "X-Device-Id: 1""# + "\n")
        }
    }

    @Test(arguments: [
        ("header", #"{"bearer_token":"a\r\nX-Admin: 1","token_type":"Bearer"}"#),
        ("curl", #"{"headers":[["Authorization","Bearer a\r\nX-Admin: 1"]]}"#),
    ])
    func `refuses a token that would begin another header`(_ format: String, _ bad: String) {
        withProgram { program in
            let outcome = program.run(["get-token", "bot", "--format", format], [.result(bad)])
            #expect(outcome.status == 1)
            #expect(outcome.output == "")
        }
    }

    @Test(arguments: [4097, 65_535, 65_536, 262_144])
    func `prints a token of any size byte by byte`(_ size: Int) {
        withProgram { program in
            let long = String(repeating: "0123456789abcdef", count: size / 16 + 1).prefix(size)
            let outcome = program.run(
                ["get-token", "bot"], [.result(#"{"bearer_token":"\#(long)","token_type":"Bearer"}"#)])
            #expect(outcome.status == 0)
            #expect(outcome.output == long + "\n")
        }
    }

    @Test func `warns before it prints to a terminal`() {
        withProgram { program in
            let warned = program.run(["get-token", "bot"], [.result(token)], to: .terminal)
            #expect(warned.output == "abc.def\r\n")
            #expect(
                warned.errors
                    == "chatauth: warning: a token on a terminal stays in its scrollback; --force-tty silences this\n"
            )
            let silent = program.run(["get-token", "bot", "--force-tty"], [.result(token)], to: .terminal)
            #expect(silent.output == "abc.def\r\n")
            #expect(silent.errors == "")
        }
    }
}
