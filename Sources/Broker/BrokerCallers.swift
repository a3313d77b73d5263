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

    /// Gives a number under which we ask in our own name; `completion` gets the answer.
    func ownWaiter(_ completion: @escaping (BrokerAnswer) -> Void) -> WaiterID {
        lastOwnWaiter -= 1
        let waiter = WaiterID(lastOwnWaiter)
        ownWaiters[waiter] = completion
        return waiter
    }

    /// Asks in our own name; `completion` is told whether the disk took it.
    func ownWaiter(
        _ ask: (WaiterID) -> Void, completion: @escaping (StoreFailure?) -> Void
    ) {
        let waiter = ownWaiter { answer in
            switch answer {
            case .storeFailed(let failure), .session(.failure(.store(let failure))): completion(failure)
            case .session(.failure): completion(.sealed)
            default: completion(nil)
            }
        }
        ask(waiter)
    }
}
