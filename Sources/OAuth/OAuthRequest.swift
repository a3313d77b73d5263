package import CredentialCore
package import Secrets

/// What a client shows to prove who it is, as it is at hand when a request is made (RFC 6749 §2.3).
package enum ClientProof: Sendable {
    /// A public client: `client_id` alone.
    case none
    /// `client_secret_basic`.
    case basic(SecretBytes)
    /// `client_secret_post`.
    case form(SecretBytes)
    /// `private_key_jwt`: a signed assertion (RFC 7523 §2.2).
    case assertion(SecretBytes)
}

/// Requests to the endpoints of an authorization server.
///
/// A server that answers sees only what is meant for it: every client and grant has connections of its own, and no request follows a
/// redirect.
package struct OAuthRequest {
    let source: OAuthSource
    let partition: String

    /// Requests of `source`; those with equal partitions may share connections.
    package init(source: OAuthSource, partition: String) {
        self.source = source
        self.partition = partition
    }

    /// Bytes of an answer that are wanted at most: two tokens of the greatest size and a refresh token, escaped.
    package static let answerLimit = 1 << 20

    /// Asks for a document: metadata or a key set.
    package func get(_ url: HTTPURL, id: UInt64) -> FetchRequest {
        request(id, url, .get, [("Accept", SecretBytes("application/json"))], body: nil, limit: 1 << 18)
    }

    /// Spends a refresh token (RFC 6749 §6).
    ///
    /// A scope is asked for only where one is configured: without one, what was granted stays granted, and accounts that share a grant
    /// can each ask for less of it.
    package func refresh(
        _ refreshToken: SecretBytes, at endpoint: HTTPURL, proof: ClientProof, id: UInt64
    ) -> FetchRequest {
        var form = FormBody()
        form.add("grant_type", "refresh_token")
        form.add("refresh_token", refreshToken)
        if !source.scope.isEmpty { form.add("scope", source.scope.joined(separator: " ")) }
        addTarget(to: &form)
        return post(form, to: endpoint, proof: proof, id: id)
    }

    /// Asks for a token with what the client has itself (RFC 6749 §4.4).
    package func clientCredentials(at endpoint: HTTPURL, proof: ClientProof, id: UInt64) -> FetchRequest {
        var form = FormBody()
        form.add("grant_type", "client_credentials")
        if !source.scope.isEmpty { form.add("scope", source.scope.joined(separator: " ")) }
        addTarget(to: &form)
        return post(form, to: endpoint, proof: proof, id: id)
    }

    /// Asks whether a token is active and when it ends (RFC 7662 §2.1).
    package func introspect(
        _ token: SecretBytes, at endpoint: HTTPURL, proof: ClientProof, id: UInt64
    ) -> FetchRequest {
        var form = FormBody()
        form.add("token", token)
        form.add("token_type_hint", "access_token")
        return post(form, to: endpoint, proof: proof, id: id)
    }

    /// What is revoked (RFC 7009 §2.1).
    package enum TokenKind: String, Sendable {
        case accessToken = "access_token"
        case refreshToken = "refresh_token"
    }

    /// Ends a token (RFC 7009 §2.1).
    package func revoke(
        _ token: SecretBytes, _ kind: TokenKind, at endpoint: HTTPURL, proof: ClientProof, id: UInt64
    ) -> FetchRequest {
        var form = FormBody()
        form.add("token", token)
        form.add("token_type_hint", kind.rawValue)
        return post(form, to: endpoint, proof: proof, id: id)
    }

    // MARK: Parts

    private func addTarget(to form: inout FormBody) {
        if let audience = source.audience { form.add("audience", audience) }
        if let resource = source.resource { form.add("resource", resource) }
    }

    private func post(
        _ form: consuming FormBody, to url: HTTPURL, proof: ClientProof, id: UInt64
    ) -> FetchRequest {
        var headers: [(name: String, value: SecretBytes)] = [
            ("Content-Type", SecretBytes("application/x-www-form-urlencoded")),
            ("Accept", SecretBytes("application/json")),
        ]
        switch proof {
        case .none: form.add("client_id", source.clientID)
        case .basic(let secret): headers.append(("Authorization", basic(secret)))
        case .form(let secret):
            form.add("client_id", source.clientID)
            form.add("client_secret", secret)
        case .assertion(let assertion):
            form.add("client_id", source.clientID)
            form.add("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
            form.add("client_assertion", assertion)
        }
        return request(id, url, .post, headers, body: form.finish(), limit: Self.answerLimit)
    }

    private func request(
        _ id: UInt64, _ url: HTTPURL, _ method: HTTPMethod,
        _ headers: [(name: String, value: SecretBytes)], body: SecretBytes?, limit: Int
    ) -> FetchRequest {
        FetchRequest(
            id: id, url: url, method: method, headers: headers, body: body, caFile: source.caFile,
            proxy: source.proxy, timeout: source.timeout, bodyLimit: limit, partition: partition)
    }

    // Both halves are encoded as in a form before they are joined (RFC 6749 §2.3.1).
    private func basic(_ secret: SecretBytes) -> SecretBytes {
        var pair = SecretBuffer(capacity: source.clientID.utf8.count + secret.count + 1)
        FormBody.append(source.clientID.utf8.span, to: &pair)
        pair.append(UInt8(ascii: ":"))
        secret.withSpan { FormBody.append($0, to: &pair) }
        var value = SecretBuffer(capacity: pair.count * 4 / 3 + 12)
        value.append("Basic ")
        pair.withSpan { Base64URL.append(encoding: $0, as: .standard, to: &value) }
        return value.finish()
    }
}
