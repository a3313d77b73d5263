import CredentialCore
import Secrets
import TestSupport
import Testing

import SQLiteStore

@Suite struct `Store against a model` {
    private struct Model {
        var credentials: [String: (generation: Int64, token: String?)] = [:]
        var accounts: [String: (definition: String, policy: String)] = [:]

        var lines: [String] {
            credentials.map { "c \($0.key) \($0.value.generation) \($0.value.token ?? "-")" }.sorted()
                + accounts.map { "a \($0.key) \($0.value.definition) \($0.value.policy)" }.sorted()
        }
    }

    private func lines(_ contents: StoreContents) -> [String] {
        contents.credentials.map {
            "c \($0.account) \($0.generation.number) \(text($0.held?.credential?.idToken) ?? "-")"
        }.sorted()
            + contents.accounts.map { "a \($0.name) \(text($0.definition) ?? "-") \(text($0.policy) ?? "-")" }
            .sorted()
    }

    @Test func `random changes and restarts agree with a dictionary`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        var random = SeededGenerator.announced(for: "store model")
        var model = Model()
        for round in 0..<120 {
            var operations: [StoreChange.Operation] = []
            var expected: [StoreFailure?] = []
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                let account = "account-\(Int.random(in: 0..<8, using: &random))"
                let stored = model.credentials[account]?.generation ?? 0
                let guess = Bool.random(using: &random) ? stored : Int64.random(in: 0...20, using: &random)
                let next = stored + Int64.random(in: 0...2, using: &random)
                let fits = guess == stored && next > stored
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<5:
                    let token =
                        String(repeating: "t", count: Int.random(in: 1...6000, using: &random)) + "\(round)"
                    operations.append(put(account, try held(next, token: token), expecting: guess))
                    // The same generation may be written again, with another expiry say.
                    let isAgain = guess == stored && next == stored && stored > 0
                    expected.append(fits || isAgain ? nil : .conflict(stored: Generation(stored)))
                    if fits || isAgain { model.credentials[account] = (next, token) }
                case 5..<7:
                    operations.append(
                        .deleteCredential(
                            account: name(account), generation: Generation(next), expected: Generation(guess))
                    )
                    expected.append(fits ? nil : .conflict(stored: Generation(stored)))
                    if fits { model.credentials[account] = (next, nil) }
                case 7..<9:
                    operations.append(
                        .putAccount(
                            name: name(account), definition: secret("definition \(round)"),
                            policy: secret("p")))
                    expected.append(nil)
                    model.accounts[account] = ("definition \(round)", "p")
                default:
                    operations.append(.deleteAccount(name: name(account)))
                    expected.append(nil)
                    model.accounts[account] = nil
                    model.credentials[account] = nil
                }
            }
            #expect(try bench.run(operations) == expected)
            if Int.random(in: 0..<4, using: &random) == 0 {
                #expect(lines(try bench.openContents()) == model.lines)
            }
        }
        #expect(lines(try bench.openContents()) == model.lines)
    }

    @Test func `ten thousand credentials are loaded`() throws {
        let bench = try StoreBench()
        try bench.openContents()
        let token = String(repeating: "k", count: 900)
        for start in stride(from: 0, to: 10_000, by: 2000) {
            try bench.run(
                try (start..<(start + 2000)).map {
                    put("account-\($0)", try held(1, token: token), expecting: 0)
                })
        }
        let start = ContinuousClock.now
        let contents = try bench.openContents()
        print("10,000 credentials loaded in \(ContinuousClock.now - start)")
        #expect(contents.credentials.count == 10_000)
    }
}
