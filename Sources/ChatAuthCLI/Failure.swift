import ChatAuthAPI

/// Why a command did not do what was asked.
enum Failure: Error {
    /// The command line; with the command that it was for.
    case usage(UsageFault, Command?)
    /// Nobody listens there.
    case notReachable(SocketPath, errno: Int32)
    /// It ended the connection before it had answered.
    case connectionLost
    case timedOut
    /// It answered something that is no answer.
    case badAnswer(AnswerFault)
    /// It answered with an error.
    case refused(Refusal)
    /// The socket is somebody else's; no secret is sent to it.
    case untrustedSocket(path: String)
    case unwritableOutput(errno: Int32)
    case unreadableInput(path: String, errno: Int32)
    case badInput(path: String, InputFault)
    /// The program of `exec` could not be run.
    case notExecutable(path: String, errno: Int32)
    /// A system call that does not fail on a sound machine.
    case system(call: StaticString, errno: Int32)

    /// What the process ends with.
    var exit: Int32 {
        switch self {
        case .usage, .badInput, .unreadableInput: ExitStatus.usage.rawValue
        case .notReachable, .connectionLost: ExitStatus.notReachable.rawValue
        case .timedOut: ExitStatus.timedOut.rawValue
        case .badAnswer, .unwritableOutput, .system: ExitStatus.ourFault.rawValue
        case .untrustedSocket: ExitStatus.notAllowed.rawValue
        case .refused(let refusal): refusal.exit.rawValue
        // As shells have it.
        case .notExecutable(_, let errno): errno == notFound ? 127 : 126
        }
    }
}

private let notFound: Int32 = 2

/// What is wrong with a command line.
enum UsageFault: Error {
    case noCommand
    case unknownCommand(String)
    case incompleteCommand(String)
    case unknownOption(String)
    case optionTwice(Option)
    case valueMissing(Option)
    case badValue(Option)
    case operandMissing(StaticString)
    case unexpectedOperand(String)
    case badAccountName
    case badEntryName
    case exclusive(Option, Option)
    case needs(Option, Option)
    case standardInputTwice
    case standardInputUnread
    case givenTwice(StaticString)
    case badMethodName
    case badParameters
}

/// What is wrong with an answer.
enum AnswerFault {
    case tooLarge, notJSON, notJSONRPC, memberMissing(StaticString), controlBytes
}

/// What is wrong with a file that was to be read.
enum InputFault {
    case tooLarge(limit: Int), empty, notVisibleASCII, notUTF8, notAnObject, notAKey(length: Int)
}

/// An error that the daemon answered (JSON-RPC 2.0 §5.1).
struct Refusal {
    let code: Int64
    /// The daemon's kind of it; nil when this program does not know it.
    let kind: ErrorKind?
    let isRetryable: Bool
    let retryAfterSeconds: Int64?
    /// Its text for people, without anything that a terminal would obey.
    let message: String

    var exit: ExitStatus {
        if let kind { return kind.properties.exit }
        switch code {
        // No such method, or parameters that it does not take.
        case -32602, -32601: return .usage
        default: return isRetryable ? .temporary : .ourFault
        }
    }
}
