package import CredentialCore
import Secrets

/// The session of one account at social.plus: takes an event and the time, returns effects; reads no clock and waits for nothing.
///
/// It decides which state the session is in, who is asked for a token and when, and what a sign-out waits for. When a token is due,
/// how failures back off and what is handed out are the credential session's business, which asks for renewals here.
///
/// Invariants: states change by the steps of `SocialPlusState.allows` only; at most one login, renewal or revocation is under way;
/// each caller is answered once; no supplier is asked without a session or a login (R198).
package struct SocialPlusSession: Sendable {
    /// Where it stands.
    package private(set) var state = SocialPlusState.start
    /// Who obtains its access tokens.
    package internal(set) var kind = SocialPlusKind.default
    /// Whose it is; nil: nobody is logged in.
    package internal(set) var user: SocialPlusUser?
    /// Which code ended it.
    package private(set) var terminationCode: String?
    /// When renewals go on; nil: they do not rest.
    package internal(set) var pausedUntil: BootTime?

    /// What the operator decided; what is under way goes on by what it began with.
    package var rules: SocialPlusRules
    var flight = Flight.none
    var issuedAt: WallTime?
    var refreshToken: SecretBytes?
    /// Whether the platform is to revoke the token: on disk from before it is asked until it has answered (R164).
    package internal(set) var isRevocationOwed = false
    private var serial: UInt64 = 0

    /// What is under way.
    enum Flight: Sendable {
        case none
        case login(Login)
        case renewal(Renewal)
        case revocation(Revocation)
    }

    struct Login: Sendable {
        var id: UInt64
        let caller: WaiterID
        let user: SocialPlusUser
        let kind: SocialPlusKind
        let deadline: BootTime
        /// Whether the supplier's answer is still waited for, not the platform's.
        var isAsking: Bool
        /// Those who want out of what comes of it.
        var signOuts = SignOuts()
    }

    struct Renewal: Sendable {
        var id: UInt64
        var isAsking: Bool
        /// Who gave the token in place of whoever was asked, and is told what the platform says of it.
        var giver: WaiterID?
    }

    struct Revocation: Sendable {
        let id: UInt64
        var signOuts: SignOuts
        /// Whether it finishes what was cut short.
        let isResumed: Bool
        /// Whether a renewal had to make way.
        let interruptedRenewal: Bool
    }

    struct SignOuts: Sendable {
        /// Who wants to be signed out once the platform has revoked the token.
        var secure: [WaiterID] = []
        /// Who wants to be signed out whatever the platform says, once it has said it.
        var plain: [WaiterID] = []

        var all: [WaiterID] { secure + plain }
    }

    /// A session that waits to be restored.
    package init(rules: SocialPlusRules) {
        self.rules = rules
    }

    /// What is to be on disk; nil while the session is in a state in which none rests.
    package var record: SocialPlusRecord? {
        SocialPlusRecord(
            state: state, kind: kind, user: user, issuedAt: issuedAt, refreshToken: refreshToken,
            terminationCode: terminationCode, isRevoking: isRevocationOwed)
    }

    /// Of which kind the session is, or the one that is being made.
    package var kindUnderway: SocialPlusKind {
        if case .login(let login) = flight { login.kind } else { kind }
    }

    /// Whether a revocation was cut short and is not under way again.
    package var isRevocationDue: Bool {
        isRevocationOwed && !isRevoking
    }

    /// Whether a revocation is under way.
    package var isRevoking: Bool {
        if case .revocation = flight { true } else { false }
    }

    /// Whether the revocation that is under way finishes one that was cut short.
    package var isFinishingRevocation: Bool {
        if case .revocation(let revocation) = flight { revocation.isResumed } else { false }
    }

    /// Whether somebody who wants to be signed out waits for the revocation that is under way.
    package var isRevocationWaitedFor: Bool {
        if case .revocation(let revocation) = flight { !revocation.signOuts.all.isEmpty } else { false }
    }

    /// The number of the renewal whose token is still waited for.
    package var renewalID: UInt64? {
        if case .renewal(let renewal) = flight, renewal.isAsking { renewal.id } else { nil }
    }

    /// When it wants to be woken up.
    package var nextWakeUp: BootTime? {
        if case .login(let login) = flight { login.deadline } else { pausedUntil }
    }

    /// Takes an event.
    package mutating func apply(_ event: SocialPlusEvent, at now: Instant) -> [SocialPlusEffect] {
        var effects: [SocialPlusEffect] = []
        switch event {
        case .restored(let record, let held): restore(record, held, &effects)
        case .loginRequested(let caller, let user, let proof): logIn(caller, user, proof, now, &effects)
        case .accessTokenLoginRequested(let caller, let user, let token, let supplier):
            logIn(caller, user, token, supplier, now, &effects)
        case .offered(let caller, let id, let offer): take(offer, id, caller, now, &effects)
        case .exchangeSucceeded(let id, let issuedAt, let refreshToken):
            succeed(id, issuedAt, refreshToken, &effects)
        case .exchangeFailed(let id, let failure): fail(id, failure, &effects)
        case .tokenExpired: expire(.expired, nil, &effects)
        case .renewalDue(let supplier, let isForced): renew(supplier, isForced, now, &effects)
        case .supplierChanged(let supplier): change(to: supplier, &effects)
        case .loginSupplierChanged(let supplier): changeLogin(to: supplier, &effects)
        case .tokenRejected(let caller):
            expire(.unauthorized, nil, &effects)
            effects.append(.answer(caller, .reported(isAccepted: true)))
        case .reported(let caller, let code): report(caller, code, &effects)
        case .callFailed(let failure): callFailed(failure, &effects)
        case .logoutRequested(let caller): logOut(caller, &effects)
        case .secureLogoutRequested(let caller): logOutSecurely(caller, &effects)
        case .revoked(let id): revoked(id, &effects)
        case .revocationFailed(let id, let failure): revocationFailed(id, failure, &effects)
        case .revocationCutShort(let id, let wasSent): revocationCutShort(id, wasSent, &effects)
        case .revocationDue: if isRevocationDue, state.isSession { revoke(SignOuts(), &effects) }
        case .wokeUp: wakeUp(now, &effects)
        }
        return effects
    }

    // MARK: What all steps have in common

    mutating func issueNumber() -> UInt64 {
        serial += 1
        return serial
    }

    /// Takes a step: it is on disk before it is announced, where the new state is one that rests there.
    ///
    /// Whoever waits for the token that `acceptance` installs is served then: the step is announced before that.
    mutating func move(
        to next: SocialPlusState, _ cause: SocialPlusChange.Cause, code: String? = nil,
        accepting acceptance: SocialPlusEffect? = nil, _ effects: inout [SocialPlusEffect]
    ) {
        precondition(state.allows(next), "a step that the session does not have")
        let last = state
        state = next
        terminationCode = next == .terminated ? code : nil
        // A login that failed leaves what is on disk as it is (R174), and what was just read from there need not go back.
        if last != .establishing || next != .notLoggedIn, last != .start, let record {
            effects.append(.persist(record))
        }
        if let acceptance { effects.append(acceptance) }
        effects.append(.announce(SocialPlusChange(from: last, to: next, cause: cause, code: code)))
    }

    private mutating func restore(
        _ record: SocialPlusRecord?, _ held: SocialPlusEvent.Held, _ effects: inout [SocialPlusEffect]
    ) {
        guard state == .start else { return }
        guard let record, record.state != .notLoggedIn, !record.state.isSession || held != .nothing else {
            // Signed out before, and stopped before the credential was gone: what was begun is finished. Without a row it is
            // left alone: nobody knows whose it is.
            if record != nil, held != .nothing { effects.append(.clearCredential) }
            move(to: .notLoggedIn, .started, &effects)
            if record?.state.isSession == true, let current = self.record {
                effects.append(.persist(current))
            }
            return
        }
        kind = record.kind
        user = record.user
        isRevocationOwed = record.isRevoking
        issuedAt = record.issuedAt
        refreshToken = record.refreshToken
        guard record.state != .terminated else {
            if held != .nothing { effects.append(.clearCredential) }
            move(to: .terminated, .started, code: record.terminationCode, &effects)
            return
        }
        move(to: .established, .started, &effects)
        if held == .expired {
            expire(.expired, nil, &effects)
        } else if record.state != .established, let current = self.record {
            effects.append(.persist(current))
        }
    }

    private mutating func wakeUp(_ now: Instant, _ effects: inout [SocialPlusEffect]) {
        if case .login(let login) = flight, login.deadline <= now.boot {
            effects.append(.cancel(login.id))
            giveUp(login, .loginTimeout, .loginTimeout, &effects)
        }
        if let until = pausedUntil, until <= now.boot {
            pausedUntil = nil
            wantRenewal(&effects)
        }
    }

    /// Asks for a renewal where the token has ended and nothing is under way, nor about to be.
    func wantRenewal(_ effects: inout [SocialPlusEffect]) {
        if state == .tokenExpired, !isRevocationOwed, case .none = flight { effects.append(.wantRenewal) }
    }
}
