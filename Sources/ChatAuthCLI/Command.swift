import ChatAuthAPI

/// A command: the words that choose it, what it takes, and the method that it calls.
///
/// One table for parser, help, man page and completions. It is a function and not a stored table, so that a start builds nothing
/// but the row that it needs.
package enum Command: UInt8, CaseIterable {
    case getToken, headers, exec, save, reject
    case status, doctor, watch, call
    case accountAdd, accountRemove, accountList, accountShow, accountStart, accountStop, accountCheck
    case authAuthenticate, authRefresh, authDeauthenticate
    case identityIdentify, identitySwitch, identityLogout, identityState, identityReport
    case sessionLogin, sessionLoginWithAccessToken, sessionLogout, sessionSecureLogout, sessionRenew
    case sessionState, sessionReport
    case chatID, chatAttach, chatReset
    case deviceID, deviceReset
    case handlerList
    case grantImport, grantList, grantDelete
    case secretSet, secretList, secretDelete
    case storeStatus, storeUnseal, metrics, reload
    case help

    /// An argument that is no option.
    package struct Operand {
        let name: StaticString
        let kind: Kind
        var isRequired = true
        var isRepeated = false

        /// What completions offer for it.
        enum Kind { case account, grant, secret, file, command, method, text, program }

        /// Whether it names an account, a grant or a secret, which all follow the same rule.
        var isName: Bool {
            name == "ACCOUNT" as StaticString || name == "GRANT" as StaticString
                || name == "SECRET" as StaticString
        }

        static let account = Operand(name: "ACCOUNT", kind: .account)
        static let grant = Operand(name: "GRANT", kind: .grant)
        static let secret = Operand(name: "SECRET", kind: .secret)
    }

    /// A row of the table.
    package struct Description {
        /// The command, or what to do within a group of them.
        package let word: StaticString
        /// The word before it, of commands that have two.
        package let group: StaticString?
        let first: Operand?
        let second: Operand?
        /// What it takes beside its operands.
        package let options: Options
        /// The method that it calls above all; nil: the caller chooses, or none is called.
        let method: Method?
        /// One line that says what it does.
        package let summary: StaticString
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

    /// The milliseconds that the daemon waits at most when nobody says otherwise: 20 seconds for a refresh, as its own rule is.
    ///
    /// What waits for a login or for its end is answered within the daemon's limits, of which none is longer than this: 300 seconds of
    /// `login_timeout`, and 60 of a request behind it.
    package var usualWait: Int64 {
        switch self {
        case .sessionLogin, .sessionLoginWithAccessToken, .sessionLogout, .sessionSecureLogout,
            .authDeauthenticate:
            360_000
        default: 20_000
        }
    }

    package var description: Description {
        switch self {
        case .getToken:
            Description(
                "get-token", .account,
                options: .minValid | .wait | .force | .after401 | .generation | .format | .forceTTY,
                method: .tokenGet, summary: "print a bearer token that is valid now",
                details: """
                    With --force a refresh that fails is a warning while the token from before still holds; so is, always, \
                    that nothing but that token came, which may have been refused. \
                    With --after-401 the token is reported as refused first, the current one or that of --generation, \
                    and another one is waited for; where that is refused as well within a minute, the exit status is 10. \
                    A token that is printed to a terminal stays in its scrollback: there is a warning, unless --force-tty \
                    is given.
                    """)
        case .headers:
            Description(
                "headers", .account, options: .route | .minValid | .wait | .forceTTY, method: .headersGet,
                summary: "print the complete header list for a request to the platform",
                details: """
                    One header a line, the name, a colon, a space and the value. At Kindly the routes auth/chat, message and \
                    trigger take X-Access-Token and X-Auth-Issuer, where the credential has them; every other route, such as \
                    latest or connect, goes without them. Other platforms take the same headers on every route.
                    """)
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
                    of it; at a terminal it is asked for, and not shown. The tokens replace the whole credential: what is not given is gone. A token never stands on \
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
        case .doctor:
            Description(
                "doctor", Operand(name: "ACCOUNT", kind: .account, isRequired: false),
                options: Options(.online), method: .accountDoctor,
                summary: "explain what is wrong with an account, or with the daemon, and what to do",
                details: """
                    One finding a line, the worst first and causes before what came of them: error, warning, hint or ok, its \
                    code, what is the matter and what to do. The findings are the output whatever the exit status is: 0 when none of them is an error, else that \
                    of the worst one's kind, and 10 where it has none. Claims of a token that are no secret are explained and, \
                    with --json, shown; the token never is. With --online the source is asked and the platform is tried as well; \
                    nothing is stored.
                    """)
        case .watch:
            Description(
                "watch", Operand(name: "ACCOUNT", kind: .account, isRequired: false, isRepeated: true),
                options: Options(.topic), method: .eventsSubscribe,
                summary: "print each change, one a line, until interrupted",
                details: """
                    The current state comes first, then each change once and in order: from what, to what, and why. \
                    credential.warning says what has become noticeable about a credential, identity.merge_hint that \
                    conversations are worth being listed again. \
                    events.overflow says that some were \
                    lost because they were not read fast enough. An account that is not there is waited for. It ends with the connection, with exit status 3.
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
                options: .provider | .settings | .source | .allowUse | .allowOperate | .noAutostart,
                method: .accountAdd,
                summary: "add an account",
                details: """
                    FILE is a JSON object with the parameters of the method account.add: provider, settings, source, allow, \
                    autostart, early_fraction and callback_timeout; - reads standard input. Without FILE and --provider nothing may stand there. \
                    The first five may be given by options instead. settings has the keys that chatauthd.toml(5) has for the platform.
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
                summary: "try the source of an account; nothing is stored",
                details: """
                    The exit status is 0 only when the source gave a credential; otherwise it is that of the kind of error, \
                    as with get-token, and the reason is on standard error.
                    """)
        case .authAuthenticate:
            Description(
                group: "auth", "authenticate", .account, options: Options() | .wait,
                method: .authAuthenticate, summary: "sign in, or another user: ask for fresh credentials",
                details: """
                    The chat and its history stay. What was held before stays, too, where the source gives nothing or the \
                    platform refuses what it gave.
                    """)
        case .identityIdentify, .identitySwitch, .identityLogout, .identityState, .identityReport,
            .sessionLogin, .sessionLoginWithAccessToken, .sessionLogout, .sessionSecureLogout,
            .sessionRenew, .sessionState, .sessionReport, .chatID, .chatAttach, .chatReset, .deviceID,
            .deviceReset:
            platformDescription
        case .authRefresh:
            Description(
                group: "auth", "refresh", .account, options: .reason | .wait, method: .authRefresh,
                summary: "refresh the credential now")
        case .authDeauthenticate:
            Description(
                group: "auth", "deauthenticate", .account, method: .authDeauthenticate,
                summary: "sign an account out, here and at its server",
                details: """
                    At Kindly and Chatbase nobody is signed in until somebody signs in. An account of another kind has no \
                    sign-in: whoever asks for a token next has its source asked again, unless it is stopped. \
                    The credential and, where no other account spends it, the grant are forgotten whatever the server \
                    says. When it cannot be reached or refuses, the exit status is 6: what it issued may still be good. \
                    Kindly is told to forget the user as well, once a sign-in that is under way has come back. Where it \
                    does not hear of it, that is said with the same status and not tried again, and it knows the user \
                    until the credential ends or another is bound; so it does where the daemon is killed meanwhile.
                    """)
        case .grantImport:
            Description(
                group: "grant", "import", .grant, options: .file | .account | .exact, method: .grantImport,
                summary: "keep a refresh token for the accounts that spend it",
                details: """
                    The refresh token is read from standard input, or from --file; one line end behind it is not part of \
                    it, unless --exact is given. At a terminal it is asked for, and not shown. It is bound to the server and client of the accounts whose source names the grant, so configure \
                    one first. It replaces a refresh token that is kept under that name, and can never be read back.
                    """)
        case .handlerList:
            Description(
                group: "handler", "list", options: Options(.names), method: .handlerList,
                summary: "list the programs that are asked for fresh credentials",
                details: """
                    A program registers itself as the handler of an account, for as long as it is connected. One that hangs or \
                    is not there is why an account has no token: handler_required, callback_timeout, callback_rejected.
                    """)
        case .grantList:
            Description(
                group: "grant", "list", options: Options(.names), method: .grantList,
                summary: "list the grants, never what they are",
                details: """
                    States: usable; spending, while it is at its server; possibly_spent and dead, which a new import ends; \
                    parked, when the configuration wants it sent somewhere else; unused, when no account spends it.
                    """)
        case .grantDelete:
            Description(
                group: "grant", "delete", .grant, options: Options(.noRevoke), method: .grantDelete,
                summary: "forget a grant, and end it at its server")
        case .secretSet:
            Description(
                group: "secret", "set", .newSecret, options: .file | .exact, method: .secretSet,
                summary: "set a secret that configuration refers to",
                details: """
                    The value is read from standard input, or from --file; one line end behind it is not part of it, \
                    unless --exact is given. At a terminal one line is asked for, and not shown; a key in PEM has more than \
                    one, so use --file. It is UTF-8 text of at most 64 KiB. Configuration refers to it as { secret = "NAME" }. It can never be read back.
                    """)
        case .secretList:
            Description(
                group: "secret", "list", options: Options(.names), method: .secretList,
                summary: "list the secrets, never what they are")
        case .secretDelete:
            Description(
                group: "secret", "delete", .secret, method: .secretDelete,
                summary: "remove a secret that no account refers to")
        case .storeStatus:
            Description(group: "store", "status", method: .storeStatus, summary: "say how the store is")
        case .storeUnseal:
            Description(
                group: "store", "unseal", options: Options(.keyFile), method: .storeUnseal,
                summary: "open a sealed store with its master key",
                details: """
                    The key is 32 bytes, read from standard input, or from --key-file. A wrong key changes nothing: the \
                    store stays sealed, and the exit status says so. A store that is open stays as it is. Where there is \
                    no store yet, one is made with that key.
                    """)
        case .metrics:
            Description("metrics", method: .daemonMetrics, summary: "print the counters as OpenMetrics text")
        case .reload:
            Description(
                "reload", method: .daemonReload, summary: "let the daemon read its configuration again")
        case .help:
            Description(
                "help", Operand(name: "COMMAND", kind: .command, isRequired: false, isRepeated: true),
                summary: "explain a command, or list those of a group")
        }
    }
}

extension Command.Operand {
    static let newAccount = Command.Operand(name: "ACCOUNT", kind: .text)
    static let newSecret = Command.Operand(name: "SECRET", kind: .text)
}
