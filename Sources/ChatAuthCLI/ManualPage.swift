import ChatAuthAPI
import Secrets

/// chatauth(1) in mdoc.
enum ManualPage {
    static func append(to text: inout SecretBuffer) {
        text.append(
            """
            .Dd November 30, 2026
            .Dt CHATAUTH 1
            .Os
            .Sh NAME
            .Nm chatauth
            .Nd a valid bearer token for programs and scripts
            .Sh SYNOPSIS

            """)
        for command in Command.allCases { synopsis(command, &text) }
        text.append(
            """
            .Sh DESCRIPTION
            .Nm
            asks
            .Xr chatauthd 8
            for bearer tokens, and tells it what to do.
            Standard output carries data and nothing else,
            and nothing at all unless the exit status is 0;
            whatever is said to people goes to standard error.
            An output that cannot be written whole is a failure with exit status 1,
            also where its reader went away;
            there is no signal then.
            What a pipe takes at once, as it does with a token of usual size,
            is written whole even if its reader reads a part of it.
            .Pp
            The commands are:
            .Bl -tag -width Ds

            """)
        for command in Command.allCases { explain(command, &text) }
        text.append(".El\n.Pp\nEvery command takes:\n.Bl -tag -width Ds\n")
        Option.everywhere.forEach { item($0, &text) }
        text.append(".El\n.Pp\nWithout a command:\n.Bl -tag -width Ds\n")
        item(.version, &text)
        item(.generate, &text)
        text.append(".El\n")
        formats(&text)
        text.append(places)
        text.append(".Sh EXIT STATUS\n.Bl -tag -width Ds\n")
        for status in ExitStatus.allCases {
            text.append(".It ")
            text.append(decimal: Int64(status.rawValue))
            text.append("\n")
            text.append(sentences: status.meaning)
            kinds(status, &text)
        }
        text.append(".It 126 , 127\nOf\n.Cm exec :\nthe program cannot be run, or is not found.\n.El\n")
        text.append(examples)
    }

    private static func synopsis(_ command: Command, _ text: inout SecretBuffer) {
        let description = command.description
        text.append(".Nm\n.Cm ")
        command.appendWords(to: &text)
        text.append("\n")
        description.options.forEach { option in
            text.append(".Op Fl -")
            text.append(option.name)
            if let value = option.value {
                text.append(" Ar ")
                text.append(value.placeholder)
            }
            text.append("\n")
        }
        for operand in description.operands {
            if operand.kind == .program { text.append(".Fl -\n") }
            text.append(operand.isRequired ? ".Ar " : ".Op Ar ")
            text.append(operand.name)
            if operand.isRepeated { text.append(" ...") }
            text.append("\n")
        }
    }

    private static func explain(_ command: Command, _ text: inout SecretBuffer) {
        let description = command.description
        text.append(".It Cm ")
        command.appendWords(to: &text)
        for operand in description.operands {
            text.append(" Ar ")
            text.append(operand.name)
        }
        text.append("\n")
        text.append(sentences: description.summary)
        text.append(sentences: description.details)
        guard description.options.contains(anything: ()) else { return }
        text.append(".Bl -tag -width Ds\n")
        description.options.forEach { item($0, &text) }
        text.append(".El\n")
    }

    private static func item(_ option: Option, _ text: inout SecretBuffer) {
        text.append(".It Fl -")
        text.append(option.name)
        if let value = option.value {
            text.append(" Ar ")
            text.append(value.placeholder)
        }
        text.append("\n")
        text.append(sentences: option.summary)
        guard let choices = option.value?.choices, !choices.isEmpty, option != .format else { return }
        text.append(option.value?.isClosed == false ? "Such as" : "One of")
        for choice in choices {
            text.append(" ")
            text.append(choice)
        }
        text.append(".\n")
    }

    private static func formats(_ text: inout SecretBuffer) {
        text.append(".Pp\nThe formats of\n.Cm get-token\nare:\n.Bl -tag -width Ds\n")
        for format in TokenFormat.allCases {
            text.append(".It Cm ")
            text.append(format.name)
            text.append("\n")
            text.append(sentences: format.summary)
        }
        text.append(".El\n")
    }

