/// A session that rests keeps everything of its credential but the tokens: those are on disk only, and read again (R58).
extension CredentialSession {
    /// Whether the tokens of what is held are on disk only.
    package var isShelved: Bool { held.map { $0.credential == nil } ?? false }

    /// Lets go of the tokens of a session that rests, as soon as the disk has them; what it refused stays until it takes it.
    package mutating func shelve() {
        guard standing == .stopped, commits.isEmpty, let held, storedGeneration == held.generation
        else { return }
        self.held = held.holding(nil)
    }

    /// Puts the tokens back that the store has; false where those are not of what is held.
    package mutating func unshelve(_ stored: StoredCredential?) -> Bool {
        guard isShelved, let held else { return true }
        guard let stored, stored.generation == held.generation, let credential = stored.held?.credential
        else { return false }
        self.held = held.holding(credential)
        return true
    }
}
