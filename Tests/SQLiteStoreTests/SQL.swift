import CSQLite

/// A database in the hands of somebody who has the file but not the key.
final class RawDatabase {
    private var handle: OpaquePointer?

    init(_ path: String) {
        guard sqlite3_open(path, &handle) == SQLITE_OK else { preconditionFailure("cannot open \(path)") }
    }

    deinit { sqlite3_close(handle) }

    func run(_ statements: String) {
        guard sqlite3_exec(handle, statements, nil, nil, nil) == SQLITE_OK else {
            preconditionFailure("\(statements): \(String(cString: sqlite3_errmsg(handle)))")
        }
    }

    /// The first column of the first row as bytes.
    func bytes(_ query: String) -> [UInt8] {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, query, -1, &statement, nil) == SQLITE_OK,
            sqlite3_step(statement) == SQLITE_ROW
        else { preconditionFailure("no row: \(query)") }
        defer { sqlite3_finalize(statement) }
        return Array(
            UnsafeRawBufferPointer(
                start: sqlite3_column_blob(statement, 0), count: Int(sqlite3_column_bytes(statement, 0))))
    }

    static func run(_ path: String, _ statements: String) { RawDatabase(path).run(statements) }
}
