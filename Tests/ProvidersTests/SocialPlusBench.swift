import CredentialCore
import Providers
import Secrets
import Testing

/// A session with a clock that a test turns, and everything that came out of it.
struct SocialPlusBench {
    var session: SocialPlusSession
    var now = Instant(wall: WallTime(seconds: 1_767_225_600), boot: BootTime(milliseconds: 1_000_000))
    private(set) var effects: [SocialPlusEffect] = []
    private var lastCaller: UInt64 = 0

    static let supplier = SocialPlusSupplier.handler

    init(isSecure: Bool = true, verifies: Bool = true, _ state: SocialPlusState = .start) throws {
        session = SocialPlusSession(
            rules: SocialPlusRules(
                SocialPlusDefinition(
                    apiKey: .file(path: "/key"), baseURL: try HTTPURL("https://apix.eu.amity.co"),
                    isSecureMode: isSecure, verifiesAccessToken: verifies)))
        try bring(to: state)
    }

    @discardableResult
    mutating func apply(_ event: SocialPlusEvent) -> [SocialPlusEffect] {
        let new = session.apply(event, at: now)
        effects += new
        return new
    }

    mutating func caller() -> WaiterID {
        lastCaller += 1
        return WaiterID(lastCaller)
    }

    static func user(_ id: String = "u-1") throws -> SocialPlusUser { try SocialPlusUser(id: id) }

    static func record(_ state: SocialPlusState, _ kind: SocialPlusKind = .default) throws -> SocialPlusRecord
    {
        try #require(SocialPlusRecord(state: state, kind: kind, user: user()))
    }

    /// Reaches a state as the world would.
    mutating func bring(to state: SocialPlusState, _ kind: SocialPlusKind = .default) throws {
        switch state {
        case .start: break
        case .notLoggedIn: apply(.restored(nil, .nothing))
        case .establishing:
            apply(.restored(nil, .nothing))
            apply(.loginRequested(caller(), try Self.user(), .authToken(secret("t"))))
        case .established: apply(.restored(try Self.record(.established, kind), .valid))
        case .tokenExpired: apply(.restored(try Self.record(.established, kind), .expired))
        case .terminated: apply(.restored(try Self.record(.terminated, kind), .nothing))
        }
        #expect(session.state == state)
        effects = []
    }

    /// The number of the newest effect that takes time.
    var pending: UInt64 {
        for effect in effects.reversed() {
            switch effect {
            case .ask(let question): return question.id
            case .makeSession(let id, _, _), .verify(let id, _), .revoke(let id): return id
            default: continue
            }
        }
        return session.state == .establishing ? 1 : 0
    }

    /// Has a renewal begun and its question answered; false: none was begun.
    mutating func renew(with offer: SocialPlusOffer = .authToken(secret("t"))) -> Bool {
        let new = apply(.renewalDue(Self.supplier, isForced: false))
        guard case .ask(let question)? = new.first else { return false }
        apply(.offered(nil, question.id, offer))
        return true
    }

    /// As above, where a renewal has to begin.
    mutating func mustRenew(with offer: SocialPlusOffer = .authToken(secret("t"))) {
        if !renew(with: offer) { Issue.record("no renewal was begun") }
    }

    mutating func take() -> [String] {
        defer { effects = [] }
        return effects.map { describe($0) }
    }
}

/// An effect in a few words.
func describe(_ effect: SocialPlusEffect) -> String {
    switch effect {
    case .ask(let question): "ask \(question.supplier) \(question.handlerKind.rawValue) \(question.userID)"
    case .makeSession(_, let user, let token): "session \(user.id) \(shown(token) ?? "-")"
    case .verify(_, let token): "verify \(shown(token.bearer) ?? "-")"
    case .revoke: "revoke"
    case .cancel: "cancel"
    case .accept: "accept"
    case .acceptUnverified: "accept unverified"
    case .clearCredential: "clear"
    case .persist(let record): "persist \(record.state.rawValue)"
    case .announce(let change): "\(change.from.rawValue) > \(change.to.rawValue) \(change.cause.rawValue)"
    case .wantRenewal: "want renewal"
    case .endRenewal(.accepted): "renewed"
    case .endRenewal(.failed(let failure)): "renewal failed \(failure.kind.rawValue)"
    case .endRenewal(.unable): "renewal unable"
    case .endRenewal(.declined(let refusal)): "renewal declined \(refusal)"
    case .answer(let caller, let reply): "answer \(caller.number) \(reply)"
    }
}
