import CredentialCore
import Glibc
import TestSupport
import Testing

@Suite struct `Whatever happens to a grant` {
    private func number(_ name: String, otherwise: Int) -> Int {
        getenv(name).flatMap { Int(String(cString: $0)) } ?? otherwise
    }

    /// Goes through every sequence of `actions` up to `depth`, and lets each leaf in `settling` come to its end.
    private func search(_ actions: [GrantWorld.Action], depth: Int, settling: Int) throws -> Int {
        var visited = 0
        var faults = 0
        var path: [GrantWorld.Action] = []
        func report(_ fault: GrantWorld.Fault) {
            faults += 1
            Issue.record("\(fault.text) after \(path.map { "\($0)" })")
        }
        func visit(_ world: GrantWorld) {
            visited += 1
            if path.count == depth {
                guard visited % settling == 0 else { return }
                var end = world
                do throws(GrantWorld.Fault) { try end.settle() } catch { report(error) }
                return
            }
            for action in actions where faults < 10 {
                var next = world
                path.append(action)
                do throws(GrantWorld.Fault) {
                    try next.perform(action)
                    visit(next)
                } catch {
                    report(error)
                }
                path.removeLast()
            }
        }
        visit(try GrantWorld())
        return visited
    }

    @Test func `every short sequence of events keeps the invariants`() throws {
        let actions = GrantWorld.Action.allCases
        let depth = number("CHATAUTH_GRANT_DEPTH", otherwise: 3)
        #expect(try search(actions, depth: depth, settling: 3) > actions.count * actions.count)
    }

    @Test func `every longer sequence of the troublesome ones keeps them as well`() throws {
        let depth = number("CHATAUTH_GRANT_CORE_DEPTH", otherwise: 5)
        #expect(try search(GrantWorld.Action.core, depth: depth, settling: 5) > 50_000)
    }

    /// What a deeper search has found once.
    @Test(
        arguments: [
            [.askNarrow, .begin, .commit, .importNew, .shutDown],
            [.askNarrow, .begin, .commit, .shutDown, .importNew],
            [.ask, .begin, .commit, .answer, .commitFull, .ask],
            [
                .ask, .begin, .commit, .ask, .unreachable, .begin, .commitFull, .commit, .sleep, .commit,
                .answer, .crash,
            ],
        ] as [[GrantWorld.Action]])
    func `what was wrong once stays right`(actions: [GrantWorld.Action]) throws {
        var world = try GrantWorld()
        for action in actions { try world.perform(action) }
        try world.settle()
    }

    @Test func `long random lives never lose a grant, and never spend one twice unheard`() throws {
        var random = SeededGenerator.announced(for: "long random lives of a grant")
        let lives = number("CHATAUTH_GRANT_LIVES", otherwise: 400)
        let actions = GrantWorld.Action.allCases.filter { $0 != .shutDown }
        // Without these a grant is soon of no use, or at rest.
        let common: [GrantWorld.Action] = [
            .ask, .ask, .begin, .begin, .answer, .answer, .commit, .commit, .commit, .commit, .sleep,
            .importNew,
        ]
        var sends = 0
        var deliveries = 0
        var reuses = 0
        for life in 0..<lives {
            var path: [GrantWorld.Action] = []
            do throws(GrantWorld.Fault) {
                var world = try GrantWorld()
                for _ in 0..<120 {
                    let choice = Int(random.next() % UInt64(actions.count + 2 * common.count))
                    let action =
                        choice < actions.count
                        ? actions[choice] : common[(choice - actions.count) % common.count]
                    path.append(action)
                    try world.perform(action)
                }
                try world.settle()
                sends += world.sends
                deliveries += world.delivered
                reuses += world.reuses
            } catch {
                Issue.record("life \(life): \(error.text) after \(path.map { "\($0)" })")
                return
            }
        }
        // A search in which nothing happens finds nothing.
        #expect(sends > lives)
        #expect(deliveries > lives / 2)
        #expect(reuses > 0)
    }
}
