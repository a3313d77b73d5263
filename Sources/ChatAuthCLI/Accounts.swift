import ChatAuthAPI
import JSON
import Secrets

/// `account list`.
extension Session {
    /// Pages that are asked for at most: no daemon has that many accounts, and none can keep a list going for ever.
    private static let pages = 1000
    private static let columns = [
        "account", "provider", "state", "generation", "expires_at", "refresh_at", "source",
    ]

    func listAccounts() throws(Failure) {
        let connection = try connect(for: Method.accountList.description.access)
        var json = SecretBuffer()
        var rows: [[String]] = []
        var cursor: String?
        for _ in 0..<Self.pages {
            var next: String?
            try connection.call(
                Method.accountList.rawValue, patience: patience,
                params: { (params) throws(Failure) in
                    params.beginObject()
                    if let cursor {
                        params.key("cursor")
                        params.string(cursor)
                    }
                    params.endObject()
                },
                answer: { (result) throws(Failure) in
                    guard let accounts = result.member("accounts"), accounts.kind == .array else {
                        throw .badAnswer(.memberMissing("accounts"))
                    }
                    next = result.member("cursor")?.string
                    var elements = accounts.elements()
                    while let account = elements.next() {
                        if !json.isEmpty { json.append(",") }
                        json.append(account.rawToken)
                        rows.append(Self.row(account))
                    }
                })
            cursor = next
            if next == nil { break }
        }
        try Output.write(output(json, rows))
    }

    private func output(_ json: borrowing SecretBuffer, _ rows: [[String]]) -> SecretBuffer {
        var output = SecretBuffer()
        if isJSON {
            output.append("{\"accounts\":[")
            output.append(copying: json)
            output.append("]}\n")
        } else if invocation.has(.names) {
            for row in rows {
                output.append(row[0])
                output.append("\n")
            }
        } else if Output.isTerminal {
            appendTable(rows, to: &output)
        } else {
            for row in rows {
                output.append(row.joined(separator: "\t"))
                output.append("\n")
            }
        }
        return output
    }

    private func appendTable(_ rows: [[String]], to output: inout SecretBuffer) {
        let hasColour = surroundings.variable("NO_COLOR") == nil
        let header = Self.columns.map { $0.uppercased() }
        let widths = header.indices.map { column in
            ([header] + rows).map { $0[column].unicodeScalars.count }.max() ?? 0
        }
        for row in [header] + rows {
            for column in header.indices {
                let colour = hasColour && column == 2 ? Colour(state: row[column]) : nil
                if let colour { output.append(colour.begin) }
                output.append(row[column])
                if colour != nil { output.append("\u{1B}[0m") }
                guard column < header.count - 1 else { continue }
                output.append(spaces: widths[column] - row[column].unicodeScalars.count + 2)
            }
            output.append("\n")
        }
    }

    private static func row(_ account: JSONValue) -> [String] {
        columns.map { column in
            var text = SecretBuffer()
            if let twin = account.member(named: column + "_text"), twin.kind == .string {
                text.append(shown: twin)
            } else if let value = account.member(named: column) {
                text.append(shown: value)
            } else {
                text.append("-")
            }
            return text.withSpan { $0.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) } }
        }
    }
}
