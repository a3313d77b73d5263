import CredentialCore
import Providers
import Secrets
import Testing

/// One happening, and the state that it leads to from each of the six.
struct SocialPlusRow: Sendable, CustomTestStringConvertible {
    let name: String
    let next: [SocialPlusState]
    let happen: @Sendable (inout SocialPlusBench) throws -> Void

    var testDescription: String { name }

    init(
        _ name: String, _ next: [SocialPlusState: SocialPlusState] = [:],
        _ happen: @escaping @Sendable (inout SocialPlusBench) throws -> Void
    ) {
        self.name = name
        self.next = SocialPlusState.allCases.map { next[$0] ?? $0 }
        self.happen = happen
    }
}

@Suite struct `Steps of a social.plus session` {
    private static let ban = RefreshFailure(.terminated, httpStatus: 403, providerCode: "400312")

    private static let out: [SocialPlusState: SocialPlusState] = [
        .establishing: .notLoggedIn, .established: .notLoggedIn, .tokenExpired: .notLoggedIn,
        .terminated: .notLoggedIn,
    ]

    private static let ended: [SocialPlusState: SocialPlusState] = [
        .established: .terminated, .tokenExpired: .terminated,
    ]

    private static func with(
        _ states: [SocialPlusState: SocialPlusState], _ more: [SocialPlusState: SocialPlusState]
    ) -> [SocialPlusState: SocialPlusState] {
        states.merging(more) { $1 }
    }

