import CLinux
import Glibc
import Testing

import ChatAuthCLI

@Suite struct `The command table` {
    private func run(_ arguments: [String]) -> String {
        var output = ""
        withProgram { program in
            let outcome = program.run(arguments, environment: [])
            #expect(outcome.status == 0)
            #expect(outcome.errors == "")
            output = outcome.output
        }
        return output
    }

    @Test func `gives every command to help, manual and completions`() {
        let help = run(["help"])
        let pages = ["man", "bash", "zsh", "fish"].map { run(["--generate", $0]) }
        for command in Command.allCases {
            let description = command.description
            #expect(help.contains(description.summary.description))
            for text in [help] + pages { #expect(text.contains(description.word.description)) }
        }
        for option in Option.allCases {
            for (index, page) in pages.enumerated() {
                // The page options are for whoever installs the program; bash completes them nowhere.
                if index == 1, [.generate].contains(option) { continue }
                let dashes = index == 0 ? "Fl -" : index == 3 ? "-l " : "--"
                #expect(page.contains(dashes + option.name.description), "\(option) on page \(index)")
            }
        }
    }

    @Test(arguments: Command.allCases)
    func `gives every option to the help of its command`(_ command: Command) {
        let description = command.description
        let words = (description.group.map { [$0.description] } ?? []) + [description.word.description]
        let help = run(["help"] + words)
        #expect(help == run(words + ["--help"]))
        (description.options | Option.everywhere).forEach { option in
            #expect(help.contains("  --" + option.name.description))
            #expect(help.contains(option.summary.description))
        }
    }

    @Test(arguments: [
        "account", "auth", "identity", "session", "chat", "device", "handler", "grant", "secret", "store",
    ])
    func `lists the commands of a group, one a line`(_ group: String) {
        let help = run(["help", group])
        #expect(help == run([group, "--help"]))
        let lines = help.split(separator: "\n").filter { $0.hasPrefix("  \(group) ") }
        let commands = Command.allCases.map(\.description).filter { $0.group?.description == group }
        #expect(lines.count == commands.count && !commands.isEmpty)
        for (line, command) in zip(lines, commands) {
            #expect(
                line.hasPrefix("  \(group) \(command.word)") && line.hasSuffix(command.summary.description))
        }
    }

    @Test func `waits for a login and its end longer than the daemon does`() {
        // The longest login_timeout, and the longest request behind it.
        let longest: Int64 = (300 + 60) * 1000
        for command in [
            Command.sessionLogin, .sessionLoginWithAccessToken, .sessionLogout, .sessionSecureLogout,
        ] { #expect(command.usualWait >= longest) }
        #expect(Command.getToken.usualWait == 20_000)
    }

    @Test func `names every method that a command calls`() {
        #expect(run(["help", "doctor"]).contains("\nMethods: account.doctor, daemon.doctor\n"))
        #expect(run(["help", "status"]).contains("\nMethods: daemon.status, account.show\n"))
        #expect(run(["help", "get-token"]).contains("\nMethods: token.get, token.reject, headers.get\n"))
        #expect(run(["help", "chat", "id"]).contains("\nMethod: chat.id\n"))
    }

    @Test func `names options and commands once`() {
        let options = Option.allCases.map(\.name.description)
        #expect(Set(options).count == options.count)
        let commands = Command.allCases.map {
            "\($0.description.group?.description ?? "") \($0.description.word)"
        }
        #expect(Set(commands).count == commands.count)
    }

    @Test(arguments: [
        ("man", "/usr/bin/mandoc", ["-T", "lint", "-W", "warning"]), ("bash", "/usr/bin/bash", ["-n"]),
        ("zsh", "/usr/bin/zsh", ["-n"]), ("fish", "/usr/bin/fish", ["-n"]),
    ])
    func `makes pages that their readers understand`(_ page: String, _ reader: String, _ arguments: [String])
    {
        guard access(reader, X_OK) == 0 else {
            print("SKIPPED: \(reader) is not installed")
            return
        }
        withProgram { program in
            let path = program.file("a", run(["--generate", page]))
            var argv = ([reader] + arguments + [path]).map { strdup($0) } + [nil]
            var child: pid_t = 0
            #expect(posix_spawn(&child, reader, nil, nil, &argv, [nil]) == 0)
            var status: Int32 = 0
            waitpid(child, &status, 0)
            #expect(status == 0)
            for pointer in argv { free(pointer) }
        }
    }

    @Test func `prints the version`() {
        #expect(run(["--version"]) == "chatauth \(Tool.version)\n")
    }
}

@Suite struct `Times for people` {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00Z"), (-1, "1969-12-31T23:59:59Z"), (951_782_400, "2000-02-29T00:00:00Z"),
            (1_900_000_000, "2030-03-17T17:46:40Z"), (4_107_542_400, "2100-03-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"), (Int64.max, "9999-12-31T23:59:59Z"),
            (Int64.min, "0000-01-01T00:00:00Z"),
        ] as [(Int64, String)])
    func `are RFC 3339 in UTC`(_ seconds: Int64, _ expected: String) {
        withProgram { program in
            let outcome = program.run(
                ["get-token", "bot", "--format", "exec-credential"],
                [.result(#"{"bearer_token":"x","expires_at":\#(seconds)}"#)])
            // Beyond what a double holds exactly a time is no time.
            let isKnown = seconds.magnitude < 1 << 53
            #expect(outcome.output.contains("\"expirationTimestamp\":\"\(expected)\"") == isKnown)
        }
    }
}
