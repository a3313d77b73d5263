import CredentialCore

/// Who waits for the broker: callers outside, and the broker itself.
extension Broker {
    func answer(_ waiter: WaiterID, _ account: Account?, _ answer: BrokerAnswer) {
        if let own = ownWaiters.removeValue(forKey: waiter) {
            own(answer)
        } else {
            observer?.broker(answers: waiter, for: account, answer)
        }
    }

    /// Asks in our own name; `completion` is told whether the disk took it.
    func ownWaiter(
        _ ask: (WaiterID) -> Void, completion: @escaping (StoreFailure?) -> Void
    ) {
        lastOwnWaiter -= 1
        let waiter = WaiterID(lastOwnWaiter)
        ownWaiters[waiter] = { answer in
            switch answer {
            case .storeFailed(let failure), .session(.failure(.store(let failure))): completion(failure)
            case .session(.failure): completion(.sealed)
            default: completion(nil)
            }
        }
        ask(waiter)
    }
}
