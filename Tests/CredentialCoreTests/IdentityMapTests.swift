import CredentialCore
import TestSupport
import Testing

@Suite struct `The users of a namespace` {
    @Test(
        arguments: [
            ("         0          0 4294967295\n", true, true), ("0 100000 65536\n", false, true),
            ("0 1000 1\n1 100000 65535\n", false, true), ("1 100000 65535\n0 1000 1\n", false, true),
            ("0 1000 1\n", false, false), ("0 0 1\n997 997 1\n", false, false), ("", false, false),
            ("0 0 1000\n1001 1001 70000\n", false, false), ("1 1 4294967294\n", false, false),
        ])
    func `are all there, or those of a machine, or some`(_ text: String, _ isWhole: Bool, _ hasMachine: Bool)
        throws
    {
        let map = try #require(IdentityMap(text))
        #expect(map.isWhole == isWhole)
        #expect(map.hasMachine == hasMachine)
    }

    @Test(
        arguments: [
            "0 0", "0 0 0\n", "0 0 1 1\n", "-1 0 1\n", "0 0 4294967296\n", "1 0 4294967295\n",
            "4294967295 0 1\n", "a b c\n", String(repeating: "0 0 1\n", count: 341),
        ])
    func `are not guessed from what is no map`(_ text: String) { #expect(IdentityMap(text) == nil) }

    @Test func `are those that the ranges have, whatever their order`() {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<500 {
            var inside = Set<UInt32>()
            var text = ""
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                let first = UInt32.random(in: 0...20, using: &random)
                let count = UInt32.random(in: 1...8, using: &random)
                inside.formUnion(first..<first + count)
                text += "\(first) \(first) \(count)\n"
            }
            let map = IdentityMap(text)
            for first in UInt32(0)...28 {
                for last in first...28 {
                    #expect(map?.covers(first...last) == (first...last).allSatisfy { inside.contains($0) })
                }
            }
        }
    }
}

@Suite struct `What stands in a cgroup file` {
    @Test func `is a unit only where the path from the root names it, whatever the text`() {
        var random = SeededGenerator(seed: 11)
        let pieces = [
            "0::", "/", "system.slice", "user.slice", "kiosk.service", "user@1000.service", "app.slice", "..",
            ".",
            "\n", ":", "1:name=systemd:", "\u{0}", "é", "a.scope", "_", " ", ".service", "docker",
        ]
        for _ in 0..<20_000 {
            let text = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                pieces[Int.random(in: 0..<pieces.count, using: &random)]
            }.joined()
            guard let unit = SystemUnit.inCgroups(text) else { continue }
            #expect(SystemUnit(unit.text) == unit)
            // Some line has it as the first of its path that is no slice.
            let firsts = text.split(separator: "\n").compactMap { line -> Substring? in
                guard let slash = line.firstIndex(of: "/") else { return nil }
                return line[slash...].split(separator: "/").first { !$0.hasSuffix(".slice") }
            }
            #expect(firsts.contains { $0 == unit.text || $0 == "_" + unit.text })
        }
    }

    @Test func `of a user's manager never is a unit of the system`() {
        for name in ["kiosk.service", "system.slice/kiosk.service", "app.slice/kiosk.service/kiosk.service"] {
            let text = "0::/user.slice/user-1000.slice/user@1000.service/\(name)\n"
            #expect(SystemUnit.inCgroups(text)?.text == "user@1000.service")
        }
    }
}
