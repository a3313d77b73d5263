import CredentialCore

/// Changes and questions that the store has been asked for and has not answered, and who waits for each.
final class PendingChanges {
    private let store: any StorePort
    private var completions: [UInt64: (StoreFailure?) -> Void] = [:]
    private var readers: [UInt64: (Result<StoredCredential?, StoreFailure>) -> Void] = [:]
    private var lastID: UInt64 = 0

    init(store: any StorePort) { self.store = store }

    /// Of the changes: nothing is lost with a question.
    var count: Int { completions.count }

    func submit(_ operation: StoreChange.Operation, _ completion: @escaping (StoreFailure?) -> Void) {
        lastID += 1
        completions[lastID] = completion
        store.submit(StoreChange(id: lastID, operation))
    }

    func take(_ completion: StoreCompletion) {
        completions.removeValue(forKey: completion.id)?(completion.failure)
    }

    func read(
        _ account: AccountName, _ completion: @escaping (Result<StoredCredential?, StoreFailure>) -> Void
    ) {
        lastID += 1
        readers[lastID] = completion
        store.read(lastID, credentialOf: account)
    }

    func take(_ id: UInt64, _ outcome: Result<StoredCredential?, StoreFailure>) {
        readers.removeValue(forKey: id)?(outcome)
    }
}
