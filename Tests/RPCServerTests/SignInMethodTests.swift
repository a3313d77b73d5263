import Broker
import BrokerSupport
import CredentialCore
import Testing

@Suite struct `What is said of sign-ins and sources that do no good` {
    private let agent = ChatbaseAgent()

    private func ask(_ stage: Stage, _ client: MemoryConnection, _ method: String) -> String {
        stage.call(client, method, #"{"account":"desk"}"#)
    }

    @Test func `R86: a sign-in that failed is remembered until one succeeds, whatever is renewed meanwhile`()
        throws
    {
        let (stage, client) = try agent.stage([ChatbaseAgent.account(hasSource: true)])
        _ = ask(stage, client, "token.get")
        _ = stage.call(client, "identity.identify", #"{"account":"desk","token":"bad"}"#)
        #expect(ask(stage, client, "account.doctor").contains(#""code":"identity_rejected""#))
        stage.advance(.seconds(6))
        _ = ask(stage, client, "auth.refresh")
        let later = ask(stage, client, "account.doctor")
        #expect(later.contains(#""severity":"warning","code":"sign_in_failed""#))
        #expect(later.contains("status 401, code AUTH_INVALID_JWT"))
        #expect(
            ask(stage, client, "account.show").contains(
                #""last_sign_in_error":{"kind":"credential_rejected","message":"the platform (chat.example) refused the "#
                    + #"credential: status 401, code AUTH_INVALID_JWT","http_status":401,"#
                    + #""provider_code":"AUTH_INVALID_JWT"},"last_sign_in_error_at":1767225600"#))
        _ = stage.call(client, "identity.identify", #"{"account":"desk","token":"jwt-b"}"#)
        #expect(!ask(stage, client, "account.doctor").contains("sign_in_failed"))
        #expect(!ask(stage, client, "account.show").contains("last_sign_in_error"))
    }

    @Test func `what the source refused is told with its own words, whatever the platform said before`()
        throws
    {
        let bot = KindlyBot()
        let (stage, client) = try bot.stage()
        stage.advance(.seconds(10))
        bot.bindStatus = 500
        bot.issued = "token-2"
        _ = stage.call(client, "auth.refresh", #"{"account":"bot"}"#)
        bot.isBackendDown = true
        bot.backendStatus = 403
        var told = ""
        for _ in 1...4 {
            told = stage.call(client, "auth.refresh", #"{"account":"bot"}"#)
            stage.advance(.seconds(30))
        }
        #expect(bot.binds.map(\.bearer).contains("token-2"))
        #expect(
            told
                == Expected.error(
                    120, "the source refused three times without a reason (status 403); see chatauth status",
                    "sign_in_needed", retryable: true,
                    rest: #","retry_after_seconds":3600,"http_status":403,"account":"bot""#))
    }

    @Test func `a check says when the platform refuses what the source gives`() throws {
        agent.issued = "bad"
        let (stage, client) = try agent.stage([ChatbaseAgent.account(hasSource: true)])
        _ = ask(stage, client, "token.get")
        #expect(
            ask(stage, client, "account.check")
                == #"{"jsonrpc":"2.0","id":1,"result":{"account":"desk","ok":false,"error":{"kind":"#
                + #""credential_rejected","message":"the platform (chat.example) refused the credential: status 401, code AUTH_INVALID_JWT","#
                + #""http_status":401,"provider_code":"AUTH_INVALID_JWT"}}}"#)
    }

    @Test func `R16: a check says that the account cannot use what the source gives`() throws {
        let bot = KindlyBot()
        bot.backendAnswer = #"{"id_token":"opaque","access_token":"other"}"#
        let kindly = try KindlyBot.account()
        let source = try HTTPSource(url: HTTPURL("https://backend.example/token"))
        let (stage, client) = try bot.stage(
            AccountDefinition(
                name: kindly.name, provider: .kindly, platform: kindly.platform, source: .http(source)))
        #expect(
            stage.call(client, "account.check", #"{"account":"bot"}"#).contains(
                #""ok":false,"error":{"kind":"companion_invalid""#))
    }

    @Test func `a check says what is to be done where what the source gives was refused twice`() throws {
        let stage = try Stage(accounts: [Definitions.http("bot")])
        var serial = 0
        stage.fetcher.backend = { _ in
            serial += 1
            return PlatformAnswers.json(200, #"{"token":"t\#(serial)"}"#)
        }
        let client = try #require(stage.connect())
        _ = stage.call(client, "token.get", #"{"account":"bot"}"#)
        for generation in 1...2 {
            stage.advance(.seconds(2))
            _ = stage.call(client, "token.reject", #"{"account":"bot","generation":\#(generation)}"#)
        }
        #expect(
            stage.call(client, "account.check", #"{"account":"bot"}"#).contains(
                "the platform refused the credential and the one after it; chatauth auth refresh asks again"))
        #expect(
            stage.call(client, "account.doctor", #"{"account":"bot"}"#).contains(
                #""severity":"error","code":"credential_rejected""#))
    }

    @Test func `a check says that what the source gives has ended, or that nothing gives another`() throws {
        let stage = try Stage(accounts: [Definitions.http("bot"), Definitions.plain("saved")])
        stage.fetcher.backend = { _ in PlatformAnswers.json(200, #"{"token":"t","expires_in":-5}"#) }
        let client = try #require(stage.connect())
        #expect(
            stage.call(client, "account.check", #"{"account":"bot"}"#).contains(
                #""ok":false,"error":{"kind":"stale_credential""#))
        #expect(stage.call(client, "account.check", #"{"account":"saved"}"#).contains(#""kind":"no_source""#))
        _ = stage.call(
            client, "credentials.save_token", #"{"account":"saved","token":"t","expires_at":1767225700}"#)
        #expect(stage.call(client, "account.check", #"{"account":"saved"}"#).contains(#""kind":"no_source""#))
        stage.advance(.seconds(200))
        #expect(
            stage.call(client, "account.check", #"{"account":"saved"}"#).contains(
                "the credential has ended, and there is no source of another"))
    }

    @Test func `whoever is told when to come back is told that it may help, and nobody else is`() throws {
        agent.issued = "bad"
        let (stage, client) = try agent.stage([ChatbaseAgent.account(hasSource: true)])
        let refused = stage.call(client, "identity.identify", #"{"account":"desk","token":"bad"}"#)
        #expect(refused.contains(#""kind":"credential_rejected","retryable":false,"http_status":401"#))
        let awaited = ask(stage, client, "token.get")
        #expect(
            awaited.contains(#""kind":"credential_rejected","retryable":true,"retry_after_seconds":1,"#))
    }
}
