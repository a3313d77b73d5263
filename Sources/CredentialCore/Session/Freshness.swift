/// Until when a credential may be handed out without anything else happening: all that the way of a cached answer asks of a session.
///
/// A value of a few numbers, so that whoever answers keeps it beside the account and looks at nothing else.
package struct Freshness: Sendable {
    /// The generation that it is about.
    package let generation: Generation
    let due: Instant
    let expiry: Instant

    /// Nothing may be handed out.
    package static let none = Freshness(
        generation: .none, due: Instant(wall: .distantPast, boot: .distantPast),
        expiry: Instant(wall: .distantPast, boot: .distantPast))

    init(generation: Generation, due: Instant, expiry: Instant) {
        self.generation = generation
        self.due = due
        self.expiry = expiry
    }

    /// Whether it is not due yet, and valid for that long.
    package func holds(at now: Instant, minValid: Milliseconds) -> Bool {
        now.wall < due.wall && now.boot < due.boot && now.wall + minValid <= expiry.wall
            && now.boot + minValid <= expiry.boot
    }
}
