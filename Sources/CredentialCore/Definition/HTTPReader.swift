/// `http` sources, as descriptions have them.
extension AccountReader {
    /// Requests that are known well enough to have a name.
    private enum Form: String, CaseIterable {
        /// A social.plus auth token, asked for with the key of the server: for installations that are a server themselves (R159).
        case socialPlusAuthToken = "socialplus_auth_token"
    }

    private static let placeholders = ["account", "reason", "chat_id", "user_id"]

    func httpSource(_ table: inout DefinitionTable, _ platform: PlatformDefinition?) -> SourceDefinition? {
        if table.members.contains(where: { $0.key == "form" }) {
            return formSource(&table, platform)
        }
        let url = table.required("url").flatMap { readURL($0, table) }
        let method = table.choice("method", HTTPSource.Method.self) ?? .post
        let headers = table.table("headers").map { readHeaders($0) } ?? []
        let body = readBody(&table, method == .post, Self.placeholders)
        let contentType = text("content_type", &table) { !$0.isEmpty && TextRules.isHeaderValue($0) }
        let answer = table.choice("answer", HTTPSource.Answer.self) ?? .json
        let hasFields = table.entry("fields") != nil
        let fields = readFields(&table)
        if hasFields, answer == .text { table.refuse("fields", .fieldsWithText) }
        let transport = readTransport(&table)
        guard let url else { return nil }
        return .http(
            HTTPSource(
                url: url, method: method, headers: headers, bodyTemplate: body,
                contentType: contentType ?? "application/json", answer: answer, fields: fields,
                caFile: transport.caFile, proxy: transport.proxy, timeout: transport.timeout))
    }

    // `POST /api/v4/authentication/token` with `x-server-key`; the answer is the token as plain text (providers 4.1).
    private func formSource(
        _ table: inout DefinitionTable, _ platform: PlatformDefinition?
    ) -> SourceDefinition? {
        let form = table.choice("form", Form.self)
        let key = requiredReference("server_key", &table)
        let address = table.entry("url")
        let hasPlace = table.members.contains { ["region", "base_url"].contains($0.key) }
        let base = hasPlace ? readRegion(&table).base : Self.base(of: platform)
        if let address, hasPlace { table.fault(address, .notOneOfKeys("url", "region")) }
        if address == nil, !hasPlace, base == nil {
            table.faults.add(table.path(of: "region"), table.position, .missing)
        }
        for name in ["method", "headers", "body", "content_type", "answer", "fields"] {
            table.refuse(name, .setByForm)
        }
        let transport = readTransport(&table)
        let url =
            address.flatMap { readURL($0, table) }
            ?? base.flatMap { try? HTTPURL($0.text + "/api/v4/authentication/token") }
        guard form != nil, let key, let url else { return nil }
        return .http(
            HTTPSource(
                url: url, headers: [.init(name: "x-server-key", value: .secret(key, prefix: ""))],
                bodyTemplate: #"{"userId":"{user_id}"}"#, answer: .text, caFile: transport.caFile,
                proxy: transport.proxy, timeout: transport.timeout))
    }

    private static func base(of platform: PlatformDefinition?) -> HTTPURL? {
        if case .socialPlus(let platform) = platform { platform.baseURL } else { nil }
    }

    // MARK: Parts

    func readURL(_ entry: DefinitionTable.Entry, _ table: DefinitionTable) -> HTTPURL? {
        guard let text = table.string(entry) else { return nil }
        if TextRules.hasPlaceholder(text) { table.fault(entry, .placeholderHere) }
        do throws(HTTPURL.Failure) {
            return try HTTPURL(text)
        } catch {
            table.fault(entry, .url(error))
            return nil
        }
    }

    func readBody(
        _ table: inout DefinitionTable, _ isTaken: Bool, _ placeholders: [String]
    ) -> String? {
        guard let entry = table.entry("body"), let text = table.string(entry) else { return nil }
        if !isTaken { table.fault(entry, .bodyNotTaken) }
        if text.utf8.count > 65_536 { table.fault(entry, .malformedText) }
        if !TextRules.hasOnlyPlaceholders(placeholders, text) {
            table.fault(entry, .placeholder(placeholders))
        }
        return text
    }

    func readTransport(_ table: inout DefinitionTable) -> PlatformTransport {
        PlatformTransport(
            caFile: table.entry("ca_file").flatMap { [table] in path($0, table) }, proxy: readProxy(&table),
            timeout: table.seconds("timeout", in: 1...60) ?? .seconds(8))
    }

    func requiredReference(_ key: String, _ table: inout DefinitionTable) -> SecretReference? {
        if !table.members.contains(where: { $0.key == key }) {
            table.faults.add(table.path(of: key), table.position, .missing)
        }
        return reference(key, &table)
    }
}
