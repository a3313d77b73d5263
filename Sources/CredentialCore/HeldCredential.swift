/// A credential as an account holds it: with its generation, its expiries and when it came.
package struct HeldCredential: Sendable {
    /// What is handed out; nil: it is on disk only, since its account rests (R58).
    package let credential: Credential?
    /// Its number among those of the account.
    package let generation: Generation
    /// When it ends, by each of the three sources.
    package let expiries: Expiries
    /// When it came, on both clocks.
    package let receivedAt: Instant
    /// Which boot `receivedAt.boot` counts from.
    package let bootID: BootID
    /// Who brought it.
    package let origin: Origin
    /// Where it may be sent; it is parked when the configuration says something else.
    package let destination: Destination

    /// Who brings credentials.
    package enum Origin: String, Sendable {
        /// A source gave it.
        case source
        /// A peer saved it.
        case saved
    }

    /// Puts the parts together.
    package init(
        credential: Credential?, generation: Generation, expiries: Expiries, receivedAt: Instant,
        bootID: BootID,
        origin: Origin, destination: Destination
    ) {
        self.credential = credential
        self.generation = generation
        self.expiries = expiries
        self.receivedAt = receivedAt
        self.bootID = bootID
        self.origin = origin
        self.destination = destination
    }

    /// The same with other expiries.
    func expiring(_ expiries: Expiries) -> HeldCredential {
        HeldCredential(
            credential: credential, generation: generation, expiries: expiries, receivedAt: receivedAt,
            bootID: bootID, origin: origin, destination: destination)
    }

    /// The same with other tokens; nil: with none in memory.
    func holding(_ credential: Credential?) -> HeldCredential {
        HeldCredential(
            credential: credential, generation: generation, expiries: expiries, receivedAt: receivedAt,
            bootID: bootID, origin: origin, destination: destination)
    }

    /// The same under another number.
    func numbered(_ generation: Generation) -> HeldCredential {
        HeldCredential(
            credential: credential, generation: generation, expiries: expiries, receivedAt: receivedAt,
            bootID: bootID, origin: origin, destination: destination)
    }
}

/// Where a credential may be sent: a canonical text of provider, endpoints, client and user; equal texts, equal destinations.
package struct Destination: Hashable, Sendable {
    /// The canonical text; compared, never parsed.
    package let text: String
    /// Takes a canonical text.
    package init(_ text: String) { self.text = text }
}

/// When a credential is due and when it ends, on both clocks: the earlier verdict counts.
///
///     lifetime   = expires_at − received_at
///     refresh_at = expires_at − min(30 s, lifetime / 2)
///
/// An account may say that a credential is due at a part of its life instead, where that is earlier.
/// Wall time alone would revive a dead token when it is set back; boot time alone would miss what another machine's clock says.
package struct Schedule: Equatable, Sendable {
    /// What callers are told; nil: it does not expire.
    package let expiresAt: WallTime?
    /// When it is refreshed by rule, without the spread; nil: never.
    package private(set) var refreshAt: WallTime?
    /// Whose expiry is the earliest.
    package let source: ExpirySource?
    /// expires_at − received_at; `Milliseconds.max` when it does not expire.
    package let lifetime: Milliseconds

    let expiry: Instant
    /// `refresh_at`, brought forward by the spread that was drawn for this generation.
    private(set) var due: Instant

    static let leeway = Milliseconds.seconds(30)

    /// Reckons both ends; `receivedAt.boot` counts only while `isThisBoot`, else boot time is reckoned from `now`.
    package init(
        expiries: Expiries, receivedAt: Instant, isThisBoot: Bool = true, now: Instant,
        early: EarlyFraction? = nil
    ) {
        guard let earliest = expiries.earliest else {
            expiresAt = nil
            refreshAt = nil
            source = nil
            lifetime = .max
            expiry = Instant(wall: .distantFuture, boot: .distantFuture)
            due = expiry
            return
        }
        let lifetime = max(.zero, earliest.at - receivedAt.wall)
        let bootExpiry =
            isThisBoot ? receivedAt.boot + lifetime : now.boot + max(.zero, earliest.at - now.wall)
        expiresAt = earliest.at
        source = earliest.source
        self.lifetime = lifetime
        expiry = Instant(wall: earliest.at, boot: bootExpiry)
        due = expiry
        reckon(early)
    }

    /// Reckons anew when it is due; a spread that was drawn before is forgotten.
    mutating func reckon(_ early: EarlyFraction?) {
        guard let expiresAt else { return }
        let leeway = max(min(Self.leeway, lifetime / 2), early?.rest(of: lifetime) ?? .zero)
        let refreshAt = expiresAt - leeway
        self.refreshAt = refreshAt
        due = Instant(wall: refreshAt, boot: expiry.boot - leeway)
    }

    /// Makes it due earlier, so that what is due together is not asked for together; at most by a tenth of the lifetime.
    ///
    /// Counted from `refresh_at`: the spread that was given last counts, none adds up.
    package mutating func bringForward(by spread: Milliseconds) {
        guard let expiresAt, let refreshAt else { return }
        let forward = max(.zero, min(spread, lifetime / 10))
        due = Instant(
            wall: refreshAt - forward, boot: expiry.boot - (expiresAt - refreshAt) - forward)
    }

    /// Whether it lives less than twice as long as it is refreshed ahead of its end.
    package var isShortLived: Bool { lifetime / 2 < Self.leeway }

    /// At equality it has expired (RFC 7519 §4.1.4: "on or after").
    @inline(__always)
    package func isExpired(at now: Instant) -> Bool {
        now.wall >= expiry.wall || now.boot >= expiry.boot
    }

    /// Whether it should be refreshed.
    @inline(__always)
    package func isDue(at now: Instant) -> Bool {
        now.wall >= due.wall || now.boot >= due.boot
    }

    /// How long it is valid from now on, by the clock that is less generous; never negative.
    @inline(__always)
    package func remaining(at now: Instant) -> Milliseconds {
        if expiry.wall == .distantFuture { return .max }
        return max(.zero, min(expiry.wall - now.wall, expiry.boot - now.boot))
    }

    /// How long until it is due; never negative.
    package func untilDue(at now: Instant) -> Milliseconds {
        if due.wall == .distantFuture { return .max }
        return max(.zero, min(due.wall - now.wall, due.boot - now.boot))
    }
}