    static let rows: [SocialPlusRow] = [
        SocialPlusRow("restored without a row", [.start: .notLoggedIn]) {
            $0.apply(.restored(nil, .nothing))
        },
        SocialPlusRow("restored without a row, with a credential", [.start: .notLoggedIn]) {
            $0.apply(.restored(nil, .valid))
        },
        SocialPlusRow("restored signed out", [.start: .notLoggedIn]) {
            $0.apply(.restored(SocialPlusRecord(state: .notLoggedIn), .valid))
        },
        SocialPlusRow("restored valid", [.start: .established]) {
            $0.apply(.restored(try SocialPlusBench.record(.established), .valid))
        },
        SocialPlusRow("restored from token_expired, valid", [.start: .established]) {
            $0.apply(.restored(try SocialPlusBench.record(.tokenExpired), .valid))
        },
        SocialPlusRow("restored expired", [.start: .tokenExpired]) {
            $0.apply(.restored(try SocialPlusBench.record(.established), .expired))
        },
        SocialPlusRow("restored without its credential", [.start: .notLoggedIn]) {
            $0.apply(.restored(try SocialPlusBench.record(.established), .nothing))
        },
        SocialPlusRow("restored terminated", [.start: .terminated]) {
            $0.apply(.restored(try SocialPlusBench.record(.terminated), .valid))
        },
        SocialPlusRow("login with an auth token", [.notLoggedIn: .establishing]) {
            $0.apply(
                .loginRequested($0.caller(), try SocialPlusBench.user(), .authToken(secret("t"))))
        },
        SocialPlusRow("login with a supplier", [.notLoggedIn: .establishing]) {
            $0.apply(.loginRequested($0.caller(), try SocialPlusBench.user(), .from(.source)))
        },
        SocialPlusRow("login without a supplier") {
            $0.apply(.loginRequested($0.caller(), try SocialPlusBench.user(), .from(.nobody)))
        },
        SocialPlusRow("login without a token") {
            $0.apply(.loginRequested($0.caller(), try SocialPlusBench.user(), .none))
        },
        SocialPlusRow("login with no auth token at all") {
            $0.apply(.loginRequested($0.caller(), try SocialPlusBench.user(), .authToken(secret(""))))
        },
        SocialPlusRow("login with an access token", [.notLoggedIn: .establishing]) {
            $0.apply(
                .accessTokenLoginRequested(
                    $0.caller(), try SocialPlusBench.user(),
                    try Credential(idToken: nil, accessToken: secret("a")), .handler))
        },
        SocialPlusRow("login with an access token, no handler") {
            $0.apply(
                .accessTokenLoginRequested(
                    $0.caller(), try SocialPlusBench.user(),
                    try Credential(idToken: nil, accessToken: secret("a")), .nobody))
        },
        SocialPlusRow("login accepted", [.establishing: .established]) {
            $0.apply(.exchangeSucceeded($0.pending, issuedAt: nil, refreshToken: nil))
        },
        SocialPlusRow("login failed", [.establishing: .notLoggedIn]) {
            $0.apply(.exchangeFailed($0.pending, RefreshFailure(.rejected)))
        },
        SocialPlusRow("login failed with a ban", [.establishing: .notLoggedIn]) {
            $0.apply(.exchangeFailed($0.pending, ban))
        },
        SocialPlusRow("login accepted under another number") {
            $0.apply(.exchangeSucceeded(77, issuedAt: nil, refreshToken: nil))
        },
        SocialPlusRow("login failed under another number") { $0.apply(.exchangeFailed(77, ban)) },
        SocialPlusRow("29.999 s passed") {
            $0.now = $0.now + Milliseconds(29_999)
            $0.apply(.wokeUp)
        },
        SocialPlusRow("30 s passed", [.establishing: .notLoggedIn]) {
            $0.now = $0.now + .seconds(30)
            $0.apply(.wokeUp)
        },
        SocialPlusRow("the token expired", [.established: .tokenExpired]) {
            $0.apply(.tokenExpired)
        },
        SocialPlusRow("the token was refused", [.established: .tokenExpired]) {
            $0.apply(.tokenRejected($0.caller()))
        },
        SocialPlusRow("a renewal succeeded", [.tokenExpired: .established]) {
            guard $0.renew() else { return }
            $0.apply(.exchangeSucceeded($0.pending, issuedAt: nil, refreshToken: nil))
        },
        SocialPlusRow("a renewal failed") {
            guard $0.renew() else { return }
            $0.apply(.exchangeFailed($0.pending, RefreshFailure(.unreachable)))
        },
        SocialPlusRow("a renewal was refused for good", ended) {
            guard $0.renew() else { return }
            $0.apply(.exchangeFailed($0.pending, ban))
        },
        SocialPlusRow("a renewal is under way") { _ = $0.renew() },
        SocialPlusRow("a handler is unable") { _ = $0.renew(with: .unable) },
        SocialPlusRow("a handler failed") { _ = $0.renew(with: .failed(RefreshFailure(.timeout))) },
        SocialPlusRow("a renewal nobody can supply") {
            $0.apply(.renewalDue(.nobody, isForced: true))
        },
        SocialPlusRow("another supplier") { $0.apply(.supplierChanged(.source)) },
        SocialPlusRow("no supplier") { $0.apply(.supplierChanged(.nobody)) },
        SocialPlusRow("another supplier of logins") { $0.apply(.loginSupplierChanged(.handler)) },
        SocialPlusRow("no supplier of logins") { $0.apply(.loginSupplierChanged(.nobody)) },
        SocialPlusRow("an offer that nobody asked for") {
            $0.apply(.offered($0.caller(), 77, .authToken(secret("t"))))
        },
        SocialPlusRow("a reported ban", ended) { $0.apply(.reported($0.caller(), code: 400_312)) },
        SocialPlusRow("a reported deletion", ended) { $0.apply(.reported($0.caller(), code: 400_400)) },
        SocialPlusRow("a reported refusal", [.established: .tokenExpired]) {
            $0.apply(.reported($0.caller(), code: 400_100))
        },
        SocialPlusRow("a reported rate limit") { $0.apply(.reported($0.caller(), code: 400_311)) },
        SocialPlusRow("a call met a ban", ended) { $0.apply(.callFailed(ban)) },
        SocialPlusRow("a call met a 401", [.established: .tokenExpired]) {
            $0.apply(.callFailed(RefreshFailure(.rejected, httpStatus: 401)))
        },
        SocialPlusRow("a call met a 403") {
            $0.apply(.callFailed(RefreshFailure(.rejected, httpStatus: 403)))
        },
        SocialPlusRow("a call met nobody") { $0.apply(.callFailed(RefreshFailure(.unreachable))) },
        SocialPlusRow("logout", with(out, [.start: .notLoggedIn])) {
            $0.apply(.logoutRequested($0.caller()))
        },
        SocialPlusRow("secure logout begun", [.terminated: .notLoggedIn]) {
            $0.apply(.secureLogoutRequested($0.caller()))
        },
        SocialPlusRow("secure logout done", with(out, [.establishing: .establishing])) {
            $0.apply(.secureLogoutRequested($0.caller()))
            $0.apply(.revoked($0.pending))
        },
        SocialPlusRow("secure logout of what a login makes", out) {
            $0.apply(.secureLogoutRequested($0.caller()))
            $0.apply(.exchangeSucceeded($0.pending, issuedAt: nil, refreshToken: nil))
            $0.apply(.revoked($0.pending))
        },
        SocialPlusRow(
            "secure logout of a login that fails", [.establishing: .notLoggedIn, .terminated: .notLoggedIn]
        ) {
            $0.apply(.secureLogoutRequested($0.caller()))
            $0.apply(.exchangeFailed($0.pending, RefreshFailure(.rejected)))
        },
        SocialPlusRow("secure logout failed", [.terminated: .notLoggedIn]) {
            $0.apply(.secureLogoutRequested($0.caller()))
            $0.apply(.revocationFailed($0.pending, RefreshFailure(.timeout)))
        },
        SocialPlusRow("secure logout cut short", [.terminated: .notLoggedIn]) {
            $0.apply(.secureLogoutRequested($0.caller()))
            $0.apply(.revocationCutShort($0.pending, wasSent: true))
        },
        SocialPlusRow("secure logout finished", with(out, [.establishing: .establishing])) {
            $0.apply(.secureLogoutRequested($0.caller()))
            $0.apply(.revocationCutShort($0.pending, wasSent: true))
            $0.apply(.revocationDue)
            $0.apply(.revocationFailed($0.pending, RefreshFailure(.rejected, httpStatus: 401)))
        },
        SocialPlusRow("nothing to finish") { $0.apply(.revocationDue) },
        SocialPlusRow("secure logout met a ban", with(ended, [.terminated: .notLoggedIn])) {
            $0.apply(.secureLogoutRequested($0.caller()))
            $0.apply(.revocationFailed($0.pending, ban))
        },
        SocialPlusRow("revoked under another number") { $0.apply(.revoked(77)) },
    ]

