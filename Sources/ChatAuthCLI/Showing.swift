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

    /// `account check`: what is wrong is a failure of this command, with the status of its kind.
    func check() throws(Failure) {
        try show(.accountCheck) { (result) throws(Failure) in
            guard result.member("ok")?.bool != true else { return }
            let error = result.member("error")
            let kind = error?.member("kind")?.string.flatMap { ErrorKind(rawValue: $0) } ?? .upstreamError
            var message = SecretBuffer()
            message.append(printable: error?.member("message")?.string ?? "the source gave nothing")
            throw .refused(
                Refusal(
                    code: kind.properties.code, kind: kind, isRetryable: kind.properties.isRetryable,
                    retryAfterSeconds: nil, message: message.text))
        }
    }

    /// Calls a method whose only parameter is the account, where there is one, and shows the result.
    func show(
        _ method: Method, judge: (JSONValue) throws(Failure) -> Void = { (_) throws(Failure) in }
    ) throws(Failure) {
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
                try judge(result)
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
