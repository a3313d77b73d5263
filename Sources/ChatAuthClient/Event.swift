/// What events are about.
public enum Topic: String, Sendable, CaseIterable {
    case account, auth, daemon, handler, identity, push, session, token
}

/// A notification from the daemon.
public struct Event: Sendable {
    /// Its name: `token.changed`, and also `events.overflow`, behind which the state has to be asked for again, `handler.replaced`,
    /// `credential.warning` and `identity.merge_hint`.
    public let method: String
    /// All that it says.
    public let parameters: Answer

    /// Which account it is about, if it is about one.
    public var account: String? { parameters.text("account") }
    /// What it was: a state, or the number of a generation; nil: it was not there.
    public var from: String? { state("from") }
    /// What it is now; nil: it is not there any more.
    public var to: String? { state("to") }
    /// Why.
    public var cause: String? { parameters.text("cause") }

    private func state(_ name: String) -> String? {
        parameters.text(name) ?? parameters.integer(name).map(String.init)
    }
}
