package import CredentialCore
package import Secrets

/// The request that binds a credential on a platform that only the operator knows.
package enum DescribedBind {
    /// Puts the request together; `secrets` are the contents of what its headers refer to, in that order.
    ///
    /// In headers and body `{bearer}`, `{companion}`, `{issuer}` and `{account}` stand for what the credential has. A header whose
    /// placeholder stands for nothing is left out; in a body nothing is put there.
    ///
    /// - Throws: `sourceUnavailable` when a secret has a byte that no header value may have.
    package static func request(
        _ bind: BindDefinition, account: AccountName, credential: Credential, secrets: [SecretBytes]
    ) throws(RefreshFailure) -> PlatformRequest {
        let values = values(account, credential)
        var headers: [(name: String, value: SecretBytes)] = []
        var rest = secrets[...]
        for header in bind.headers {
            switch header.value {
            case .literal(let template):
                if let value = TextTemplate.fill(template, values, .none, missing: nil) {
                    headers.append((header.name, value))
                }
            case .secret(_, let prefix):
                guard let value = rest.popFirst().flatMap(PlatformWire.headerValue) else {
                    throw RefreshFailure(.sourceUnavailable)
                }
                var buffer = SecretBuffer(capacity: prefix.utf8.count + value.count)
                buffer.append(prefix)
                buffer.append(value)
                headers.append((header.name, buffer.finish()))
            }
        }
        let hasBody = bind.method.takesBody
        if hasBody { headers.append(("Content-Type", PlatformWire.bytes(bind.contentType))) }
        if !bind.headers.contains(where: { $0.name.lowercased() == "accept" }) {
            headers.append(("Accept", SecretBytes("application/json")))
        }
        let body = TextTemplate.fill(
            bind.bodyTemplate ?? "{}", values, TextTemplate.Escaping(contentType: bind.contentType))
        return PlatformRequest(
            url: bind.url, method: bind.method, headers: headers, body: hasBody ? body : nil)
    }

    /// What a client's requests carry where the description of `account` says that, with the same placeholders.
    package static func clientHeaders(
        of account: AccountDefinition, credential: Credential
    ) -> [(name: String, value: SecretBytes)] {
        let values = values(account.name, credential)
        return account.requestHeaders.compactMap { header in
            guard case .literal(let template) = header.value else { return nil }
            return TextTemplate.fill(template, values, .none, missing: nil).map { (header.name, $0) }
        }
    }

    private static func values(
        _ account: AccountName, _ credential: Credential
    ) -> [(name: String, value: SecretBytes?)] {
        [
            ("bearer", credential.bearer), ("companion", credential.companion),
            ("issuer", credential.issuer.map { PlatformWire.bytes($0) }),
            ("account", PlatformWire.bytes(account.text)),
        ]
    }
}
