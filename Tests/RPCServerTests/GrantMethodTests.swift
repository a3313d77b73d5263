import Broker
import BrokerSupport
import CredentialCore
import Secrets
import Testing

/// A stage whose accounts are at an authorization server in memory, and its administrator.
private struct Bench {
    let stage: Stage
    let server = AuthorizationServer()
    let admin: MemoryConnection

    init(_ accounts: [AccountDefinition], instance: InstanceKind = .user(uid: 1000)) throws {
        stage = try Stage(instance: instance, accounts: accounts)
        let uid: UInt32 = if case .user = instance { 1000 } else { 0 }
        admin = try #require(stage.connect(uid: uid, onAdminSocket: true))
        stage.fetcher.backend = { [server] in server.respond($0) }
        stage.run()
    }

    func call(_ method: String, _ params: String? = nil) -> String { stage.call(admin, method, params) }

    func importGrant(_ name: String = "g", _ more: String = "") -> String {
        let token = AuthorizationServer.text(server.issue())
        return call("grant.import", #"{"grant":"\#(name)","refresh_token":"\#(token)"\#(more)}"#)
    }
}

private func result(_ text: String) -> String { #"{"jsonrpc":"2.0","id":1,"result":\#(text)}"# }

private let first = SecretReference.secret(Definitions.name("first"))
private let nameRule = "is 1 to 64 of A-Z a-z 0-9 . _ @ - and does not begin with . or -"

@Suite struct `Grant methods` {
    @Test func `R61: a grant that was imported is listed without what it is, and its accounts get tokens`()
        throws
    {
        let bench = try Bench([Definitions.oauth("a", scope: ["x"]), Definitions.oauth("b", scope: ["x"])])
        #expect(bench.importGrant() == result(#"{"grant":"g","generation":1}"#))
        #expect(bench.call("token.get", #"{"account":"a"}"#).contains(#""bearer_token":"at-1""#))
        #expect(
            bench.call("grant.list")
                == result(
                    #"{"grants":[{"grant":"g","state":"usable","generation":2,"received_at":1767225600,"#
                        + #""received_at_text":"2026-01-01T00:00:00Z","uncertain":false,"stored":true,"#
                        + #""accounts":["a","b"]}]}"#))
    }

    @Test func `grants and secrets come in pages, by name`() throws {
        let bench = try Bench([
            Definitions.oauth("a", grant: "g1"), Definitions.oauth("b", grant: "g2"),
            Definitions.oauth("c", grant: "g3"),
        ])
        for name in ["g3", "g1", "g2"] { #expect(bench.importGrant(name).contains("result")) }
        let page = bench.call("grant.list", #"{"limit":2}"#)
        #expect(page.contains(#""grant":"g1""#) && page.contains(#""grant":"g2""#))
        #expect(page.hasSuffix(#"],"cursor":"g2"}}"#))
        let rest = bench.call("grant.list", #"{"limit":2,"cursor":"g2"}"#)
        #expect(!rest.contains(#""grant":"g2""#) && rest.contains(#""grant":"g3""#))
        #expect(!rest.contains("cursor"))
        for name in ["z", "y"] {
            #expect(
                bench.call("secret.set", #"{"secret":"\#(name)","value":"v"}"#)
                    == result(#"{"secret":"\#(name)"}"#))
        }
        #expect(bench.call("secret.list", #"{"limit":1}"#).hasSuffix(#"],"cursor":"y"}}"#))
        #expect(
            bench.call("secret.list", #"{"limit":0}"#)
                == Expected.invalidParams("limit must be from 1 to 1000"))
    }

    @Test(arguments: [
        (#"{"grant":"g","refresh_token":""}"#, -32602, "refresh_token is empty", "invalid_params"),
        (#"{"grant":"a/b","refresh_token":"t"}"#, -32602, "grant " + nameRule, "invalid_params"),
        (#"{"grant":"","refresh_token":"t"}"#, -32602, "grant " + nameRule, "invalid_params"),
        (#"{"grant":"g"}"#, -32602, "grant.import needs refresh_token", "invalid_params"),
        (#"{"grant":"g","refresh_token":5}"#, -32602, "refresh_token must be a string", "invalid_params"),
        (
            #"{"grant":"g","refresh_token":"a\nb"}"#, 126,
            "refresh_token has a byte that no refresh token has (RFC 6749 §A.17)", "credential_malformed"
        ),
        (
            #"{"grant":"g","refresh_token":"a\r"}"#, 126,
            "refresh_token has a byte that no refresh token has (RFC 6749 §A.17)", "credential_malformed"
        ),
        (
            #"{"grant":"g","refresh_token":"\u0000"}"#, 126,
            "refresh_token has a byte that no refresh token has (RFC 6749 §A.17)", "credential_malformed"
        ),
        (
            #"{"grant":"g","refresh_token":"\#(String(repeating: "t", count: 262_145))"}"#, 131,
            "refresh_token has 262145 bytes; 262144 are allowed", "credential_too_large"
        ),
        (
            #"{"grant":"g","refresh_token":"t","scope":"a\"b"}"#, -32602,
            "scope has a byte that no scope has (RFC 6749 §3.3)", "invalid_params"
        ),
        (
            #"{"grant":"other","refresh_token":"t"}"#, -32602,
            "no account spends the grant other; configure one first, with an oauth source", "invalid_params"
        ),
        (
            #"{"grant":"g","refresh_token":"t","account":"none"}"#, -32602,
            "no account of that name spends the grant g; check its source", "invalid_params"
        ),
    ])
    func `what is no grant is refused before anything is touched`(
        params: String, code: Int, message: String, kind: String
    ) throws {
        let bench = try Bench([Definitions.oauth("a")])
        let before = bench.stage.store.submitted.count
        #expect(bench.call("grant.import", params) == Expected.error(code, message, kind))
        #expect(bench.stage.store.submitted.count == before)
        #expect(bench.call("grant.list") == result(#"{"grants":[]}"#))
    }

    @Test func `where its accounts have different servers, the import says for which one`() throws {
        let bench = try Bench([
            Definitions.oauth("a"), Definitions.oauth("b", issuer: "https://other.example"),
        ])
        #expect(
            bench.importGrant()
                == Expected.invalidParams(
                    "the accounts that spend the grant g have different servers or clients;"
                        + " say which one it is for with account"))
        #expect(bench.importGrant("g", #","account":"a""#) == result(#"{"grant":"g","generation":1}"#))
        #expect(bench.call("token.get", #"{"account":"a"}"#).contains(#""bearer_token":"at-1""#))
        #expect(bench.call("token.get", #"{"account":"b"}"#).contains(#""error""#))
        #expect(bench.server.lines.filter { $0.hasPrefix("POST") } == ["POST /token refresh rt-2"])
        #expect(bench.server.reuses == 0)
    }

    @Test func `an import is refused where the disk refuses it`() throws {
        let bench = try Bench([Definitions.oauth("a")])
        bench.stage.store.failure = .full
        #expect(bench.importGrant().contains(#""kind":"store_full""#))
        #expect(bench.call("grant.list") == result(#"{"grants":[]}"#))
    }

    @Test func `a deleted grant is gone and its server is told, unless it is not to be`() throws {
        let bench = try Bench([Definitions.oauth("a")])
        _ = bench.importGrant()
        #expect(
            bench.call("grant.delete", #"{"grant":"g"}"#) == result(#"{"grant":"g"}"#))
        #expect(bench.server.revoked.count == 1)
        #expect(
            bench.call("grant.delete", #"{"grant":"g"}"#) == Expected.invalidParams("there is no grant g"))
        _ = bench.importGrant()
        #expect(
            bench.call("grant.delete", #"{"grant":"g","revoke":false}"#) == result(#"{"grant":"g"}"#))
        #expect(bench.server.revoked.count == 1)
    }

    @Test func `a server that does not take a grant back is said, and the grant is gone all the same`() throws
    {
        let bench = try Bench([Definitions.oauth("a")])
        _ = bench.importGrant()
        bench.server.revocationStatus = 503
        #expect(
            bench.call("grant.delete", #"{"grant":"g"}"#)
                == Expected.error(
                    142,
                    "forgotten here, but the server may still honour it, so end it there: "
                        + "the server answered with an error: status 503", "revoke_failed",
                    rest: #","http_status":503,"cleared":true"#))
        #expect(bench.call("grant.list") == result(#"{"grants":[]}"#))
    }

    @Test func `a sign-out ends credential and grant here and there`() throws {
        let bench = try Bench([Definitions.oauth("a")])
        _ = bench.importGrant()
        #expect(bench.call("token.get", #"{"account":"a"}"#).contains("at-1"))
        #expect(bench.call("auth.deauthenticate", #"{"account":"a"}"#) == result(#"{"account":"a"}"#))
        #expect(bench.server.revoked == ["rt-2", "at-1"])
        #expect(bench.call("grant.list") == result(#"{"grants":[]}"#))
        bench.stage.advance(.seconds(1))
        #expect(
            bench.call("token.get", #"{"account":"a"}"#).contains(#""kind":"sign_in_needed""#))
        #expect(
            bench.call("auth.deauthenticate", #"{"account":"a"}"#)
                == result(#"{"account":"a","already_anonymous":true}"#))
    }

    @Test func `nothing of it is for others than administrators`() throws {
        let access = AccessRules(use: Definitions.user(7), operate: Definitions.user(8))
        let stage = try Stage(
            instance: .system(admins: []), accounts: [Definitions.plain("bot", access: access)])
        let operator8 = try #require(stage.connect(uid: 8))
        let user7 = try #require(stage.connect(uid: 7))
        let denied = Expected.error(
            200, "only administrators may do this, on the administration socket", "permission_denied")
        for (method, params) in [
            ("grant.import", #"{"grant":"g","refresh_token":"t"}"#), ("grant.list", "{}"),
            ("grant.delete", #"{"grant":"g"}"#), ("secret.set", #"{"secret":"s","value":"v"}"#),
            ("secret.list", "{}"), ("secret.delete", #"{"secret":"s"}"#),
        ] {
            #expect(stage.call(operator8, method, params) == denied)
            #expect(stage.call(user7, method, params) == denied)
        }
        #expect(
            stage.call(user7, "auth.deauthenticate", #"{"account":"bot"}"#).contains("permission_denied"))
        #expect(
            stage.call(operator8, "auth.deauthenticate", #"{"account":"bot"}"#)
                == result(#"{"account":"bot","already_anonymous":true}"#))
        #expect(stage.store.submitted.isEmpty)
    }

    @Test func `a sealed store says so instead of that there is nothing`() throws {
        let stage = try Stage(isOpen: false, accounts: [Definitions.oauth("a")])
        let admin = try #require(stage.connect(onAdminSocket: true))
        for (method, params) in [
            ("grant.import", #"{"grant":"g","refresh_token":"t"}"#), ("grant.list", "{}"),
            ("grant.delete", #"{"grant":"g"}"#), ("secret.set", #"{"secret":"s","value":"v"}"#),
            ("secret.list", "{}"), ("secret.delete", #"{"secret":"s"}"#),
        ] {
            #expect(stage.call(admin, method, params).contains(#""kind":"store_sealed""#), "\(method)")
        }
    }
}

@Suite struct `Secret methods` {
    @Test func `R84: a secret is set, listed without what it is, replaced and removed`() throws {
        let bench = try Bench([])
        #expect(
            bench.call("secret.set", #"{"secret":"first","value":"hunter2"}"#)
                == result(#"{"secret":"first"}"#))
        #expect(
            bench.call("secret.set", #"{"secret":"first","value":"line 1\nline 2\n"}"#)
                == result(#"{"secret":"first"}"#))
        let held = try #require(bench.stage.broker.secretsByName.first)
        #expect(held.value.isEqual(to: SecretBytes("line 1\nline 2\n")))
        let list = bench.call("secret.list")
        #expect(
            list
                == result(
                    #"{"secrets":[{"secret":"first","generation":2,"set_at":1767225600,"#
                        + #""set_at_text":"2026-01-01T00:00:00Z","accounts":[]}]}"#))
        #expect(
            bench.call("secret.delete", #"{"secret":"first"}"#) == result(#"{"secret":"first"}"#))
        #expect(bench.call("secret.list") == result(#"{"secrets":[]}"#))
        #expect(
            bench.call("secret.delete", #"{"secret":"first"}"#)
                == Expected.invalidParams("there is no secret first"))
        #expect(!bench.stage.records.lines.contains { $0.contains("hunter2") })
    }

    @Test(arguments: [
        (#"{"secret":"s","value":""}"#, -32602, "value is empty", "invalid_params"),
        (#"{"secret":"-s","value":"v"}"#, -32602, "secret " + nameRule, "invalid_params"),
        (
            #"{"secret":"s","value":"\#(String(repeating: "v", count: 65_537))"}"#, 131,
            "value has 65537 bytes; 65536 are allowed", "credential_too_large"
        ),
    ])
    func `what is no secret is refused`(params: String, code: Int, message: String, kind: String) throws {
        let bench = try Bench([])
        #expect(bench.call("secret.set", params) == Expected.error(code, message, kind))
        #expect(bench.stage.store.submitted.isEmpty)
    }

    @Test func `a secret that is needed stays, and its accounts are named`() throws {
        let bench = try Bench(
            ["d", "a", "c", "b"].map {
                Definitions.oauth($0, authentication: .form([first]), flow: .clientCredentials)
            })
        _ = bench.call("secret.set", #"{"secret":"first","value":"v"}"#)
        #expect(
            bench.call("secret.delete", #"{"secret":"first"}"#)
                == Expected.invalidParams(
                    "the secret first is needed by a, b, c and others; change their sources first"))
        #expect(bench.call("secret.list").contains(#""accounts":["a","b","c","d"]"#))
    }

    @Test func `accounts that waited for a secret go on when it comes`() throws {
        let bench = try Bench([
            Definitions.oauth("a", authentication: .form([first]), flow: .clientCredentials)
        ])
        bench.server.clientSecret = "right"
        bench.stage.advance(.zero)
        #expect(
            bench.call("token.get", #"{"account":"a","wait":0}"#).contains(
                "there is no secret first; chatauth secret set first sets it"))
        _ = bench.call("secret.set", #"{"secret":"first","value":"right"}"#)
        // Between two attempts there is a second.
        bench.stage.advance(.seconds(1))
        #expect(bench.call("token.get", #"{"account":"a","wait":0}"#).contains(#""bearer_token":"at-1""#))
    }

    @Test func `what is missing is named to who may operate the account, and to nobody else`() throws {
        let path = SecretReference.file(path: "/etc/chatauth/key")
        let stage = try Stage(
            instance: .system(admins: []),
            accounts: [
                Definitions.http(
                    "bot", headers: [HTTPSource.Header(name: "X-Key", value: .secret(path, prefix: ""))],
                    access: AccessRules(use: Definitions.user(7), operate: Definitions.user(8)))
            ])
        stage.advance(.zero)
        let user7 = try #require(stage.connect(uid: 7))
        let operator8 = try #require(stage.connect(uid: 8))
        let named = "the source could not be asked: /etc/chatauth/key is missing"
        let unnamed = "the source could not be asked: a file that the configuration names is missing"
        for method in ["account.show", "credentials.inspect", "token.get"] {
            #expect(stage.call(operator8, method, #"{"account":"bot"}"#).contains(named), "\(method)")
            let answer = stage.call(user7, method, #"{"account":"bot"}"#)
            #expect(answer.contains(unnamed), "\(method)")
            #expect(!answer.contains("/etc/chatauth"))
        }
        #expect(stage.call(operator8, "account.check", #"{"account":"bot"}"#).contains(named))
    }
}
