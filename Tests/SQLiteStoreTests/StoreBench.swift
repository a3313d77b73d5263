import CLinux
import CredentialCore
import EventLoop
import Glibc
import Secrets
import TestSupport

import SQLiteStore

/// A clock that stands until it is moved.
final class StandingClock: Clock {
    var now = Instant(wall: WallTime(milliseconds: 1_800_000_000_000), boot: BootTime(milliseconds: 5000))
    let bootID = BootID("9f0e3d5c-0000-4000-8000-000000000001")
}

/// Writes down what a store says.
final class Listener: StoreObserver {
    var completions: [UInt64: StoreFailure?] = [:]
    var order: [UInt64] = []
    var answers: [UInt64: Result<StoredCredential?, StoreFailure>] = [:]
    var openings: [StoreContents] = []
    var reasons: [StoreFailure] = []

    func storeDidComplete(_ completion: StoreCompletion) {
        completions[completion.id] = .some(completion.failure)
        order.append(completion.id)
    }
    func storeDidRead(_ id: UInt64, _ outcome: Result<StoredCredential?, StoreFailure>) {
        answers[id] = outcome
    }
    func storeDidOpen(_ contents: StoreContents) { openings.append(contents) }
    func storeDidStaySealed(_ reason: StoreFailure) { reasons.append(reason) }
}

/// A store in a directory of its own, driven from the test's thread.
final class StoreBench {
    let root: String
    let paths: StorePaths
    let keyPath: String
    let loop: EventLoop
    let clock = StandingClock()
    let listener = Listener()
    var store: SQLiteStore?
    private var nextID: UInt64 = 1

