package import CredentialCore

/// How a store is doing, for `store.status`: as of the last answer of its thread.
package struct StoreStatus: Sendable {
    /// Path of the database.
    package let path: String
    /// Nil while it is open.
    package internal(set) var sealed: StoreFailure?
    /// Commits since the store was made; nil while it is sealed.
    package internal(set) var epoch: Int64?
    /// Version of the format; nil while it is sealed.
    package internal(set) var formatVersion: Int64?
    /// Credentials, grants, generations of deleted ones, accounts, policies and secrets.
    package internal(set) var rows = 0
    /// Whether the space for what a spent grant brings is kept free; nil where no grant has needed it yet.
    package internal(set) var hasBallast: Bool?
    /// Whether the keys stay out of swap; false while it is sealed.
    package internal(set) var isMemoryLocked = false
    /// Transactions and changes that were committed since the daemon started.
    package internal(set) var commits: Int64 = 0
    /// Changes that were committed since the daemon started; a transaction has one or many.
    package internal(set) var changes: Int64 = 0
    /// Why the last group of changes was not written; nil once one was.
    package internal(set) var lastFailure: StoreFailure?
    /// Why the epoch file lags behind; nil while it does not.
    package internal(set) var epochFileFailure: StoreFailure?
}

/// What opening a store came to.
package enum StoreOpening: Sendable {
    case open(StoreContents)
    /// It is left exactly as it is, and opens when the reason is gone.
    case sealed(StoreFailure)
}
