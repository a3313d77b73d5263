package import CredentialCore
package import Providers
import Secrets

/// What is under way for a session at social.plus beside its machine, and what is remembered of it.
///
/// Events are taken one after the other: the next begins when everything that the last one asked for is done, on the disk too.
struct SessionWork {
    /// An event, and what came with it.
    struct Step {
        let event: SocialPlusEvent
        /// The refresh that it is to end.
        var ticket: RefreshTicket?
        /// What an exchange brought.
        var brought: Brought?
        /// Told to whoever waits instead of what the machine says.
        var reason: SessionFailure?
    }

    /// A credential on its way to be the session's.
    struct Brought {
        let credential: Credential
        let expiries: Expiries
        let hasImplausibleExpiry: Bool
    }

    var steps: [Step] = []
    var isBusy = false
    /// Questions and exchanges that are out, by their numbers.
    var attempts: [UInt64: Attempt] = [:]
    /// The refresh that the machine's renewal is for.
    var ticket: RefreshTicket?
    /// Why that was begun.
    var reason = RefreshReason.expiring
    /// What is on disk, or on its way there.
    var record: SocialPlusRecord?
    /// Who supplied the session when that was last looked at.
    var supplier = SocialPlusSupplier.nobody
    /// The state that was told last.
    var told = SocialPlusState.start
    /// Whoever is to be answered.
    var callers: Set<WaiterID> = []
    /// Goes on once the credential that an exchange brought is installed.
    var resume: (() -> Void)?
    /// Until when somebody waits for his login.
    var patience: (waiter: WaiterID, deadline: BootTime)?
    /// When the account logs in by itself; nil: it does not now.
    var nextLogin: BootTime?
    /// Whether it would, were there anybody to ask for a token.
    var waitsForSupplier = false
    /// How the last login failed, until one succeeds.
    var loginSetback: SocialPlusSetback?
    /// How the last renewal failed, until one succeeds.
    var renewalSetback: SocialPlusSetback?
    /// Who was asked for a token last.
    var asked = SocialPlusSupplier.nobody
    /// How often nobody answered a revocation that finishes what was cut short, and when it is tried again.
    var finishing = FailureRecord()
    /// Logins of its own that failed in a row.
    var failedLogins: Int64 = 0
    /// How often somebody signed out: a login of its own that was begun before is not tried again.
    var signOuts: UInt64 = 0
}

/// One event while its effects are carried out.
final class SessionTurn {
    let step: SessionWork.Step
    /// The machine as it was.
    let before: SocialPlusSession
    /// Why the disk did not keep what it was to keep, or forget what it was to forget.
    var storeFailure: SessionFailure?

    init(_ step: SessionWork.Step, before: SocialPlusSession) {
        self.step = step
        self.before = before
    }
}

extension Account {
    /// Its session at social.plus, where it has one.
    package var socialPlus: SocialPlusSession? {
        if case .socialPlus(let session) = platform?.state { session } else { nil }
    }

    /// When it logs in by itself; nil: somebody has to do that.
    package var nextLogin: BootTime? { platform?.work.nextLogin }

    /// When its session at social.plus has something to do; nil: not by itself.
    func nextSessionWakeUp(at now: Instant) -> BootTime? {
        // While the disk is busy its answer is what comes next.
        guard let machine = socialPlus, let work = platform?.work, !work.isBusy else { return nil }
        var moments = [machine.nextWakeUp, work.patience?.deadline]
        if machine.isRevocationDue, session.standing == .active {
            moments.append(max(now.boot, work.finishing.notBefore ?? now.boot))
        }
        if machine.state == .established, session.held != nil, let schedule = session.schedule,
            schedule.expiresAt != nil
        {
            moments.append(now.boot + schedule.remaining(at: now))
        }
        if machine.state == .notLoggedIn, session.standing == .active { moments.append(work.nextLogin) }
        return moments.compactMap { $0 }.min()
    }
}

extension SocialPlusState {
    /// What of it stands in the way of hand-outs.
    var gate: SessionGate? {
        switch self {
        case .start, .notLoggedIn: .notLoggedIn
        case .establishing: .establishing
        case .established, .tokenExpired: nil
        case .terminated: .terminated
        }
    }
}
