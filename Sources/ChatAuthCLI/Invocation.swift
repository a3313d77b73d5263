/// A command line, understood: the command, its operands, its options.
struct Invocation {
    /// An option as it was given.
    struct Given {
        let option: Option
        let value: Argument?
    }

    let command: Command
    private(set) var operands = ShortList<Argument>()
    private var given = ShortList<Given>()

    /// Whether the option stands on the command line.
    func has(_ option: Option) -> Bool {
        for index in 0..<given.count where given[index].option == option { return true }
        return false
    }

    /// The value of an option; of the last one where it may be repeated.
    func value(_ option: Option) -> Argument? {
        var value: Argument?
        forEachValue(option) { value = $0 }
        return value
    }

    /// Calls `body` with each value of an option that may be repeated, in their order.
    func forEachValue(_ option: Option, _ body: (Argument) -> Void) {
        for index in 0..<given.count where given[index].option == option {
            if let value = given[index].value { body(value) }
        }
    }

    /// Seconds given to an option, as milliseconds.
    func milliseconds(_ option: Option) -> Int64? { value(option)?.milliseconds }
}

extension Invocation {
    /// What the arguments ask for besides a command.
    enum Request {
        case command(Invocation)
        case help(Command?)
        case groupHelp(Command.Group)
        case version
        case page(Page)
    }

    /// Reads the arguments behind the program's name.
    ///
    /// Options may stand before and behind operands; `--` ends them; `--option=value` is understood; a name may not be shortened.
    static func parse(_ surroundings: Surroundings) throws(Failure) -> Request {
        var index = 1
        var early = ShortList<Given>()
        while let argument = surroundings.argument(index), argument.isOption {
            if argument == "-h" || argument == "--help" { return .help(nil) }
            if argument == "--version" { return .version }
            if argument == "--generate" { return try page(surroundings.argument(index + 1)) }
            do throws(UsageFault) {
                early.append(try option(argument, &index, surroundings, among: Option.everywhere))
            } catch {
                throw .usage(error, nil)
            }
        }
        guard let word = surroundings.argument(index) else { throw .usage(.noCommand, nil) }
        if let next = surroundings.argument(index + 1), next == "-h" || next == "--help",
            let group = Command.group(word)
        {
            return .groupHelp(group)
        }
        let command = try find(word, &index, surroundings)
        let description = command.description
        let allowed = description.options | Option.everywhere
        var invocation = Invocation(command: command)
        invocation.given = early
        var onlyOperands = false
        while let argument = surroundings.argument(index) {
            if onlyOperands || !argument.isOption {
                invocation.operands.append(argument)
                index += 1
            } else if argument == "--" {
                onlyOperands = true
                index += 1
            } else if argument == "-h" || argument == "--help" {
                return .help(command)
            } else {
                let next: Given
                do throws(UsageFault) {
                    next = try option(argument, &index, surroundings, among: allowed)
                } catch {
                    throw .usage(error, command)
                }
                guard next.option.isRepeatable || !invocation.has(next.option) else {
                    throw .usage(.optionTwice(next.option), command)
                }
                invocation.given.append(next)
            }
        }
        try invocation.checkOperands(description)
        return .command(invocation)
    }

    private static func page(_ word: Argument?) throws(Failure) -> Request {
        for page in Page.allCases where word.map({ $0 == page.name }) ?? false { return .page(page) }
        throw .usage(.badValue(.generate), nil)
    }

    private static func find(
        _ word: Argument, _ index: inout Int, _ surroundings: Surroundings
    ) throws(Failure) -> Command {
        var isGroup = false
        var found: Command?
        let second = surroundings.argument(index + 1)
        Command.forEach { command in
            let description = command.description
            if let group = description.group {
                guard word == group else { return true }
                isGroup = true
                guard let second, second == description.word else { return true }
            } else {
                guard word == description.word else { return true }
            }
            found = command
            return false
        }
        guard let found else {
            throw .usage(isGroup ? .incompleteCommand(word.text) : .unknownCommand(word.text), nil)
        }
        index += isGroup ? 2 : 1
        return found
    }

    private static func option(
        _ argument: Argument, _ index: inout Int, _ surroundings: Surroundings, among allowed: Options
    ) throws(UsageFault) -> Given {
        index += 1
        var rest = allowed
        while let option = rest.next() {
            if let value = try match(option, argument, &index, surroundings) {
                return Given(option: option, value: value)
            }
        }
        throw .unknownOption(argument.text)
    }

    /// Nil when the argument is another option; the value, or nil in it for an option without one.
    private static func match(
        _ option: Option, _ argument: Argument, _ index: inout Int, _ surroundings: Surroundings
    ) throws(UsageFault) -> Argument?? {
        let name = option.name
        let length = 2 + name.utf8CodeUnitCount
        guard argument.count >= length, argument[0] == UInt8(ascii: "-"), argument[1] == UInt8(ascii: "-"),
            argument.hasBytes(name, at: 2)
        else { return nil }
        let hasValue = argument.count > length
        if hasValue, argument[length] != UInt8(ascii: "=") { return nil }
        guard let kind = option.value else {
            guard !hasValue else { throw .badValue(option) }
            return .some(nil)
        }
        let value: Argument
        if hasValue {
            value = argument.dropFirst(length + 1)
        } else {
            guard let next = surroundings.argument(index) else { throw .valueMissing(option) }
            index += 1
            value = next
        }
        guard kind.accepts(value) else { throw .badValue(option) }
        return value
    }

    private func checkOperands(_ expected: Command.Description) throws(Failure) {
        var position = 0
        try check(expected.first, &position)
        try check(expected.second, &position)
        guard position == operands.count else {
            throw .usage(.unexpectedOperand(operands[position].text), command)
        }
    }

    private func check(_ operand: Command.Operand?, _ position: inout Int) throws(Failure) {
        guard let operand else { return }
        guard position < operands.count else {
            guard !operand.isRequired else { throw .usage(.operandMissing(operand.name), command) }
            return
        }
        repeat {
            if operand.isName, !operands[position].isAccountName {
                throw .usage(
                    operand.name == "ACCOUNT" as StaticString ? .badAccountName : .badEntryName, command)
            }
            position += 1
        } while operand.isRepeated && position < operands.count
    }
}

extension Argument {
    /// A lone `-` is an operand: it means standard input.
    fileprivate var isOption: Bool { count > 1 && self[0] == UInt8(ascii: "-") }

    fileprivate func hasBytes(_ text: StaticString, at offset: Int) -> Bool {
        for index in 0..<text.utf8CodeUnitCount where self[offset + index] != text.utf8Start[index] {
            return false
        }
        return true
    }
}

extension Option.Value {
    /// Whether a value can be meant; what only the daemon knows is left to it.
    fileprivate func accepts(_ value: Argument) -> Bool {
        switch self {
        case .seconds: value.milliseconds != nil
        case .number: value.decimal(upTo: 999_999_999_999_999) != nil
        case .descriptor: value.decimal(upTo: 1023).map { $0 == 0 || $0 > 2 } ?? false
        case .variable: value.isVariableName
        case .format: TokenFormat(value) != nil
        case .topic: choices.contains { value == $0 }
        case .principal: Principal(value) != nil
        case .moment: value.isMoment
        case .file, .text, .route, .page: value.count > 0
        }
    }
}

extension StaticString {
    static func == (left: StaticString, right: StaticString) -> Bool {
        left.utf8CodeUnitCount == right.utf8CodeUnitCount
            && (0..<left.utf8CodeUnitCount).allSatisfy { left.utf8Start[$0] == right.utf8Start[$0] }
    }
}
