import Testing

@Suite struct `Commands for chat platforms` {
    @Test(
        arguments: [
            (["auth", "authenticate", "bot"], "auth.authenticate", #"{"account":"bot"}"#),
            (["auth", "deauthenticate", "bot"], "auth.deauthenticate", #"{"account":"bot"}"#),
            (["identity", "identify", "bot"], "identity.identify", #"{"account":"bot"}"#),
            (["identity", "logout", "bot"], "identity.logout", #"{"account":"bot"}"#),
            (
                ["identity", "report", "bot", "--user-id", "u", "--conversation-id", "c"],
                "identity.report", #"{"account":"bot","user_id":"u","conversation_id":"c"}"#
            ),
            (
                ["session", "login", "bot", "--user-id", "u", "--display-name", "n", "--wait", "5"],
                "session.login", #"{"account":"bot","user_id":"u","display_name":"n","wait":5}"#
            ),
            (["session", "logout", "bot"], "session.logout", #"{"account":"bot"}"#),
            (["session", "secure-logout", "bot"], "session.secure_logout", #"{"account":"bot"}"#),
            (
                ["session", "renew", "bot", "--renewal-id", "7", "--unable"], "session.renew",
                #"{"account":"bot","renewal_id":"7","unable":true}"#
            ),
            (
                ["session", "report", "bot", "400312"], "session.report",
                #"{"account":"bot","code":400312}"#
            ),
            (["chat", "attach", "bot", "its-own"], "chat.attach", #"{"account":"bot","chat_id":"its-own"}"#),
        ] as [([String], String, String)])
    func `R49: each sends one request, and says nothing when it is done`(
        _ arguments: [String], _ method: String, _ params: String
    ) {
        withProgram { program in
            let outcome = program.run(arguments, [.result("{}")])
            #expect(
                outcome.requests == [
                    #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(params)}"#
                ])
            #expect(outcome.status == 0)
            #expect(outcome.output == "")
            #expect(outcome.errors == "")
        }
    }

    @Test(arguments: [
        (["chat", "id", "bot"], "chat_id"), (["chat", "reset", "bot"], "chat_id"),
        (["device", "id", "bot"], "device_id"), (["device", "reset", "bot"], "device_id"),
    ])
    func `an id is printed alone`(_ arguments: [String], _ member: String) {
        withProgram { program in
            let outcome = program.run(arguments, [.result(#"{"account":"bot","\#(member)":"x-1"}"#)])
            #expect(outcome.output == "x-1\n")
            #expect(outcome.status == 0)
        }
    }
}