    /// Works in a directory that exists and outlives it, or in a new one that ends with it.
    init(root given: String? = nil) throws {
        if let given {
            root = given
        } else {
            var template = Array("/tmp/chatauth-store-XXXXXX".utf8CString)
            guard mkdtemp(&template) != nil else { throw EventLoopFailureInTest.noDirectory }
            root = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
        paths = StorePaths(stateDirectory: root + "/state", epochDirectory: root + "/epoch")
        keyPath = root + "/config/master.key"
        loop = try EventLoop()
    }

    deinit {
        store?.close()
        if root.hasPrefix("/tmp/chatauth-store-") { Self.removeTree(root) }
    }

    enum EventLoopFailureInTest: Error { case noDirectory, notOpen, noAnswer }

    var keySource: MasterKeySource { .file(path: keyPath, mayCreate: true) }

    /// Opens, or says why it is sealed.
    @discardableResult
    func open(_ source: MasterKeySource? = nil, format: StoreFormat = .current) throws -> StoreOpening {
        store?.close()
        store = nil
        let (store, opening) = try Self.whenFree {
            () throws(StoreFailure) -> (store: SQLiteStore, opening: StoreOpening) in
            try SQLiteStore.open(
                paths: paths, loop: loop, keySource: source ?? keySource, clock: clock, format: format)
        }
        store.observer = listener
        self.store = store
        return opening
    }

    /// The store without its thread.
    func engine() throws -> StoreEngine {
        try Self.whenFree { () throws(StoreFailure) -> StoreEngine in
            try StoreEngine(
                paths: paths, source: keySource, format: .current, random: SQLiteStore.systemRandom)
        }
    }

    /// Tries again while the lock is held.
    ///
    /// A program that another test starts has this process' locks for a moment, until it becomes what it is to be.
    private static func whenFree<Value>(_ open: () throws(StoreFailure) -> Value) throws -> Value {
        let end = cl_boot_milliseconds() + 2000
        while true {
            do throws(StoreFailure) {
                return try open()
            } catch {
                guard error == .inUse, cl_boot_milliseconds() < end else { throw error }
                sched_yield()
            }
        }
    }

    /// Opens and expects it to be open.
    @discardableResult
    func openContents(format: StoreFormat = .current) throws -> StoreContents {
        switch try open(format: format) {
        case .open(let contents): return contents
        case .sealed(let reason): throw reason
        }
    }

    func close() {
        store?.close()
        store = nil
    }

    /// Why the store stays sealed; nil when it opens.
    func sealedReason(_ source: MasterKeySource? = nil, format: StoreFormat = .current) throws
        -> StoreFailure?
    {
        defer { close() }
        if case .sealed(let reason) = try open(source, format: format) { return reason }
        return nil
    }

    /// Submits all and returns what came of each, in order.
    @discardableResult
    func run(_ operations: StoreChange.Operation...) throws -> [StoreFailure?] { try run(operations) }

    @discardableResult
    func run(_ operations: [StoreChange.Operation]) throws -> [StoreFailure?] {
        guard let store else { throw EventLoopFailureInTest.notOpen }
        let ids = operations.map { operation in
            defer { nextID += 1 }
            store.submit(StoreChange(id: nextID, operation))
            return nextID
        }
        try wait { ids.allSatisfy { self.listener.completions[$0] != nil } }
        return ids.map { listener.completions[$0] ?? nil }
    }

    /// Serves the loop until `isDone`.
    func wait(_ isDone: () -> Bool) throws {
        while !isDone() {
            guard try loop.runOnce(timeoutMilliseconds: 20_000) else { throw EventLoopFailureInTest.noAnswer }
        }
    }

    // MARK: Files

    static func removeTree(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        if status.st_mode & S_IFMT == S_IFDIR {
            for name in Files.names(in: path) { removeTree(path + "/" + name) }
            rmdir(path)
        } else {
            unlink(path)
        }
    }

    var epochPath: String { paths.epochDirectory + "/epoch" }
    var journalPath: String { paths.database + "-journal" }

    static func write(_ bytes: [UInt8], to path: String, mode: mode_t = 0o600) {
        let file = cl_open(path, O_WRONLY | O_CREAT | O_TRUNC, mode)
        defer { Glibc.close(file) }
        var done = 0
        while done < bytes.count {
            let count = bytes[done...].withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            done += count
        }
    }

    static func read(_ path: String) -> [UInt8] { Files.bytes(at: path) ?? [] }

    /// Everything about every file below the root that a touch would change.
    var fingerprint: [String] {
        func list(_ path: String) -> [String] {
            Files.names(in: path).flatMap { name -> [String] in
                let path = path + "/" + name
                var status = stat()
                lstat(path, &status)
                if status.st_mode & S_IFMT == S_IFDIR { return [path] + list(path) }
                // Reading a pipe would wait for a writer.
                let content = status.st_mode & S_IFMT == S_IFREG ? Self.read(path) : []
                let modified = "\(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
                return ["\(path) \(status.st_mode) \(status.st_ino) \(modified) \(content)"]
            }
        }
        return list(root)
    }
}

// MARK: Values

func name(_ text: String) -> AccountName {
    guard let name = AccountName(text) else { preconditionFailure("no name: \(text)") }
    return name
}

func secret(_ text: String) -> SecretBytes { SecretBytes(copying: Array(text.utf8).span) }

func text(_ secret: SecretBytes?) -> String? {
    secret?.withSpan { span in String(decoding: span.indices.map { span[$0] }, as: UTF8.self) }
}

func held(
    _ generation: Int64, token: String = "token", access: String? = nil, issuer: String? = nil,
    expiries: Expiries = Expiries(hint: WallTime(seconds: 1_800_003_600)),
    origin: HeldCredential.Origin = .source,
    destination: String = "kindly https://example.com"
) throws -> HeldCredential {
    HeldCredential(
        credential: try Credential(
            idToken: token.isEmpty ? nil : secret(token), accessToken: access.map(secret), issuer: issuer),
        generation: Generation(generation), expiries: expiries,
        receivedAt: Instant(
            wall: WallTime(milliseconds: 1_800_000_000_123), boot: BootTime(milliseconds: 77)),
        bootID: BootID("9f0e3d5c-0000-4000-8000-000000000001"), origin: origin,
        destination: Destination(destination))
}

func put(_ account: String, _ held: HeldCredential, expecting expected: Int64) -> StoreChange.Operation {
    .putCredential(account: name(account), held, expected: Generation(expected))
}

/// Everything of a store's content in a form that can be compared.
func summary(_ contents: StoreContents) -> [String] {
    let credentials = contents.credentials.map { stored in
        let held = stored.held
        let generation = "\(stored.account) \(stored.generation.number) \(held?.generation.number ?? -1)"
        let tokens = "\(text(held?.credential?.idToken) ?? "-") \(text(held?.credential?.accessToken) ?? "-")"
        let expiries = held.map { "\($0.expiries) \($0.receivedAt) \($0.bootID) \($0.origin)" } ?? "-"
        return "c \(generation) \(tokens) \(held?.credential?.issuer ?? "-") \(expiries) "
            + "\(held?.destination.text ?? "-")"
    }
    let accounts = contents.accounts.map {
        "a \($0.name) \(text($0.definition) ?? "-") \(text($0.policy) ?? "-")"
    }
    return credentials.sorted() + accounts
}
