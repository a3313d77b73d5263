package import CredentialCore
package import Providers

/// What the broker needs of the world.
package struct BrokerPorts {
    /// Wall and boot time.
    package let clock: any Clock
    /// Where credentials and added accounts are kept.
    package let store: any StorePort
    /// Reads the files and systemd credentials that definitions refer to.
    package let files: any FilePort
    /// Carries out HTTP requests in the fetch worker.
    package let fetcher: any FetchPort
    /// Signs and verifies tokens.
    package let signer: any SigningPort
    /// Calls back when the next session is due.
    package let waker: any WakePort
    /// Gives random numbers for jitter: they spread load, they protect nothing.
    package let draw: () -> UInt64

    /// All ports; none has a default, so that a test says what its world is.
    package init(
        clock: any Clock, store: any StorePort, files: any FilePort, fetcher: any FetchPort,
        signer: any SigningPort, waker: any WakePort,
        draw: @escaping () -> UInt64
    ) {
        self.clock = clock
        self.store = store
        self.files = files
        self.fetcher = fetcher
        self.signer = signer
        self.waker = waker
        self.draw = draw
    }
}

/// Calls the broker's `wakeUp` at a moment; a later call replaces an earlier one.
package protocol WakePort: AnyObject {
    func wake(at moment: BootTime?)
}

/// What a caller of the broker is told.
package enum BrokerAnswer: Sendable {
    case session(SessionAnswer)
    case accountAdded
    case accountRemoved
    /// What `account.check` found: nothing wrong, or what.
    case checked(SessionFailure?)
    case storeFailed(StoreFailure)
    /// A grant or a secret was stored or removed.
    case done
    /// What was here is forgotten; the failure says why the server may still honour it.
    case revoked(RefreshFailure?)
    /// The same, and nobody was told: it was for another destination than the configured one.
    case forgottenUntold
    /// There was nothing to sign out of.
    case alreadyAnonymous
    /// What the caller gave was not taken.
    case refused(RefreshFailure)
    case shuttingDown
    /// What became of what was asked of a session.
    case socialPlus(SocialPlusReply)
}

/// Whoever speaks for the broker's callers.
///
/// All calls come on the loop, some from within a call to the broker.
package protocol BrokerObserver: AnyObject {
    func broker(answers waiter: WaiterID, for account: Account?, _ answer: BrokerAnswer)
    /// The account is in another state, `told.state`; nil: it was not there before.
    func broker(reports account: Account, movedFrom old: SessionState?)
    /// It is signed in, or not any more: `told.auth`.
    func broker(reports account: Account, authMovedFrom old: AuthState?)
    /// It has another credential, or none any more: `told.generation`.
    func broker(reports account: Account, credentialReplaced old: Generation?)
    /// Its platform gave its credential another expiry.
    func broker(reportsExpiryOf account: Account)
    /// The disk refused a credential that is now served from memory.
    func broker(reports failure: StoreFailure, of account: Account)
    /// A platform's machine is in another state.
    func broker(reports change: PlatformChange, of account: Account)
    /// Its session at social.plus could not be renewed, the first time in a row; it is tried again.
    func broker(reports account: Account, renewalFailed failure: RefreshFailure)
    /// Something has become noticeable about its credential.
    func broker(warns warning: PlatformChange.Word, of account: Account)
    /// Somebody was signed in to it, and conversations of its device move to that user (R88).
    func broker(hintsMergeOf account: Account)
    /// The account is about to go, for good or for a while.
    func broker(removes account: Account)
    /// An account was added over RPC.
    func broker(added account: Account)
    /// An account was removed over RPC.
    func broker(removed account: Account)
    /// Any number of accounts came, changed or went, or who may use them changed.
    func brokerAccountsDidChange()
    func brokerStoreDidChange()
}

/// How the store is, as far as the broker was told.
package enum StoreState: Equatable, Sendable {
    case sealed(StoreFailure)
    case open
}
