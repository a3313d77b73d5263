import JSON

/// Lists that come in pages, by name.
extension RPCServer {
    private static var usualPage: Int64 { 100 }
    private static var longestPage: Int64 { 1000 }

    /// Behind which name a page begins, and how many entries it has at most.
    func place(_ parameters: borrowing Parameters) throws(CallFailure) -> (cursor: String?, limit: Int) {
        let cursor = try parameters.text("cursor", limit: 64)
        let limit = try parameters.integer("limit") ?? Self.usualPage
        guard (1...Self.longestPage).contains(limit) else {
            throw CallFailure(invalidParams: "limit must be from 1 to \(Self.longestPage)")
        }
        return (cursor, Int(limit))
    }

    /// The page that is asked for of entries that are sorted by name; `cursor` is nil on the last one.
    func page<Entry>(
        of entries: [Entry], _ parameters: borrowing Parameters, name: (Entry) -> String
    ) throws(CallFailure) -> (entries: ArraySlice<Entry>, cursor: String?) {
        let (cursor, limit) = try place(parameters)
        let rest = cursor.map { cursor in entries.drop { name($0) <= cursor } } ?? entries[...]
        let page = rest.prefix(limit)
        return (page, page.count < rest.count ? page.last.map(name) : nil)
    }
}

extension JSONWriter {
    /// Writes where the next page begins, if there is one.
    mutating func cursor(_ cursor: String?) {
        guard let cursor else { return }
        key("cursor")
        string(cursor)
    }
}
