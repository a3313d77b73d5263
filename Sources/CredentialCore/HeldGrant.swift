package import Secrets

/// What an OAuth source spends for tokens, as the store has it: a refresh token and what is known of it (RFC 6749 §1.5).
///
/// It is never handed out, and saving a credential never touches it.
package struct HeldGrant: Sendable {
    /// What it is called.
    package let name: GrantName
    /// The refresh token.
    package var refreshToken: SecretBytes
    /// Grows whenever the refresh token is replaced.
    package var generation: Generation
    /// Where it may be sent; it is parked when configuration says something else.
    package var destination: Destination
    /// `scope` as the server granted it last; nil: as it was asked for.
    package var scope: String?
    /// When this refresh token came.
    package var receivedAt: WallTime
    /// What is happening to it.
    package var state: State
    /// Attempts to spend this very refresh token whose outcome nobody knows: 0, 1 or 2.
    package var uncertainAttempts: Int

    /// What may be done with a grant.
    package enum State: UInt8, Sendable, CaseIterable {
        /// It may be spent.
        case usable = 1
        /// It is on its way to the server, or was when the daemon ended.
        case spending = 2
        /// It may have been spent without its successor having come; it is not sent again.
        case possiblySpent = 3
        /// The server said `invalid_grant`.
        case dead = 4
    }

    /// Puts the parts together.
    package init(
        name: GrantName, refreshToken: SecretBytes, generation: Generation, destination: Destination,
        scope: String? = nil, receivedAt: WallTime, state: State = .usable, uncertainAttempts: Int = 0
    ) {
        self.name = name
        self.refreshToken = refreshToken
        self.generation = generation
        self.destination = destination
        self.scope = scope
        self.receivedAt = receivedAt
        self.state = state
        self.uncertainAttempts = uncertainAttempts
    }

    /// Grants that may be at their servers at once: for so many a store keeps room.
    package static let spendingLimit = 8

    /// Bytes of a refresh token at most: what a token may have.
    package static let tokenLimit = Credential.tokenLimit

    /// Whether a refresh token can be kept and sent: not empty, not too large, of the characters that it may have (RFC 6749 A.17).
    package static func isUsable(_ token: SecretBytes) -> Bool {
        guard (1...tokenLimit).contains(token.count) else { return false }
        return token.withSpan { bytes in
            for index in 0..<bytes.count where bytes[index] < 0x20 || bytes[index] > 0x7E { return false }
            return true
        }
    }
}

/// A secret that configuration refers to, as the store has it: set once, never read back.
package struct HeldSecret: Sendable {
    /// What it is called.
    package let name: SecretName
    /// The value, byte by byte as it was set.
    package let value: SecretBytes
    /// Grows whenever it is set.
    package let generation: Generation
    /// When it was set.
    package let setAt: WallTime

    /// Puts the parts together.
    package init(name: SecretName, value: SecretBytes, generation: Generation, setAt: WallTime) {
        self.name = name
        self.value = value
        self.generation = generation
        self.setAt = setAt
    }

    /// Bytes of a value at most.
    package static let valueLimit = 65_536
}
