import CredentialCore

/// Changes that the store has been asked for and has not answered, and who waits for each.
final class PendingChanges {
    private let store: any StorePort
    private var completions: [UInt64: (StoreFailure?) -> Void] = [:]
    private var lastID: UInt64 = 0

    init(store: any StorePort) { self.store = store }

    var count: Int { completions.count }

    func submit(_ operation: StoreChange.Operation, _ completion: @escaping (StoreFailure?) -> Void) {
        lastID += 1
        completions[lastID] = completion
        store.submit(StoreChange(id: lastID, operation))
    }

    func take(_ completion: StoreCompletion) {
        completions.removeValue(forKey: completion.id)?(completion.failure)
    }
}
