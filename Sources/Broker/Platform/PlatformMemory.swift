import CredentialCore
import Log
import Secrets

/// What is remembered of accounts at their platforms and of devices, as it is on disk or on its way there.
///
/// What the disk refuses counts nevertheless, and is tried again: a platform has heard of it already.
final class PlatformMemory {
    private let submit: (StoreChange.Operation, @escaping (StoreFailure?) -> Void) -> Void
    private let log: Logger
    private let clock: any Clock
    private var contents: [PlatformStateName: SecretBytes] = [:]
    private var unstored: Set<PlatformStateName> = []
    // Texts that are on their way to the disk, and who waits until none is.
    private var writing: [PlatformStateName: (count: Int, waiting: [(StoreFailure?) -> Void])] = [:]

    /// When what the disk refused is tried again; nil: it has everything.
    private(set) var nextWakeUp: BootTime?
    private static let pause = Milliseconds.seconds(1)

    init(
        log: Logger, clock: any Clock,
        submit: @escaping (StoreChange.Operation, @escaping (StoreFailure?) -> Void) -> Void
    ) {
        self.log = log
        self.clock = clock
        self.submit = submit
    }

    /// Takes what the store held when it was opened.
    func load(_ states: [StoredState]) {
        for state in states where contents[state.name] == nil { contents[state.name] = state.content }
    }

    subscript(name: PlatformStateName) -> SecretBytes? { contents[name] }

    /// Remembers a text; `completion` is told how the disk took it.
    func put(
        _ name: PlatformStateName, _ content: SecretBytes,
        completion: @escaping (StoreFailure?) -> Void = { _ in }
    ) {
        contents[name] = content
        writing[name, default: (0, [])].count += 1
        submit(.putState(name, content)) { [weak self] failure in
            self?.stored(name, content, failure)
            completion(failure)
            self?.written(name, failure)
        }
    }

    private func written(_ name: PlatformStateName, _ failure: StoreFailure?) {
        guard var rest = writing.removeValue(forKey: name) else { return }
        rest.count -= 1
        guard rest.count == 0 else {
            writing[name] = rest
            return
        }
        for completion in rest.waiting { completion(failure) }
    }

    /// Tells once what is remembered is on disk, within this call where it is; what the disk refused is tried again first.
    func whenStored(_ name: PlatformStateName, completion: @escaping (StoreFailure?) -> Void) {
        if writing[name] != nil {
            writing[name]?.waiting.append(completion)
        } else if unstored.contains(name), let content = contents[name] {
            put(name, content, completion: completion)
        } else {
            completion(nil)
        }
    }

    private func stored(_ name: PlatformStateName, _ content: SecretBytes, _ failure: StoreFailure?) {
        // A later text has an outcome of its own.
        guard let current = contents[name], current === content else { return }
        guard let failure else {
            unstored.remove(name)
            if unstored.isEmpty { nextWakeUp = nil }
            return
        }
        nextWakeUp = clock.now.boot + Self.pause
        if unstored.insert(name).inserted {
            log.log(
                .error, "What a platform was told is remembered in memory only, the store refused it",
                (.account, .public(name.account.text)), (.reason, .public("\(failure)")))
        }
    }

    /// Takes a text back that was never told to anybody.
    func withdraw(_ name: PlatformStateName, _ content: SecretBytes, restoring old: SecretBytes?) {
        guard let current = contents[name], current === content else { return }
        contents[name] = old
        unstored.remove(name)
    }

    /// Tries no more to store what is about to be removed.
    func leave(_ name: PlatformStateName) { unstored.remove(name) }

    /// Forgets what the store has forgotten together with its account.
    func forget(_ name: PlatformStateName) {
        contents[name] = nil
        unstored.remove(name)
    }

    /// Tries once more what the disk refused, where that is due.
    ///
    /// A sign-out that is in memory only would be undone by a restart.
    func wakeUp() {
        if let nextWakeUp, nextWakeUp <= clock.now.boot { storeAgain() }
    }

    /// Tries once more what the disk refused.
    func storeAgain() {
        nextWakeUp = nil
        for name in unstored {
            if let content = contents[name] { put(name, content) }
        }
    }
}

extension PlatformStateName {
    fileprivate var account: AccountName {
        switch self {
        case .account(let name), .device(let name): name
        }
    }
}
