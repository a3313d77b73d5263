import ChatAuthAPI
import Glibc
import JSON
import Secrets

/// Commands for accounts at chat platforms: tokens come from files or standard input, all else by options.
extension Session {
    /// Whether a command takes a token in `--token-file`.
    enum TokenInput { case none, optional, required }

    /// Calls a method with the account, a second operand where there is one, and whatever options were given.
    func give(
        _ method: Method, token: TokenInput = .none, named tokenKey: StaticString = "token",
        second: StaticString? = nil
    ) throws(Failure) {
        // The destination first: nobody types a token for a socket that is not trusted.
        let path = path(for: method.description.access)
        try path.requireTrust()
        // Empty: none was given; a token itself is never empty.
        let tokenBytes = try read(.tokenFile, token)
        let authToken = try read(.authTokenFile, .optional)
        let accessToken = try read(.accessTokenFile, .optional)
        let connection = try Connection(to: path, patience: patience)
        var output = SecretBuffer()
        try connection.call(
            method.rawValue, patience: patience,
            params: { (params) throws(Failure) in
                params.beginObject()
                try account(&params)
                if let second { try secondOperand(second, &params) }
                params.token(tokenKey, tokenBytes)
                params.token("auth_token", authToken)
                params.token("access_token", accessToken)
                params.member("user_id", text: .userID, of: invocation)
                params.member("display_name", text: .displayName, of: invocation)
                params.member("conversation_id", text: .conversationID, of: invocation)
                params.member("renewal_id", text: .renewalID, of: invocation)
                params.member("wait", seconds: .wait, of: invocation)
                if invocation.has(.unable) {
                    params.key("unable")
                    params.bool(true)
                }
                params.endObject()
            },
            answer: { (result) throws(Failure) in
                guard isJSON else { return }
                output.append(result.rawToken)
                output.append("\n")
            })
        if !output.isEmpty { try Output.write(output) }
    }

    private func secondOperand(_ name: StaticString, _ params: inout JSONWriter) throws(Failure) {
        let value = try operand(1)
        if let number = value.decimal(upTo: .max), name == "code" as StaticString {
            params.key(name)
            params.integer(number)
        } else {
            params.member(name, value)
        }
    }

    private func read(_ option: Option, _ input: TokenInput) throws(Failure) -> SecretBuffer {
        if let file = invocation.value(option) { return try Input.token(file, asking: "token: ") }
        guard input == .required else { return SecretBuffer() }
        return try withDash { (dash) throws(Failure) in try Input.token(dash, asking: "token: ") }
    }

    /// Calls a method and prints one member of its result.
    func printMember(_ name: StaticString, of method: Method) throws(Failure) {
        var output = SecretBuffer()
        try call(
            method,
            params: { (params) throws(Failure) in
                params.beginObject()
                try account(&params)
                params.endObject()
            },
            answer: { (result) throws(Failure) in
                if isJSON {
                    output.append(result.rawToken)
                } else {
                    output.append(printable: result.member(name)?.string ?? "")
                }
                output.append("\n")
            })
        try Output.write(output)
    }
}

extension JSONWriter {
    fileprivate mutating func token(_ name: StaticString, _ token: borrowing SecretBuffer) {
        guard !token.isEmpty else { return }
        key(name)
        token.withSpan { string(utf8: $0) }
    }
}
