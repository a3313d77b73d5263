import ChatAuthAPI
import Glibc
import JSON
import Secrets

/// What a command runs in: its command line, where the daemon is, how long it may take.
struct Session {
    /// What an answer may take beyond the wait.
    static let margin: Int64 = 10_000

    let invocation: Invocation
    let surroundings: Surroundings

    var isJSON: Bool { invocation.has(.json) }

    /// The milliseconds that one call may take.
    var patience: Int64 {
        invocation.milliseconds(.timeout)
            ?? (invocation.milliseconds(.wait) ?? invocation.command.usualWait) + Self.margin
    }

    /// The path of the socket for calls of `method`.
    func path(for access: Method.Access) -> SocketPath {
        let found = SocketPath.find(invocation.value(.socket), surroundings)
        return access == .admin ? found.administration : found
    }

    func connect(for access: Method.Access = .use) throws(Failure) -> Connection {
        try Connection(to: path(for: access), patience: patience)
    }

    /// Connects and calls one method.
    func call(
        _ method: Method, params: (inout JSONWriter) throws(Failure) -> Void,
        answer: (JSONValue) throws(Failure) -> Void
    ) throws(Failure) {
        let connection = try connect(for: method.description.access)
        try connection.call(method.rawValue, patience: patience, params: params, answer: answer)
    }

    /// Lends `-`, the name of standard input where no file is named.
    func withDash<Value: ~Copyable>(
        _ body: (Argument) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        guard let dash = strdup("-") else { throw .system(call: "strdup", errno: errno) }
        defer { free(dash) }
        return try body(Argument(dash))
    }

    /// The operand at `position`, which the parser has made sure of.
    func operand(_ position: Int) throws(Failure) -> Argument {
        guard position < invocation.operands.count else {
            throw .usage(.operandMissing("ACCOUNT"), invocation.command)
        }
        return invocation.operands[position]
    }
}

extension JSONWriter {
    mutating func member(_ name: StaticString, _ value: Argument) {
        key(name)
        string(utf8: value.span)
    }

    /// Writes a member only if the option is there; a number as it was written.
    mutating func member(_ name: StaticString, number option: Option, of invocation: Invocation) {
        guard let value = invocation.value(option), let number = value.decimal(upTo: .max) else { return }
        key(name)
        integer(number)
    }

    /// Writes a member only if the option is there.
    mutating func member(_ name: StaticString, text option: Option, of invocation: Invocation) {
        guard let value = invocation.value(option) else { return }
        member(name, value)
    }

    /// Writes a member only if the option is there: seconds.
    mutating func member(_ name: StaticString, seconds option: Option, of invocation: Invocation) {
        guard let milliseconds = invocation.milliseconds(option) else { return }
        key(name)
        var text = SecretBuffer(capacity: 24)
        text.append(secondsOf: milliseconds)
        text.withSpan { raw($0) }
    }
}
