import CredentialCore
import JSON
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
        submit(.putState(name, content)) { [weak self] failure in
            self?.stored(name, content, failure)
            completion(failure)
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

/// The row of an account: where what it says is true, the state of its platform, and a device of its own.
///
///     {"destination": "provider=…", "state": {…}, "bound": generation, "device": "UUID"}
///
/// A state counts only at the destination that it is of: another bot knows nothing of this one's chat. A device outlives that.
struct PlatformRow {
    var destination: Destination
    var state: SecretBytes?
    var device: String?
    var bound: Generation?

    init(
        destination: Destination, state: SecretBytes? = nil, device: String? = nil, bound: Generation? = nil
    ) {
        self.destination = destination
        self.state = state
        self.bound = bound
        self.device = device
    }

    /// Reads a row; nil for what is none.
    init?(_ content: SecretBytes) {
        let row = content.withSpan { bytes -> PlatformRow? in
            var document = JSONDocument(limits: JSONLimits(length: 1 << 20, depth: 16))
            guard let root = try? document.parse(bytes), root.kind == .object,
                let destination = root.member("destination")?.string
            else { return nil }
            var row = PlatformRow(destination: Destination(destination))
            if let state = root.member("state"), state.kind == .object {
                row.state = SecretBytes(copying: state.raw)
            }
            row.device = root.member("device")?.string
            row.bound = root.member("bound")?.integer.map { Generation($0) }
            return row
        }
        guard let row else { return nil }
        self = row
    }

    func json() -> SecretBytes {
        var writer = JSONWriter(capacity: 512)
        writer.beginObject()
        writer.key("destination")
        writer.string(destination.text)
        if let state {
            writer.key("state")
            state.withSpan { writer.raw($0) }
        }
        if let bound {
            writer.key("bound")
            writer.integer(bound.number)
        }
        if let device {
            writer.key("device")
            writer.string(device)
        }
        writer.endObject()
        return writer.finish().finish()
    }
}
