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
