/// Headers of an http source, as descriptions have them.
extension AccountReader {
    private static let headerLimit = 32
    // What frames a message or belongs to the connection (RFC 9110 §7.6.1, RFC 9112 §6) is the transport's; the type of the body
    // has a key of its own.
    private static let reservedHeaders = [
        "host", "content-length", "transfer-encoding", "connection", "content-type", "te", "trailer",
        "upgrade", "keep-alive", "expect", "proxy-connection", "proxy-authorization",
    ]
    // Headers that are there to carry a secret: written out they would stand in a file that is backed up and read by many.
    private static let secretHeaders = [
        "authorization", "cookie", "x-api-key", "api-key", "x-auth-token", "x-access-token",
        "x-server-key", "x-user-token",
    ]

    /// Reads a table of headers.
    ///
    /// Where `placeholders` stand for parts of a credential, a header that is there for a secret may be a text that has one of them.
    func readHeaders(_ table: DefinitionTable, placeholders: [String] = []) -> [HTTPSource.Header] {
        var table = table
        guard table.members.count <= Self.headerLimit else {
            table.faults.add(table.path, table.position, .tooMany(limit: Self.headerLimit))
            return []
        }
        var seen: Set<String> = []
        var headers: [HTTPSource.Header] = []
        for name in table.members.map(\.key) {
            guard let entry = table.entry(name) else { continue }
            let lower = name.lowercased()
            guard TextRules.isHeaderName(name) else {
                table.fault(entry, .headerName)
                continue
            }
            guard !Self.reservedHeaders.contains(lower) else {
                table.fault(entry, .headerReserved)
                continue
            }
            guard seen.insert(lower).inserted else {
                table.fault(entry, .headerTwice)
                continue
            }
            if let value = headerValue(
                entry, isSecret: Self.secretHeaders.contains(lower), placeholders, table)
            {
                headers.append(HTTPSource.Header(name: name, value: value))
            }
        }
        return headers
    }

    /// Reads what a client's requests carry: only texts, since a client is told what stands in them.
    func readRequestHeaders(_ table: DefinitionTable) -> [HTTPSource.Header] {
        readHeaders(table, placeholders: Self.credentialPlaceholders).filter { header in
            if case .literal = header.value { return true }
            table.faults.add("\(table.path).\(header.name)", table.position, .secretForClients)
            return false
        }
    }

    private func headerValue(
        _ entry: DefinitionTable.Entry, isSecret: Bool, _ placeholders: [String], _ table: DefinitionTable
    ) -> HTTPSource.Header.Value? {
        switch entry.node.value {
        case .string(let text):
            guard !isSecret || TextRules.hasPlaceholder(placeholders, text) else {
                table.fault(entry, .literalSecret)
                return nil
            }
            guard TextRules.isHeaderValue(text) else {
                table.fault(entry, .headerValue)
                return nil
            }
            guard TextRules.hasOnlyPlaceholders(placeholders, text) else {
                table.fault(entry, placeholders.isEmpty ? .placeholderHere : .placeholder(placeholders))
                return nil
            }
            return .literal(text)
        case .table:
            guard var inner = DefinitionTable(entry.node, path: entry.path, faults: table.faults) else {
                return nil
            }
            var prefix = ""
            if let entry = inner.entry("prefix"), let text = inner.string(entry) {
                if !TextRules.isHeaderValue(text, isPrefix: true) { inner.fault(entry, .headerValue) }
                if TextRules.hasPlaceholder(text) { inner.fault(entry, .placeholderHere) }
                prefix = text
            }
            return reference(&inner).map { .secret($0, prefix: prefix) }
        default:
            table.fault(entry, expected: isSecret ? .reference : .string)
            return nil
        }
    }
}
