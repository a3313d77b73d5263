package import CredentialCore
import Secrets

/// A store that is open: the connection, the keys, and what is known of every row.
///
/// The rows' hashes and generations are kept in memory, as they were verified; a change is judged against them and not against what
/// the file says later.
final class StoreSession {
    private let connection: Connection
    let version: Int64
    let header: KeyHeader
    let keys: DataKeys
    private(set) var head: Head
    private(set) var rows: [RowKey: RowEntry]
    private var code: [UInt8]
    private var sum: RowSum
    private let random: RandomSource
    private let statements: RowStatements
    private let begin: Statement
    private let commit: Statement

    init(_ connection: Connection, _ loaded: LoadedStore, random: @escaping RandomSource) throws(StoreFailure)
    {
        self.connection = connection
        version = loaded.version
        header = loaded.header
        keys = loaded.keys
        head = loaded.head
        code = loaded.code
        rows = loaded.rows
        sum = loaded.sum
        self.random = random
        statements = try RowStatements(connection)
        begin = try Statement(connection, "BEGIN IMMEDIATE")
        commit = try Statement(connection, "COMMIT")
    }

    /// Makes all changes in one transaction; a change that is refused by itself leaves the others alone.
    ///
    /// `acknowledge` is called once, with one completion a change in their order, when they are on disk or were refused.
    ///
    /// - Throws: why nothing changed; `acknowledge` was not called.
    func commit(
        _ group: [TimedChange], acknowledge: ([StoreCompletion]) -> Void
    ) throws(StoreFailure) {
        do throws(StoreFailure) {
            try begin.run()
            let outcome = try write(group)
            if TestSwitches.acknowledgesBeforeCommit { acknowledge(outcome.completions) }
            if let next = outcome.next {
                try commit.run()
                (head, code, sum) = (next.head, next.code, next.sum)
                for (key, entry) in next.changed { rows[key] = entry }
            } else {
                connection.rollBack()
            }
            if !TestSwitches.acknowledgesBeforeCommit { acknowledge(outcome.completions) }
        } catch {
            connection.rollBack()
            throw error
        }
    }

    private struct Outcome {
        let completions: [StoreCompletion]
        /// Nil where every change was refused, or had nothing to do.
        let next: (head: Head, code: [UInt8], sum: RowSum, changed: [RowKey: RowEntry?])?
    }

    // Apart from `commit`, so that the draft has let go of the index before that is changed.
    private func write(_ group: [TimedChange]) throws(StoreFailure) -> Outcome {
        guard let last = group.last else { return Outcome(completions: [], next: nil) }
        var draft = GroupDraft(
            header: header, epoch: head.epoch + 1, rows: rows, sum: sum, statements: statements,
            random: random)
        return try keys.withKeys { keys throws(StoreFailure) in
            var completions: [StoreCompletion] = []
            completions.reserveCapacity(group.count)
            for timed in group {
                let refusal = try draft.apply(timed.change.operation, keys)
                completions.append(StoreCompletion(id: timed.change.id, failure: refusal))
            }
            guard draft.hasWritten else { return Outcome(completions: completions, next: nil) }
            let newHead = Head(
                epoch: head.epoch + 1, lastWrittenAt: last.at,
                rowCount: Int64(draft.rowCount))
            let newCode = newHead.code(version: version, header: header, rows: draft.sum, keys: keys)
            try statements.replace(newHead, code: newCode)
            return Outcome(completions: completions, next: (newHead, newCode, draft.sum, draft.changed))
        }
    }

    /// Reads the row of an account's credential, and believes it as far as it is the one that is known.
    func read(_ account: AccountName) throws(StoreFailure) -> StoredCredential? {
        let key = RowKey(kind: .credential, name: account)
        guard let entry = rows[key] else { return nil }
        let row = try statements.read(key, id: entry.id)
        return try keys.withKeys { keys throws(StoreFailure) in
            guard row.generation == entry.generation,
                row.hash(storeID: header.storeID, keys: keys) == entry.hash
            else { throw .corrupt(detail: .row) }
            return try row.credential(header: header, keys: keys)
        }
    }

    /// Whether the file still says what is known here; after a failed commit it may not.
    var isAsKnown: Bool {
        guard !connection.isInTransaction, let stored = try? Head.read(connection) else { return false }
        return stored.head == head && stored.code == code
    }
}

/// A change and the wall time at which it was asked for.
package struct TimedChange: Sendable {
    /// What is to be stored or deleted.
    package let change: StoreChange
    /// Written with the rows, so that a wall clock set back is noticed at the next start.
    package let at: WallTime

    /// A change that was asked for at that time.
    package init(change: StoreChange, at: WallTime) {
        self.change = change
        self.at = at
    }
}
