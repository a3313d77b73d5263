import ChatAuthAPI
import JSON
import Secrets

/// Commands that show how something is.
extension Session {
    /// Whether results are laid out for a person.
    private var isTable: Bool { Output.isTerminal }
    private var hasColour: Bool { Output.isTerminal && surroundings.variable("NO_COLOR") == nil }

    func status() throws(Failure) {
        try show(invocation.operands.count > 0 ? .accountShow : .daemonStatus)
    }

    /// Calls a method whose only parameter is the account, where there is one, and shows the result.
    func show(_ method: Method) throws(Failure) {
        var output = SecretBuffer()
        let isTable = isTable
        let hasColour = hasColour
        try call(
            method,
            params: { (params) throws(Failure) in
                params.beginObject()
                if invocation.operands.count > 0 { try account(&params) }
                params.endObject()
            },
            answer: { (result) throws(Failure) in
                if isJSON {
                    output.append(result.rawToken)
                    output.append("\n")
                } else if result.kind == .object {
                    output.append(lines: result, width: isTable ? result.labelWidth : 0, colour: hasColour)
                } else {
                    output.append(shown: result)
                    output.append("\n")
                }
            })
        try Output.write(output)
    }
}
