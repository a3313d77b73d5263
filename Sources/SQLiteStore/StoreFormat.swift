/// The versions of the database, oldest first; the number of a version is its place, counted from 1.
///
/// `PRAGMA user_version` says which one a file has, and the head authenticates the number.
package struct StoreFormat: Sendable {
    /// One version.
    package struct Version: Sendable {
        /// Statements that make it from the version before; from an empty file for the first.
        package let steps: [String]
        /// The tables that it has, each by the statement that SQLite keeps for it, in any order.
        package let tables: [String]

        /// A version of these statements and tables.
        package init(steps: [String], tables: [String]) {
            self.steps = steps
            self.tables = tables
        }
    }

    /// All versions; never empty.
    package let versions: [Version]

    /// A format of these versions; at least one.
    package init(versions: [Version]) {
        precondition(!versions.isEmpty)
        self.versions = versions
    }

    /// The newest version: the one that is written.
    package var version: Int64 { Int64(versions.count) }

    /// Nil for a number that no version has.
    package subscript(version: Int64) -> Version? {
        (1...self.version).contains(version) ? versions[Int(version) - 1] : nil
    }

    /// What this program reads and writes.
    package static let current = StoreFormat(versions: [
        Version(steps: firstTables, tables: firstTables),
        // Rows of the kinds `grant` and `secret` may be there: a program that does not know them must not open it.
        Version(steps: [], tables: firstTables),
        // The same for rows of the kinds `platform` and `device`.
        Version(steps: [], tables: firstTables),
    ])

    private static let firstTables = [
        """
        CREATE TABLE store (id INTEGER PRIMARY KEY CHECK (id = 1), store_id BLOB NOT NULL) STRICT
        """,
        """
        CREATE TABLE data_key (id INTEGER PRIMARY KEY, master_check BLOB NOT NULL, wrapped BLOB NOT NULL) STRICT
        """,
        """
        CREATE TABLE head (id INTEGER PRIMARY KEY CHECK (id = 1), epoch INTEGER NOT NULL, \
        last_written_ms INTEGER NOT NULL, row_count INTEGER NOT NULL, code BLOB NOT NULL) STRICT
        """,
        """
        CREATE TABLE record (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, \
        generation INTEGER NOT NULL, data_key INTEGER NOT NULL, sealed BLOB) STRICT
        """,
    ]
}
