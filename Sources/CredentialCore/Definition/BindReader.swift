/// `bind`: the one request of a platform that nobody here knows.
extension AccountReader {
    /// What stands for the parts of a credential.
    static let credentialPlaceholders = ["bearer", "companion", "issuer", "account"]

    func readBind(_ table: DefinitionTable) -> BindDefinition? {
        var table = table
        let url = table.required("url").flatMap { readURL($0, table) }
        let method = table.choice("method", HTTPMethod.self) ?? .post
        let headers =
            table.table("headers").map { readHeaders($0, placeholders: Self.credentialPlaceholders) } ?? []
        let body = readBody(&table, method.takesBody, Self.credentialPlaceholders)
        let contentType = text("content_type", &table) { !$0.isEmpty && TextRules.isHeaderValue($0) }
        let expiryField = text("expiry_field", &table, isValid: TextRules.isMemberPath)
        let refusals = table.integers("refused_statuses", in: 400...499, limit: 16)
        let order = table.choice("order", BindDefinition.Order.self)
        let transport = readTransport(&table)
        table.finish()
        guard let url else { return nil }
        return BindDefinition(
            url: url, method: method, headers: headers, bodyTemplate: body,
            contentType: contentType ?? "application/json", expiryField: expiryField,
            refusals: refusals?.map { Int($0) } ?? BindDefinition.usualRefusals, order: order ?? .behind,
            transport: transport)
    }
}
