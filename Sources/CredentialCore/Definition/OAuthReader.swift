/// `oauth` sources, as descriptions have them.
extension AccountReader {
    private enum GrantType: String, CaseIterable {
        case refreshToken = "refresh_token"
        case clientCredentials = "client_credentials"
    }
    private enum Authentication: String, CaseIterable {
        case basic, form, none
        case privateKeyJWT = "private_key_jwt"
    }

    private static let secretLimit = 8
    private static let scopeLimit = 64

    func oauthSource(_ table: inout DefinitionTable, _ account: AccountName) -> SourceDefinition? {
        let issuer = readIssuer(&table)
        let token = url("token_endpoint", &table)
        let endpoints = OAuthSource.Endpoints(
            issuer: issuer, token: token, introspection: url("introspection_endpoint", &table),
            revocation: url("revocation_endpoint", &table), keys: url("jwks_uri", &table))
        if !table.members.contains(where: { ["issuer", "token_endpoint"].contains($0.key) }) {
            table.faults.add(table.path, table.position, .withoutIssuer)
        }
        let clientID = table.required("client_id").flatMap { entry -> String? in
            guard let text = table.string(entry) else { return nil }
            if Self.isVisible(text, limit: 1024) { return text }
            table.fault(entry, .malformedText)
            return nil
        }
        let flow = readFlow(&table, account)
        let authentication = readAuthentication(&table, flow)
        let scope = readScope(&table)
        let audience = text("audience", &table) { Self.isVisible($0, limit: 2048) }
        let resource = text("resource", &table) { Self.isVisible($0, limit: 2048) }
        let introspection = table.choice("introspect", OAuthSource.Introspection.self)
        if introspection == .always, endpoints.introspection == nil, issuer == nil {
            table.faults.add(table.path(of: "introspection_endpoint"), table.position, .missing)
        }
        let caFile = table.entry("ca_file").flatMap { path($0, table) }
        let proxy = readProxy(&table)
        // A refresh token that is out is waited for when the daemon is stopped, and that has an end.
        let timeout = table.seconds("timeout", in: 1...10)
        guard let clientID, let flow, let authentication, issuer != nil || token != nil else { return nil }
        return .oauth(
            OAuthSource(
                endpoints: endpoints, flow: flow, clientID: clientID, authentication: authentication,
                scope: scope, audience: audience, resource: resource,
                introspection: introspection ?? .automatic, caFile: caFile, proxy: proxy,
                timeout: timeout ?? .seconds(8)))
    }

    // Compared byte by byte with what the server says, so it is kept as it was written; it must be a URL all the same (RFC 8414 §2).
    private func readIssuer(_ table: inout DefinitionTable) -> String? {
        guard let entry = table.entry("issuer"), let text = table.string(entry) else { return nil }
        do throws(HTTPURL.Failure) {
            _ = try HTTPURL(text)
            if !text.contains("?") { return text }
            table.fault(entry, .malformedText)
        } catch {
            table.fault(entry, .url(error))
        }
        return nil
    }

    private func url(_ key: String, _ table: inout DefinitionTable) -> HTTPURL? {
        guard let entry = table.entry(key), let text = table.string(entry) else { return nil }
        do throws(HTTPURL.Failure) {
            return try HTTPURL(text)
        } catch {
            table.fault(entry, .url(error))
            return nil
        }
    }

    private func readFlow(_ table: inout DefinitionTable, _ account: AccountName) -> OAuthSource.Flow? {
        let type = table.choice("grant_type", GrantType.self) ?? .refreshToken
        let grant = table.entry("grant")
        switch type {
        case .clientCredentials:
            if let grant { table.fault(grant, .grantWithoutRefresh) }
            return .clientCredentials
        case .refreshToken:
            guard let grant else { return .refreshToken(grant: account) }
            guard let text = table.string(grant) else { return nil }
            if let name = GrantName(text) { return .refreshToken(grant: name) }
            table.fault(grant, .entryName)
            return nil
        }
    }

