import Configuration
import CredentialCore
import Log
import Testing

@Suite struct `Settings of the daemon` {
    @Test func `without files the defaults of the instance hold`() throws {
        let system = try Configuration.read([], defaults: .system, names: FixedNames())
        #expect(system.settings == DaemonSettings(limits: .system))
        #expect(system.accounts.isEmpty)
        #expect(system.settings.logLevel == .notice)
        #expect(Limits.system.connectionsPerUID == 64)
        #expect(Limits.system.connectionsPerSystemUID == 256)
        #expect(Limits.system.pendingPerUID == 256)
        #expect(Limits.system.connectionsTotal == 4096)
        #expect(Limits.user.connectionsPerUID == 1024)
        #expect(Limits.user.pendingPerUID == 16_384)
    }

    @Test func `every key arrives`() throws {
        let settings = try read(
            main(
                """
                [daemon]
                admin = [{ user = "chat" }, { group = "agents" }]
                log_level = "debug"
                [limits]
                frame_bytes = 2097152
                frame_seconds = 2.5
                uid_buffer_bytes = 4194304
                unread_bytes = 65536
                connections_per_uid = 10
                connections_per_system_uid = 11
                pending_per_uid = 12
                connections_shared = 0
                connections_total = 13
                spare_descriptors = 32
                [audit]
                segment_bytes = 131072
                segments = 3
                [fetch]
                worker = "/usr/libexec/chatauth-fetch"
                """)
        ).settings
        let chat = try #require(AccessRule(user: "chat", uid: 1000))
        let agents = try #require(AccessRule(group: "agents", gid: 2000))
        var expected = DaemonSettings(limits: .system)
        expected.admins = [chat, agents]
        expected.logLevel = .debug
        expected.limits.frameBytes = 2_097_152
        expected.limits.frameTime = Milliseconds(2500)
        expected.limits.uidBufferBytes = 4_194_304
        expected.limits.unreadBytes = 65_536
        expected.limits.connectionsPerUID = 10
        expected.limits.connectionsPerSystemUID = 11
        expected.limits.pendingPerUID = 12
        expected.limits.connectionsShared = 0
        expected.limits.connectionsTotal = 13
        expected.limits.spareDescriptors = 32
        expected.audit.segmentBytes = 131_072
        expected.audit.segments = 3
        expected.fetchWorker = "/usr/libexec/chatauth-fetch"
        #expect(settings == expected)
    }

    @Test(arguments: [
        (
            "[daemon]\nlog_levl = \"x\"",
            "chatauthd.toml:2:1: daemon.log_levl: unknown key; did you mean \"log_level\"?"
        ),
        (
            "[daemon]\nlog_level = \"loud\"",
            "chatauthd.toml:2:13: daemon.log_level: must be one of error, warning, notice, info, debug"
        ),
        ("[daemon]\nadmin = [{}]", "chatauthd.toml:2:10: daemon.admin[0]: a rule needs a user or a group"),
        ("daemon = 1", "chatauthd.toml:1:10: daemon: expected a table, found an integer"),
        (
            "[limits]\nframe_bytes = 1",
            "chatauthd.toml:2:15: limits.frame_bytes: must be between 65536 and 16777216"
        ),
        (
            "[limits]\nconnections_total = 1.5",
            "chatauthd.toml:2:21: limits.connections_total: expected an integer, found a number"
        ),
        (
            "[limits]\nuid_buffer_bytes = 70000",
            "chatauthd.toml:2:20: limits.uid_buffer_bytes: must be between 1048576 and 1073741824"
        ),
        ("[audit]\nsegments = 1", "chatauthd.toml:2:12: audit.segments: must be between 2 and 10000"),
        ("[fetch]\nworker = \"x\"", "chatauthd.toml:2:10: fetch.worker: must be an absolute path"),
        ("[deamon]", "chatauthd.toml:1:2: deamon: unknown key; did you mean \"daemon\"?"),
        ("x = 99999999999999999999", "chatauthd.toml:1:25: not TOML: not a number; a text stands in quotes"),
    ])
    func `a fault is one line with its place`(_ text: String, _ line: String) {
        #expect(lines(main(text)) == [line])
    }

    @Test func `an accounts file cannot set the daemon up`() {
        #expect(
            lines(accounts("a.toml", "[account.x]\n[daemon]\nadmin = [{ user = \"chat\" }]"))
                == ["accounts.d/a.toml:2:2: daemon: only chatauthd.toml may have this"])
    }
}
