import CredentialCore
import Providers
import Secrets
import TestSupport
import Testing

/// A walker that gives a session random events, and keeps account of what must hold whatever happens.
private struct Walker {
    var bench: SocialPlusBench
    var random: SeededGenerator
    /// Numbers of what takes time and was not taken back.
    var out: Set<UInt64> = []
    var asked: Set<WaiterID> = []
    var answered: Set<WaiterID> = []
    var openRenewals = 0
    var disk: String?
    var faults: [String] = []

    mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }

    mutating func number() -> UInt64 {
        if !chance(4), let id = out.first { return id }
        return UInt64.random(in: 0..<8, using: &random)
    }

    mutating func caller() -> WaiterID {
        let caller = bench.caller()
        asked.insert(caller)
        return caller
    }

    mutating func supplier() -> SocialPlusSupplier {
        SocialPlusSupplier.allCases.randomElement(using: &random) ?? .nobody
    }

    mutating func failure() -> RefreshFailure {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: RefreshFailure(.terminated, httpStatus: 403, providerCode: "400312")
        case 1: RefreshFailure(.rejected, httpStatus: 401, providerCode: "400100")
        case 2: RefreshFailure(.unreachable)
        default: RefreshFailure(.timeout)
        }
    }

    mutating func offer() throws -> SocialPlusOffer {
        switch Int.random(in: 0..<8, using: &random) {
        case 0: .bare
        case 1: .unable
        case 2: .failed(failure())
        case 3: .authToken(secret("with space"))
        case 4: .accessToken(try Credential(idToken: nil, accessToken: jwt(#"{"userId":"u-2"}"#)))
        case 5: .accessToken(try Credential(idToken: nil, accessToken: jwt(#"{"userId":"u-1"}"#)))
        default: .authToken(secret("t"))
        }
    }

    mutating func event() throws -> SocialPlusEvent {
        let user = try SocialPlusBench.user()
        switch Int.random(in: 0..<24, using: &random) {
        case 0:
            let state = SocialPlusState.allCases.randomElement(using: &random) ?? .start
            let kind: SocialPlusKind = chance(2) ? .default : .accessToken
            let record =
                chance(6)
                ? nil : SocialPlusRecord(state: state, kind: kind, user: user, isRevoking: chance(4))
            if bench.session.state == .start { disk = record.flatMap { shown($0.json()) } }
            return .restored(record, SocialPlusEvent.Held.allCases.randomElement(using: &random) ?? .nothing)
        case 1, 2: return .loginRequested(caller(), user, .authToken(secret("t")))
        case 3: return .loginRequested(caller(), user, .from(supplier()))
        case 4: return .loginRequested(caller(), user, .none)
        case 5, 6:
            let token = try Credential(idToken: nil, accessToken: jwt(#"{"userId":"u-1"}"#))
            return .accessTokenLoginRequested(caller(), user, token, supplier())
        case 7, 8, 9: return .offered(chance(2) ? caller() : nil, number(), try offer())
        case 10, 11, 12:
            return .exchangeSucceeded(
                number(), issuedAt: WallTime(seconds: 5), refreshToken: secret("r"))
        case 13: return .exchangeFailed(number(), failure())
        case 14: return chance(2) ? .tokenExpired : .tokenRejected(caller())
        case 15, 16, 17:
            openRenewals += 1
            return .renewalDue(supplier(), isForced: chance(3))
        case 18: return chance(2) ? .supplierChanged(supplier()) : .loginSupplierChanged(supplier())
        case 19:
            return .reported(caller(), code: [400_312, 400_100, 400_311].randomElement(using: &random) ?? 0)
        case 20: return .callFailed(failure())
        case 21: return chance(2) ? .logoutRequested(caller()) : .secureLogoutRequested(caller())
        case 22:
            switch Int.random(in: 0..<4, using: &random) {
            case 0: return .revoked(number())
            case 1: return .revocationFailed(number(), failure())
            case 2: return .revocationCutShort(number(), wasSent: chance(2))
            default: return .revocationDue
            }
        default:
            bench.now = bench.now + .seconds(Int64.random(in: 0..<700, using: &random))
            return .wokeUp
        }
    }

    mutating func step(_ event: SocialPlusEvent) {
        let before = bench.session.state
        switch event {
        case .exchangeSucceeded(let id, _, _), .exchangeFailed(let id, _), .revoked(let id),
            .revocationFailed(let id, _), .revocationCutShort(let id, _), .offered(_, let id, _):
            // What is over is out no more; what was not expected in this way still is, and an answer that was taken goes on. A
            // revocation that nobody waits for may end without a word: the platform ended the session before.
            let wasRevoking = bench.session.isRevoking
            let effects = bench.apply(event)
            var isIgnored = effects.isEmpty && bench.session.isRevoking == wasRevoking
            if case .answer(_, .failure(.renewalUnknown))? = effects.first { isIgnored = true }
            if !isIgnored { out.remove(id) }
            judge(effects, before)
        default: judge(bench.apply(event), before)
        }
    }

    private mutating func judge(_ effects: [SocialPlusEffect], _ before: SocialPlusState) {
        var at = before
        var isCleared = false
        for effect in effects {
            switch effect {
            case .ask(let question):
                demand(at.isSession || at == .establishing, "asked in \(at)")
                demand(question.supplier != .nobody, "asked nobody")
                demand(question.isRenewal == at.isSession, "asked for the wrong thing")
                out.insert(question.id)
            case .makeSession(let id, _, _), .verify(let id, _), .revoke(let id): out.insert(id)
            case .cancel(let id): out.remove(id)
            case .clearCredential: isCleared = true
            case .persist(let record):
                disk = shown(record.json())
                demand(
                    SocialPlusRecord(json: record.json()).flatMap { shown($0.json()) } == disk,
                    "does not read back")
            case .announce(let change):
                demand(change.from == at && at.allows(change.to), "\(at) > \(change.to)")
                demand(
                    isCleared || !change.from.isSession || change.to.isSession,
                    "left a session with its token")
                at = change.to
            case .endRenewal: openRenewals -= 1
            case .answer(let caller, _):
                demand(asked.contains(caller) && answered.insert(caller).inserted, "answered twice")
            case .accept, .acceptUnverified, .wantRenewal: break
            }
        }
        let session = bench.session
        demand(at == session.state, "a silent step")
        demand(out.count <= 1, "two things under way")
        demand(openRenewals >= 0, "a renewal ended twice")
        demand((session.state == .establishing) <= (session.nextWakeUp != nil), "a login without an end")
        demand(session.state != .establishing || !out.isEmpty, "a login that waits for nothing")
        demand(session.state.isSession == (session.user != nil) || session.state == .terminated, "whose?")
        if let record = session.record, session.state != .notLoggedIn || disk != nil {
            demand(shown(record.json()) == disk, "the disk says \(disk ?? "-")")
        }
    }

    mutating func demand(_ holds: Bool, _ fault: String) {
        if !holds { faults.append(fault) }
    }
}

private func <= (condition: Bool, consequence: Bool) -> Bool { !condition || consequence }

@Suite struct `Random walks of a social.plus session` {
    @Test func `R181: whatever happens, the invariants hold`() throws {
        var random = SeededGenerator.announced(for: "random walks of a session")
        var seen: Set<SocialPlusState> = []
        for walk in 0..<200 {
            var walker = Walker(
                bench: try SocialPlusBench(isSecure: walk % 2 == 0, verifies: walk % 3 != 0),
                random: SeededGenerator(seed: random.next()))
            for _ in 0..<80 {
                walker.step(try walker.event())
                seen.insert(walker.bench.session.state)
            }
            // In the end everybody is signed out, and nobody waits.
            let last = walker.caller()
            walker.step(.logoutRequested(last))
            if let id = walker.out.first {
                walker.step(.exchangeFailed(id, RefreshFailure(.timeout)))
                walker.step(.revocationFailed(id, RefreshFailure(.timeout)))
            }
            #expect(walker.bench.session.state == .notLoggedIn)
            #expect(walker.asked == walker.answered)
            #expect(walker.openRenewals == 0)
            #expect(walker.out.isEmpty)
            #expect(walker.faults == [])
            guard walker.faults.isEmpty else { break }
        }
        #expect(seen == Set(SocialPlusState.allCases))
    }
}