    private func readAuthentication(
        _ table: inout DefinitionTable, _ flow: OAuthSource.Flow?
    ) -> OAuthSource.ClientAuthentication? {
        let method = table.choice("client_authentication", Authentication.self)
        let secrets = readClientSecrets(&table)
        let hasSecrets = table.members.contains { ["client_secret", "client_secrets"].contains($0.key) }
        let key = reference("client_key", &table)
        let hasKey = table.members.contains { $0.key == "client_key" }
        let algorithm = table.choice("client_key_algorithm", SignatureAlgorithm.self)
        let keyID = text("client_key_id", &table) { Self.isVisible($0, limit: 1024) }
        let chosen = method ?? (hasSecrets ? .basic : hasKey ? .privateKeyJWT : .none)
        if chosen != .basic, chosen != .form {
            for name in ["client_secret", "client_secrets"] { table.refuse(name, .contradiction) }
        }
        if chosen != .privateKeyJWT {
            for name in ["client_key", "client_key_algorithm", "client_key_id"] {
                table.refuse(name, .contradiction)
            }
        }
        switch chosen {
        case .basic, .form:
            if !hasSecrets { table.faults.add(table.path(of: "client_secret"), table.position, .missing) }
            guard !secrets.isEmpty else { return nil }
            return chosen == .form ? .form(secrets) : .basic(secrets)
        case .privateKeyJWT:
            if !hasKey { table.faults.add(table.path(of: "client_key"), table.position, .missing) }
            guard let key else { return nil }
            return .privateKeyJWT(key: key, algorithm: algorithm ?? .rs256, keyID: keyID)
        case .none:
            // A client that proves nothing could be anybody, and the token would be anybody's.
            if flow == .clientCredentials {
                table.faults.add(table.path(of: "client_secret"), table.position, .missing)
                return nil
            }
            return OAuthSource.ClientAuthentication.none
        }
    }

    private func readClientSecrets(_ table: inout DefinitionTable) -> [SecretReference] {
        var secrets: [SecretReference] = []
        if let secret = reference("client_secret", &table) { secrets.append(secret) }
        guard let entry = table.entry("client_secrets") else { return secrets }
        guard case .array(let elements) = entry.node.value else {
            table.fault(entry, expected: .list)
            return secrets
        }
        // An empty list looks like a proof and is none.
        guard !elements.isEmpty else {
            table.fault(entry, .malformedText)
            return secrets
        }
        // Together: they are kept as one list, which must be read again.
        guard secrets.count + elements.count <= Self.secretLimit else {
            table.fault(entry, .tooMany(limit: Self.secretLimit))
            return secrets
        }
        for (index, element) in elements.enumerated() {
            let path = "\(entry.path)[\(index)]"
            if case .string = element.value {
                table.faults.add(path, element.position, .literalSecret)
            } else if var inner = DefinitionTable(element, path: path, faults: table.faults),
                let secret = reference(&inner)
            {
                secrets.append(secret)
            }
        }
        return secrets
    }

    // One text with spaces, or a list; in one order and without doubles, so that equal scopes are equal (RFC 6749 §3.3).
    private func readScope(_ table: inout DefinitionTable) -> [String] {
        guard let entry = table.entry("scope") else { return [] }
        var words: [String] = []
        switch entry.node.value {
        case .string(let text): words = text.split(separator: " ").map(String.init)
        case .array(let elements):
            for element in elements {
                guard case .string(let word) = element.value else {
                    table.fault(entry, expected: .string)
                    return []
                }
                words.append(word)
            }
        default: table.fault(entry, expected: .string)
        }
        guard words.count <= Self.scopeLimit else {
            table.fault(entry, .tooMany(limit: Self.scopeLimit))
            return []
        }
        guard words.allSatisfy(Self.isScopeToken) else {
            table.fault(entry, .malformedText)
            return []
        }
        return Set(words).sorted()
    }

    private static func isScopeToken(_ word: String) -> Bool {
        (1...256).contains(word.utf8.count)
            && word.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
    }

    static func isVisible(_ text: String, limit: Int) -> Bool {
        (1...limit).contains(text.utf8.count) && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }

    func readProxy(_ table: inout DefinitionTable) -> String? {
        guard let entry = table.entry("proxy"), let text = table.string(entry) else { return nil }
        if TextRules.isProxy(text) { return text }
        table.fault(entry, .proxy)
        return nil
    }
}
