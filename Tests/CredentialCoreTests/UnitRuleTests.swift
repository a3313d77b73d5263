import CredentialCore
import Testing

@Suite struct `Rules that name a unit` {
    private static let kiosk = SystemUnit("kiosk.service")

    @Test(
        arguments: [
            ("0::/system.slice/kiosk.service\n", "kiosk.service"),
            ("0::/system.slice/kiosk.service/worker/child\n", "kiosk.service"),
            ("0::/system.slice/system-getty.slice/getty@tty1.service\n", "getty@tty1.service"),
            ("0::/kiosk.service\n", "kiosk.service"),
            ("0::/_kiosk.service\n", "kiosk.service"),
            ("0::/user.slice/user-1000.slice/session-3.scope\n", "session-3.scope"),
            (
                "0::/user.slice/user-1000.slice/user@1000.service/app.slice/kiosk.service\n",
                "user@1000.service"
            ),
            (
                "0::/user.slice/user-1000.slice/user@1000.service/system.slice/kiosk.service\n",
                "user@1000.service"
            ),
            ("12:cpu:/\n1:name=systemd:/system.slice/kiosk.service\n0::/\n", "kiosk.service"),
        ])
    func `the unit is the first one on the way from the root`(_ text: String, _ unit: String) {
        #expect(SystemUnit.inCgroups(text)?.text == unit)
    }

    @Test(
        arguments: [
            "", "\n", "0::\n", "0::/\n", "0::/system.slice\n", "0::/../kiosk.service\n",
            "0::/system.slice/../kiosk.service\n", "0::kiosk.service\n", "0::/system.slice/kiosk\n",
            "0::/system.slice/kiosk.service \n", "kiosk.service", "0::/docker/abc/kiosk.service\n",
            "0::/system.slice/.service\n", "0::/system.slice/ki/osk.service\n",
        ])
    func `anything else is no unit`(_ text: String) { #expect(SystemUnit.inCgroups(text) == nil) }

    @Test(
        arguments: [
            "", ".service", "kiosk", "kiosk.socket", "kiosk.slice", "a/b.service", "a b.service",
            "kiosk.service\n",
            "*.service", "..service/x.scope", String(repeating: "a", count: 250) + ".service",
        ])
    func `a name that is no service and no scope is none`(_ text: String) { #expect(SystemUnit(text) == nil) }

    @Test(
        arguments: [
            (PeerUnit.known(kiosk!), Role.use, true), (.known(SystemUnit("other.service")!), nil, false),
            (.unknown, nil, false), (.gone, nil, false),
        ] as [(PeerUnit, Role?, Bool)])
    func `a unit narrows a rule and never widens it`(_ unit: PeerUnit, _ role: Role?, _ restsOnUnit: Bool)
        throws
    {
        let policy = Policy(instance: .system(admins: []))
        let rules = AccessRules(use: [try #require(AccessRule(uid: 1000, unit: Self.kiosk))])
        let chat = Peer(pid: 1, uid: 1000, gid: 1000, groups: [])
        let other = Peer(pid: 1, uid: 1001, gid: 1001, groups: [])
        let verdict = policy.verdict(on: chat, isAdminSocket: false, rules: rules, unit: { unit })
        #expect(verdict == Policy.Verdict(role: role, restsOnUnit: restsOnUnit))
        #expect(policy.verdict(on: other, isAdminSocket: false, rules: rules, unit: { unit }).role == nil)
        #expect(AccessRule(unit: Self.kiosk) == nil)
    }

    @Test func `a rule without a unit is enough, and nobody is asked for his`() throws {
        let policy = Policy(instance: .system(admins: []))
        let rules = AccessRules(
            use: [try #require(AccessRule(uid: 1000, unit: Self.kiosk)), try #require(AccessRule(uid: 1000))])
        let chat = Peer(pid: 1, uid: 1000, gid: 1000, groups: [])
        var isAsked = false
        let verdict = policy.verdict(
            on: chat, isAdminSocket: false, rules: rules,
            unit: {
                isAsked = true
                return .gone
            })
        #expect(verdict == Policy.Verdict(role: .use, restsOnUnit: false))
        #expect(!isAsked)
    }

    @Test func `an administrator of a unit is one in that unit only`() throws {
        let policy = Policy(
            instance: .system(admins: [try #require(AccessRule(uid: 1000, unit: Self.kiosk))]))
        let chat = Peer(pid: 1, uid: 1000, gid: 1000, groups: [])
        #expect(policy.isAdmin(chat, isAdminSocket: true, unit: { .known(Self.kiosk!) }))
        #expect(!policy.isAdmin(chat, isAdminSocket: true, unit: { .gone }))
        #expect(!policy.isAdmin(chat, isAdminSocket: false, unit: { .known(Self.kiosk!) }))
        #expect(policy.namesAdmin(chat, isAdminSocket: true))
    }
}
