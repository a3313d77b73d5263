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
    }
}

extension Broker {
    /// How an account's session is; nil: it has none at social.plus, or the store is sealed.
    package func outlookOnSession(of account: Account) -> SocialPlusOutlook? {
        guard let machine = account.socialPlus, let work = account.platform?.work else { return nil }
        let now = clock.now
        let supplier = supplier(of: account.definition, machine.kind)
        let refusal = machine.refusal(supplier, isForced: false, at: now.boot)
        let own: HandlerQuestion.Kind = machine.kind == .default ? .sessionWillRenew : .sessionOnTokenRenew
        let other: HandlerQuestion.Kind = machine.kind == .default ? .sessionOnTokenRenew : .sessionWillRenew
        let name = account.name
        var obstacle = refusal.map { Self.obstacle($0) }
        if obstacle == .handlerRequired, desk.hasHandler(for: name, other) { obstacle = .otherHandler }
        if obstacle == nil, account.session.schedule?.expiresAt == nil { obstacle = .noExpiry }
        return SocialPlusOutlook(
            state: work.told,
            userID: work.told.isSession || work.told == .terminated ? machine.user?.id : nil,
            kind: machine.kind, hasHandler: desk.hasHandler(for: name, own),
            nextRenewal: nextRenewal(of: account, refusal, now), renewalID: machine.renewalID,
            terminationCode: machine.terminationCode, obstacle: obstacle)
    }

    private func nextRenewal(
        of account: Account, _ refusal: SocialPlusRefusal?, _ now: Instant
    ) -> WallTime? {
        switch refusal {
        case .paused(let until): return now.wall + (until - now.boot)
        case .some: return nil
        case nil: break
        }
        if account.session.failures.last != nil, let next = account.session.nextAttempt(at: now) {
            return now.wall + (next - now.boot)
        }
        return account.session.schedule?.refreshAt
    }

    private static func obstacle(_ refusal: SocialPlusRefusal) -> SocialPlusOutlook.Obstacle {
        switch refusal {
        case .stateInvalid(.terminated): .terminated
        case .stateInvalid(.establishing): .establishing
        case .stateInvalid: .notLoggedIn
        case .handlerRequired: .handlerRequired
        case .paused: .paused
        case .alreadyRunning: .renewing
        case .signingOut: .signingOut
        }
    }
}
