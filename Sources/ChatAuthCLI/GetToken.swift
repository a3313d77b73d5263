import ChatAuthAPI
import JSON
import Secrets

/// `get-token` and `headers`.
extension Session {
    func getToken() throws(Failure) {
        let format = isJSON ? .json : invocation.value(.format).flatMap { TokenFormat($0) } ?? .token
        if invocation.has(.generation), !invocation.has(.after401) {
            throw .usage(.needs(.generation, .after401), invocation.command)
        }
        if isJSON, invocation.has(.format) { throw .usage(.exclusive(.json, .format), invocation.command) }
        let connection = try connect()
        var output = SecretBuffer(capacity: 2048)
        // What a request takes is the platform's matter: not everywhere an Authorization.
        if format == .headers || format == .curl {
            // The method has no `force`: what it would force is done before it.
            if invocation.has(.after401) || invocation.has(.force) { try withToken(connection) { _ in } }
            try headers(connection, &output, forCurl: format == .curl)
        } else {
            try withToken(connection) { (result) throws(Failure) in try format.render(result, into: &output) }
        }
        try writeSecret(output)
    }

    func headers() throws(Failure) {
        var output = SecretBuffer(capacity: 2048)
        try headers(connect(), &output, forCurl: false)
        try writeSecret(output)
    }

    /// Gets a token and lends the whole result.
    ///
    /// With `--after-401`: the generation is reported as refused, and a token is asked for, which waits for the refresh that the report
    /// has started. Nothing is forced: the daemon counts refusals, and the second in a row ends it. The token that was refused is
    /// none to hand out, here or there.
    func withToken(_ connection: Connection, _ body: (JSONValue) throws(Failure) -> Void) throws(Failure) {
        let account = try operand(0)
        let isAfter401 = invocation.has(.after401)
        var refused: Int64?
        if isAfter401 {
            try connection.call(
                Method.tokenReject.rawValue, patience: patience,
                params: { (params) throws(Failure) in
                    params.beginObject()
                    params.member("account", account)
                    params.member("generation", number: .generation, of: invocation)
                    params.key("http_status")
                    params.integer(401)
                    params.endObject()
                },
                answer: { result in
                    refused =
                        invocation.value(.generation)?.decimal(upTo: .max)
                        ?? result.member("generation")?.integer
                })
        }
        try connection.call(
            Method.tokenGet.rawValue, patience: patience,
            params: { (params) throws(Failure) in
                params.beginObject()
                params.member("account", account)
                params.member("min_valid", seconds: .minValid, of: invocation)
                params.member("wait", seconds: .wait, of: invocation)
                if invocation.has(.force) {
                    params.key("force")
                    params.bool(true)
                }
                params.endObject()
            },
            answer: { (result) throws(Failure) in
                if isAfter401 {
                    try Self.requireAnother(than: refused, result)
                } else {
                    warnOfStale(result)
                }
                try body(result)
            })
    }

    /// The token has not ended and is handed out; that it is not the new one that was asked for, or may be one that was refused, is said.
    private func warnOfStale(_ result: JSONValue) {
        guard result.member("stale")?.bool == true else { return }
        let error = result.member("refresh_error")
        let message = error?.member("message")?.string ?? "no reason was given"
        if error?.member("kind")?.string == ErrorKind.staleCredential.rawValue {
            Output.warn("this is the token from before, which may have been refused: ", message)
        } else if invocation.has(.force) {
            Output.warn("the refresh failed, this is the token from before, which still holds: ", message)
        }
    }

    /// The token that the platform has just refused is no answer to that: whoever asked is told why there is no other.
    private static func requireAnother(than refused: Int64?, _ result: JSONValue) throws(Failure) {
        guard result.member("stale")?.bool == true || result.member("generation")?.integer == refused else {
            return
        }
        let error = result.member("refresh_error")
        let kind = error?.member("kind")?.string.flatMap { ErrorKind(rawValue: $0) } ?? .credentialRejected
        throw .refused(
            Refusal(
                code: kind.properties.code, kind: kind, isRetryable: kind.properties.isRetryable,
                retryAfterSeconds: nil,
                message: error == nil
                    ? "the token was refused, and nothing gives another"
                    : "the token was refused, and there is no other yet: the refresh failed"))
    }

    private func headers(
        _ connection: Connection, _ output: inout SecretBuffer, forCurl: Bool
    ) throws(Failure) {
        let account = try operand(0)
        try connection.call(
            Method.headersGet.rawValue, patience: patience,
            params: { (params) throws(Failure) in
                params.beginObject()
                params.member("account", account)
                params.member("route", text: .route, of: invocation)
                params.member("min_valid", seconds: .minValid, of: invocation)
                params.member("wait", seconds: .wait, of: invocation)
                params.endObject()
            },
            answer: { (result) throws(Failure) in
                if isJSON {
                    output.append(result.rawToken)
                    output.append("\n")
                } else {
                    try Self.headerLines(result, &output, forCurl: forCurl)
                }
            })
    }

    private static func headerLines(
        _ result: JSONValue, _ output: inout SecretBuffer, forCurl: Bool
    ) throws(Failure) {
        guard let headers = result.member("headers"), headers.kind == .array else {
            throw .badAnswer(.memberMissing("headers"))
        }
        var cursor = headers.elements()
        while let header = cursor.next() {
            var parts = header.elements()
            guard let name = parts.next(), let value = parts.next(), name.kind == .string,
                value.kind == .string
            else { throw .badAnswer(.memberMissing("headers")) }
            var line = SecretBuffer(capacity: 2048)
            try line.append(textOf: name, free: .control)
            line.append(": ")
            try line.append(textOf: value, free: .control)
            if forCurl {
                output.append("header = \"")
                output.append(curlQuoting: line)
                output.append("\"\n")
            } else {
                line.withSpan { output.append($0) }
                output.append("\n")
            }
        }
    }

    private func writeSecret(_ output: borrowing SecretBuffer) throws(Failure) {
        if !invocation.has(.forceTTY), Output.isTerminal {
            Output.warn("a token on a terminal stays in its scrollback; --force-tty silences this")
        }
        try Output.write(output)
    }
}
