package import Secrets

/// What one account asks of a grant: requests with equal keys can share one answer of the server.
package struct SpendKey: Hashable, Sendable {
    /// Where the grant would be sent.
    package let destination: Destination
    /// The scope that is asked for.
    package let scope: [String]
    /// The audience that is asked for.
    package let audience: String?
    /// The resource that is asked for.
    package let resource: String?

    /// The key of a source's requests.
    package init(_ source: OAuthSource) {
        destination = source.destination
        scope = source.scope
        audience = source.audience
        resource = source.resource
    }
}

/// Whether the refresh token that a request carried may be spent, judged by what came back.
package enum SpendCertainty: Equatable, Sendable {
    /// It never arrived, or was refused: it is worth what it was.
    case notSpent
    /// Something answered, but not the server's verdict: a gateway, a portal, a 5xx. Most likely it was not spent.
    case open
    /// It may have arrived, and what came of it was lost.
    case lost
    /// It was spent, and what came in its place cannot be kept or sent.
    case gone
}

/// What a token endpoint made of a refresh token.
package enum SpendAnswer: Sendable {
    /// Tokens came, or would have: `successor` replaces the refresh token, nil keeps it (RFC 6749 §6).
    ///
    /// With a failure the rest of the answer is of no use; the successor is kept all the same.
    case spent(successor: SecretBytes?, scope: String?, failure: RefreshFailure?)
    /// Nothing came.
    case failed(RefreshFailure, SpendCertainty)
}

/// What happens to a grant.
package enum GrantEvent: Sendable {
    /// An account wants to spend it; `turn` is a number that no other request has.
    case requested(turn: UInt64, SpendKey)
    /// Whoever asked is gone; what is out goes on.
    case left(turn: UInt64)
    /// There is room on the disk and at the servers for one more: see `canBegin`.
    case begin
    case answered(flight: UInt64, SpendAnswer)
    /// The store answered for a change.
    case stored(change: UInt64, StoreFailure?)
    case imported(waiter: WaiterID, refreshToken: SecretBytes, Destination, scope: String?)
    case deleted(waiter: WaiterID)
    /// Time has passed.
    case wokeUp
    case shuttingDown
}

/// What is to be done about it, in this order.
package enum GrantEffect: Sendable {
    case store(change: UInt64, StoreChange.Operation)
    /// Send the refresh token: the intent is on disk.
    case send(flight: UInt64, refreshToken: SecretBytes)
    /// What came is on disk: go on with the rest of the answer, for these.
    case deliver(flight: UInt64, turns: [UInt64])
    case fail(turns: [UInt64], RefreshFailure)
    /// A flight will neither be sent nor delivered.
    case drop(flight: UInt64)
    /// A refresh token came for a grant that is gone: end it.
    case revoke(flight: UInt64, SecretBytes)
    case answer(WaiterID, StoreFailure?)
    case announce(GrantChange)
}

/// What others are told of a grant.
package enum GrantChange: Equatable, Sendable {
    case imported(Generation)
    case deleted
    case rotated(Generation)
    /// The server declared it void.
    case dead
    /// It may be spent, and will not be sent again.
    case possiblySpent
    /// Its answer was lost: it is tried once more.
    case uncertain
    /// The disk refused the successor, which is kept in memory.
    case notStored(StoreFailure)
}
