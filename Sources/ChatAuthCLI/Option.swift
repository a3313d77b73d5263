/// An option of the command line: its name without the dashes, what it takes, what it does.
///
/// Parser, help, man page and completions read nothing else.
package enum Option: UInt8, CaseIterable, BitwiseCopyable {
    case minValid, wait, force, after401, format, forceTTY
    case route
    case env, fd
    case idTokenFile, accessTokenFile, issuer, expiresAt
    case generation, httpStatus, code
    case provider, settings, source, allowUse, allowOperate, noAutostart
    case file, account, exact, noRevoke, keyFile
    case tokenFile, authTokenFile, userID, displayName, conversationID, renewalID, unable
    case names, topic, reason, online
    case socket, timeout, json, help, version
    case generate

    /// What an option takes.
    enum Value {
        case seconds, number, file, text, moment, format, variable, descriptor, principal, topic, route, page

        /// The word for it in a synopsis.
        var placeholder: StaticString {
            switch self {
            case .seconds: "SECONDS"
            case .number: "NUMBER"
            case .file: "FILE"
            case .text: "TEXT"
            case .moment: "TIME"
            case .format: "FORMAT"
            case .variable: "VARIABLE"
            case .descriptor: "DESCRIPTOR"
            case .principal: "PRINCIPAL"
            case .topic: "TOPIC"
            case .route: "ROUTE"
            case .page: "PAGE"
            }
        }

        /// Whether it may be nothing but one of the choices.
        var isClosed: Bool { self != .route }

        /// The words that it may be, where those are few, or that are worth naming.
        var choices: [StaticString] {
            switch self {
            case .format: TokenFormat.allCases.map(\.name)
            case .topic: ["token", "auth", "identity", "session", "account", "handler", "daemon", "push"]
            case .route: ["auth/chat", "message", "trigger", "latest"]
            case .page: ["man", "bash", "zsh", "fish"]
            default: []
            }
        }
    }

    /// The name without the dashes.
    package var name: StaticString { description.name }
    /// What it takes; nil: nothing.
    var value: Value? { description.value }
    /// A fragment that says what it does.
    package var summary: StaticString { description.summary }

    /// Whether it may be given more than once.
    var isRepeatable: Bool {
        switch self {
        case .allowUse, .allowOperate, .topic: true
        default: false
        }
    }

    /// What every command takes.
    package static var everywhere: Options { .socket | .timeout | .json | .help }

    static func | (one: Option, other: Option) -> Options { Options() | one | other }

    private var description: (name: StaticString, value: Value?, summary: StaticString) {
        switch self {
        case .minValid: ("min-valid", .seconds, "the token must stay valid for that long at least")
        case .wait: ("wait", .seconds, "wait that long for a refresh at most; 20 if absent")
        case .force: ("force", nil, "refresh first, even if the token is fresh")
        case .after401:
            ("after-401", nil, "report that the platform refused the current token, then get another")
        case .format: ("format", .format, "how to print the token; token if absent")
        case .forceTTY: ("force-tty", nil, "print to a terminal without a warning")
        case .route:
            (
                "route", .route,
                "which request of the platform the headers are for; at Kindly auth/chat if absent"
            )
        case .env:
            ("env", .variable, "put the token into that environment variable; CHATAUTH_TOKEN if absent")
        case .fd: ("fd", .descriptor, "let the token be read from that file descriptor instead")
        case .idTokenFile: ("id-token-file", .file, "read the identity token from there; - is standard input")
        case .accessTokenFile:
            ("access-token-file", .file, "read the access token from there; - is standard input")
        case .issuer: ("issuer", .text, "who issued the tokens")
        case .expiresAt: ("expires-at", .moment, "when they expire: seconds since 1970, or an RFC 3339 time")
        case .generation: ("generation", .number, "which generation was refused; the current one if absent")
        case .httpStatus: ("http-status", .number, "the HTTP status that the platform answered")
        case .code: ("code", .text, "the error code that the platform answered")
        case .provider: ("provider", .text, "the platform; generic if absent")
        case .settings:
            ("settings", .file, "read the platform's keys from there, a JSON object; - is standard input")
        case .source: ("source", .file, "read the source from there, a JSON object; - is standard input")
        case .allowUse:
            ("allow-use", .principal, "who may use the account: user:NAME or group:NAME; repeatable")
        case .allowOperate:
            ("allow-operate", .principal, "who may operate the account: user:NAME or group:NAME; repeatable")
        case .noAutostart: ("no-autostart", nil, "do not let the account refresh by itself")
        case .file: ("file", .file, "read it from there; - is standard input")
        case .account: ("account", .text, "the account whose server and client it is for")
        case .exact: ("exact", nil, "keep a line end at the end: it is part of it")
        case .noRevoke: ("no-revoke", nil, "forget it here, and do not tell the server")
        case .keyFile: ("key-file", .file, "read the master key from there; - is standard input")
        case .tokenFile: ("token-file", .file, "read the token from there; - is standard input")
        case .authTokenFile:
            ("auth-token-file", .file, "read the auth token from there; - is standard input")
        case .userID: ("user-id", .text, "the user's id at the platform")
        case .displayName: ("display-name", .text, "the name in the user's profile")
        case .conversationID: ("conversation-id", .text, "the conversation that is open")
        case .renewalID: ("renewal-id", .text, "which renewal the token is for")
        case .unable: ("unable", nil, "there is no token to be had now")
        case .names: ("names", nil, "print the names and nothing else")
        case .topic: ("topic", .topic, "only these events; repeatable")
        case .reason: ("reason", .text, "why, for the daemon's log")
        case .online: ("online", nil, "ask the source, and try the way to the platform")
        case .socket: ("socket", .file, "ask the daemon at that socket")
        case .timeout:
            (
                "timeout", .seconds,
                "give up on the daemon after that long; 10 more than the wait if absent, 370 where it waits for a login or its end"
            )
        case .json: ("json", nil, "print the daemon's answer as JSON")
        case .help: ("help", nil, "explain the command")
        case .version: ("version", nil, "print the version")
        case .generate: ("generate", .page, "print the manual page or the completions of a shell")
        }
    }
}

/// A set of options, in the order of the table.
package struct Options {
    private var bits: UInt64 = 0

    init() {}
    init(_ option: Option) { bits = 1 << UInt64(option.rawValue) }

    func contains(_ option: Option) -> Bool { bits & 1 << UInt64(option.rawValue) != 0 }

    static func | (set: Options, option: Option) -> Options {
        var set = set
        set.bits |= 1 << UInt64(option.rawValue)
        return set
    }
    /// Everything that is in either of them.
    package static func | (one: Options, other: Options) -> Options {
        var one = one
        one.bits |= other.bits
        return one
    }

    /// Takes the first option out; nil when there is none left.
    mutating func next() -> Option? {
        guard bits != 0 else { return nil }
        let option = Option(rawValue: UInt8(truncatingIfNeeded: bits.trailingZeroBitCount))
        bits &= bits - 1
        return option
    }

    /// Calls `body` with each option.
    package func forEach<Failure: Error>(_ body: (Option) throws(Failure) -> Void) throws(Failure) {
        var rest = self
        while let option = rest.next() { try body(option) }
    }
}
