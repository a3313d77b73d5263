import ChatAuthAPI

/// A command: the words that choose it, what it takes, and the method that it calls.
///
/// One table for parser, help, man page and completions. It is a function and not a stored table, so that a start builds nothing
/// but the row that it needs.
enum Command: UInt8, CaseIterable {
    case getToken, headers, exec, save, reject
    case status, watch, call
    case accountAdd, accountRemove, accountList, accountShow, accountStart, accountStop, accountCheck
    case authRefresh
    case storeStatus, metrics, reload
    case help

    /// An argument that is no option.
    struct Operand {
        let name: StaticString
        let kind: Kind
        var isRequired = true
        var isRepeated = false

        /// What completions offer for it.
        enum Kind { case account, file, command, method, text, program }

        static let account = Operand(name: "ACCOUNT", kind: .account)
    }

    struct Description {
        /// The command, or what to do within a group of them.
        let word: StaticString
        /// The word before it, of commands that have two.
        let group: StaticString?
        let first: Operand?
        let second: Operand?
        let options: Options
        /// The method that it calls above all; nil: it chooses, or calls none.
        let method: Method?
        let summary: StaticString
        /// Sentences for the manual, after the summary.
        let details: StaticString

        init(
            group: StaticString? = nil, _ word: StaticString, _ first: Operand? = nil,
            _ second: Operand? = nil,
            options: Options = Options(), method: Method? = nil, summary: StaticString,
            details: StaticString = ""
        ) {
            self.word = word
            self.group = group
            self.first = first
            self.second = second
            self.options = options
            self.method = method
            self.summary = summary
            self.details = details
        }

        /// The operands in their order.
        var operands: [Operand] { [first, second].compactMap { $0 } }
    }

    /// Every command in the order of the table, without an array of them.
    static func forEach(_ body: (Command) -> Bool) {
        var raw: UInt8 = 0
        while let command = Command(rawValue: raw), body(command) { raw += 1 }
    }

    var description: Description {
        switch self {
        case .getToken:
            Description(
                "get-token", .account,
                options: .minValid | .wait | .force | .after401 | .generation | .format | .forceTTY,
                method: .tokenGet, summary: "print a bearer token that is valid now",
                details: """
                    With --after-401 the token is reported as refused first, the current one or that of --generation, \
                    and another one is asked for. \
                    A token that is printed to a terminal stays in its scrollback: there is a warning, unless --force-tty \
                    is given.
                    """)
        case .headers:
            Description(
                "headers", .account, options: .route | .minValid | .wait | .forceTTY, method: .headersGet,
                summary: "print the complete header list for a request to the platform",
                details: "One header a line, the name, a colon, a space and the value.")
        case .exec:
            Description(
                "exec", .account, Operand(name: "COMMAND", kind: .program, isRepeated: true),
                options: .env | .fd | .minValid | .wait, method: .tokenGet,
                summary: "run a program that gets the token",
                details: """
                    The program replaces chatauth and stands behind --. Its environment can be read by every process of \
                    the same user and is handed on to its children; a descriptor is not. A descriptor holds the token and \
                    nothing else, in memory, ready to be read from its beginning. The exit status is the program's; \
                    126 when it cannot be run and 127 when it is not found.
                    """)
        case .save:
            Description(
                "save", .account, options: .idTokenFile | .accessTokenFile | .issuer | .expiresAt,
                method: .credentialsSave, summary: "replace the credential of an account",
                details: """
                    Without a file option the token is read from standard input. One line end behind a token is not part \
                    of it. The tokens replace the whole credential: what is not given is gone. A token never stands on \
                    the command line, where every user could see it.
                    """)
        case .reject:
            Description(
                "reject", .account, options: .generation | .httpStatus | .code, method: .tokenReject,
                summary: "report that the platform refused the token",
                details: "The daemon refreshes once for each refused generation.")
        case .status:
            Description(
                "status", Operand(name: "ACCOUNT", kind: .account, isRequired: false), method: .daemonStatus,
                summary: "say how the daemon is, or one account")
        case .watch:
            Description(
                "watch", Operand(name: "ACCOUNT", kind: .account, isRequired: false, isRepeated: true),
                options: Options(.topic), method: .eventsSubscribe,
                summary: "print each change, one a line, until interrupted",
                details: """
                    The current state comes first, then each change once and in order. events.overflow says that some were \
                    lost because they were not read fast enough. It ends with the connection, with exit status 3.
                    """)
        case .call:
            Description(
                "call",
                Operand(name: "METHOD", kind: .method), Operand(name: "JSON", kind: .text, isRequired: false),
                summary: "call a method with parameters as JSON and print the result",
                details: """
                    The parameters are an object or an array; - reads them from standard input, which is where secrets \
                    belong. Nothing is filtered from the result: it may contain a token.
                    """)
        case .accountAdd:
            Description(
                group: "account", "add", .newAccount, Operand(name: "FILE", kind: .file, isRequired: false),
                options: .provider | .source | .allowUse | .allowOperate | .noAutostart, method: .accountAdd,
                summary: "add an account",
                details: """
                    FILE is a JSON object with provider, source, allow and autostart, the parameters of the method \
                    account.add; - reads standard input. Each of them may be given by an option instead.
                    """)
        case .accountRemove:
            Description(
                group: "account", "remove", .account, method: .accountRemove,
                summary: "remove an account that was added, with its credential")
        case .accountList:
            Description(
                group: "account", "list", options: Options(.names), method: .accountList,
                summary: "list the accounts that you may use")
        case .accountShow:
            Description(group: "account", "show", .account, method: .accountShow, summary: "show one account")
        case .accountStart:
            Description(
                group: "account", "start", .account, method: .accountStart,
                summary: "let an account work again")
        case .accountStop:
            Description(
                group: "account", "stop", .account, method: .accountStop,
                summary: "let an account rest: no hand-outs, no refreshes")
        case .accountCheck:
            Description(
                group: "account", "check", .account, method: .accountCheck,
                summary: "try the source of an account; nothing is stored")
        case .authRefresh:
            Description(
                group: "auth", "refresh", .account, options: .reason | .wait, method: .authRefresh,
                summary: "refresh the credential now")
        case .storeStatus:
            Description(group: "store", "status", method: .storeStatus, summary: "say how the store is")
        case .metrics:
            Description("metrics", method: .daemonMetrics, summary: "print the counters as OpenMetrics text")
        case .reload:
            Description(
                "reload", method: .daemonReload, summary: "let the daemon read its configuration again")
        case .help:
            Description(
                "help", Operand(name: "COMMAND", kind: .command, isRequired: false, isRepeated: true),
                summary: "explain a command")
        }
    }
}

extension Command.Operand {
    static let newAccount = Command.Operand(name: "ACCOUNT", kind: .text)
}
