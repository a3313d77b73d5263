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
    /// A grant came from a person.
    package static let grantImported: StaticString = "5a4f0c1a6f6b4cb59f0d3e2b7c1d8e0e"
    /// A grant was deleted on request.
    package static let grantDeleted: StaticString = "5a4f0c1a6f6b4cb59f0d3e2b7c1d8e0f"
    /// A server said `invalid_grant`.
    package static let grantDead: StaticString = "5a4f0c1a6f6b4cb59f0d3e2b7c1d8e10"
    /// A grant was sent, its answer was lost, and so was the second.
    package static let grantPossiblySpent: StaticString = "5a4f0c1a6f6b4cb59f0d3e2b7c1d8e11"
    /// A grant was sent and its answer was lost.
    package static let grantUncertain: StaticString = "5a4f0c1a6f6b4cb59f0d3e2b7c1d8e12"
    /// The store did not take the successor of a spent grant.
    package static let grantNotStored: StaticString = "5a4f0c1a6f6b4cb59f0d3e2b7c1d8e13"
    /// A secret was set or replaced.
    package static let secretSet: StaticString = "5a4f0c1a6f6b4cb59f0d3e2b7c1d8e14"
    /// A secret was deleted on request.
    package static let secretDeleted: StaticString = "5a4f0c1a6f6b4cb59f0d3e2b7c1d8e15"
    /// Of several client secrets another one works now.
    package static let secretPromoted: StaticString = "5a4f0c1a6f6b4cb59f0d3e2b7c1d8e16"
    /// The disk is full: the space reserved for what spent grants bring is given up, or cannot be had.
    package static let ballastMissing: StaticString = "5a4f0c1a6f6b4cb59f0d3e2b7c1d8e17"
    /// That space is reserved again.
    package static let ballastPresent: StaticString = "5a4f0c1a6f6b4cb59f0d3e2b7c1d8e18"
    /// A platform refused the credential that was shown to it.
    package static let credentialRefused: StaticString = "5a4f0c1a6f6b4cb59f0d3e2b7c1d8e19"
}
