import ChatAuthAPI
import JSON
import Secrets

/// `call`, `metrics` and `watch`.
extension Session {
    func callAny() throws(Failure) {
        let name = try operand(0)
        guard name.isMethodName else { throw .usage(.badMethodName, invocation.command) }
        var params = SecretBuffer()
        if invocation.operands.count > 1 {
            let text = invocation.operands[1]
            if text == "-" {
                params = try Input.read(text, limit: Input.largestJSON)
            } else {
                params.append(text.span)
            }
            try requireParameters(&params)
        } else {
            params.append("{}")
        }
        let method = Method(rawValue: name.text)
        let connection = try connect(for: method?.description.access ?? .use)
        var output = SecretBuffer()
        try connection.call(
            name.text, patience: patience,
            params: { (writer) throws(Failure) in
                params.withSpan { writer.raw($0) }
            },
            answer: { (result) throws(Failure) in
                output.append(result.rawToken)
                output.append("\n")
            })
        try Output.write(output)
    }

    // A line end inside the text would end the message, and a text that is no JSON would be blamed on us.
    private func requireParameters(_ text: inout SecretBuffer) throws(Failure) {
        var document = JSONDocument(limits: JSONLimits(length: Input.largestJSON))
        var isUsable = false
        text.withSpan { span in
            guard let root = try? document.parse(span) else { return }
            isUsable = root.kind == .object || root.kind == .array
        }
        guard isUsable else { throw .usage(.badParameters, invocation.command) }
        // Between its values JSON may have line ends; inside strings it has none (RFC 8259 §7).
        var line = SecretBuffer(capacity: text.count)
        text.withSpan { span in
            for index in span.indices {
                let byte = span[index]
                line.append(
                    byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") ? UInt8(ascii: " ") : byte)
            }
        }
        text = line
    }

    func metrics() throws(Failure) {
        var output = SecretBuffer()
        try call(
            .daemonMetrics,
            params: { (params) throws(Failure) in
                params.beginObject()
                params.endObject()
            },
            answer: { (result) throws(Failure) in
                if isJSON {
                    output.append(result.rawToken)
                    output.append("\n")
                } else {
                    try output.append(member: "openmetrics", of: result, free: .zero)
                }
            })
        try Output.write(output)
    }

    func watch() throws(Failure) {
        let connection = try connect(for: Method.eventsSubscribe.description.access)
        try connection.follow(
            Method.eventsSubscribe.rawValue, patience: patience,
            params: { (params) throws(Failure) in subscription(&params) },
            answer: { (state) throws(Failure) in
                warnOfAbsent(state)
                var lines = SecretBuffer(capacity: 1024)
                if isJSON {
                    lines.append(state.rawToken)
                    lines.append("\n")
                } else {
                    lines.append(stateOf: state)
                }
                try Output.write(lines)
            },
            event: { (method, message) throws(Failure) in
                var line = SecretBuffer(capacity: 256)
                if isJSON {
                    line.append(message.rawToken)
                } else {
                    line.append(event: method, message.member("params"))
                }
                line.append("\n")
                try Output.write(line)
            })
    }

    /// An account may come later, so that it is followed all the same; whoever mistyped its name is told.
    private func warnOfAbsent(_ state: JSONValue) {
        guard let accounts = state.member("accounts"), accounts.kind == .array else { return }
        for index in 0..<invocation.operands.count {
            let name = invocation.operands[index].text
            var isThere = false
            var cursor = accounts.elements()
            while let account = cursor.next() {
                if account.member("account")?.string == name { isThere = true }
            }
            if !isThere { Output.warn("waiting for an account that is not there, or not yours: ", name) }
        }
    }

    private func subscription(_ params: inout JSONWriter) {
        params.beginObject()
        params.key("topics")
        params.beginArray()
        if invocation.has(.topic) {
            invocation.forEachValue(.topic) { params.string(utf8: $0.span) }
        } else {
            for topic in Option.Value.topic.choices { params.string(topic) }
        }
        params.endArray()
        if invocation.operands.count > 0 {
            params.key("accounts")
            params.beginArray()
            for index in 0..<invocation.operands.count {
                params.string(utf8: invocation.operands[index].span)
            }
            params.endArray()
        }
        params.endObject()
    }
}

extension Argument {
    /// Lower-case letters, digits, points and underscores, at most 64.
    fileprivate var isMethodName: Bool {
        guard (1...64).contains(count) else { return false }
        for index in 0..<count {
            switch self[index] {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "."), UInt8(ascii: "_"):
                continue
            default: return false
            }
        }
        return true
    }
}
