import CSQLite
import CredentialCore

/// A statement, compiled once and used again and again.
final class Statement {
    private let connection: Connection
    private let handle: OpaquePointer

    init(_ connection: Connection, _ text: String) throws(StoreFailure) {
        self.connection = connection
        var handle: OpaquePointer?
        let code = sqlite3_prepare_v3(
            connection.handle, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil)
        guard code == SQLITE_OK, let handle else { throw connection.failure(code) }
        self.handle = handle
    }

    deinit { sqlite3_finalize(handle) }

    // MARK: Running

    enum Value {
        case integer(Int64)
        case text(String)
        case blob([UInt8]?)
    }

    /// Runs a statement that gives no rows; parameters are numbered from 1.
    func run(_ values: Value...) throws(StoreFailure) {
        defer { reset() }
        for (index, value) in values.enumerated() { try bind(value, Int32(index + 1)) }
        guard try !step() else { throw .corrupt(detail: .schema) }
    }

    /// Runs a statement that gives one row, and lends that to `body`.
    func one<Result>(
        _ values: Value..., body: (Statement) throws(StoreFailure) -> Result
    ) throws(StoreFailure) -> Result {
        defer { reset() }
        for (index, value) in values.enumerated() { try bind(value, Int32(index + 1)) }
        guard try step() else { throw .corrupt(detail: .row) }
        return try body(self)
    }

    private func bind(_ value: Value, _ index: Int32) throws(StoreFailure) {
        let code: Int32
        switch value {
        case .integer(let number): code = sqlite3_bind_int64(handle, index, number)
        case .text(let text): code = csqlite_bind_text(handle, index, text, Int32(text.utf8.count))
        case .blob(nil): code = sqlite3_bind_null(handle, index)
        case .blob(let bytes?): code = csqlite_bind_blob(handle, index, bytes, Int32(bytes.count))
        }
        guard code == SQLITE_OK else { throw connection.failure(code) }
    }

    /// Goes on to the next row; false at the end.
    func step() throws(StoreFailure) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw connection.failure(code)
        }
    }

    func reset() {
        // It repeats the failure of the last step, which was reported there.
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    /// Rows that the last statement changed.
    var changes: Int32 { sqlite3_changes(connection.handle) }
    /// The key of the row that was inserted last.
    var lastRowID: Int64 { sqlite3_last_insert_rowid(connection.handle) }

    // MARK: Columns, numbered from 0

    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    /// Nil where the value is no text, or not UTF-8.
    func text(_ column: Int32) -> String? {
        guard sqlite3_column_type(handle, column) == SQLITE_TEXT,
            let start = sqlite3_column_text(handle, column)
        else { return nil }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(validating: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    /// Nil where the value is no blob.
    func blob(_ column: Int32) -> [UInt8]? {
        guard sqlite3_column_type(handle, column) == SQLITE_BLOB else { return nil }
        let start = sqlite3_column_blob(handle, column)
        return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }
}
