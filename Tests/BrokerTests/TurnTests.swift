import Broker
import BrokerSupport
import CredentialCore
import Testing

/// How much is done before clients have their turn again: counted in accounts, not in time.
@Suite struct `A turn of the broker` {
    private static let count = 1000

    private static func accounts(host: String? = nil, _ prefix: String = "account") -> [AccountDefinition] {
        (0..<count).map { Definitions.http("\(prefix)-\($0)", host: host) }
    }

    /// Wakes the broker once; false where it asks for no moment that has come.
    private func turn(_ stage: Stage) -> Bool {
        guard let moment = stage.waker.moment, moment <= stage.clock.now.boot else { return false }
        stage.waker.fire()
        stage.broker.wakeUp()
        return true
    }

    /// Wakes the broker until it asks for no moment that has come: how much `measure` grew in each turn.
    private func turns(_ stage: Stage, _ measure: () -> Int) -> [Int] {
        var growth: [Int] = []
        var last = measure()
        while growth.count < 10 * Self.count, turn(stage) {
            growth.append(measure() - last)
            last = measure()
        }
        return growth
    }

    @Test func `accounts that are due together are asked for a few at a time`() throws {
        let stage = try Stage(accounts: Self.accounts())
        let begun = turns(stage) { stage.broker.flightCount }
        #expect(stage.broker.flightCount == Self.count)
        #expect(begun.reduce(0, +) == Self.count)
        #expect(begun.allSatisfy { $0 <= Broker.wokenPerTurn })
    }

    @Test func `a review comes to every account, a few at a time, and clients are served in between`() throws
    {
        let stage = try Stage(accounts: Self.accounts() + [Definitions.plain("bot")])
        let client = try #require(stage.connect())
        _ = stage.call(client, "credentials.save", #"{"account":"bot","access_token":"t"}"#)
        // Nobody has been woken yet.
        stage.broker.review()
        var seen = [stage.broker.flightCount]
        while turn(stage) {
            seen.append(stage.broker.flightCount)
            #expect(stage.call(client, "token.get", #"{"account":"bot"}"#).contains(#""bearer_token":"t""#))
        }
        #expect(seen.last == Self.count)
        #expect(zip(seen, seen.dropFirst()).allSatisfy { $1 - $0 <= Broker.wokenPerTurn })
        #expect((seen.first ?? 0) <= Broker.wokenPerTurn)
    }

    @Test func `a configuration is taken over a few accounts at a time, and answered for at its end`() throws
    {
        let stage = try Stage(accounts: Self.accounts(host: nil, "old") + [Definitions.plain("bot")])
        let client = try #require(stage.connect())
        _ = stage.call(client, "credentials.save", #"{"account":"bot","access_token":"t"}"#)
        while turn(stage) {}
        var isDone = false
        stage.broker.reconfigure(Self.accounts(host: nil, "new") + [Definitions.plain("bot")]) {
            isDone = true
        }
        var counts = [stage.broker.accountCount]
        while !isDone {
            #expect(turn(stage))
            counts.append(stage.broker.accountCount)
            #expect(stage.call(client, "token.get", #"{"account":"bot"}"#).contains(#""bearer_token":"t""#))
        }
        #expect(counts.count > 2 * Self.count / Broker.configuredPerTurn)
        #expect(zip(counts, counts.dropFirst()).allSatisfy { abs($1 - $0) <= Broker.configuredPerTurn })
        #expect(counts.last == Self.count + 1)
        #expect(stage.account("old-0") == nil && stage.account("new-999") != nil)
    }

    @Test func `a configuration that follows at once is the one that stays`() throws {
        let stage = try Stage(accounts: Self.accounts(host: nil, "old"))
        var ended: [Int] = []
        stage.broker.reconfigure(Self.accounts(host: nil, "new")) { ended.append(1) }
        stage.broker.reconfigure([Definitions.plain("bot")]) { ended.append(2) }
        while turn(stage) {}
        #expect(ended == [1, 2])
        #expect(stage.broker.accountsByName().map(\.name.text) == ["bot"])
    }

    @Test func `a right that is taken away is gone as soon as its account is configured anew`() throws {
        let accounts = Self.accounts()
        func bot(_ uid: UInt32) -> AccountDefinition {
            Definitions.plain("bot", access: AccessRules(use: Definitions.user(uid)))
        }
        let stage = try Stage(
            instance: .system(admins: []), accounts: accounts + [bot(1001)])
        let account = try #require(stage.account("bot"))
        let client = try #require(stage.connect(uid: 1001))
        let get = { stage.call(client, "token.get", #"{"account":"bot"}"#).contains("account_unknown") }
        #expect(!get())
        var isDone = false
        stage.broker.reconfigure(accounts + [bot(1002)]) { isDone = true }
        while !isDone {
            #expect(get() == (account.definition == bot(1002)))
            #expect(turn(stage))
        }
        #expect(get())
    }

    @Test func `who waits at an origin that is given up is told a few at a time, each once`() throws {
        let stage = try Stage(accounts: Self.accounts(host: "one.example"))
        while turn(stage) {}
        #expect(stage.broker.flightCount == Self.count)
        var told: [Int] = []
        var left = stage.broker.flightCount
        for _ in 0..<5 {
            stage.fetcher.fail(.connectionFailed)
            told.append(left - stage.broker.flightCount)
            left = stage.broker.flightCount
        }
        told += turns(stage) { stage.broker.flightCount }.map { -$0 }
        #expect(told.allSatisfy { $0 <= Broker.wokenPerTurn + 1 })
        // Seven are still at the origin, which takes eight at a time.
        #expect(told.reduce(0, +) == Self.count - 7)
    }
}