    /// The kinds of errors, as the daemon names them, that end with this status.
    private static func kinds(_ status: ExitStatus, _ text: inout SecretBuffer) {
        var isFirst = true
        for kind in ErrorKind.allCases where kind.properties.exit == status {
            text.append(isFirst ? "Errors:\n.Li " : " ,\n.Li ")
            isFirst = false
            text.append(kind.rawValue)
        }
        if !isFirst { text.append(" .\n") }
    }

    private static let places: StaticString = """
        .Sh ENVIRONMENT
        .Bl -tag -width Ds
        .It Ev CHATAUTH_SOCKET
        The socket of the daemon, unless
        .Fl -socket
        names one.
        .It Ev XDG_RUNTIME_DIR
        Where the user's own daemon listens.
        .It Ev NO_COLOR
        When it is set and not empty, nothing is coloured.
        .El
        .Sh FILES
        The first that is chosen or there is asked, and no other, whatever it answers.
        .Bl -tag -width Ds
        .It Pa $XDG_RUNTIME_DIR/chatauth/chatauth.sock
        The socket of the user's daemon.
        Where the variable is not set, the directory
        .Pa /run/user/UID
        is meant.
        .It Pa /run/chatauth/chatauth.sock
        The socket of the system's daemon.
        .It Pa chatauth-admin.sock
        In the same directory: what only an administrator may ask goes there,
        if it is there.
        .El
        .Pp
        A secret is sent only to a socket that belongs to root or to the caller,
        in a directory of which the same is true and that nobody else may write to.

        """

    private static let examples: StaticString = """
        .Sh EXAMPLES
        A request with a token that is valid for five minutes at least:
        .Pp
        .Dl chatauth get-token bot --min-valid 300 --format curl | curl -K - https://api.example.com/
        .Pp
        The same for a program that reads the token from descriptor 3:
        .Pp
        .Dl chatauth exec bot --fd 3 -- ./bot --token-fd 3
        .Pp
        After the platform answered 401:
        .Pp
        .Dl TOKEN=$(chatauth get-token bot --after-401)
        .Sh SEE ALSO
        .Xr curl 1 ,
        .Xr chatauthd 8

        """
}

extension TokenFormat {
    /// What it prints, as a fragment.
    var summary: StaticString {
        switch self {
        case .token: "the token and a line end"
        case .header: "the line of the Authorization header"
        case .headers: "every header that the platform wants, one a line"
        case .curl: "a configuration for curl -K -"
        case .json: "the daemon's whole answer"
        case .env:
            "assignments for a shell: CHATAUTH_TOKEN, and where known CHATAUTH_COMPANION_TOKEN and CHATAUTH_EXPIRES_AT"
        case .execCredential: "an ExecCredential of client.authentication.k8s.io/v1"
        }
    }
}

extension SecretBuffer {
    /// Appends sentences, each beginning a line, as mdoc wants them, in lines of at most 78 columns.
    ///
    /// The first letter becomes a capital and a last full stop is added, so that a fragment may be given too.
    fileprivate mutating func append(sentences text: StaticString) {
        guard text.utf8CodeUnitCount > 0 else { return }
        var sentence = SecretBuffer()
        sentence.append(sentence: text)
        if text.utf8Start[text.utf8CodeUnitCount - 1] == UInt8(ascii: ".") {
            sentence.truncate(to: sentence.count - 1)
        }
        let words = sentence.withSpan { $0.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) } }
        var column = 0
        for word in words.split(separator: " ") {
            let shown = word.replacingDashes
            if column > 0, column + 1 + shown.utf8.count > 78 {
                append("\n")
                column = 0
            }
            if column > 0 { append(" ") }
            append(shown)
            column += shown.utf8.count + 1
            if word.utf8.last == UInt8(ascii: ".") {
                append("\n")
                column = 0
            }
        }
        if column > 0 { append("\n") }
    }
}

extension Substring {
    /// With every dash as the one that can be searched for and copied.
    fileprivate var replacingDashes: String {
        var text = ""
        for character in unicodeScalars { text += character == "-" ? "\\-" : String(character) }
        return text
    }
}
