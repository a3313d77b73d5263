import CredentialCore
import Providers
import TestSupport
import Testing

/// Throws events at a session and keeps a naive account of what the platform and the broker saw of it.
private struct World {
    let chat: KindlyDefinition.Connecting?
    var session: BindSession
    var now = Instant(wall: WallTime(seconds: 1_767_225_600), boot: BootTime(milliseconds: 0))
    var random: SeededGenerator

    // What is true outside.
    var isRunning = false
    var generation: Int64?
    var newest: Int64 = 0
    var hasChat = false
    var isChatUnknown = false
    var hasEnded = false
    var out: (ticket: BindTicket, generation: Int64?)?
    var past: [BindTicket] = []
    var refused: Set<Int64> = []
    var announced = BindState.anonymous
    var faults: [String] = []

    init(seed: UInt64, chat: KindlyDefinition.Connecting?) {
        self.chat = chat
        session = BindSession(traits: .init(chat: chat))
        random = SeededGenerator(seed: seed)
    }

    mutating func expect(_ isTrue: Bool, _ fault: String) {
        if !isTrue { faults.append(fault) }
    }

    mutating func apply(_ event: BindEvent) {
        let draw = random.next()
        for effect in session.apply(event, at: now, draw: draw) { take(effect) }
        let state = session.state.state
        expect(state == announced, "a change of state was not announced")
        expect(
            (state == .authenticated)
                == (isRunning && !hasEnded && generation != nil
                    && session.boundGeneration == generation.map { Generation($0) }),
            "authenticated without a bound credential")
        if out == nil, isRunning, session.nextWakeUp(at: now).map({ $0 <= now.boot }) ?? false {
            faults.append("something is due and was not begun")
        }
    }

    private mutating func take(_ effect: BindEffect) {
        switch effect {
        case .connect(let ticket):
            expect(
                out == nil && isRunning && chat == .broker && (!hasChat || isChatUnknown),
                "a chat is made out of turn")
            out = (ticket, nil)
        case .bind(let ticket, let bound):
            expect(
                out == nil && isRunning && !hasEnded && (chat == nil || hasChat && !isChatUnknown),
                "a bind out of turn")
            expect(bound.number == generation, "an older credential is bound")
            expect(!refused.contains(bound.number), "a refused credential is shown again")
            out = (ticket, bound.number)
        case .cancel(let ticket):
            expect(out?.ticket == ticket, "what is not out is given up")
            past.append(ticket)
            out = nil
        case .bound(let bound, _): expect(bound.number == generation, "an older expiry is told")
        case .rejected(let bound, _): expect(bound.number == generation, "an older credential is refused")
        case .announce(let state, _): announced = state
        case .explain: expect(announced == .anonymous, "somebody who is seen is explained away")
        case .persist: break
        }
    }

    /// The platform answers what is out.
    mutating func answer(isAccepted: Bool, isVerdict: Bool = false) {
        guard let request = out else { return }
        out = nil
        past.append(request.ticket)
        guard isAccepted else {
            if isVerdict, let generation = request.generation, generation == self.generation {
                refused.insert(generation)
            }
            apply(
                .failed(
                    request.ticket,
                    RefreshFailure(isVerdict && request.generation != nil ? .rejected : .upstreamError)))
            return
        }
        if request.generation == nil {
            hasChat = true
            isChatUnknown = false
            apply(.connected(request.ticket))
        } else {
            apply(.bound(request.ticket, expiresAt: nil))
        }
    }

    /// The platform knows the chat no more to which something is bound.
    private mutating func forgetChat() {
        guard let request = out, request.generation != nil else { return }
        out = nil
        past.append(request.ticket)
        isChatUnknown = chat == .broker
        apply(.chatUnknown(request.ticket, RefreshFailure(.upstreamError, httpStatus: 404)))
    }

    mutating func step() {
        switch random.next() % 17 {
        case 0:
            isRunning = true
            apply(.started)
        case 1:
            isRunning = false
            apply(.stopped)
        case 2, 3:
            newest += 1
            generation = newest
            hasEnded = false
            apply(.credentialReplaced(Generation(newest), isBound: random.next() % 8 == 0))
        case 4:
            generation = nil
            hasEnded = false
            apply(.credentialGone)
        case 5:
            if chat != nil {
                hasChat = true
                isChatUnknown = false
                refused = []
            }
            apply(.chatAttached)
        case 6:
            hasChat = false
            isChatUnknown = false
            if chat != nil { refused = [] }
            apply(.chatReset)
        case 14: forgetChat()
        case 15:
            // It ends, or turns out to hold longer than it seemed.
            guard let generation else { return }
            hasEnded.toggle()
            apply(
                .credentialReplaced(Generation(generation), isBound: false, end: hasEnded ? .expired : nil))
        case 7: answer(isAccepted: false, isVerdict: true)
        case 8: answer(isAccepted: false)
        case 9:
            // An answer that comes twice, or after it was given up.
            guard let ticket = past.randomElement(using: &random) else { return }
            switch random.next() % 3 {
            case 0: apply(.bound(ticket, expiresAt: now.wall))
            case 1: apply(.failed(ticket, RefreshFailure(.rejected)))
            default: apply(.connected(ticket))
            }
        case 10: apply(.sourceFailed(RefreshFailure(.timeout)))
        case 13: apply(.doubted(Generation(max(0, newest - Int64(random.next() % 2)))))
        case 11, 12:
            let length = Milliseconds(Int64(random.next() % 20_000))
            now = Instant(wall: now.wall + length, boot: now.boot + length)
            apply(.wokeUp)
        default: answer(isAccepted: true)
        }
    }

    /// From here on the platform is well and time passes.
    mutating func settle() {
        for _ in 0..<10 {
            while out != nil { answer(isAccepted: true) }
            guard let next = session.nextWakeUp(at: now) else { return }
            let length = next - now.boot
            now = Instant(wall: now.wall + length, boot: next)
            apply(.wokeUp)
        }
        faults.append("does not come to rest")
    }
}

@Suite struct `Bindings under any events` {
    @Test(arguments: [nil, .broker, .client] as [KindlyDefinition.Connecting?], [1, 2, 3, 4] as [UInt64])
    func `one request is out at a time, older answers change nothing, and all ends bound`(
        _ chat: KindlyDefinition.Connecting?, _ seed: UInt64
    ) {
        var world = World(seed: seed, chat: chat)
        for round in 0..<4000 {
            world.step()
            #expect(world.faults == [], "seed \(seed) round \(round)")
            if !world.faults.isEmpty { return }
        }
        world.isRunning = true
        world.apply(.started)
        world.newest += 1
        world.generation = world.newest
        world.hasEnded = false
        world.apply(.credentialReplaced(Generation(world.newest), isBound: false))
        if chat == .client, !world.hasChat {
            world.hasChat = true
            world.apply(.chatAttached)
        }
        world.settle()
        #expect(world.faults == [])
        #expect(world.session.state.state == .authenticated)
        #expect(world.session.boundGeneration == Generation(world.newest))
    }
}
