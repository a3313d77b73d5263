import CredentialCore
import Glibc

/// A file that only takes up space: given up on a full disk, so that what a spent grant brought can still be written.
///
/// An update on a full disk fails even where the new value is smaller, and a refresh token that was spent cannot be spent again. So before
/// one is spent, the room for its successor is on the disk already. The file is made when the first grant needs it; a store without
/// grants has none.
final class Ballast {
    /// Room for one spent grant: a refresh token and a credential of two tokens, 256 KiB each, in the database and, as what they
    /// replace, in the journal, and the pages around them.
    static let bytesPerIntent = 2 << 20
    /// Grants that may be on their way to their servers at once.
    static let intentLimit = 8

    private let directory: PrivateDirectory
    private let size: Int
    /// Whether the whole file is there.
    private(set) var isThere = false

    init(directory: PrivateDirectory, size: Int = bytesPerIntent * intentLimit) {
        self.directory = directory
        self.size = size
    }

    /// Makes the file where it is not there in full.
    ///
    /// - Throws: `full` where there is no room for it.
    func ensure() throws(StoreFailure) {
        guard !isThere else { return }
        if let file = try directory.open(StoreFiles.ballast), try file.status.st_blocks * 512 >= size {
            isThere = true
            return
        }
        try directory.remove(StoreFiles.ballast)
        let file = try directory.create(StoreFiles.ballast)
        let code = posix_fallocate(file.number, 0, off_t(size))
        guard code == 0 else {
            try directory.remove(StoreFiles.ballast)
            throw StoreFailure(errno: code)
        }
        try file.sync()
        isThere = true
    }

    /// Gives the space back to whoever writes next.
    ///
    /// - Returns: false where there was none to give.
    func giveUp() -> Bool {
        guard isThere else { return false }
        isThere = false
        do throws(StoreFailure) {
            try directory.remove(StoreFiles.ballast)
            return true
        } catch {
            return false
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

    static func isIntent(_ operation: StoreChange.Operation) -> Bool {
        if case .putGrant(let grant, _) = operation { grant.state == .spending } else { false }
    }

    /// Whether a change may have the ballast's space.
    func mayUseBallast(_ operation: StoreChange.Operation) -> Bool {
        switch operation {
        // What is only known of a refresh token is no loss.
        case .putGrant(let grant, let expected):
            grant.generation > expected && outstanding.contains(grant.name)
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
