import CLinux
package import CredentialCore
import Glibc
import Secrets

/// The store on its own thread: holds the lock, opens, commits, and keeps the epoch file.
///
/// A store is looked at without touching it first: version, structure, key, every row, head and epoch are checked through a
/// connection that cannot write. Only a store that is found good is opened for writing; everything else stays sealed with its files
/// as they were.
package final class StoreEngine {
    private let directory: PrivateDirectory
    private let lock: FileDescriptor
    private let epochFile: EpochFile
    private let ballast: Ballast
    private var spending = SpendingLedger()
    private let format: StoreFormat
    private let random: RandomSource
    private var source: MasterKeySource
    private var session: StoreSession?
    /// As of now.
    package private(set) var status: StoreStatus
    /// Commits that the epoch file does not know of yet; `keepEpoch` makes it none.
    package private(set) var epochLag = 0

    /// Takes the lock; the store is not opened yet.
    ///
    /// - Throws: `.inUse` where another process has it, `.io` or `.full` where the directories cannot be had.
    package init(
        paths: StorePaths, source: MasterKeySource, format: StoreFormat, random: @escaping RandomSource
    ) throws(StoreFailure) {
        directory = try PrivateDirectory(paths.stateDirectory)
        lock = try directory.openLock(StoreFiles.lock)
        guard flock(lock.number, LOCK_EX | LOCK_NB) == 0 else {
            throw errno == EWOULDBLOCK ? .inUse : StoreFailure(errno: errno)
        }
        epochFile = EpochFile(directory: try PrivateDirectory(paths.epochDirectory))
        ballast = Ballast(directory: directory, random: random)
        self.source = source
        self.format = format
        self.random = random
        status = StoreStatus(path: paths.database)
    }

    /// Whether key, head and all rows were found good and changes are taken.
    package var isOpen: Bool { session != nil }

    /// Whether what keeps the store sealed may pass by itself: a disk that fails or is full, another process.
    package var mayOpenLater: Bool {
        guard case .file = source else { return false }
        return switch status.sealed {
        case .io, .full, .inUse: true
        default: false
        }
    }

    // MARK: Opening

    /// Opens the store with `newSource`, or with the one there was; makes it where there is none.
    package func open(_ newSource: MasterKeySource? = nil, now: WallTime) -> StoreOpening {
        session = nil
        if let newSource { source = newSource }
        do throws(StoreFailure) {
            let contents = try openStore(now: now)
            // A key that was handed over is not kept longer than it is needed.
            if case .bytes = source { source = .none }
            status.sealed = nil
            status.hasBallast = ballast.look()
            refreshStatus()
            return .open(contents)
        } catch {
            if error == .keyWrong, case .bytes = source { source = .none }
            seal(error)
            return .sealed(error)
        }
    }

    private func openStore(now: WallTime) throws(StoreFailure) -> StoreContents {
        epochLag = 0
        let path = directory.path(of: StoreFiles.database)
        if try !storeExists() {
            try StoreCreation.create(
                in: directory, epochFile: epochFile, source: source, format: format, now: now,
                random: random)
        }
        let image = try rolledBackImage()
        let master: GuardedMemory
        let inspected: LoadedStore
        do {
            let inspection =
                if let image { try Connection.inspecting(image: image) } else {
                    try Connection.inspecting(path)
                }
            _ = try StoreLoader.checkVersion(inspection, format)
            master = try MasterKey.load(source)
            inspected = try StoreLoader.load(inspection, master: master, format: format)
            _ = try checkEpoch(inspected)
        }
        let connection = try Connection.opening(path)
        var loaded = inspected
        let stored = try Head.read(connection)
        if image != nil || stored.head != inspected.head || stored.code != inspected.code {
            loaded = try StoreLoader.load(connection, master: master, format: format)
        }
        if loaded.version < format.version {
            try Migration.run(
                connection, loaded, master: master, format: format, directory: directory, now: now)
            loaded = try StoreLoader.load(connection, master: master, format: format)
        }
        let fileEpoch = try checkEpoch(loaded)
        let session = try StoreSession(connection, loaded, random: random)
        self.session = session
        status.epochFileFailure = nil
        if fileEpoch < loaded.head.epoch { writeEpoch(session) }
        return loaded.contents
    }

    private func storeExists() throws(StoreFailure) -> Bool {
        guard let file = try directory.open(StoreFiles.database) else { return false }
        let header = try file.read(upTo: 100)
        // Bytes 18 and 19 are 1 but for write-ahead logging, which we never use and which would make files of its own.
        guard header.count == 100, header[18] == 1, header[19] == 1 else { throw .corrupt(detail: .header) }
        return true
    }

    // Descriptors of the database are closed before SQLite opens it: closing one would drop its locks.
    private func rolledBackImage() throws(StoreFailure) -> [UInt8]? {
        guard let journal = try readAll(StoreFiles.journal), RollbackJournal.isHot(journal),
            let database = try readAll(StoreFiles.database)
        else { return nil }
        return RollbackJournal.rollBack(database, journal: journal)
    }

    private func readAll(_ name: String) throws(StoreFailure) -> [UInt8]? {
        guard let file = try directory.open(name) else { return nil }
        return try file.read(upTo: Int(try file.status.st_size))
    }

    private func checkEpoch(_ loaded: LoadedStore) throws(StoreFailure) -> Int64 {
        try loaded.keys.withKeys { keys throws(StoreFailure) in
            try epochFile.check(epoch: loaded.head.epoch, header: loaded.header, keys: keys)
        }
    }

    // MARK: Writing

    /// Makes the changes of `group` in one transaction and says of each what came of it, once it is on disk.
    ///
    /// The epoch file lags by this commit until `keepEpoch`.
    ///
    /// - Returns: why the store had to be sealed; nil while it stays as it is.
    package func commit(
        _ group: [TimedChange], acknowledge: ([StoreCompletion]) -> Void
    ) -> StoreFailure? {
        guard isOpen else {
            acknowledge(group.map { StoreCompletion(id: $0.change.id, failure: .sealed) })
            return nil
        }
        let group = admitIntents(of: group, refuse: acknowledge)
        guard !group.isEmpty else { return nil }
        do throws(StoreFailure) {
            let completions = try write(group) {
                if TestSwitches.acknowledgesBeforeCommit { acknowledge($0) }
            }
            if !TestSwitches.acknowledgesBeforeCommit { acknowledge(completions) }
            return nil
        } catch {
            if error == .full, let reason = commitOnBallast(group, acknowledge: acknowledge) {
                return reason.value
            }
            status.lastFailure = error
            let reason = session?.isAsKnown == true ? nil : recover(from: error)
            acknowledge(group.map { StoreCompletion(id: $0.change.id, failure: error) })
            return reason
        }
    }

    // An intent to spend a grant is taken only while the space for what that brings is kept free.
    private func admitIntents(
        of group: [TimedChange], refuse: ([StoreCompletion]) -> Void
    ) -> [TimedChange] {
        guard group.contains(where: { SpendingLedger.intent($0.change.operation) != nil }) else {
            return group
        }
        var refusals: [StoreCompletion] = []
        var outstanding = spending.outstanding
        let admitted = group.filter { timed in
            guard let name = SpendingLedger.intent(timed.change.operation) else { return true }
            do throws(StoreFailure) {
                // Who has a share already needs no other: what became of the attempt before could not be written.
                guard outstanding.contains(name) || outstanding.count < Ballast.intentLimit else {
                    throw .busy
                }
                try ballast.ensure()
                outstanding.insert(name)
                return true
            } catch {
                refusals.append(StoreCompletion(id: timed.change.id, failure: error))
                return false
            }
        }
        status.hasBallast = refusals.contains { $0.failure != .busy } ? false : ballast.look()
        if !refusals.isEmpty { refuse(refusals) }
        return admitted
    }

    private struct Outcome {
        /// Why the store had to be sealed; nil: it was not.
        let value: StoreFailure?
    }

    // The disk is full: what a spent grant brought gets as much of the ballast's space as it needs, everything else is refused. Nil where
    // nothing of the group may have it, or there is none left.
    private func commitOnBallast(
        _ group: [TimedChange], acknowledge: ([StoreCompletion]) -> Void
    ) -> Outcome? {
        let urgent = group.filter { spending.mayUseBallast($0.change.operation) }
        guard session?.isAsKnown == true, !urgent.isEmpty, ballast.giveUp(for: urgent) else { return nil }
        status.hasBallast = false
        let refused = group.filter { !spending.mayUseBallast($0.change.operation) }
        if !refused.isEmpty {
            acknowledge(refused.map { StoreCompletion(id: $0.change.id, failure: .full) })
        }
        return Outcome(value: commit(urgent, acknowledge: acknowledge))
    }

    // Apart from `commit`, so that nothing holds the session, and with it the locks on the file, when that recovers.
    private func write(
        _ group: [TimedChange], completing: ([StoreCompletion]) -> Void
    ) throws(StoreFailure) -> [StoreCompletion] {
        guard let session else { throw .sealed }
        let epoch = session.head.epoch
        var completions: [StoreCompletion] = []
        try session.commit(group) { done in
            completions = done
            completing(done)
        }
        status.lastFailure = nil
        if session.head.epoch != epoch {
            for (timed, completion) in zip(group, completions) where completion.failure == nil {
                spending.didCommit(timed.change.operation)
            }
            status.commits += 1
            status.changes += Int64(completions.count { $0.failure == nil })
            epochLag += 1
        }
        // Made again as soon as there is room: who is refused an intent next would have to wait for it.
        if status.hasBallast == false, spending.isSettled {
            status.hasBallast = (try? ballast.ensure()) != nil
        }
        refreshStatus()
        return completions
    }

    // The commit failed in a way that leaves open what the file holds. It is read anew, as at a start; if it turns out to hold the
    // changes, then the next change of a credential finds out by its generation.
    private func recover(from failure: StoreFailure) -> StoreFailure? {
        guard let now = session?.head.lastWrittenAt else { return nil }
        session = nil
        guard case .file = source else {
            // The key is not at hand any more.
            seal(failure)
            return failure
        }
        if case .sealed(let reason) = open(now: now) { return reason }
        status.lastFailure = failure
        return nil
    }

    /// Brings the epoch file up to date where it lags.
    ///
    /// Nobody waits for it: the file may lag the store, and a crash before it is written leaves a store that opens.
    package func keepEpoch() {
        guard let session, epochLag > 0 else { return }
        writeEpoch(session)
    }

    private func writeEpoch(_ session: StoreSession) {
        epochLag = 0
        do throws(StoreFailure) {
            try session.keys.withKeys { keys throws(StoreFailure) in
                try epochFile.write(epoch: session.head.epoch, header: session.header, keys: keys)
            }
            status.epochFileFailure = nil
        } catch {
            // It may lag: the next commit tries again, and the store itself has what was promised.
            status.epochFileFailure = error
        }
    }

    // MARK: Reading

    /// What is stored of an account's credential; nil: there never was one.
    package func read(_ account: AccountName) -> Result<StoredCredential?, StoreFailure> {
        guard let session else { return .failure(.sealed) }
        do throws(StoreFailure) {
            return .success(try session.read(account))
        } catch {
            status.lastFailure = error
            return .failure(error)
        }
    }

    // MARK: Status

    private func seal(_ reason: StoreFailure) {
        session = nil
        status.sealed = reason
        refreshStatus()
    }

    private func refreshStatus() {
        status.epoch = session?.head.epoch
        status.formatVersion = session?.version
        status.rows = session?.rows.count ?? 0
        status.isMemoryLocked = session?.keys.isLocked ?? false
    }
}
