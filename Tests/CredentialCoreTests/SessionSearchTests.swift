import CredentialCore
import Glibc
import TestSupport
import Testing

@Suite struct `Whatever happens to a session` {
    private func depth(_ name: String, otherwise: Int) -> Int {
        getenv(name).flatMap { Int(String(cString: $0)) } ?? otherwise
    }

    /// Goes through every sequence of `actions` up to `depth`, and lets each leaf in `settling` come to its end.
    private func search(_ actions: [SessionWorld.Action], depth: Int, settling: Int) -> Int {
        var visited = 0
        var faults = 0
        var path: [SessionWorld.Action] = []
        func visit(_ world: SessionWorld) {
            visited += 1
            if path.count == depth {
                guard visited % settling == 0 else { return }
                var end = world
                do throws(SessionWorld.Fault) { try end.settle() } catch {
                    report(error)
                }
                return
            }
            for action in actions where faults < 10 {
                var next = world
                path.append(action)
                do throws(SessionWorld.Fault) {
                    try next.perform(action)
                    visit(next)
                } catch {
                    report(error)
                }
                path.removeLast()
            }
        }
        func report(_ fault: SessionWorld.Fault) {
            faults += 1
            Issue.record("\(fault.text) after \(path.map { "\($0)" })")
        }
        visit(SessionWorld())
        return visited
    }

    @Test func `every short sequence of events keeps the invariants`() {
        let actions = SessionWorld.Action.allCases
        let depth = depth("CHATAUTH_SEARCH_DEPTH", otherwise: 3)
        let visited = search(actions, depth: depth, settling: 7)
        #expect(visited > actions.count * actions.count)
    }

    @Test func `every longer sequence of the troublesome ones keeps them as well`() {
        let depth = depth("CHATAUTH_SEARCH_CORE_DEPTH", otherwise: 4)
        #expect(search(SessionWorld.Action.core, depth: depth, settling: 11) > 10_000)
    }

    @Test func `long random lives agree with a plain account of them`() {
        var random = SeededGenerator.announced(for: "long random lives")
        let lives = depth("CHATAUTH_LIVES", otherwise: 150)
        let actions = SessionWorld.Action.allCases.filter { $0 != .shutDown }
        // Without these a life is mostly spent at rest.
        let common: [SessionWorld.Action] = [.get, .getLong, .succeed, .commit, .sleep, .sleep, .pass]
        for life in 0..<lives {
            var world = SessionWorld(draw: { [draw = random.next()] in draw })
            var path: [SessionWorld.Action] = []
            do throws(SessionWorld.Fault) {
                for _ in 0..<80 {
                    let choice = Int(random.next() % UInt64(actions.count + 2 * common.count))
                    let action =
                        choice < actions.count
                        ? actions[choice] : common[(choice - actions.count) % common.count]
                    path.append(action)
                    try world.perform(action)
                }
                try world.settle()
            } catch {
                Issue.record("life \(life): \(error.text) after \(path.map { "\($0)" })")
                return
            }
        }
    }
}
