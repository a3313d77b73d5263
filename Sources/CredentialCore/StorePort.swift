package import Secrets

/// What the broker asks of a store.
///
/// One change is one transaction, or is not done at all.
package struct StoreChange: Sendable {
    /// Comes back in the completion.
    package let id: UInt64
    /// What is to be done.
    package let operation: Operation

    /// The changes that a store can make.
    package enum Operation: Sendable {
        /// Replaces an account's credential, only where the stored generation is `expected`; the new one is in the credential.
        ///
        /// A generation may be written again: what is known of its expiry changes while it stays the same.
        case putCredential(account: AccountName, HeldCredential, expected: Generation)
        /// Forgets an account's credential and remembers its generation, so that the number never goes back.
        case deleteCredential(account: AccountName, generation: Generation, expected: Generation)
        /// Adds or replaces an account that came over RPC; both texts are JSON.
        case putAccount(name: AccountName, definition: SecretBytes, policy: SecretBytes)
        /// Removes an account that came over RPC, its policy and its credential.
        case deleteAccount(name: AccountName)
        /// Adds or replaces a grant, only where the stored generation is `expected` (`.none`: there never was such a grant).
        ///
        /// A generation may be written again: what is known of a refresh token changes while it stays the same.
        ///
        /// With `state` `.spending` it is the intent to spend: it succeeds only where the space for a successor of the greatest
        /// size and its credential is secured, and is `.full` otherwise. Every later `putGrant` of that name may use that space.
        case putGrant(HeldGrant, expected: Generation)
        /// Forgets a grant and remembers its generation, so that the number never goes back.
        case deleteGrant(name: GrantName, generation: Generation, expected: Generation)
        /// Adds or replaces a secret.
        case putSecret(HeldSecret)
        /// Removes a secret; done when there is none.
        case deleteSecret(name: SecretName)
        /// Adds or replaces what is to be remembered of an account at its platform, or of a device; the text is JSON.
        case putState(PlatformStateName, SecretBytes)
        /// Removes it; done when there is none.
        case deleteState(PlatformStateName)
    }

    /// Takes a number that no other change has.
    package init(id: UInt64, _ operation: Operation) {
        self.id = id
        self.operation = operation
    }
}

/// Says that a change is on disk, or that nothing changed and why.
package struct StoreCompletion: Sendable {
    /// The number of the change.
    package let id: UInt64
    /// Why nothing changed; nil: it is on disk.
    package let failure: StoreFailure?

    /// Takes the outcome.
    package init(id: UInt64, failure: StoreFailure? = nil) {
        self.id = id
        self.failure = failure
    }
}

/// Why a store did not do something.
package enum StoreFailure: Error, Equatable, Sendable {
    /// No space, or a quota.
    case full
    /// The device or the file system failed; SQLite's extended result code, or an errno, negated.
    case io(code: Int32)
    /// Something stored cannot be what was written; the evidence is kept.
    case corrupt(detail: CorruptDetail)
    /// The store is older than what was last written here.
    case rolledBack
    /// No key to open it with.
    case keyMissing
    /// The key is not this store's.
    case keyWrong
    /// The key file can be read by others, is a link, or belongs to somebody else.
    case keyFileUnsafe
    /// Written by a newer version, which only that can read.
    case tooNew(version: Int64)
    /// Another daemon holds it.
    case inUse
    /// The stored generation is another one.
    case conflict(stored: Generation)
    /// The store is not open.
    case sealed
    /// Too many changes are waiting.
    case busy

    /// What cannot be what was written.
    package enum CorruptDetail: String, Sendable {
        case database, header, head, row, schema
    }
}

/// A credential row as it was loaded.
///
/// `held` is nil where the credential was deleted and only its generation is kept.
package struct StoredCredential: Sendable {
    /// Whose credential it is.
    package let account: AccountName
    /// The newest number, deletions counted.
    package let generation: Generation
    /// The credential; nil: deleted.
    package let held: HeldCredential?

    /// Takes the parts.
    package init(account: AccountName, generation: Generation, held: HeldCredential?) {
        self.account = account
        self.generation = generation
        self.held = held
    }
}

/// A grant row as it was loaded.
///
/// `held` is nil where the grant was deleted and only its generation is kept.
package struct StoredGrant: Sendable {
    /// Which grant.
    package let name: GrantName
    /// The newest number, deletions counted.
    package let generation: Generation
    /// The grant; nil: deleted.
    package let held: HeldGrant?

    /// Takes the parts.
    package init(name: GrantName, generation: Generation, held: HeldGrant?) {
        self.name = name
        self.generation = generation
        self.held = held
    }
}

/// An account row as it was loaded.
package struct StoredAccount: Sendable {
    /// The account.
    package let name: AccountName
    /// Its definition, JSON.
    package let definition: SecretBytes
    /// Its rules, JSON.
    package let policy: SecretBytes

    /// Takes the parts.
    package init(name: AccountName, definition: SecretBytes, policy: SecretBytes) {
        self.name = name
        self.definition = definition
        self.policy = policy
    }
}

/// What a remembered state is of.
package enum PlatformStateName: Hashable, Sendable {
    /// An account, at its platform: a chat, a session, an identity.
    case account(AccountName)
    /// A device, which accounts may share (R78).
    case device(AccountName)
}

/// A state row as it was loaded.
package struct StoredState: Sendable {
    /// What it is of.
    package let name: PlatformStateName
    /// JSON, as it was put.
    package let content: SecretBytes

    /// Takes the parts.
    package init(name: PlatformStateName, content: SecretBytes) {
        self.name = name
        self.content = content
    }
}

/// All that a store held when it was opened.
package struct StoreContents: Sendable {
    /// Every account that ever had a credential.
    package let credentials: [StoredCredential]
    /// The accounts that came over RPC.
    package let accounts: [StoredAccount]
    /// Every grant that there ever was.
    package let grants: [StoredGrant]
    /// Every secret.
    package let secrets: [HeldSecret]
    /// What is remembered of accounts at their platforms, and of devices.
    package let states: [StoredState]
    /// Wall time of the newest write; a clock that is earlier now is not trusted.
    package let lastWrittenAt: WallTime?
    /// Counts commits.
    package let epoch: Int64

    /// Takes the parts.
    package init(
        credentials: [StoredCredential], accounts: [StoredAccount], grants: [StoredGrant] = [],
        secrets: [HeldSecret] = [], states: [StoredState] = [], lastWrittenAt: WallTime?, epoch: Int64
    ) {
        self.credentials = credentials
        self.accounts = accounts
        self.grants = grants
        self.secrets = secrets
        self.states = states
        self.lastWrittenAt = lastWrittenAt
        self.epoch = epoch
    }
}

/// The store as the broker sees it, from the loop: everything is asked, and answered later through `StoreObserver`.
package protocol StorePort: AnyObject {
    /// Queues a change; its completion comes later, on the loop, never from within this call.
    func submit(_ change: StoreChange)
    /// Reads what is stored of an account's credential, behind the changes that were asked for before; the outcome comes later, on the
    /// loop, under the same number, which no change has.
    func read(_ id: UInt64, credentialOf account: AccountName)
    /// Tries to open a sealed store again, as after `reload`; the outcome comes later.
    func reopen()
}

/// What a store tells the broker, on the loop.
package protocol StoreObserver: AnyObject {
    func storeDidComplete(_ completion: StoreCompletion)
    /// Nil: there never was a credential.
    func storeDidRead(_ id: UInt64, _ outcome: Result<StoredCredential?, StoreFailure>)
    func storeDidOpen(_ contents: StoreContents)
    func storeDidStaySealed(_ reason: StoreFailure)
}
