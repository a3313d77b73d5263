import Broker
import CredentialCore

/// Why an account changed, as far as what it came from and what it is now say so: a closed set of words.
enum EventCause {
    /// Why the account is in the state that was told last.
    static func of(_ account: Account, movedFrom old: SessionState?) -> String {
        guard let old else { return "added" }
        let session = account.session
        switch (old, account.told.state) {
        case (_, .stopped): return "stopped"
        case (_, .sealed): return "sealed"
        case (_, .parked): return "destination_changed"
        case (_, .refreshing): return "refresh_started"
        case (.stopped, _): return "started"
        case (.sealed, _): return "opened"
        case (_, .stale): return "refresh_failed"
        case (_, .due): return "due"
        case (_, .fresh): return arrival(session)
        case (_, .signInNeeded): return need(session)
        case (_, .noToken), (_, .expired):
            return session.failures.last != nil ? "refresh_failed" : end(session)
        }
    }

    /// Why it is signed in or not, as was told last.
    static func of(_ account: Account, authMovedFrom old: AuthState?) -> String {
        guard let old else { return "added" }
        let session = account.session
        switch (old, account.told.auth) {
        case (_, .failing): return "refresh_failed"
        case (_, .signInNeeded): return need(session)
        case (.failing, .authenticated): return "recovered"
        case (_, .authenticated): return arrival(session)
        case (_, .unauthenticated):
            switch session.standing {
            case .stopped: return "stopped"
            case .sealed: return "sealed"
            case .active: return session.isParked ? "destination_changed" : end(session)
            }
        }
    }

    private static func arrival(_ session: CredentialSession) -> String {
        session.held?.origin == .saved ? "saved" : "refreshed"
    }

    private static func end(_ session: CredentialSession) -> String {
        if session.held == nil { return session.generation > .none ? "deleted" : "no_credential" }
        return session.isHeldRejected ? "rejected" : "expired"
    }

    private static func need(_ session: CredentialSession) -> String {
        switch session.gate {
        case .terminated: return "terminated"
        case .ending: return "session_ended"
        case .notLoggedIn: return "not_logged_in"
        case .establishing: return "establishing"
        case nil: break
        }
        if let reason = session.signIn { return reason.rawValue }
        if session.traits.needsHandler { return "handler_required" }
        return session.held == nil && session.generation > .none ? "signed_out" : "no_source"
    }
}
