import ChatAuthAPI
import JSON
import Secrets

/// `account list`, `handler list`, `grant list`, `secret list`.
extension Session {
    /// What is listed: a method, the member of its answer, and what is shown of each.
    struct Listing {
        let method: Method
        let member: StaticString
        let columns: [String]

        static var accounts: Listing {
            Listing(
                method: .accountList, member: "accounts",
                columns: [
                    "account", "provider", "state", "generation", "expires_at", "refresh_at", "source",
                ])
        }
        static var handlers: Listing {
            Listing(
                method: .handlerList, member: "handlers",
                columns: ["account", "kinds", "want", "uid", "pid", "registered_at"])
        }
        static var grants: Listing {
            Listing(
                method: .grantList, member: "grants",
                columns: ["grant", "state", "generation", "received_at", "accounts"])
        }
        static var secrets: Listing {
            Listing(
                method: .secretList, member: "secrets",
                columns: ["secret", "generation", "set_at", "accounts"])
        }
    }

    /// Pages that are asked for at most: no daemon has that many accounts, and none can keep a list going for ever.
    private static let pages = 1000

    func list(_ listing: Listing) throws(Failure) {
        let connection = try connect(for: listing.method.description.access)
        var json = SecretBuffer()
        var rows: [[String]] = []
        var cursor: String?
        for _ in 0..<Self.pages {
            var next: String?
            try connection.call(
                listing.method.rawValue, patience: patience,
                params: { (params) throws(Failure) in
                    params.beginObject()
                    if let cursor {
                        params.key("cursor")
                        params.string(cursor)
                    }
                    params.endObject()
                },
                answer: { (result) throws(Failure) in
                    guard let entries = result.member(listing.member), entries.kind == .array else {
                        throw .badAnswer(.memberMissing(listing.member))
                    }
                    next = result.member("cursor")?.string
                    var elements = entries.elements()
                    while let entry = elements.next() {
                        if !json.isEmpty { json.append(",") }
                        json.append(entry.rawToken)
                        rows.append(Self.row(entry, listing.columns))
                    }
                })
            cursor = next
            if next == nil { break }
        }
        try Output.write(output(listing, json, rows))
    }

    private func output(
        _ listing: Listing, _ json: borrowing SecretBuffer, _ rows: [[String]]
    ) -> SecretBuffer {
        var output = SecretBuffer()
        if isJSON {
            output.append("{\"")
            output.append(listing.member)
            output.append("\":[")
            output.append(copying: json)
            output.append("]}\n")
        } else if invocation.has(.names) {
            for row in rows {
                output.append(row[0])
                output.append("\n")
            }
        } else if Output.isTerminal {
            appendTable(listing.columns, rows, to: &output)
        } else {
            for row in rows {
                output.append(row.joined(separator: "\t"))
                output.append("\n")
            }
        }
        return output
    }

    private func appendTable(_ columns: [String], _ rows: [[String]], to output: inout SecretBuffer) {
        let hasColour = surroundings.variable("NO_COLOR") == nil
        let header = columns.map { $0.uppercased() }
        let widths = header.indices.map { column in
            ([header] + rows).map { $0[column].unicodeScalars.count }.max() ?? 0
        }
        for row in [header] + rows {
            for column in header.indices {
                let colour = hasColour && columns[column] == "state" ? Colour(state: row[column]) : nil
                if let colour { output.append(colour.begin) }
                output.append(row[column])
                if colour != nil { output.append("\u{1B}[0m") }
                guard column < header.count - 1 else { continue }
                output.append(spaces: widths[column] - row[column].unicodeScalars.count + 2)
            }
            output.append("\n")
        }
    }

    private static func row(_ entry: JSONValue, _ columns: [String]) -> [String] {
        columns.map { column in
            var text = SecretBuffer()
            if let twin = entry.member(named: column + "_text"), twin.kind == .string {
                text.append(shown: twin)
            } else if let value = entry.member(named: column) {
                text.append(shown: value)
            } else {
                text.append("-")
            }
            return text.withSpan { $0.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) } }
        }
    }
}
