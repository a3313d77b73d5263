/// What the broker has done since it started; numbers only grow.
package struct BrokerCounters: Sendable {
    /// Runs of a source that were begun.
    package internal(set) var refreshesStarted: Int64 = 0
    /// Runs that brought a credential.
    package internal(set) var refreshesSucceeded: Int64 = 0
    /// Runs that brought none, whatever the reason.
    package internal(set) var refreshesFailed: Int64 = 0
    /// Changes that the store has on disk.
    package internal(set) var commits: Int64 = 0
}

/// Kinds of events in the journal: `journalctl MESSAGE_ID=…` finds all of one kind.
package enum MessageID {
    /// An account has a new credential, fetched or saved.
    package static let credentialReplaced: StaticString = "5a4f0c1a6f6b4cb59f0d3e2b7c1d8e01"
    /// A credential was deleted on request.
    package static let credentialDeleted: StaticString = "5a4f0c1a6f6b4cb59f0d3e2b7c1d8e02"
    /// The first of a row of failed refreshes.
    package static let refreshFailed: StaticString = "5a4f0c1a6f6b4cb59f0d3e2b7c1d8e03"
    /// The first refresh that succeeded after failed ones.
    package static let refreshRecovered: StaticString = "5a4f0c1a6f6b4cb59f0d3e2b7c1d8e04"
    /// The store did not take a change.
    package static let storeRefused: StaticString = "5a4f0c1a6f6b4cb59f0d3e2b7c1d8e05"
    /// A credential came with an expiry that is no moment.
    package static let implausibleExpiry: StaticString = "5a4f0c1a6f6b4cb59f0d3e2b7c1d8e06"
    /// The store did not open, and why.
    package static let storeSealed: StaticString = "5a4f0c1a6f6b4cb59f0d3e2b7c1d8e07"
    /// The store is open, and how many credentials it has.
    package static let storeOpened: StaticString = "5a4f0c1a6f6b4cb59f0d3e2b7c1d8e08"
    /// A new configuration is in force.
    package static let configurationLoaded: StaticString = "5a4f0c1a6f6b4cb59f0d3e2b7c1d8e09"
    /// A configuration with a fault; the running one stays.
    package static let configurationRefused: StaticString = "5a4f0c1a6f6b4cb59f0d3e2b7c1d8e0a"
    /// A peer was refused what it may not have.
    package static let denied: StaticString = "5a4f0c1a6f6b4cb59f0d3e2b7c1d8e0b"
    /// The daemon serves.
    package static let started: StaticString = "5a4f0c1a6f6b4cb59f0d3e2b7c1d8e0c"
    /// The daemon was told to end.
    package static let stopping: StaticString = "5a4f0c1a6f6b4cb59f0d3e2b7c1d8e0d"
}
