import JSON

/// Sources as JSON, in the words in which they are read.
extension AccountDefinitionJSON {
    static func write(_ source: HTTPSource, to writer: inout JSONWriter) {
        member("url", source.url.text, &writer)
        member("method", source.method.rawValue, &writer)
        write(source.headers, to: &writer)
        member("body", source.bodyTemplate, &writer)
        member("content_type", source.contentType, &writer)
        if source.answer != .json { member("answer", source.answer.rawValue, &writer) }
        if let fields = source.fields { write(fields, to: &writer) }
        member("ca_file", source.caFile, &writer)
        member("proxy", source.proxy, &writer)
        seconds("timeout", source.timeout, &writer)
    }

    static func write(_ headers: [HTTPSource.Header], to writer: inout JSONWriter) {
        guard !headers.isEmpty else { return }
        writer.key("headers")
        writer.beginObject()
        for header in headers {
            writer.key(named: header.name)
            switch header.value {
            case .literal(let text): writer.string(text)
            case .secret(let reference, let prefix): write(reference, prefix: prefix, to: &writer)
            }
        }
        writer.endObject()
    }

    static func write(_ source: OAuthSource, to writer: inout JSONWriter) {
        member("issuer", source.endpoints.issuer, &writer)
        member("token_endpoint", source.endpoints.token?.text, &writer)
        member("introspection_endpoint", source.endpoints.introspection?.text, &writer)
        member("revocation_endpoint", source.endpoints.revocation?.text, &writer)
        member("jwks_uri", source.endpoints.keys?.text, &writer)
        switch source.flow {
        case .refreshToken(let grant):
            member("grant_type", "refresh_token", &writer)
            member("grant", grant.text, &writer)
        case .clientCredentials: member("grant_type", "client_credentials", &writer)
        }
        member("client_id", source.clientID, &writer)
        switch source.authentication {
        case .none: member("client_authentication", "none", &writer)
        case .basic(let secrets):
            member("client_authentication", "basic", &writer)
            write(secrets, to: &writer)
        case .form(let secrets):
            member("client_authentication", "form", &writer)
            write(secrets, to: &writer)
        case .privateKeyJWT(let key, let algorithm, let keyID):
            member("client_authentication", "private_key_jwt", &writer)
            writer.key("client_key")
            write(key, to: &writer)
            member("client_key_algorithm", algorithm.rawValue, &writer)
            member("client_key_id", keyID, &writer)
        }
        if !source.scope.isEmpty { member("scope", source.scope.joined(separator: " "), &writer) }
        member("audience", source.audience, &writer)
        member("resource", source.resource, &writer)
        member("introspect", source.introspection.rawValue, &writer)
        member("ca_file", source.caFile, &writer)
        member("proxy", source.proxy, &writer)
        seconds("timeout", source.timeout, &writer)
    }

    private static func write(_ secrets: [SecretReference], to writer: inout JSONWriter) {
        writer.key("client_secrets")
        writer.beginArray()
        for secret in secrets { write(secret, to: &writer) }
        writer.endArray()
    }

    static func write(_ source: JWTSource, to writer: inout JSONWriter) {
        writer.key("key")
        write(source.key, to: &writer)
        member("algorithm", source.algorithm.rawValue, &writer)
        member("key_id", source.keyID, &writer)
        seconds("lifetime", source.lifetime, &writer)
        var claims = source.claims[...]
        for (claim, name) in [("iss", "issuer"), ("sub", "subject"), ("aud", "audience")] {
            guard claims.first?.name == claim, let value = claims.popFirst()?.value else { continue }
            writer.key(named: name)
            write(value, to: &writer)
        }
        guard !claims.isEmpty else { return }
        writer.key("claims")
        write(.object(Array(claims)), to: &writer)
    }

    private static func write(_ value: JWTSource.Claim.Value, to writer: inout JSONWriter) {
        switch value {
        case .text(let text): writer.string(text)
        case .integer(let number): writer.integer(number)
        case .boolean(let flag): writer.bool(flag)
        case .list(let values):
            writer.beginArray()
            for value in values { write(value, to: &writer) }
            writer.endArray()
        case .object(let claims):
            writer.beginObject()
            for claim in claims {
                writer.key(named: claim.name)
                write(claim.value, to: &writer)
            }
            writer.endObject()
        }
    }

    static func seconds(_ name: StaticString, _ length: Milliseconds, _ writer: inout JSONWriter) {
        writer.key(name)
        if length.count % 1000 == 0 {
            writer.integer(length.count / 1000)
        } else {
            writer.double(Double(length.count) / 1000)
        }
    }

    static func write(_ reference: SecretReference, prefix: String = "", to writer: inout JSONWriter) {
        writer.beginObject()
        switch reference {
        case .file(let path): member("file", path, &writer)
        case .credential(let name): member("credential", name, &writer)
        case .secret(let name): member("secret", name.text, &writer)
        }
        if !prefix.isEmpty { member("prefix", prefix, &writer) }
        writer.endObject()
    }

    static func member(_ name: StaticString, _ text: String?, _ writer: inout JSONWriter) {
        guard let text else { return }
        writer.key(name)
        writer.string(text)
    }
}
