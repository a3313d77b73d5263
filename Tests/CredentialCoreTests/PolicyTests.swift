import CredentialCore
import Testing

@Suite struct `Who may do what` {
    private static let ids: [UInt32] = [0, 1000, 1001, 65_534, .max]
    private static let groupLists: [[UInt32]] = [[], [0], [2000], [1000, 2000], [2001, .max]]

    private static let peers: [Peer] = ids.flatMap { uid in
        [0, 2000, 1000].flatMap { gid in
            groupLists.map { Peer(pid: 1, uid: uid, gid: gid, groups: $0) }
        }
    }

    private static let rules: [AccessRule] = [
        AccessRule(uid: 1000), AccessRule(user: "root", uid: 0), AccessRule(gid: 2000),
        AccessRule(user: "chat", uid: 1001, group: "agents", gid: 2000), AccessRule(group: "max", gid: .max),
    ].compactMap(\.self)

    private static var lists: [[AccessRule]] {
        [[]] + rules.map { [$0] } + rules.indices.dropFirst().map { [rules[0], rules[$0]] }
    }

    private func isNamed(_ peer: Peer, _ list: [AccessRule]) -> Bool {
        list.contains { rule in
            (rule.uid == nil || rule.uid == peer.uid)
                && (rule.gid == nil || rule.gid == peer.gid || peer.groups.contains { $0 == rule.gid })
        }
    }

    @Test func `there are five rules`() { #expect(Self.rules.count == 5) }

    @Test func `a user instance is its own uid's and nobody else's, whatever the rules say`() {
        for peer in Self.peers {
            for isAdminSocket in [false, true] {
                for list in Self.lists {
                    let policy = Policy(instance: .user(uid: 1000))
                    let rules = AccessRules(use: list, operate: list)
                    let role = policy.verdict(
                        on: peer, isAdminSocket: isAdminSocket, rules: rules, unit: { .unknown }
                    ).role
                    #expect(role == (peer.uid == 1000 ? .admin : nil))
                    #expect(
                        policy.isAdmin(peer, isAdminSocket: isAdminSocket, unit: { .unknown })
                            == (peer.uid == 1000))
                }
            }
        }
    }

    @Test func `a system instance denies everybody whom no rule names`() {
        var denied = 0
        for peer in Self.peers {
            for isAdminSocket in [false, true] {
                for admins in [[], [Self.rules[0]], [Self.rules[2]]] {
                    let policy = Policy(instance: .system(admins: admins))
                    let isAdmin = isAdminSocket && (peer.uid == 0 || isNamed(peer, admins))
                    #expect(policy.isAdmin(peer, isAdminSocket: isAdminSocket, unit: { .unknown }) == isAdmin)
                    for use in Self.lists {
                        for operate in Self.lists {
                            let rules = AccessRules(use: use, operate: operate)
                            let expected: Role? =
                                isAdmin
                                ? .admin
                                : isNamed(peer, operate) ? .operate : isNamed(peer, use) ? .use : nil
                            let role = policy.verdict(
                                on: peer, isAdminSocket: isAdminSocket, rules: rules, unit: { .unknown }
                            ).role
                            if role != expected {
                                Issue.record("\(peer) \(isAdminSocket) has \(String(describing: role))")
                            }
                            if expected == nil { denied += 1 }
                        }
                    }
                }
            }
        }
        #expect(denied > 10_000)
    }

    @Test func `root has no role on the ordinary socket without a rule`() {
        let root = Peer(pid: 1, uid: 0, gid: 0, groups: [0])
        let policy = Policy(instance: .system(admins: []))
        #expect(
            policy.verdict(on: root, isAdminSocket: false, rules: .nobody, unit: { .unknown }).role == nil)
        #expect(
            policy.verdict(on: root, isAdminSocket: true, rules: .nobody, unit: { .unknown }).role == .admin)
    }

    @Test func `a rule names a user or a group, by number`() {
        #expect(AccessRule() == nil)
        #expect(AccessRule(user: "ghost") == nil)
        #expect(AccessRule(group: "ghosts") == nil)
        #expect(AccessRule(user: "ghost", group: "agents", gid: 2000) == nil)
        #expect(AccessRule(user: "chat", uid: 1001, group: "ghosts") == nil)
    }

    @Test func `roles include the ones before them`() {
        #expect(Role.use < .operate && .operate < .admin)
    }
}
