package import CredentialCore
import Providers
package import Secrets

/// One account as it lives: its definition and its session.
///
/// Owned by the broker; others look, and change it through the broker only.
package final class Account {
    /// Its name; never changes.
    package let name: AccountName
    /// What configuration or `account.add` said last.
    package internal(set) var definition: AccountDefinition
    /// Its credential and what is under way for it; changed by events only.
    package internal(set) var session: CredentialSession
    /// Counts what could change who may use it; a verdict that was reached under another number is not to be trusted.
    package internal(set) var accessVersion: UInt64 {
        didSet { didChange() }
    }
    /// Changes with every event and with the rules: what was found out under another number is to be found out again.
    package var version: UInt64 { changes }
    // Seen by nobody else, so that asking for it is only a load: it is asked for with every request.
    private var changes: UInt64 = 0

    func didChange() { changes &+= 1 }

    /// Until when the credential may be handed out as it is; brought in line with every event.
    package internal(set) var freshness = Freshness.none

    /// What it is at its platform; nil: nothing is remembered of it there.
    package internal(set) var platform: AccountPlatform?

    /// What was rendered for `token.get` while nothing changes; the broker drops it with every event.
    package var renderedToken: SecretBytes?

    /// What was told last, to whoever listens: each change is told from one to the next.
    package internal(set) var told: Told
    /// Renewals of its session at social.plus; numbers only grow (R201).
    package internal(set) var renewals: (succeeded: Int64, failed: Int64) = (0, 0)
    /// What its platform's machine said last of each topic.
    package internal(set) var reported: [PlatformChange.Topic: PlatformChange.Word] = [:]
    /// What was told to be noticeable about its credential; nil where its platform has no words for that.
    package internal(set) var warned: [PlatformChange.Word]?
    /// Whether anybody was told of the account.
    var isTold = false

    /// States that are told of.
    package struct Told: Sendable {
        /// Of the account.
        package internal(set) var state: SessionState
        /// Whether it is signed in, as far as its session knows.
        package internal(set) var auth: AuthState
        /// Of the newest credential, deletions counted.
        package internal(set) var generation: Generation
    }

    /// It was removed, or vanished from the configuration: what still comes back for it is nobody's business.
    package internal(set) var isGone = false
    /// Its removal is on its way to the disk: nothing is stored for it behind that.
    var isLeaving = false
    /// It was removed for good: what was stored of it is gone, too.
    var isForgotten = false
    /// Counts its stops: a start that one overtook is none.
    var stops: UInt64 = 0
    /// The run that is out for it, and the ticket under which the session knows it.
    var flight: (attempt: Attempt, ticket: RefreshTicket)?
    /// The run of `account.check` that is out, and who waits for it.
    var check: (id: UInt64?, waiters: [WaiterID], deadline: BootTime)?
    /// Counts the checks: what comes of an earlier one is nobody's business.
    var lastCheck: UInt64 = 0

    /// When it has something to do next.
    func nextWakeUp(at now: Instant) -> BootTime? {
        [
            session.nextWakeUp(at: now), check?.deadline, platform?.binding?.nextWakeUp(at: now),
            nextSessionWakeUp(at: now), platform?.showing.lazy.map(\.deadline).min(),
        ].compactMap { $0 }.min()
    }
    var scheduledWake: BootTime?
    // The second in which it is due, as counted among the accounts that are due together.
    var dueSecond: Int64?

    init(
        definition: AccountDefinition, session: CredentialSession, accessVersion: UInt64, now: Instant
    ) {
        name = definition.name
        self.definition = definition
        self.session = session
        self.accessVersion = accessVersion
        told = Told(session, at: now)
    }
}

extension Account.Told {
    init(_ session: CredentialSession, at now: Instant) {
        self.init(
            state: session.state(at: now), auth: session.auth(at: now), generation: session.generation)
    }
}
