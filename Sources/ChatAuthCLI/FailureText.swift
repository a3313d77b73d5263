import Glibc
import Secrets

extension Failure {
    /// Appends what failed and what to do, as a fragment without a line end.
    func append(to text: inout SecretBuffer) {
        switch self {
        case .usage(let fault, let command):
            fault.append(to: &text)
            text.append("; see chatauth ")
            if let command {
                text.append("help ")
                command.appendWords(to: &text)
            } else if case .incompleteCommand(let group) = fault {
                text.append("help ")
                text.append(printable: group)
            } else {
                text.append("--help")
            }
        case .notReachable(let path, let errno):
            text.append("cannot reach the daemon at ")
            text.append(printable: path.text)
            text.append(": ")
            text.append(systemError: errno)
            if let absent = path.absent {
                text.append("; nor is there a socket at ")
                text.append(printable: absent)
            }
            switch errno {
            case EACCES: text.append("; ask for access to the socket, or choose another with --socket")
            case ENAMETOOLONG: text.append("; the path of a socket has at most 107 bytes")
            default: text.append("; start chatauthd, or say where it listens with --socket")
            }
        case .connectionLost:
            text.append("the daemon ended the connection without an answer; look at its log and try again")
        case .timedOut:
            text.append("the daemon did not answer in time; try again, or allow more time with --timeout")
        case .badAnswer(let fault):
            text.append("cannot use the daemon's answer: ")
            fault.append(to: &text)
            text.append("; do chatauth and chatauthd have the same version?")
        case .refused(let refusal):
            text.append(refusal.message)
            if let seconds = refusal.retryAfterSeconds {
                text.append("; try again in ")
                text.append(decimal: seconds)
                text.append(" s")
            }
        case .untrustedSocket(let path):
            text.append("no secret is sent to ")
            text.append(printable: path)
            text.append(
                ": the socket and its directory must belong to root or to you, and be closed to others; ")
            text.append("check which daemon listens there")
        case .unwritableOutput(let errno):
            text.append("cannot write the output: ")
            text.append(systemError: errno)
        case .unreadableInput(let path, let errno):
            text.append("cannot read ")
            text.append(printable: path)
            text.append(": ")
            text.append(systemError: errno)
        case .badInput(let path, let fault):
            text.append(printable: path)
            text.append(": ")
            fault.append(to: &text)
        case .notExecutable(let path, let errno):
            text.append("cannot run ")
            text.append(printable: path)
            text.append(": ")
            text.append(systemError: errno)
        case .system(let call, let errno):
            text.append(call)
            text.append(" failed: ")
            text.append(systemError: errno)
        }
    }
}

extension UsageFault {
    fileprivate func append(to text: inout SecretBuffer) {
        switch self {
        case .noCommand: text.append("a command is missing")
        case .unknownCommand(let word):
            text.append("there is no command ")
            text.append(printable: word)
        case .incompleteCommand(let word):
            text.append(printable: word)
            text.append(" must be followed by what to do")
        case .unknownOption(let name):
            text.append("there is no option ")
            // What follows "=" may be a secret that somebody tried to pass.
            text.append(printable: String(name.prefix { $0 != "=" }))
            text.append(" here")
        case .optionTwice(let option):
            text.append(option: option)
            text.append(" is given twice")
        case .valueMissing(let option):
            text.append(option: option)
            text.append(" needs a value")
        case .badValue(let option):
            text.append(option: option)
            if let value = option.value {
                text.append(" does not take that value: it is to be ")
                text.append(value.rule)
            } else {
                text.append(" takes no value")
            }
        case .operandMissing(let name):
            text.append(name)
            text.append(" is missing")
        case .unexpectedOperand:
            // It may be a token: those are read from a file or standard input, and never repeated.
            text.append("there is one argument too many")
        case .badAccountName:
            text.append("an account's name is 1 to 64 of A-Z a-z 0-9 . _ @ - and does not begin with . or -")
        case .badEntryName:
            // It may be the token or the secret itself, which does not belong on a command line, and is not repeated.
            text.append("the name of a grant or a secret is 1 to 64 of A-Z a-z 0-9 . _ @ - ")
            text.append("and does not begin with . or -")
        case .exclusive(let one, let other):
            text.append(option: one)
            text.append(" and ")
            text.append(option: other)
            text.append(" exclude each other")
        case .needs(let one, let other):
            text.append(option: one)
            text.append(" needs ")
            text.append(option: other)
        case .standardInputTwice: text.append("standard input can be read for one thing only")
        case .standardInputUnread:
            text.append(
                "standard input is not read unless - stands for the file; with </dev/null there is none")
        case .givenTwice(let member):
            text.append(member)
            text.append(" is given by the file and by an option")
        case .badMethodName:
            text.append("a method's name has lower-case letters, digits, points and underscores")
        case .badParameters: text.append("the parameters must be a JSON object or array")
        }
    }
}

extension Option.Value {
    fileprivate var rule: StaticString {
        switch self {
        case .seconds: "seconds, at most a year, with up to three digits behind a point"
        case .number: "a whole number"
        case .file: "a path"
        case .text: "a text"
        case .moment: "seconds since 1970 or an RFC 3339 time"
        case .format: "token, header, headers, curl, json, env or exec-credential"
        case .variable: "the name of an environment variable"
        case .descriptor: "0 or a number from 3 to 1023"
        case .principal: "user:NAME or group:NAME"
        case .topic: "token, auth, identity, session, account, handler, daemon or push"
        case .route: "a path below the platform's, such as message"
        case .page: "man, bash, zsh or fish"
        }
    }
}

extension AnswerFault {
    fileprivate func append(to text: inout SecretBuffer) {
        switch self {
        case .tooLarge: text.append("it is larger than 4 MiB")
        case .notJSON: text.append("it is not JSON")
        case .notJSONRPC: text.append("it is not JSON-RPC 2.0")
        case .memberMissing(let name):
            text.append(name)
            text.append(" is missing in it")
        case .controlBytes:
            text.append("control bytes in the token or its name would change their meaning there")
        }
    }
}

extension InputFault {
    fileprivate func append(to text: inout SecretBuffer) {
        switch self {
        case .notAKey(let length):
            text.append("it is no key; a key has ")
            text.append(decimal: Int64(length))
            text.append(" bytes")
        case .tooLarge(let limit):
            text.append("it is larger than ")
            text.append(decimal: Int64(limit / 1024))
            text.append(" KiB, which is the limit")
        case .empty: text.append("it is empty")
        case .notVisibleASCII:
            text.append("a token is one line of visible ASCII characters, and this has other bytes in it")
        case .notUTF8: text.append("it is not UTF-8 text; encode it, as base64 does")
        case .notAnObject: text.append("it is not a JSON object")
        }
    }
}
