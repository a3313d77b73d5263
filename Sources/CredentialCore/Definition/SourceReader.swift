/// Sources, as descriptions have them.
extension AccountReader {
    private static let kinds = ["static", "file", "http", "oauth", "jwt", "rpc"]
    private static let laterKinds = ["exec"]

    func readSource(
        _ table: DefinitionTable, _ account: AccountName, _ platform: PlatformDefinition?
    ) -> SourceDefinition? {
        var table = table
        guard let entry = table.required("kind"), let kind = table.string(entry) else { return nil }
        let source: SourceDefinition?
        switch kind {
        case "static", "file":
            guard writer != .rpc else {
                table.fault(entry, .notOverRPC)
                return nil
            }
            source = kind == "static" ? staticSource(&table) : fileSource(&table)
        case "http": source = httpSource(&table, platform)
        case "oauth": source = oauthSource(&table, account)
        case "jwt": source = jwtSource(&table)
        case "rpc": source = .rpc
        default:
            table.fault(
                entry, Self.laterKinds.contains(kind) ? .notAvailable : .unknown(kind, of: Self.kinds))
            return nil
        }
        table.finish()
        return source
    }

    private func staticSource(_ table: inout DefinitionTable) -> SourceDefinition {
        let idToken = reference("id_token", &table)
        let accessToken = reference("access_token", &table)
        if !table.members.contains(where: { ["id_token", "access_token"].contains($0.key) }) {
            table.faults.add(table.path, table.position, .withoutToken)
        }
        let issuer = text("issuer", &table) { text in
            (1...2048).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        }
        return .static(
            StaticSource(
                idToken: idToken, accessToken: accessToken, issuer: issuer,
                expiresAt: moment("expires_at", &table)))
    }

    private func fileSource(_ table: inout DefinitionTable) -> SourceDefinition? {
        enum Format: String, CaseIterable { case token, json }
        let path = table.entry("path")
        let credential = table.entry("credential")
        var file: SecretReference?
        if let path, credential == nil {
            file = self.path(path, table).map { .file(path: $0) }
        } else if let credential, path == nil {
            file = credentialName(credential, table).map { .credential(name: $0) }
        } else if path == nil {
            table.faults.add(table.path(of: "path"), table.position, .missing)
        } else {
            table.faults.add(table.path, table.position, .notOneReference)
        }
        let hasFields = table.entry("fields") != nil
        let fields = readFields(&table)
        let format = table.choice("format", Format.self)
        if hasFields, format != .json { table.refuse("fields", .fieldsWithoutJSON) }
        guard let file else { return nil }
        return .file(
            FileSource(file: file, format: format == .json ? .json(fields ?? .usual) : .token))
    }

    // MARK: Fields

    func readFields(_ table: inout DefinitionTable) -> FieldMap? {
        guard var inner = table.table("fields") else { return nil }
        var map = FieldMap()
        map.token = field("token", &inner)
        map.idToken = field("id_token", &inner)
        map.accessToken = field("access_token", &inner)
        map.issuer = field("issuer", &inner)
        map.expiresAt = field("expires_at", &inner)
        map.expiresIn = field("expires_in", &inner)
        inner.finish()
        if !inner.members.contains(where: { ["token", "id_token", "access_token"].contains($0.key) }) {
            inner.faults.add(inner.path, inner.position, .fieldsWithoutToken)
        }
        return map
    }

    private func field(_ key: String, _ table: inout DefinitionTable) -> String? {
        guard let entry = table.entry(key), let text = table.string(entry) else { return nil }
        if TextRules.isMemberPath(text) { return text }
        table.fault(entry, .memberName)
        return nil
    }
}

extension FieldMap {
    /// Members that bear our own names: what a JSON file has that says nothing else.
    package static let usual = FieldMap(
        token: "token", idToken: "id_token", accessToken: "access_token", issuer: "issuer",
        expiresAt: "expires_at", expiresIn: "expires_in")
}
