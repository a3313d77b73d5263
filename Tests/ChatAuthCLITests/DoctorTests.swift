import Testing

@Suite struct `chatauth doctor` {
    private static let well =
        #"{"ok":true,"findings":[{"severity":"ok","code":"nothing_found","message":"nothing is wrong"}]}"#
    private static let ill =
        #"{"ok":false,"findings":[{"severity":"error","code":"handler_missing","message":"no handler","fix":"start it","error":{"kind":"handler_required"}},"#
        + #"{"severity":"hint","code":"strategy_missing","message":"a\u001b[31m","fix":"set it"}]}"#

    @Test func `asks about an account, and prints a finding a line`() {
        withProgram { program in
            let outcome = program.run(["doctor", "bot"], [.result(Self.well)])
            #expect(
                outcome.requests == [
                    #"{"jsonrpc":"2.0","id":1,"method":"account.doctor","params":{"account":"bot"}}"#
                ])
            #expect(outcome.output == "ok nothing_found: nothing is wrong\n")
            #expect(outcome.status == 0)
            #expect(outcome.errors == "")
        }
    }

    @Test func `asks about the daemon without an account`() {
        withProgram { program in
            let outcome = program.run(["doctor"], [.result(Self.well)])
            #expect(
                outcome.requests == [#"{"jsonrpc":"2.0","id":1,"method":"daemon.doctor","params":{}}"#])
            #expect(outcome.status == 0)
            #expect(program.run(["doctor", "--online"], []).status == 2)
        }
    }

    @Test func `ends with the status of the worst finding, behind all of them`() {
        withProgram { program in
            let outcome = program.run(["doctor", "bot", "--online"], [.result(Self.ill)])
            #expect(
                outcome.requests == [
                    #"{"jsonrpc":"2.0","id":1,"method":"account.doctor","params":{"account":"bot","online":true}}"#
                ])
            #expect(
                outcome.output
                    == "error handler_missing: no handler; to do: start it\n"
                    + "hint strategy_missing: a\\u{1b}[31m; to do: set it\n")
            #expect(outcome.errors == "chatauth: 1 finding is an error\n")
            #expect(outcome.status == 5)
        }
    }

    @Test func `is 10 for an error of no kind`() {
        withProgram { program in
            let answer =
                #"{"ok":false,"findings":[{"severity":"error","code":"bind_rejected","message":"m"}]}"#
            #expect(program.run(["doctor", "bot"], [.result(answer)]).status == 10)
        }
    }

    @Test func `prints the whole answer as JSON`() {
        withProgram { program in
            let outcome = program.run(["doctor", "bot", "--json"], [.result(Self.ill)])
            #expect(outcome.output == Self.ill + "\n")
            #expect(outcome.status == 5)
        }
    }
}
