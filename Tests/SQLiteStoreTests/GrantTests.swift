import CredentialCore
import Glibc
import Secrets
import Testing

import SQLiteStore

@Suite struct `Stored grants and secrets` {
    private func grant(
        _ generation: Int64, _ token: String = "refresh", state: HeldGrant.State = .usable, uncertain: Int = 0
    ) -> HeldGrant {
        HeldGrant(
            name: name("desk"), refreshToken: secret(token), generation: Generation(generation),
            destination: Destination("provider=oauth;issuer=https://idp.example"), scope: "a b",
            receivedAt: WallTime(milliseconds: 1_800_000_000_001), state: state,
            uncertainAttempts: uncertain)
    }

    private func put(_ grant: HeldGrant, expecting: Int64) -> StoreChange.Operation {
        .putGrant(grant, expected: Generation(expecting))
    }

    private func same(_ left: HeldGrant?, _ right: HeldGrant) -> Bool {
        guard let left else { return false }
        return left.name == right.name && left.refreshToken.isEqual(to: right.refreshToken)
            && left.generation == right.generation && left.destination == right.destination
            && left.scope == right.scope && left.receivedAt == right.receivedAt && left.state == right.state
            && left.uncertainAttempts == right.uncertainAttempts
    }

    @Test(arguments: HeldGrant.State.allCases)
    func `a grant comes back as it was written`(state: HeldGrant.State) throws {
        let bench = try StoreBench()
        try bench.openContents()
        let written = grant(3, state: state, uncertain: 2)
        #expect(try bench.run(put(written, expecting: 0)) == [nil])
        let contents = try bench.openContents()
        #expect(contents.grants.count == 1)
        #expect(same(contents.grants.first?.held, written))
    }

    @Test func `a generation may be written again, and an unexpected one is a conflict`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        #expect(
            try bench.run(
                put(grant(1), expecting: 0), put(grant(1, state: .spending, uncertain: 1), expecting: 1),
                put(grant(2), expecting: 0), put(grant(2, "next"), expecting: 1), put(grant(1), expecting: 2))
                == [
                    nil, nil, .conflict(stored: Generation(1)), nil, .conflict(stored: Generation(2)),
                ])
        #expect(same(try bench.openContents().grants.first?.held, grant(2, "next")))
    }

    @Test func `a deleted grant leaves its generation behind`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        try bench.run(put(grant(4), expecting: 0))
        let delete = StoreChange.Operation.deleteGrant(
            name: name("desk"), generation: Generation(5), expected: Generation(4))
        #expect(try bench.run(delete) == [nil])
        let stored = try bench.openContents().grants
        #expect(stored.map(\.generation) == [Generation(5)])
        #expect(stored.first?.held == nil)
        #expect(
            try bench.run(put(grant(1), expecting: 0), put(grant(6), expecting: 5)) == [
                .conflict(stored: Generation(5)), nil,
            ])
    }

    @Test func `a secret is replaced as a whole and removed as a whole`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        func secretNamed(_ value: String, _ generation: Int64) -> StoreChange.Operation {
            .putSecret(
                HeldSecret(
                    name: name("key"), value: secret(value), generation: Generation(generation),
                    setAt: WallTime(milliseconds: 1_800_000_000_002)))
        }
        #expect(try bench.run(secretNamed("one", 1), secretNamed("two\n", 2)) == [nil, nil])
        let stored = try bench.openContents().secrets
        #expect(stored.map(\.name) == [name("key")])
        #expect(text(stored.first?.value) == "two\n")
        #expect(stored.first?.generation == Generation(2))
        #expect(stored.first?.setAt == WallTime(milliseconds: 1_800_000_000_002))
        #expect(
            try bench.run(.deleteSecret(name: name("key")), .deleteSecret(name: name("key"))) == [nil, nil])
        #expect(try bench.openContents().secrets.isEmpty)
    }

    @Test
    func `R79: what is remembered of accounts and devices is replaced as a whole, and goes with its account`()
        throws
    {
        let bench = try StoreBench()
        try bench.openContents()
        let account = PlatformStateName.account(name("bot"))
        let device = PlatformStateName.device(name("bot"))
        #expect(
            try bench.run(
                .putState(account, secret("{}")), .putState(account, secret("{\"a\":1}")),
                .putState(device, secret("{\"b\":2}"))) == [nil, nil, nil])
        var stored = try bench.openContents().states
        #expect(stored.first { $0.name == account }.map { text($0.content) } == "{\"a\":1}")
        #expect(stored.first { $0.name == device }.map { text($0.content) } == "{\"b\":2}")
        #expect(
            try bench.run(
                .putAccount(name: name("bot"), definition: secret("d"), policy: secret("p")),
                .deleteAccount(name: name("bot"))) == [nil, nil])
        stored = try bench.openContents().states
        #expect(stored.map(\.name) == [device])
        #expect(try bench.run(.deleteState(device), .deleteState(device)) == [nil, nil])
        #expect(try bench.openContents().states.isEmpty)
    }

    @Test func `a store of the first version is opened, and its backup kept`() throws {
        let bench = try StoreBench()
        let first = StoreFormat(versions: [StoreFormat.current.versions[0]])
        try bench.openContents(format: first)
        try bench.run(SQLiteStoreTests.put("a", try held(1, token: "carried over"), expecting: 0))
        let contents = try bench.openContents()
        #expect(text(contents.credentials.first?.held?.credential?.idToken) == "carried over")
        #expect(bench.store?.status.formatVersion == StoreFormat.current.version)
        #expect(try bench.run(put(grant(1), expecting: 0)) == [nil])
        bench.close()
        #expect(try bench.sealedReason(format: first) == .tooNew(version: StoreFormat.current.version))
    }
}
