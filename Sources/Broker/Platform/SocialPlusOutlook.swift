package import CredentialCore
package import Providers

/// How a session at social.plus is, for people and programs; never its token.
package struct SocialPlusOutlook: Sendable {
    /// As it was told last.
    package let state: SocialPlusState
    /// Who is logged in; nil: nobody.
    package let userID: String?
    /// Who obtains its access tokens.
    package let kind: SocialPlusKind
    /// Whether a client is registered for the next token of that kind.
    package let hasHandler: Bool
    /// When a token is asked for next; nil: never.
    package let nextRenewal: WallTime?
    /// The renewal that waits for a token.
    package let renewalID: UInt64?
    /// Which code ended it.
    package let terminationCode: String?
    /// Why no token is asked for; nil: one is when it is due.
    package let obstacle: Obstacle?
    /// The install as the platform knows it; nil: none was needed yet.
    package let device: DeviceID?
    /// How the last login failed, until one succeeds.
    package let loginSetback: SocialPlusSetback?

    /// Reasons for a session not to be renewed, under the names of the wire (R202, R205).
    package enum Obstacle: String, Sendable, CaseIterable {
        case notLoggedIn = "not_logged_in"
        case establishing
        case terminated
        /// Neither a handler nor a source.
        case handlerRequired = "handler_required"
        /// A client is registered, yet for the other kind of session.
        case otherHandler = "handler_of_other_kind"
        /// The supplier said that it has no token.
        case paused
        case renewing
        case signingOut = "signing_out"
        /// The token does not end.
        case noExpiry = "no_expiry"
        /// The account rests.
        case accountStopped = "account_stopped"
    }
}

extension Broker {
    /// How an account's session is; nil: it has none at social.plus, or the store is sealed.
    package func outlookOnSession(of account: Account) -> SocialPlusOutlook? {
        guard let machine = account.socialPlus, let work = account.platform?.work else { return nil }
        let refusal = machine.refusal(
            supplier(of: account.definition, machine.kind), isForced: false, at: clock.now.boot)
        let kinds: [HandlerQuestion.Kind] = [.sessionWillRenew, .sessionOnTokenRenew]
        let handlers = kinds.map { desk.hasHandler(for: account.name, $0) }
        let (own, other) = machine.kind == .default ? (handlers[0], handlers[1]) : (handlers[1], handlers[0])
        let obstacle = obstacle(of: account, work.told, refusal, hasOtherHandler: other)
        return SocialPlusOutlook(
            state: work.told,
            userID: work.told.isSession || work.told == .terminated ? machine.user?.id : nil,
            kind: machine.kind, hasHandler: own,
            nextRenewal: nextRenewal(of: account, work.told, refusal, obstacle),
            renewalID: machine.renewalID, terminationCode: machine.terminationCode, obstacle: obstacle,
            device: device(of: account), loginSetback: work.loginSetback)
    }

    /// Of the state that was told: one that is on its way to the disk is nobody's business yet.
    private func obstacle(
        of account: Account, _ told: SocialPlusState, _ refusal: SocialPlusRefusal?, hasOtherHandler: Bool
    ) -> SocialPlusOutlook.Obstacle? {
        switch told {
        case .start, .notLoggedIn: return .notLoggedIn
        case .establishing: return .establishing
        case .terminated: return .terminated
        case .established, .tokenExpired: break
        }
        if account.session.standing == .stopped { return .accountStopped }
        return switch refusal {
        case .stateInvalid(.terminated): .terminated
        case .stateInvalid, .signingOut: .signingOut
        case .handlerRequired: hasOtherHandler ? .otherHandler : .handlerRequired
        case .paused: .paused
        case .alreadyRunning: .renewing
        case nil: told == .established && account.session.schedule?.expiresAt == nil ? .noExpiry : nil
        }
    }

    private func nextRenewal(
        of account: Account, _ told: SocialPlusState, _ refusal: SocialPlusRefusal?,
        _ obstacle: SocialPlusOutlook.Obstacle?
    ) -> WallTime? {
        let now = clock.now
        if case .paused(let until) = refusal, obstacle == .paused { return now.wall + (until - now.boot) }
        guard obstacle == nil else { return nil }
        let session = account.session
        guard told == .tokenExpired || session.failures.last != nil || session.signIn != nil else {
            return session.schedule?.refreshAt
        }
        return session.nextAttempt(at: now).map { now.wall + ($0 - now.boot) } ?? now.wall
    }
}