    @Test(arguments: rows)
    func `R181: from each state each happening leads to one state`(_ row: SocialPlusRow) throws {
        for (state, next) in zip(SocialPlusState.allCases, row.next) {
            var bench = try SocialPlusBench(state)
            try row.happen(&bench)
            #expect(bench.session.state == next, "from \(state.rawValue)")
            var at = state
            for case .announce(let change) in bench.effects {
                #expect(change.from == at && at.allows(change.to))
                at = change.to
            }
            #expect(at == next)
        }
    }

    @Test func `R181: thirteen steps are possible`() {
        let steps = SocialPlusState.allCases.map { from in
            SocialPlusState.allCases.filter { from.allows($0) }
        }
        #expect(
            steps == [
                [.notLoggedIn, .established, .terminated], [.establishing], [.notLoggedIn, .established],
                [.notLoggedIn, .tokenExpired, .terminated], [.notLoggedIn, .established, .terminated],
                [.notLoggedIn],
            ])
        #expect(steps.joined().count == 13)
    }

    @Test func `R184: the states have their names on the wire`() {
        #expect(
            SocialPlusState.allCases.map(\.rawValue) == [
                "start", "not_logged_in", "establishing", "established", "token_expired", "terminated",
            ])
        #expect(SocialPlusKind.allCases.map(\.rawValue) == ["default", "access_token"])
    }
}
