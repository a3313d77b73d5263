package import CredentialCore

/// The life of a binding: which credential the platform has seen for which chat, events in and effects out.
///
/// Difficulty: two things change while a request is out, the credential and the chat, and a platform may carry out what we have given up
/// on. So one request is out at a time, and where only the credential changed it is waited for: a newer bind that overtook it would be
/// undone by it. Invariants: every request has a ticket, and an answer with another one changes nothing; an answer for an older
/// generation neither corrects an expiry nor refuses a credential; a refused generation is never shown again for that chat; a request whose answer
/// does not come loses its turn at its deadline.
package struct BindSession: Sendable {
    /// What a platform needs for a binding.
    package struct Traits: Equatable, Sendable {
        /// Whether a credential is bound to a chat, and where that comes from; nil: it is bound to nothing that we know.
        package var chat: KindlyDefinition.Connecting?
        /// How long one request may take in all, waiting for its turn included.
        package var deadline: Milliseconds

        /// Takes the parts.
        package init(chat: KindlyDefinition.Connecting? = nil, deadline: Milliseconds = .seconds(10)) {
            self.chat = chat
            self.deadline = deadline
        }
    }

    private struct Flight {
        let ticket: BindTicket
        let deadline: BootTime
        /// Nil: the chat is being made.
        let generation: Generation?
    }

    /// What the platform needs.
    package let traits: Traits
    /// Which generation the platform took for the chat that is there; nil: none; stored with the chat.
    package private(set) var boundGeneration: Generation?
    /// Whether there is a chat.
    package private(set) var hasChat: Bool
    /// What failed since the last success.
    package private(set) var failures = FailureRecord()

    private var generation: Generation?
    /// Why what is there is good for nothing any more; nil: it is, or something is under way.
    package private(set) var end: BindCause?
    // It is to be made known again before anything else is asked of it.
    private var isChatUnknown = false
    private var refused: (generation: Generation, failure: RefreshFailure)?
    private var isRunning = false
    private var wasSignedOut = false
    private var sourceFailure: RefreshFailure?
    private var flight: Flight?
    private var lastSerial: UInt64 = 0
    private var announced: (state: BindState, cause: BindCause?) = (.anonymous, .stopped)

    /// A binding as it was stored: whether there is a chat, and which generation was bound to it.
    package init(traits: Traits, hasChat: Bool = false, boundGeneration: Generation? = nil) {
        self.traits = traits
        self.hasChat = hasChat
        self.boundGeneration = traits.chat == nil || hasChat ? boundGeneration : nil
    }

    // MARK: Deciding

    /// Takes an event and says what is to be done; `draw` is a random number that this call may use once.
    package mutating func apply(_ event: BindEvent, at now: Instant, draw: UInt64) -> [BindEffect] {
        var effects: [BindEffect] = []
        switch event {
        case .started: isRunning = true
        case .stopped: stop(&effects)
        case .credentialReplaced(let generation, let isBound, let end):
            replace(generation, isBound, end, &effects)
        case .credentialGone: forgetCredential(&effects)
        case .doubted(let generation):
            if boundGeneration == generation {
                boundGeneration = nil
                effects.append(.persist)
            }
        case .sourceFailed(let failure): sourceFailure = failure
        case .chatAttached: changeChat(isThere: true, &effects)
        case .chatReset: changeChat(isThere: false, &effects)
        case .connected(let ticket): connected(ticket, &effects)
        case .bound(let ticket, let expiresAt): bound(ticket, expiresAt, &effects)
        case .failed(let ticket, let failure): failed(ticket, failure, now, draw, &effects)
        case .chatUnknown(let ticket, let failure):
            if flight?.ticket == ticket, traits.chat == .broker { isChatUnknown = true }
            failed(ticket, failure, now, draw, &effects)
        case .wokeUp: expire(now, draw, &effects)
        }
        begin(now, &effects)
        announce(&effects)
        return effects
    }

    private mutating func stop(_ effects: inout [BindEffect]) {
        isRunning = false
        failures = FailureRecord()
        giveUp(&effects)
    }

    private mutating func replace(
        _ generation: Generation, _ isBound: Bool, _ end: BindCause?, _ effects: inout [BindEffect]
    ) {
        // Late news of an older one.
        if let known = self.generation, generation < known { return }
        self.generation = generation
        self.end = end
        wasSignedOut = false
        sourceFailure = nil
        // What failed of another credential says nothing of this one; the pace that the platform asked for stays.
        if isBound {
            failures = FailureRecord()
            // Without a chat it was bound to nothing.
            guard traits.chat == nil || hasChat, boundGeneration != generation else { return }
            boundGeneration = generation
            effects.append(.persist)
        }
    }

    private mutating func forgetCredential(_ effects: inout [BindEffect]) {
        if generation != nil {
            wasSignedOut = true
            sourceFailure = nil
        }
        generation = nil
        end = nil
        if boundGeneration != nil {
            boundGeneration = nil
            effects.append(.persist)
        }
        // A bind that came after the sign-out would sign in again.
        if flight?.generation != nil { giveUp(&effects) }
    }

    private mutating func changeChat(isThere: Bool, _ effects: inout [BindEffect]) {
        guard traits.chat != nil else { return }
        hasChat = isThere
        isChatUnknown = false
        boundGeneration = nil
        // That was said for the chat before.
        refused = nil
        failures = FailureRecord()
        giveUp(&effects)
        effects.append(.persist)
    }

    private mutating func giveUp(_ effects: inout [BindEffect]) {
        guard let flight else { return }
        self.flight = nil
        effects.append(.cancel(flight.ticket))
    }

    // MARK: Answers

    private mutating func connected(_ ticket: BindTicket, _ effects: inout [BindEffect]) {
        guard let flight, flight.ticket == ticket, flight.generation == nil else { return }
        self.flight = nil
        hasChat = true
        // What it is made known again for has not been seen to work: the pauses go on growing.
        if !isChatUnknown { failures = FailureRecord() }
        isChatUnknown = false
        effects.append(.persist)
    }

    private mutating func bound(
        _ ticket: BindTicket, _ expiresAt: WallTime?, _ effects: inout [BindEffect]
    ) {
        guard let flight, flight.ticket == ticket, let generation = flight.generation else { return }
        self.flight = nil
        failures = FailureRecord()
        guard generation == self.generation else { return }
        boundGeneration = generation
        effects += [.bound(generation, expiresAt: expiresAt), .persist]
    }

    private mutating func failed(
        _ ticket: BindTicket, _ failure: RefreshFailure, _ now: Instant, _ draw: UInt64,
        _ effects: inout [BindEffect]
    ) {
        guard let flight, flight.ticket == ticket else { return }
        self.flight = nil
        // How a request for an older credential ended says nothing of this one.
        if let generation = flight.generation, generation != self.generation { return }
        guard let generation = flight.generation,
            failure.kind == .rejected || failure.kind == .companionInvalid
        else {
            failures.record(failure, at: now, remaining: .max, draw: draw)
            return
        }
        refused = (generation, failure)
        failures = FailureRecord()
        if boundGeneration != nil {
            boundGeneration = nil
            effects.append(.persist)
        }
        effects.append(.rejected(generation, failure))
    }

    private mutating func expire(_ now: Instant, _ draw: UInt64, _ effects: inout [BindEffect]) {
        guard let flight, flight.deadline <= now.boot else { return }
        effects.append(.cancel(flight.ticket))
        failed(flight.ticket, RefreshFailure(.timeout, party: .platform), now, draw, &effects)
    }

    // MARK: Requests

    private enum Wish: Equatable {
        case connect
        case bind(Generation)
    }

    // What should be asked of the platform, were nothing in the way.
    private var wish: Wish? {
        guard isRunning else { return nil }
        if traits.chat != nil, !hasChat || isChatUnknown { return traits.chat == .broker ? .connect : nil }
        guard end == nil, let generation, generation != boundGeneration, generation != refused?.generation
        else {
            return nil
        }
        return .bind(generation)
    }

    private mutating func begin(_ now: Instant, _ effects: inout [BindEffect]) {
        guard flight == nil, let wish, (failures.notBefore ?? .distantPast) <= now.boot else { return }
        lastSerial += 1
        let ticket = BindTicket(serial: lastSerial)
        let deadline = now.boot + traits.deadline
        switch wish {
        case .connect:
            flight = Flight(ticket: ticket, deadline: deadline, generation: nil)
            effects.append(.connect(ticket))
        case .bind(let generation):
            flight = Flight(ticket: ticket, deadline: deadline, generation: generation)
            effects.append(.bind(ticket, generation))
        }
    }

    /// When `wokeUp` has something to do; nil: never by itself.
    package func nextWakeUp(at now: Instant) -> BootTime? {
        if let flight { return flight.deadline }
        return wish == nil ? nil : failures.notBefore ?? now.boot
    }

    // MARK: What is seen

    /// Whom the platform sees, and why where that is nobody.
    package var state: (state: BindState, cause: BindCause?) {
        guard isRunning else { return (.anonymous, .stopped) }
        guard let generation else {
            if let sourceFailure { return (.anonymous, .source(sourceFailure)) }
            return (.anonymous, wasSignedOut ? .signedOut : nil)
        }
        if let refused, refused.generation == generation { return (.anonymous, .rejected(refused.failure)) }
        if let end { return (.anonymous, end) }
        if generation == boundGeneration { return (.authenticated, nil) }
        return (.authenticating, nil)
    }

    /// Whether the platform is about to say something, and nothing has kept it from that so far.
    package var isAwaited: Bool { (flight != nil || wish != nil) && failures.last == nil }

    /// Whether the platform refused the credential that is there.
    package var isRefused: Bool { if case .rejected? = state.cause { true } else { false } }

    private mutating func announce(_ effects: inout [BindEffect]) {
        let state = state
        guard state != announced else { return }
        let wasUnexplained = announced == (.anonymous, nil)
        announced = state
        if wasUnexplained, state.state == .anonymous, let cause = state.cause, cause != .stopped {
            effects.append(.explain(cause))
        } else {
            effects.append(.announce(state.state, state.cause))
        }
    }
}
