import ChatAuthAPI
import CredentialCore

/// What the disk refused, and what is no credential, as kinds and sentences of the contract.
extension CallFailure {
    /// What the operator can do something about; the rest is a number that errno(3) explains.
    private static func words(forErrno code: Int32) -> String {
        switch code {
        case 1: "one belongs to another user, or is no regular file"
        case 2: "one is missing"
        case 13: "others have rights on one, or this user has none; chmod go= closes it"
        case 20, 40: "one is a link or not a directory"
        default: "error \(code)"
        }
    }

    init(_ failure: StoreFailure) {
        switch failure {
        case .full: self.init(.storeFull, "the disk refused it; free space in the state directory")
        case .io(let code) where code < 0:
            self.init(.storeSealed, "the store's files cannot be used: " + Self.words(forErrno: -code))
        case .io(let code): self.init(.storeFull, "the disk failed with SQLite code \(code)")
        case .corrupt: self.init(.storeCorrupt, "the store is damaged; it was left as it is")
        case .rolledBack:
            self.init(
                .storeRolledBack, "the store is older than what was last written here; it was left as it is")
        case .keyMissing: self.init(.storeSealed, "the key is missing; the store is sealed")
        case .keyWrong: self.init(.keyWrong, "the key is not this store's; the store is sealed")
        case .keyFileUnsafe:
            self.init(
                .storeSealed,
                "the key file is open to others, a link, or somebody else's; the store is sealed")
        case .tooNew(let version):
            self.init(.storeSealed, "the store has format \(version), which a newer version wrote")
        case .inUse: self.init(.storeSealed, "another daemon holds the store")
        case .conflict: self.init(.accountBusy, "the credential was replaced meanwhile; try again")
        case .sealed: self.init(.storeSealed, "the store is sealed; chatauth status says what is missing")
        case .busy:
            self.init(.overloaded, "too many changes are waiting for the disk", retryAfter: .seconds(1))
        }
    }

    init(_ failure: Credential.Failure) {
        switch failure {
        case .empty: self.init(.credentialEmpty, "neither id_token nor access_token is there")
        case .tooLarge(let field, let length):
            self.init(
                .credentialTooLarge,
                "\(field.rawValue) has \(length) bytes; \(Credential.tokenLimit) are allowed")
        case .malformed(let field):
            self.init(.credentialMalformed, "\(field.rawValue) has a byte that no header can carry")
        }
    }
}
