import CLinux
import ChatAuthAPI
import JSON
import Secrets

/// `save`: the credential of an account, from files.
extension Session {
    func save() throws(Failure) {
        let idTokenFile = invocation.value(.idTokenFile)
        let accessTokenFile = invocation.value(.accessTokenFile)
        if let idTokenFile, let accessTokenFile, idTokenFile == "-", accessTokenFile == "-" {
            throw .usage(.standardInputTwice, invocation.command)
        }
        if invocation.has(.issuer), idTokenFile == nil, accessTokenFile == nil {
            throw .usage(.needs(.issuer, .idTokenFile), invocation.command)
        }
        // The destination first: nobody types a token for a socket that is not trusted.
        let path = path(for: Method.credentialsSave.description.access)
        try path.requireTrust()
        if idTokenFile == nil, accessTokenFile == nil {
            try saveOne(path)
        } else {
            try saveFiles(path, idTokenFile, accessTokenFile)
        }
    }

    private func saveOne(_ path: SocketPath) throws(Failure) {
        let token = try withDash { (dash) throws(Failure) in try Input.token(dash, asking: "token: ") }
        try send(.credentialsSaveToken, path) { (params) throws(Failure) in
            params.key("token")
            token.withSpan { params.string(utf8: $0) }
        }
    }

    private func saveFiles(_ path: SocketPath, _ idToken: Argument?, _ accessToken: Argument?) throws(Failure)
    {
        // Empty: there is none; a token itself is never empty.
        var idTokenBytes = SecretBuffer()
        var accessTokenBytes = SecretBuffer()
        if let idToken { idTokenBytes = try Input.token(idToken, asking: "identity token: ") }
        if let accessToken { accessTokenBytes = try Input.token(accessToken, asking: "access token: ") }
        try send(.credentialsSave, path) { (params) throws(Failure) in
            if !idTokenBytes.isEmpty {
                params.key("id_token")
                idTokenBytes.withSpan { params.string(utf8: $0) }
            }
            if !accessTokenBytes.isEmpty {
                params.key("access_token")
                accessTokenBytes.withSpan { params.string(utf8: $0) }
            }
            params.member("issuer", text: .issuer, of: invocation)
        }
    }

    private func send(
        _ method: Method, _ path: SocketPath, members: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        let connection = try Connection(to: path, patience: patience)
        var output = SecretBuffer()
        try connection.call(
            method.rawValue, patience: patience,
            params: { (params) throws(Failure) in
                params.beginObject()
                try account(&params)
                try members(&params)
                if let expiresAt = invocation.value(.expiresAt) {
                    if expiresAt.decimal(upTo: .max) != nil {
                        params.member("expires_at", number: .expiresAt, of: invocation)
                    } else {
                        params.member("expires_at", expiresAt)
                    }
                }
                params.endObject()
            },
            answer: { (result) throws(Failure) in
                Self.warnOfExpired(result)
                guard isJSON else { return }
                output.append(result.rawToken)
                output.append("\n")
            })
        if !output.isEmpty { try Output.write(output) }
    }

    /// What has ended already is kept all the same, and nobody will ever get it.
    private static func warnOfExpired(_ result: JSONValue) {
        guard let expiresAt = wholeSeconds(result.member("expires_at")),
            expiresAt <= cl_wall_milliseconds() / 1000
        else { return }
        var text = SecretBuffer()
        text.append(rfc3339: expiresAt)
        Output.warn("what was saved is of no use: it expired at ", text.text)
    }
}
