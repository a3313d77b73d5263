import ChatAuthAPI
import Secrets

/// `help` and `--help`, written from the command table.
enum Help {
    /// What a command does and takes; without one the list of all.
    static func text(_ command: Command?) -> SecretBuffer {
        var text = SecretBuffer(capacity: 4096)
        if let command { explain(command, &text) } else { overview(&text) }
        return text
    }

    private static func overview(_ text: inout SecretBuffer) {
        text.append(
            "usage: chatauth COMMAND [ARGUMENT ...] [OPTION ...]\n\nA valid bearer token, from chatauthd.\n\n"
        )
        for command in Command.allCases { text.append(lineOf: command) }
        text.append("\nEvery command takes:\n")
        Option.everywhere.forEach { text.append(lineOf: $0) }
        text.append("\nMore: chatauth help COMMAND, man chatauth\n")
    }

    /// The commands of a group, one a line.
    static func text(_ group: Command.Group) -> SecretBuffer {
        var text = SecretBuffer(capacity: 4096)
        text.append("usage: chatauth ")
        text.append(group.word)
        text.append(" COMMAND [ARGUMENT ...] [OPTION ...]\n\n")
        for command in Command.allCases {
            guard let itsGroup = command.description.group, itsGroup == group.word else { continue }
            text.append(lineOf: command)
        }
        text.append("\nMore: chatauth help ")
        text.append(group.word)
        text.append(" COMMAND, man chatauth\n")
        return text
    }

    private static func explain(_ command: Command, _ text: inout SecretBuffer) {
        let description = command.description
        text.append("usage: chatauth ")
        command.appendWords(to: &text)
        for operand in description.operands {
            if operand.kind == .program { text.append(" --") }
            text.append(synopsisOf: operand)
        }
        text.append(" [OPTION ...]\n\n")
        text.append(sentence: description.summary)
        text.append("\n")
        if description.details.utf8CodeUnitCount > 0 {
            text.append("\n")
            text.append(wrapped: description.details)
        }
        if description.options.contains(anything: ()) {
            text.append("\nOptions:\n")
            description.options.forEach { text.append(lineOf: $0) }
        }
        text.append("\nEvery command takes:\n")
        Option.everywhere.forEach { text.append(lineOf: $0) }
        if let method = description.method {
            let others = command.otherMethods
            text.append(others.isEmpty ? "\nMethod: " : "\nMethods: ")
            text.append(method.rawValue)
            for other in others {
                text.append(", ")
                text.append(other.rawValue)
            }
            text.append("\n")
        }
        text.append("\nExit status:\n")
        for status in ExitStatus.allCases {
            text.append(status.rawValue < 10 ? "   " : "  ")
            text.append(decimal: Int64(status.rawValue))
            text.append("  ")
            text.append(status.meaning)
            text.append("\n")
        }
    }
}

extension Command {
    /// What it calls beside the method that it calls above all, or in its place.
    fileprivate var otherMethods: [Method] {
        switch self {
        case .getToken: [.tokenReject, .headersGet]
        case .status: [.accountShow]
        case .doctor: [.daemonDoctor]
        default: []
        }
    }

    /// Commands whose first word is the same, as `session` of `session login`.
    struct Group {
        let word: StaticString
    }

    /// The group with that word; nil: there is none.
    static func group(_ word: Argument) -> Group? {
        var found: Group?
        forEach { command in
            if let group = command.description.group, word == group { found = Group(word: group) }
            return found == nil
        }
        return found
    }
}

extension Session {
    /// `help`, with the words of a command or the word of a group behind it.
    func explain() throws(Failure) {
        let operands = invocation.operands
        guard operands.count > 0 else { return try Output.write(Help.text(nil)) }
        var found: Command?
        Command.forEach { command in
            let description = command.description
            let words = description.group == nil ? 1 : 2
            guard operands.count == words, operands[words - 1] == description.word,
                description.group.map({ operands[0] == $0 }) ?? true
            else { return true }
            found = command
            return false
        }
        if let found { return try Output.write(Help.text(found)) }
        guard operands.count == 1, let group = Command.group(operands[0]) else {
            throw .usage(.unknownCommand(operands[0].text), nil)
        }
        try Output.write(Help.text(group))
    }
}

extension ExitStatus {
    /// What it says, as a fragment.
    var meaning: StaticString {
        switch self {
        case .done: "done"
        case .ourFault: "our fault, or the output could not be written"
        case .usage: "wrong usage or unusable input"
        case .notReachable: "the daemon cannot be reached"
        case .noSuchAccount: "no such account, or not allowed to know it"
        case .signInNeeded: "no token, and somebody has to sign in, save one or supply it"
        case .temporary: "temporarily unavailable"
        case .notAllowed: "not allowed"
        case .storeSealed: "the store is sealed"
        case .timedOut: "timed out"
        case .refused: "refused by the platform"
        }
    }
}

extension Options {
    func contains(anything: Void) -> Bool {
        var rest = self
        return rest.next() != nil
    }
}

extension SecretBuffer {
    /// Appends ` NAME`, in brackets where it may be left out, with dots where it may be repeated.
    mutating func append(synopsisOf operand: Command.Operand) {
        append(operand.isRequired ? " " : " [")
        append(operand.name)
        if operand.isRepeated { append(" ...") }
        if !operand.isRequired { append("]") }
    }

    /// Appends a line with what a command takes and what it does.
    fileprivate mutating func append(lineOf command: Command) {
        let start = count
        append("  ")
        command.appendWords(to: &self)
        for operand in command.description.operands { append(synopsisOf: operand) }
        append(spaces: max(34 - (count - start), 1))
        append(command.description.summary)
        append("\n")
    }

    fileprivate mutating func append(lineOf option: Option) {
        let start = count
        append("  ")
        append(option: option)
        if let value = option.value {
            append(" ")
            append(value.placeholder)
        }
        append(spaces: max(30 - (count - start), 2))
        append(option.summary)
        append("\n")
    }

    /// Appends a fragment as a sentence: its first letter large, a full stop behind it.
    mutating func append(sentence text: StaticString) {
        for index in 0..<text.utf8CodeUnitCount {
            let byte = text.utf8Start[index]
            append(index == 0 && (97...122).contains(byte) ? byte - 32 : byte)
        }
        append(".")
    }

    /// Appends a text between the single quotes of a shell's word.
    mutating func append(quoted text: StaticString) {
        for index in 0..<text.utf8CodeUnitCount {
            let byte = text.utf8Start[index]
            if byte == UInt8(ascii: "'") { append("'\\''") } else { append(byte) }
        }
    }

    /// Appends text in lines of at most 78 columns.
    fileprivate mutating func append(wrapped text: StaticString) {
        var column = 0
        for word in text.description.split(separator: " ") {
            if column > 0, column + 1 + word.utf8.count > 78 {
                append("\n")
                column = 0
            }
            if column > 0 { append(" ") }
            append(String(word))
            column += word.utf8.count + (column > 0 ? 1 : 0)
        }
        append("\n")
    }
}
