import CLinux
import CredentialCore
import Glibc

/// A file that only takes up space: given up piece by piece on a full disk, so that what a spent grant brought can still be written.
///
/// An update on a full disk fails even where the new value is smaller, and a refresh token that was spent cannot be spent again. So before
/// one is spent, the room for its successor is on the disk already. The file is made when the first grant needs it; a store without
/// grants has none. Whoever fills the disk takes what is given up, too: therefore no more is given up at a time than a change needs.
final class Ballast {
    /// Room for one spent grant: a refresh token and a credential of two tokens, 256 KiB each, in the database and, as what they
    /// replace, in the journal, and the pages around them.
    static let bytesPerIntent = 2 << 20
    private static let bytesPerGrant = 2 * HeldGrant.tokenLimit + (128 << 10)
    private static let bytesPerCredential = 4 * Credential.tokenLimit + (192 << 10)
    /// Grants that may be on their way to their servers at once.
    static let intentLimit = HeldGrant.spendingLimit

    private static let size = bytesPerIntent * intentLimit
    private static let chunk = 256 << 10

    private let directory: PrivateDirectory
    private let random: RandomSource
    // A file that an earlier daemon made may have holes, as a copy has; whoever made it here knows better than a file system that
    // counts blocks late.
    private var isKnownToBeSolid = false

    init(directory: PrivateDirectory, random: @escaping RandomSource) {
        self.directory = directory
        self.random = random
    }

    /// Whether the file is there in full; nil where there is none.
    func look() -> Bool? {
        guard let file = try? directory.open(StoreFiles.ballast), let length = try? solidLength(file) else {
            return nil
        }
        return length >= Self.size
    }

    /// Makes the file, or what is missing of it, where it is not there in full.
    ///
    /// It is looked at every time: who is short of space may have removed it.
    ///
    /// - Throws: `full` where there is no room for it; what there was stays.
    func ensure() throws(StoreFailure) {
        let file: FileDescriptor
        var length = 0
        if let found = try? directory.open(StoreFiles.ballast, forWriting: true) {
            length = try solidLength(found)
            if length >= Self.size { return }
            file = found
        } else {
            try directory.remove(StoreFiles.ballast)
            file = try directory.create(StoreFiles.ballast)
        }
        do throws(StoreFailure) {
            if length == 0 { try file.resize(to: 0) }
            try fill(file, from: length)
            try file.sync()
            isKnownToBeSolid = true
        } catch {
            if length == 0 { try? directory.remove(StoreFiles.ballast) } else { try? file.resize(to: length) }
            throw error
        }
    }

    /// Gives back what these changes need at most.
    ///
    /// - Returns: false where there was nothing to give.
    func giveUp(for changes: [TimedChange]) -> Bool {
        let needed = changes.reduce(0) { sum, timed in
            if case .putGrant = timed.change.operation {
                sum + Self.bytesPerGrant
            } else {
                sum + Self.bytesPerCredential
            }
        }
        do throws(StoreFailure) {
            guard let file = try directory.open(StoreFiles.ballast, forWriting: true) else { return false }
            let length = Int(try file.status.st_size)
            guard length > 0 else { return false }
            try file.resize(to: max(0, min(length, Self.size) - needed))
            return true
        } catch {
            return false
        }
    }

    private func solidLength(_ file: FileDescriptor) throws(StoreFailure) -> Int {
        let status = try file.status
        let isSolid = isKnownToBeSolid || Int64(status.st_blocks) * 512 >= Int64(status.st_size)
        return isSolid ? Int(status.st_size) : 0
    }

    private func fill(_ file: FileDescriptor, from length: Int) throws(StoreFailure) {
        guard cl_reserve(file.number, off_t(length), off_t(Self.size - length)) != 0 else { return }
        guard errno == EOPNOTSUPP || errno == ENOSYS else { throw StoreFailure(errno: errno) }
        try write(file, from: length)
    }

    // Random bytes: a file system that compresses would keep no room for zeros.
    private func write(_ file: FileDescriptor, from length: Int) throws(StoreFailure) {
        guard lseek(file.number, off_t(length), SEEK_SET) >= 0 else { throw StoreFailure(errno: errno) }
        var bytes = [UInt8](repeating: 0, count: Self.chunk)
        for start in stride(from: length, to: Self.size, by: Self.chunk) {
            bytes.withUnsafeMutableBytes { random($0) }
            let part = bytes.span.extracting(0..<min(Self.chunk, Self.size - start))
            try part.withUnsafeBytes { part throws(StoreFailure) in try file.write(part) }
        }
    }
}

/// What of a group of changes concerns grants that are being spent.
struct SpendingLedger {
    /// Grants that may be at their servers.
    private(set) var outstanding: Set<GrantName> = []
    /// Credentials that spent grants brought and that are still to come: they may use the ballast as well.
    private(set) var owedCredentials = 0

    /// Whether nothing is on its way for which the space must be kept free.
    var isSettled: Bool { outstanding.isEmpty && owedCredentials == 0 }

    /// The grant that a change is the intent to spend; nil for every other change.
    static func intent(_ operation: StoreChange.Operation) -> GrantName? {
        guard case .putGrant(let grant, _) = operation, grant.state == .spending else { return nil }
        return grant.name
    }

    /// Whether a change may have the ballast's space.
    func mayUseBallast(_ operation: StoreChange.Operation) -> Bool {
        switch operation {
        // What is only known of a refresh token is no loss, and an intent is refused rather than the space for it used up.
        case .putGrant(let grant, let expected):
            grant.state != .spending && grant.generation > expected && outstanding.contains(grant.name)
        case .putCredential: owedCredentials > 0 || !outstanding.isEmpty
        default: false
        }
    }

    /// Takes note of a change that is on disk.
    mutating func didCommit(_ operation: StoreChange.Operation) {
        switch operation {
        case .putGrant(let grant, let expected):
            if grant.state == .spending {
                outstanding.insert(grant.name)
            } else if outstanding.remove(grant.name) != nil, grant.generation > expected {
                owedCredentials += 1
            }
        case .deleteGrant(let name, _, _): outstanding.remove(name)
        case .putCredential: owedCredentials = max(0, owedCredentials - 1)
        default: break
        }
    }
}
