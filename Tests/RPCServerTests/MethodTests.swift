import Broker
import BrokerSupport
import ChatAuthAPI
import CredentialCore
import Log
import RPCServer
import Secrets
import Testing

@Suite struct `Credential methods` {
    @Test func `R10, R12, R43, R46: a credential is replaced as a whole, once it is on disk`() throws {
        let (stage, client) = try Stage.serving()
        stage.receive(
            #"{"jsonrpc":"2.0","id":1,"method":"credentials.save","params":{"account":"bot","access_token":"a","#
                + #""issuer":"i","expires_at":"2026-01-01T01:00:00Z"}}"# + "\n", from: client)
        #expect(client.take() == "")
        stage.run()
        #expect(
            client.take()
                == #"{"jsonrpc":"2.0","id":1,"result":{"account":"bot","saved":true,"generation":2,"expires_at":1767229200}}"#
                + "\n")
        #expect(
            stage.call(client, "credentials.inspect", #"{"account":"bot"}"#)
                == #"{"jsonrpc":"2.0","id":1,"result":{"account":"bot","state":"fresh","generation":2,"#
                + #""expires_at":1767229200,"expires_at_text":"2026-01-01T01:00:00Z","expiry_source":"hint","#
                + #""refresh_at":1767229170,"refresh_at_text":"2026-01-01T00:59:30Z","has_token":true,"#
                + #""origin":"saved","received_at":1767225600,"received_at_text":"2026-01-01T00:00:00Z","#
                + #""bearer":"access_token","id_token":null,"access_token":{"kind":"opaque","length":1,"#
                + #""fingerprint":"print-1"},"has_companion":false,"issuer":"i","#
                + #""expiries":{"backend":null,"hint":1767229200,"exp":null}}}"#)
    }

    @Test func `an expiry that is none is a warning`() throws {
        let (stage, client) = try Stage.serving()
        #expect(
            stage.call(client, "credentials.save_token", #"{"account":"bot","token":"a","expires_at":1e300}"#)
                == #"{"jsonrpc":"2.0","id":1,"result":{"account":"bot","saved":true,"generation":2,"expires_at":null,"#
                + #""warnings":["an expiry is no moment and counts as unknown"]}}"#)
    }

    @Test(arguments: [
        ("{}", 125, "neither id_token nor access_token is there", "credential_empty"),
        (
            #"{"id_token":"","access_token":""}"#, 125, "neither id_token nor access_token is there",
            "credential_empty"
        ),
        (#"{"id_token":"a\n"}"#, 126, "id_token has a byte that no header can carry", "credential_malformed"),
        (
            #"{"access_token":"ä"}"#, 126, "access_token has a byte that no header can carry",
            "credential_malformed"
        ),
        (
            #"{"id_token":"a","issuer":"a b"}"#, 126, "issuer has a byte that no header can carry",
            "credential_malformed"
        ),
    ])
    func `what is no credential is refused`(params: String, code: Int, message: String, kind: String) throws {
        let (stage, client) = try Stage.serving()
        let members = params == "{}" ? #"{"account":"bot"}"# : #"{"account":"bot","# + params.dropFirst()
        #expect(stage.call(client, "credentials.save", members) == Expected.error(code, message, kind))
        #expect(stage.store.submitted.count == 1)
    }

    @Test(arguments: ["id_token", "access_token"])
    func `a token of 256 KiB is taken and one byte more is refused before anything happens`(field: String)
        throws
    {
        let (stage, client) = try Stage.serving()
        let token = String(repeating: "t", count: 262_144)
        #expect(
            stage.call(client, "credentials.save", #"{"account":"bot","\#(field)":"\#(token)"}"#)
                .contains(#""generation":2"#))
        #expect(
            stage.call(client, "credentials.save", #"{"account":"bot","\#(field)":"\#(token)t"}"#)
                == Expected.error(
                    131, "\(field) has 262145 bytes; 262144 are allowed", "credential_too_large"))
        #expect(stage.store.submitted.count == 2)
    }

    @Test(
        arguments: [
            (
                StoreFailure.full, 401, "the disk refused it; free space in the state directory",
                "store_full", true, ""
            ),
            (.io(code: 10), 401, "the disk failed with SQLite code 10", "store_full", true, ""),
            (
                .corrupt(detail: .row), 402, "the store is damaged; it was left as it is", "store_corrupt",
                false, ""
            ),
            (
                .rolledBack, 403, "the store is older than what was last written here; it was left as it is",
                "store_rolled_back", false, ""
            ),
            (.keyWrong, 404, "the key is not this store's; the store is sealed", "key_wrong", false, ""),
            (.keyMissing, 400, "the key is missing; the store is sealed", "store_sealed", true, ""),
            (
                .sealed, 400, "the store is sealed; chatauth status says what is missing", "store_sealed",
                true, ""
            ),
            (
                .busy, 501, "too many changes are waiting for the disk", "overloaded", true,
                #","retry_after_seconds":1"#
            ),
            (.inUse, 400, "another daemon holds the store", "store_sealed", true, ""),
            (
                .tooNew(version: 9), 400, "the store has format 9, which a newer version wrote",
                "store_sealed", true, ""
            ),
        ] as [(StoreFailure, Int, String, String, Bool, String)])
    func `what the disk refuses is not saved`(
        failure: StoreFailure, code: Int, message: String, kind: String, retryable: Bool, rest: String
    ) throws {
        let (stage, client) = try Stage.serving()
        stage.store.failure = failure
        for (method, params) in [
            ("credentials.save_token", #"{"account":"bot","token":"a"}"#),
            ("credentials.delete", #"{"account":"bot"}"#),
        ] {
            #expect(
                stage.call(client, method, params)
                    == Expected.error(
                        code, message, kind, retryable: retryable, rest: rest + #","account":"bot""#))
        }
        #expect(
            stage.call(client, "account.add", #"{"account":"new"}"#)
                == Expected.error(code, message, kind, retryable: retryable, rest: rest))
        stage.store.failure = nil
        #expect(stage.call(client, "token.get", #"{"account":"bot"}"#) == Expected.token())
    }

    @Test func `a deleted credential is gone and its number never comes back`() throws {
        let (stage, client) = try Stage.serving()
        #expect(
            stage.call(client, "credentials.delete", #"{"account":"bot"}"#)
                == #"{"jsonrpc":"2.0","id":1,"result":{"account":"bot","generation":2}}"#)
        #expect(
            stage.call(client, "credentials.inspect", #"{"account":"bot"}"#)
                == #"{"jsonrpc":"2.0","id":1,"result":{"account":"bot","state":"no_token","generation":2,"#
                + #""expires_at":null,"expires_at_text":null,"expiry_source":null,"refresh_at":null,"#
                + #""refresh_at_text":null,"has_token":false}}"#)
        stage.advance(.seconds(60))
        #expect(stage.fetcher.out.isEmpty)
    }

    @Test func `auth.refresh answers when the refresh is done`() throws {
        let (stage, client) = try Stage.serving()
        stage.advance(.seconds(2))
        stage.receive(
            #"{"jsonrpc":"2.0","id":1,"method":"auth.refresh","params":{"account":"bot","reason":"test"}}"#
                + "\n",
            from: client)
        stage.fetcher.answer(#"{"token":"def"}"#)
        #expect(client.take() == "")
        stage.run()
        #expect(
            client.take()
                == #"{"jsonrpc":"2.0","id":1,"result":{"account":"bot","state":"fresh","generation":2,"#
                + #""expires_at":null,"expires_at_text":null,"expiry_source":null,"refresh_at":null,"#
                + #""refresh_at_text":null}}"# + "\n")
    }
}

@Suite struct `Account methods` {
    private static let params =
        #"{"account":"new","provider":"generic","source":{"kind":"http","url":"https://b.example/t"},"#
        + #""allow":{"use":[{"user":"u7"}],"operate":[{"group":"g8"}]}}"#
    private static let added = #"{"jsonrpc":"2.0","id":1,"result":{"account":"new"}}"#

    @Test func `an added account is on disk before it is there, and comes back`() throws {
        let stage = try Stage()
        let client = try #require(stage.connect())
        stage.receive(
            #"{"jsonrpc":"2.0","id":1,"method":"account.add","params":\#(Self.params)}"# + "\n", from: client)
        #expect(stage.broker.accountCount == 0)
        #expect(client.take() == "")
        stage.run()
        #expect(client.take() == Self.added + "\n")
        #expect(
            stage.call(client, "account.show", #"{"account":"new"}"#).contains(
                #""origin":"rpc","autostart":true,"role":"admin","source":{"kind":"http","url":"https://b.example/t""#
            ))
        stage.advance(.seconds(1))
        stage.fetcher.answer(#"{"token":"abc","expires_in":3600}"#)
        stage.run()

        let later = try Stage(isOpen: false)
        for change in stage.store.submitted { later.store.submit(change) }
        while later.store.completeOne() {}
        #expect(later.broker.accountCount == 0)
        later.open()
        let again = try #require(later.connect())
        #expect(later.call(again, "token.get", #"{"account":"new"}"#).contains(#""bearer_token":"abc""#))
        #expect(
            later.call(again, "account.show", #"{"account":"new"}"#).contains(
                #""rules":{"use":[{"user":"u7","uid":7}],"operate":[{"group":"g8","gid":8}]}"#))
    }

    @Test func `a name is taken while it is on its way, and by configuration`() throws {
        let stage = try Stage(accounts: [Definitions.plain("bot")])
        let client = try #require(stage.connect())
        let exists = Expected.error(101, "an account with this name is there already", "account_exists")
        #expect(stage.call(client, "account.add", #"{"account":"bot"}"#) == exists)
        let line = #"{"jsonrpc":"2.0","id":1,"method":"account.add","params":{"account":"new"}}"# + "\n"
        stage.receive(line + line, from: client)
        #expect(client.take() == exists + "\n")
        stage.run()
        #expect(client.take() == Self.added + "\n")
        #expect(stage.call(client, "account.add", #"{"account":"new"}"#) == exists)
    }

    @Test(arguments: [
        (#"{"account":".x"}"#, "account must be"), (#"{"account":"x","source":{"kind":"exec"}}"#, ""),
        (#"{"account":"x","source":{"kind":"file","path":"/etc/shadow"}}"#, ""),
        (#"{"account":"x","source":{"kind":"http","url":"ftp://x"}}"#, ""),
        (
            #"{"account":"x","source":{"kind":"http","url":"https://b.example/","headers":{"A":{"file":"/x"}}}}"#,
            ""
        ),
        (#"{"account":"x","allow":{"use":[{}]}}"#, ""),
        (#"{"account":"x","allow":{"use":[{"user":"nobody-here"}]}}"#, ""),
        (#"{"account":"x","provider":"unknown"}"#, ""),
    ])
    func `what is no account is refused`(params: String, _: String) throws {
        let stage = try Stage()
        let client = try #require(stage.connect())
        let answer = stage.call(client, "account.add", params)
        #expect(answer.hasPrefix(#"{"jsonrpc":"2.0","id":1,"error":{"code":104,"message":""#))
        #expect(answer.hasSuffix(#""data":{"kind":"account_invalid","retryable":false}}}"#))
        #expect(stage.store.submitted.isEmpty)
    }

    @Test func `nothing is added to a sealed store, and what is configured can be seen`() throws {
        let stage = try Stage(isOpen: false, accounts: [Definitions.plain("bot")])
        let client = try #require(stage.connect())
        #expect(
            stage.call(client, "account.add", #"{"account":"new"}"#)
                == Expected.error(
                    400, "the store is sealed; chatauth status says what is missing", "store_sealed",
                    retryable: true))
        #expect(stage.call(client, "account.list").contains(#""account":"bot","state":"sealed""#))
        #expect(stage.call(client, "account.show", #"{"account":"bot"}"#).contains(#""state":"sealed""#))
        #expect(
            stage.call(client, "daemon.status").contains(#""store":{"state":"sealed","kind":"store_sealed""#))
        #expect(stage.call(client, "daemon.reload").contains(#""result""#))
    }

    @Test func `an added account is removed with all it has`() throws {
        let stage = try Stage()
        let client = try #require(stage.connect())
        _ = stage.call(client, "account.add", #"{"account":"new"}"#)
        _ = stage.call(client, "credentials.save_token", #"{"account":"new","token":"t"}"#)
        #expect(stage.call(client, "account.remove", #"{"account":"new"}"#) == Self.added)
        #expect(stage.call(client, "token.get", #"{"account":"new"}"#) == Expected.unknownAccount)
        #expect(stage.store.credentials.isEmpty && stage.store.accounts.isEmpty)
        _ = stage.call(client, "account.add", #"{"account":"new"}"#)
        #expect(stage.call(client, "token.get", #"{"account":"new"}"#).contains("no_source"))
    }

    @Test func `a configured account is not removed, nor one whose removal the disk refuses`() throws {
        let (stage, client) = try Stage.serving()
        #expect(
            stage.call(client, "account.remove", #"{"account":"bot"}"#)
                == Expected.error(
                    104, "this account is configured in a file; remove it there and run chatauth reload",
                    "account_invalid"))
        #expect(stage.call(client, "account.remove", #"{"account":"none"}"#) == Expected.unknownAccount)
        _ = stage.call(client, "account.add", #"{"account":"new"}"#)
        _ = stage.call(client, "credentials.save_token", #"{"account":"new","token":"t"}"#)
        stage.store.failure = .full
        #expect(stage.call(client, "account.remove", #"{"account":"new"}"#).contains("store_full"))
        #expect(stage.call(client, "token.get", #"{"account":"new"}"#).contains(#""bearer_token":"t""#))
    }

    @Test func `show says all to who operates and little to who uses`() throws {
        let (stage, _) = try Stage.serving(instance: .system(admins: []))
        let user = try #require(stage.connect(uid: 7))
        let operating = try #require(stage.connect(uid: 8))
        let head =
            #"{"jsonrpc":"2.0","id":1,"result":{"account":"bot","state":"fresh","generation":1,"#
            + #""expires_at":1767229200,"expires_at_text":"2026-01-01T01:00:00Z","expiry_source":"hint","#
            + #""refresh_at":1767229170,"refresh_at_text":"2026-01-01T00:59:30Z","#
            + #""expiries":{"backend":null,"hint":1767229200,"exp":null},"provider":"generic","#
            + #""origin":"configuration","autostart":true,"role":"#
        #expect(
            stage.call(user, "account.show", #"{"account":"bot"}"#) == head
                + #""use","source":{"kind":"http"}}}"#)
        #expect(
            stage.call(operating, "account.show", #"{"account":"bot"}"#) == head
                + #""operate","source":{"kind":"http","url":"https://bot.example/token","method":"POST","#
                + #""content_type":"application/json","timeout":8},"#
                + #""rules":{"use":[{"uid":7}],"operate":[{"uid":8}]}}}"#)
    }

    @Test func `a stopped account rests and a started one works`() throws {
        let (stage, client) = try Stage.serving()
        #expect(stage.call(client, "account.stop", #"{"account":"bot"}"#).contains(#""state":"stopped""#))
        stage.advance(.seconds(7200))
        #expect(stage.fetcher.all.count == 1)
        #expect(stage.call(client, "account.start", #"{"account":"bot"}"#).contains(#""state":"refreshing""#))
        #expect(stage.fetcher.all.count == 2)
    }

    @Test func `check asks the source, says how that went and keeps nothing`() throws {
        let (stage, client) = try Stage.serving()
        let line = #"{"jsonrpc":"2.0","id":1,"method":"account.check","params":{"account":"bot"}}"# + "\n"
        stage.receive(line + line, from: client)
        #expect(stage.fetcher.all.count == 2)
        stage.fetcher.answer(#"{"token":"new"}"#)
        #expect(
            client.takeLines()
                == Array(
                    repeating: #"{"jsonrpc":"2.0","id":1,"result":{"account":"bot","ok":true}}"#, count: 2))
        stage.receive(line, from: client)
        stage.fetcher.fail(.nameNotResolved)
        #expect(
            client.take()
                == #"{"jsonrpc":"2.0","id":1,"result":{"account":"bot","ok":false,"error":{"kind":"#
                + #""upstream_unreachable","message":"the source cannot be reached: its name does not resolve"}}}"#
                + "\n")
        #expect(stage.call(client, "token.get", #"{"account":"bot"}"#) == Expected.token())
        stage.receive(line, from: client)
        stage.broker.shutDown()
        #expect(
            client.take()
                == Expected.error(
                    502, "the daemon is stopping", "shutting_down", retryable: true,
                    rest: #","retry_after_seconds":1"#) + "\n")
        #expect(stage.fetcher.out.isEmpty)
    }

    @Test func `check of an account without a source says so`() throws {
        let stage = try Stage(accounts: [Definitions.plain("bot")])
        let client = try #require(stage.connect())
        #expect(stage.call(client, "account.check", #"{"account":"bot"}"#).contains(#""kind":"no_source""#))
    }
}

@Suite struct `Daemon methods` {
    @Test func `hello says who the peer is`() throws {
        let (stage, client) = try Stage.serving()
        #expect(
            stage.call(client, "rpc.hello", #"{"client":"test","version":"1"}"#)
                == #"{"jsonrpc":"2.0","id":1,"result":{"protocol_version":"1.0","server_version":"1.2.3","#
                + #""peer":{"uid":1000,"gid":1000,"pid":4711,"admin":true}}}"#)
    }

    @Test func `R47: a credential is replaced or forgotten, and no method changes a part of it`() {
        let names = Method.allCases.map(\.rawValue).filter { $0.hasPrefix("credentials.") }
        #expect(
            names.sorted() == [
                "credentials.delete", "credentials.inspect", "credentials.save", "credentials.save_token",
            ])
    }

    @Test func `R165: a logout with and one without the platform's word are both there`() {
        for name in ["session.logout", "session.secure_logout"] {
            #expect(Method(rawValue: name)?.description.access == .operate)
        }
    }

    @Test func `discover lists every method`() throws {
        let (stage, client) = try Stage.serving()
        let answer = stage.call(client, "rpc.discover")
        for method in ChatAuthAPI.Method.allCases {
            #expect(answer.contains(#""name":"\#(method.rawValue)""#))
        }
    }

    @Test func `status says how the daemon is`() throws {
        let (stage, client) = try Stage.serving()
        #expect(
            stage.call(client, "daemon.status")
                == #"{"jsonrpc":"2.0","id":1,"result":{"version":"1.2.3","instance":"user","state":"running","#
                + #""accounts":{"total":1,"fresh":1,"due":0,"refreshing":0,"stale":0,"no_token":0,"expired":0,"#
                + #""sign_in_needed":0,"parked":0,"stopped":0,"sealed":0},"store":{"state":"open"},"#
                + #""started_at":1767225000,"started_at_text":"2025-12-31T23:50:00Z","worker":{"state":"idle","kind":"child"},"#
                + #""audit":{"state":"writable"},"memory_locked":true,"connections":1,"remarks":["a remark"]}}"#
        )
        stage.broker.shutDown()
        #expect(stage.call(client, "daemon.status").contains(#""state":"stopping""#))
    }

    @Test func `store.status says how the store is`() throws {
        let (stage, client) = try Stage.serving()
        #expect(
            stage.call(client, "store.status")
                == #"{"jsonrpc":"2.0","id":1,"result":{"state":"open","path":"/state/store.db","format":1,"#
                + #""epoch":7,"rows":3,"keys_locked":true,"ballast":"present","pending_changes":0}}"#)
        for (ballast, word) in [(false, "missing"), (nil, "not_needed")] as [(Bool?, String)] {
            stage.control.storeFacts.hasBallast = ballast
            #expect(stage.call(client, "store.status").contains(#""ballast":"\#(word)","#))
        }
    }

    @Test func `a master key is handed to the store, and the answer says what came of it`() throws {
        let stage = try Stage(isOpen: false, accounts: [Definitions.plain("bot")])
        let client = try #require(stage.connect())
        var keys: [[UInt8]] = []
        stage.control.unsealing = { key in
            keys.append(key.withSpan { bytes in bytes.indices.map { bytes[$0] } })
            stage.broker.storeDidStaySealed(.keyWrong)
        }
        let digits = String(repeating: "0f", count: 31) + "Ab"
        let refused = stage.call(client, "store.unseal", #"{"key":"\#(digits)"}"#)
        #expect(refused.contains(#""code":404"#) && refused.contains(#""kind":"key_wrong""#))
        #expect(keys == [[UInt8](repeating: 0x0F, count: 31) + [0xAB]])
        #expect(stage.call(client, "daemon.status").contains(#""state":"sealed","kind":"key_wrong""#))

        stage.control.unsealing = { _ in
            stage.broker.storeDidOpen(
                StoreContents(credentials: [], accounts: [], lastWrittenAt: nil, epoch: 1))
        }
        let opened = #"{"jsonrpc":"2.0","id":1,"result":{"state":"open"}}"#
        #expect(stage.call(client, "store.unseal", #"{"key":"\#(digits)"}"#) == opened)
        // What is open is not asked again.
        stage.control.unsealing = { _ in Issue.record("the key of an open store is nobody's business") }
        #expect(stage.call(client, "store.unseal", #"{"key":"\#(digits)"}"#) == opened)
    }

    @Test(arguments: ["", "00", String(repeating: "g0", count: 32), String(repeating: "00", count: 33)])
    func `what is no key never reaches the store`(text: String) throws {
        let stage = try Stage(isOpen: false)
        let client = try #require(stage.connect())
        stage.control.unsealing = { _ in Issue.record("it was handed on") }
        #expect(
            stage.call(client, "store.unseal", #"{"key":"\#(text)"}"#)
                == Expected.invalidParams("key must be 64 hexadecimal digits"))
    }

    @Test func `a refused reload says why and changes nothing`() throws {
        let (stage, client) = try Stage.serving()
        stage.control.outcome = .refused(["a.toml:3: unknown key", "b.toml:1: no such user"])
        #expect(
            stage.call(client, "daemon.reload")
                == Expected.error(
                    104,
                    "the configuration was refused and the running one stays: a.toml:3: unknown key; b.toml:1: no such user",
                    "account_invalid"))
    }

    @Test(arguments: ["error", "warning", "notice", "info", "debug"])
    func `R60: the log level is set`(level: String) throws {
        let (stage, client) = try Stage.serving()
        #expect(
            stage.call(client, "daemon.set_log_level", #"{"level":"\#(level)"}"#)
                == #"{"jsonrpc":"2.0","id":1,"result":{"level":"\#(level)"}}"#)
        #expect(stage.control.level.map { "\($0)" } == level)
    }

    @Test func `metrics are OpenMetrics text and count`() throws {
        let (stage, client) = try Stage.serving()
        for _ in 0..<3 { _ = stage.call(client, "token.get", #"{"account":"bot"}"#) }
        let text = stage.call(client, "daemon.metrics")
        #expect(text.contains(#"# TYPE chatauth_handouts counter\n# HELP"#))
        #expect(text.contains(#"chatauth_handouts_total 3\n"#))
        #expect(text.contains(#"chatauth_calls_total 4\n"#))
        #expect(text.contains(#"chatauth_refreshes_succeeded_total 1\n"#))
        #expect(text.contains(#"chatauth_accounts{state=\"fresh\"} 1\n"#))
        #expect(text.hasSuffix(##"# EOF\n"}}"##))
    }

    @Test func `every method of the table is served`() throws {
        for method in ChatAuthAPI.Method.allCases {
            let (stage, client) = try Stage.serving()
            let answer = stage.call(client, method.rawValue)
            #expect(!answer.contains("method_not_found"))
        }
    }

    @Test func `R60, R168: no token ever reaches the log`() throws {
        let (stage, client) = try Stage.serving()
        _ = stage.call(client, "credentials.save_token", #"{"account":"bot","token":"planted-secret"}"#)
        _ = stage.call(client, "token.get", #"{"account":"bot"}"#)
        stage.advance(.seconds(7200))
        #expect(stage.records.lines.count > 3)
        #expect(stage.records.lines.allSatisfy { !$0.contains("planted") && !$0.contains("abc") })
    }
}
