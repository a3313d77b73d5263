import Broker
import BrokerSupport
import CredentialCore
import TestSupport
import Testing

/// What a subscriber believes: the state that it was answered, and every change since.
private struct View {
    var states: [String: String] = [:]
    /// It was told that something is missing, and has not asked again.
    var isLost = true

    /// Takes the answer of a subscription.
    mutating func take(answer: String) {
        states = [:]
        isLost = false
        for part in answer.components(separatedBy: #"{"account":""#).dropFirst() {
            let name = String(part.prefix { $0 != "\"" })
            for (member, topic) in [
                ("state", "account"), ("generation", "token"), ("auth", "auth"), ("identity", "identity"),
                ("session", "session"),
            ] {
                if let value = part.member(member), value != "null" { states["\(name)/\(topic)"] = value }
            }
            if part.contains(#""handler":["credential.fetch"]"#) { states["\(name)/handler"] = "registered" }
        }
    }

    /// Takes a line; returns what is wrong with it.
    mutating func take(line: String) -> String? {
        if line.contains(#""method":"events.overflow""#) {
            isLost = true
            return nil
        }
        guard let method = line.member("method"), method.hasSuffix(".changed"),
            method != "daemon.changed",
            !isLost
        else { return nil }
        guard let name = line.member("account"), let from = line.member("from"),
            let to = line.member("to"), line.member("cause") != nil
        else { return "incomplete: \(line)" }
        let key = "\(name)/\(method.dropLast(8))"
        let known = states[key] ?? (method == "handler.changed" && from != "null" ? "absent" : "null")
        guard known == from else { return "\(key) was \(known): \(line)" }
        guard from != to || line.contains(#""cause":"replaced""#) else { return "no change: \(line)" }
        states[key] = to == "null" || to == "absent" ? nil : to
        return nil
    }
}

extension String {
    fileprivate func components(separatedBy separator: String) -> [String] {
        var parts: [String] = []
        var rest = self[...]
        while let range = rest.firstRange(of: separator) {
            parts.append(String(rest[..<range.lowerBound]))
            rest = rest[range.upperBound...]
        }
        return parts + [String(rest)]
    }
}

@Suite struct `Events in any order` {
    private static let subscription =
        #"{"topics":["account","auth","token","handler","identity","session","daemon"]}"#

    private static let accounts = [
        Definitions.http("bot"), Definitions.plain("desk"),
        AccountDefinition(name: Definitions.name("kiosk"), source: .rpc),
    ]

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `each subscriber sees each change once and in order, or is told that it does not`(
        _ seed: UInt64
    ) throws {
        var random = SeededGenerator(seed: seed)
        let stage = try Stage(accounts: Self.accounts)
        let caller = try #require(stage.connect())
        var subscribers: [(connection: MemoryConnection, view: View)] = []
        for _ in 0..<3 { subscribers.append((try #require(stage.connect()), View())) }
        var handlers: [MemoryConnection] = []
        var questions = 0

        func drain() {
            for index in subscribers.indices {
                for line in subscribers[index].connection.takeLines() {
                    if let wrong = subscribers[index].view.take(line: line) {
                        Issue.record("seed \(seed), subscriber \(index): \(wrong)")
                    }
                }
            }
        }
        func subscribe(_ index: Int) {
            drain()
            let lines = stage.call(subscribers[index].connection, "events.subscribe", Self.subscription)
            subscribers[index].view.take(answer: lines)
        }

        for _ in 0..<300 {
            let name = ["bot", "desk", "kiosk"].randomElement(using: &random) ?? "bot"
            let params = #"{"account":"\#(name)"}"#
            switch Int.random(in: 0..<17, using: &random) {
            case 0, 1:
                let past = Int.random(in: 1...90, using: &random)
                let expiry = stage.clock.now.wall.seconds + Int64(past)
                _ = stage.call(
                    caller, "credentials.save_token",
                    #"{"account":"\#(name)","token":"t","expires_at":\#(expiry)}"#)
            case 2: _ = stage.call(caller, "credentials.delete", params)
            case 3: _ = stage.call(caller, "account.stop", params)
            case 4: _ = stage.call(caller, "account.start", params)
            case 5: _ = stage.call(caller, "token.reject", params)
            case 6: stage.advance(.seconds(Int64.random(in: 0...40, using: &random)))
            case 7:
                if !stage.fetcher.out.isEmpty { stage.fetcher.answer(#"{"token":"abc","expires_in":60}"#) }
            case 8: if !stage.fetcher.out.isEmpty { stage.fetcher.fail(.timeout) }
            case 9:
                guard let handler = stage.connect() else { break }
                handlers.append(handler)
                _ = stage.call(handler, "handler.register", params)
            case 10:
                handlers.randomElement(using: &random)?.close(flush: false)
                handlers.removeAll { $0.isClosed }
            case 11:
                questions += 1
                for handler in handlers {
                    _ = stage.ask(
                        handler, #"{"jsonrpc":"2.0","id":\#(questions),"result":{"token":"q\#(questions)"}}"#)
                }
            case 12:
                guard let account = stage.account(name) else { break }
                let states: [PlatformChange.Word] = ["one", "two", "three"]
                let topic = [PlatformChange.Topic.identity, .session].randomElement(using: &random)
                stage.broker.report(
                    topic ?? .session, states.randomElement(using: &random) ?? "one", cause: "test",
                    of: account)
            case 13:
                stage.broker.configure(
                    Self.accounts.filter { _ in Int.random(in: 0..<4, using: &random) > 0 })
            case 14:
                let index = Int.random(in: 0..<subscribers.count, using: &random)
                if !subscribers[index].connection.isReading { subscribers[index].connection.isReading = true }
                subscribe(index)
            case 15:
                subscribers[Int.random(in: 0..<subscribers.count, using: &random)].connection.isReading =
                    false
            default:
                guard Int.random(in: 0..<8, using: &random) == 0 else { break }
                for _ in 0..<2000 {
                    _ = stage.call(caller, "credentials.save_token", #"{"account":"desk","token":"t"}"#)
                }
            }
            stage.run()
            for handler in handlers { _ = handler.take() }
            drain()
        }
        let late = try #require(stage.connect())
        var truth = View()
        truth.take(answer: stage.call(late, "events.subscribe", Self.subscription))
        for (index, subscriber) in subscribers.enumerated() where !subscriber.view.isLost {
            #expect(subscriber.view.states == truth.states, "seed \(seed), subscriber \(index)")
        }
    }
}
