import ChatAuthAPI
import Glibc
import JSON
import Secrets

/// `doctor`: findings, one a line; that there are errors among them is a failure of this command.
extension Session {
    func doctor() throws(Failure) {
        let isOfAccount = invocation.operands.count > 0
        let method: Method = isOfAccount ? .accountDoctor : .daemonDoctor
        if !isOfAccount, invocation.has(.online) { throw .usage(.operandMissing("ACCOUNT"), .doctor) }
        let connection = try Connection(to: diagnosedPath(method), patience: patience)
        var output = SecretBuffer()
        var errors: [ErrorKind?] = []
        try connection.call(
            method.rawValue, patience: patience,
            params: { (params) throws(Failure) in
                params.beginObject()
                if isOfAccount { params.member("account", try operand(0)) }
                if invocation.has(.online) {
                    params.key("online")
                    params.bool(true)
                }
                params.endObject()
            },
            answer: { (result) throws(Failure) in
                guard let findings = result.member("findings"), findings.kind == .array else {
                    throw .badAnswer(.memberMissing("findings"))
                }
                var cursor = findings.elements()
                while let finding = cursor.next() {
                    if finding.member("severity")?.isString("error") == true {
                        errors.append(finding.errorKind)
                    }
                    if !isJSON { append(finding, to: &output) }
                }
                guard isJSON else { return }
                output.append(result.rawToken)
                output.append("\n")
            })
        try Output.write(output)
        guard !errors.isEmpty else { return }
        // What explains the others need not be of a kind itself.
        let worst = errors.lazy.compactMap(\.self).first
        var message = SecretBuffer()
        message.append(decimal: Int64(errors.count))
        message.append(errors.count == 1 ? " finding is an error" : " findings are errors")
        let kind = worst ?? .credentialRejected
        throw .refused(
            Refusal(
                code: kind.properties.code, kind: kind, isRetryable: kind.properties.isRetryable,
                retryAfterSeconds: nil, message: message.text))
    }

    /// Of the daemon the administration socket knows more, for whoever may use it.
    private func diagnosedPath(_ method: Method) -> SocketPath {
        let usual = path(for: method.description.access)
        guard method == .daemonDoctor else { return usual }
        let administration = path(for: .admin)
        return access(administration.text, R_OK | W_OK) == 0 ? administration : usual
    }

    private func append(_ finding: JSONValue, to output: inout SecretBuffer) {
        let severity = finding.member("severity")?.string ?? "hint"
        let hasColour = Output.isTerminal && surroundings.variable("NO_COLOR") == nil
        let colour = hasColour ? Colour(severity: severity) : nil
        if let colour { output.append(colour.begin) }
        output.append(printable: severity)
        if colour != nil { output.append("\u{1B}[0m") }
        output.append(" ")
        output.append(printable: finding.member("code")?.string ?? "")
        output.append(": ")
        output.append(printable: finding.member("message")?.string ?? "")
        if let fix = finding.member("fix")?.string {
            output.append("; to do: ")
            output.append(printable: fix)
        }
        output.append("\n")
    }
}

extension JSONValue {
    /// The kind of a finding: of what failed, or that of its code where that is a kind as well.
    fileprivate var errorKind: ErrorKind? {
        let kind = member("error")?.member("kind")?.string ?? member("code")?.string
        return kind.flatMap { ErrorKind(rawValue: $0) }
    }
}

extension Colour {
    fileprivate init?(severity: String) {
        switch severity {
        case "ok": self = .good
        case "hint": self = .resting
        case "warning": self = .waiting
        case "error": self = .bad
        default: return nil
        }
    }
}
