/// Where a store lives.
package struct StorePaths: Sendable {
    /// Directory of `store.db`, `lock` and `backups`; private to the daemon's user, made with mode 0700 where it is missing.
    package let stateDirectory: String
    /// Another directory, for the epoch file; the same holds for it.
    package let epochDirectory: String

    /// A store in these two directories; an epoch beside the store would be put back with it.
    package init(stateDirectory: String, epochDirectory: String) {
        self.stateDirectory = stateDirectory
        self.epochDirectory = epochDirectory
    }

    /// The database.
    package var database: String { stateDirectory + "/" + StoreFiles.database }
}

/// The names of files in the state directory.
enum StoreFiles {
    static let database = "store.db"
    static let journal = "store.db-journal"
    static let lock = "lock"
    static let backups = "backups"
    static let ballast = "ballast"
}
