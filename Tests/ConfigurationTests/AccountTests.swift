import Configuration
import CredentialCore
import Testing

@Suite struct `Accounts in files` {
    @Test func `R27, R56: every key of an http source arrives`() throws {
        let configuration = try read(
            accounts(
                "bot.toml",
                """
                [account.support-bot]
                provider = "generic"
                autostart = false
                [account.support-bot.source]
                kind = "http"
                url = "https://backend.example.com/jwt?x=1"
                method = "POST"
                headers = { Authorization = { file = "/etc/token", prefix = "Bearer " }, X-Api-Version = "2" }
                body = '{"who":"{account}","why":"{reason}","x":{}}'
                content_type = "application/json; charset=utf-8"
                fields = { id_token = "data.jwt", expires_in = "ttl" }
                ca_file = "/etc/ca.pem"
                proxy = "http://proxy.example.com:3128"
                timeout = 2.5
                [account.support-bot.allow]
                use = [{ user = "chat", group = "agents" }, { group = "agents" }, { user = 7 }]
                operate = [{ user = "root" }]
                """))
        let url = try HTTPURL("https://backend.example.com/jwt?x=1")
        let name = try #require(AccountName("support-bot"))
        let both = try #require(AccessRule(user: "chat", uid: 1000, group: "agents", gid: 2000))
        let group = try #require(AccessRule(group: "agents", gid: 2000))
        let number = try #require(AccessRule(uid: 7))
        let root = try #require(AccessRule(user: "root", uid: 0))
        #expect(
            configuration.accounts == [
                AccountDefinition(
                    name: name,
                    source: .http(
                        HTTPSource(
                            url: url, method: .post,
                            headers: [
                                .init(
                                    name: "Authorization",
                                    value: .secret(.file(path: "/etc/token"), prefix: "Bearer ")),
                                .init(name: "X-Api-Version", value: .literal("2")),
                            ],
                            bodyTemplate: #"{"who":"{account}","why":"{reason}","x":{}}"#,
                            contentType: "application/json; charset=utf-8",
                            fields: FieldMap(idToken: "data.jwt", expiresIn: "ttl"), caFile: "/etc/ca.pem",
                            proxy: "http://proxy.example.com:3128", timeout: Milliseconds(2500))),
                    access: AccessRules(use: [both, group, number], operate: [root]),
                    startsByItself: false)
            ])
    }

    @Test func `static and file sources arrive, and what is absent has its default`() throws {
        let configuration = try read(
            accounts(
                "a.toml",
                """
                [account.plain]
                [account.fixed.source]
                kind = "static"
                id_token = { credential = "bot.jwt" }
                access_token = { file = "/run/t" }
                issuer = "https://issuer.example.com"
                expires_at = 2030-01-02T03:04:05+01:00
                [account.token.source]
                kind = "file"
                path = "/run/token"
                [account.object.source]
                kind = "file"
                credential = "answer"
                format = "json"
                fields = { token = "a.b" }
                [account.usual.source]
                kind = "file"
                path = "/run/answer"
                format = "json"
                """))
        let sources = configuration.accounts.map { $0.name.text + " " + ($0.source?.kind ?? "none") }
        #expect(sources == ["plain none", "fixed static", "token file", "object file", "usual file"])
        #expect(configuration.accounts[0].access == .nobody)
        #expect(configuration.accounts[0].startsByItself)
        #expect(
            configuration.accounts[1].source
                == .static(
                    StaticSource(
                        idToken: .credential(name: "bot.jwt"), accessToken: .file(path: "/run/t"),
                        issuer: "https://issuer.example.com", expiresAt: WallTime(seconds: 1_893_549_845))))
        #expect(
            configuration.accounts[2].source
                == .file(FileSource(file: .file(path: "/run/token"), format: .token)))
        #expect(
            configuration.accounts[3].source
                == .file(
                    FileSource(file: .credential(name: "answer"), format: .json(FieldMap(token: "a.b")))))
        #expect(
            configuration.accounts[4].source
                == .file(FileSource(file: .file(path: "/run/answer"), format: .json(.usual))))
    }

    @Test func `the main file may have accounts too, and files come in their order`() throws {
        let configuration = try read(
            main("[account.b]"), accounts("a.toml", "[account.z]\n[account.a]"), accounts("b.toml", ""))
        #expect(configuration.accounts.map(\.name.text) == ["b", "z", "a"])
    }

    @Test func `a name twice is a fault that names both places`() {
        #expect(
            lines(accounts("a.toml", "\n[account.x]\n"), accounts("b.toml", "[account.y]\n[account.x]\n"))
                == [
                    "accounts.d/b.toml:2:10: account.x: this account is there already, in accounts.d/a.toml:2:10"
                ])
        #expect(
            lines(accounts("a.toml", "[account.x]\n[account.x]\n"))
                == ["accounts.d/a.toml:2:1: this key or table is there already"])
    }

    @Test func `an account with a fault still takes its name`() {
        #expect(
            lines(accounts("a.toml", "[account.x]\nautostart = 1"), accounts("b.toml", "[account.x]"))
                == [
                    "accounts.d/a.toml:2:13: account.x.autostart: expected true or false, found an integer",
                    "accounts.d/b.toml:1:10: account.x: this account is there already, in accounts.d/a.toml:1:10",
                ])
    }

    @Test func `all faults of a file are told at once, at most twenty`() {
        #expect(
            lines(
                accounts(
                    "a.toml",
                    """
                    [account.x]
                    sorce = 1
                    [account.".y"]
                    [account.z]
                    autostart = "yes"
                    [acount.q]
                    """)) == [
                    "accounts.d/a.toml:2:1: account.x.sorce: unknown key; did you mean \"source\"?",
                    "accounts.d/a.toml:3:10: account.\".y\": an account's name is 1 to 64 of A-Z a-z 0-9 . _ @ - and does not begin with . or -",
                    "accounts.d/a.toml:5:13: account.z.autostart: expected true or false, found a text",
                    "accounts.d/a.toml:6:2: acount: unknown key; did you mean \"account\"?",
                ])
        let many = "[account.x]\n" + (0..<50).map { "k\($0) = 1\n" }.joined()
        #expect(lines(accounts("a.toml", many)).count == 20)
    }
}
