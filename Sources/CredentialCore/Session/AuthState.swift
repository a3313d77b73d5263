/// Whether an account is signed in, as subscribers are told where its platform says nothing of it.
package enum AuthState: String, Sendable, CaseIterable {
    /// A valid credential, and nothing failed since.
    case authenticated
    /// The last refresh failed; what is held is still valid, or there was nothing yet.
    case failing
    /// Nothing valid: what is held has ended or was refused, or nothing was fetched yet.
    case unauthenticated
    /// Nothing valid, and only a person, a save, a handler or a changed backend can help.
    case signInNeeded = "sign_in_needed"
}

extension CredentialSession {
    /// What subscribers are told.
    package func auth(at now: Instant) -> AuthState {
        guard standing == .active, !isParked else { return .unauthenticated }
        let isUsable = isUsable(at: now)
        if signIn != nil || gate != nil { return .signInNeeded }
        if !isUsable, !traits.hasSource || isHeldBack { return .signInNeeded }
        if failures.last != nil, isUsable || held == nil { return .failing }
        return isUsable ? .authenticated : .unauthenticated
    }

    /// Whether what is held was refused by a platform, or is made of what was replaced.
    package var isHeldRejected: Bool {
        held != nil && (distrust == .rejected || distrust == .refused || isRefused)
    }
}
