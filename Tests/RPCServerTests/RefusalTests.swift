import BrokerSupport
import CredentialCore
import Testing

private let get = #"{"jsonrpc":"2.0","id":1,"method":"token.get","params":{"account":"bot"}}"#

@Suite struct `Tokens that were refused` {
    /// `abc` is reported as refused by that user, 8 being who operates the account, and its source gives `abc` again.
    private func refusing(_ uid: UInt32) throws -> (Stage, MemoryConnection) {
        let stage = try Stage.serving(instance: .system(admins: [])).0
        let client = try #require(stage.connect(uid: uid))
        _ = stage.ask(client, get)
        stage.advance(.seconds(2))
        #expect(
            stage.call(
                client, "token.reject", #"{"account":"bot","generation":1,"http_status":401,"code":"x"}"#)
                == #"{"jsonrpc":"2.0","id":1,"result":{"account":"bot","accepted":true,"generation":1}}"#)
        stage.receive(get + "\n", from: client)
        #expect(client.take() == "")
        #expect(stage.fetcher.out.count == 1)
        stage.fetcher.answer(#"{"token":"abc","expires_in":3600}"#)
        stage.run()
        return (stage, client)
    }

    @Test func `R45: a token that an operator reports as refused is not handed out again`() throws {
        let (stage, client) = try refusing(8)
        let refusal =
            Expected.error(
                128, "the source gave a token that had expired, or the one that was just refused",
                "stale_credential", retryable: true, rest: #","retry_after_seconds":1,"account":"bot""#)
            + "\n"
        #expect(client.take() == refusal)
        #expect(stage.ask(client, get) == refusal)
        #expect(stage.call(client, "headers.get", #"{"account":"bot"}"#) + "\n" == refusal)
        #expect(
            stage.call(client, "token.reject", #"{"account":"bot","generation":7}"#)
                == #"{"jsonrpc":"2.0","id":1,"result":{"account":"bot","accepted":false,"generation":1}}"#)
        stage.advance(.seconds(1))
        stage.fetcher.answer(#"{"token":"def","expires_in":3600}"#)
        stage.run()
        #expect(stage.ask(client, get).contains(#""generation":2,"bearer_token":"def""#))
    }

    @Test func `one that a user reports is handed out for want of a better one, and everybody is told`()
        throws
    {
        let (stage, client) = try refusing(7)
        let stale = Expected.token(
            state: "stale",
            rest: #","stale":true,"refresh_error":{"kind":"stale_credential","#
                + #""message":"the source gave a token that had expired, or the one that was just refused"}"#)
        #expect(client.take() == stale + "\n")
        // An operator who says the same takes it from everybody.
        let operator8 = try #require(stage.connect(uid: 8))
        #expect(
            stage.call(operator8, "token.reject", #"{"account":"bot","generation":1}"#).contains(
                #""accepted":true"#))
        #expect(stage.ask(client, get).contains(#""kind":"stale_credential""#))
    }

    @Test func `a second refusal directly after the first ends it, one after a minute does not`() throws {
        let (stage, client) = try Stage.serving()
        func reject(_ generation: Int) {
            stage.advance(.seconds(2))
            #expect(
                stage.call(client, "token.reject", #"{"account":"bot","generation":\#(generation)}"#)
                    .contains(
                        #""accepted":true"#))
        }
        reject(1)
        stage.fetcher.answer(#"{"token":"def","expires_in":3600}"#)
        stage.run()
        #expect(stage.ask(client, get).contains(#""generation":2,"bearer_token":"def""#))
        stage.advance(.seconds(58))
        reject(2)
        stage.fetcher.answer(#"{"token":"ghi","expires_in":3600}"#)
        stage.run()
        #expect(stage.ask(client, get).contains(#""generation":3,"bearer_token":"ghi""#))
        reject(3)
        #expect(
            stage.ask(client, get)
                == Expected.error(
                    127,
                    "the platform refused the credential and the one after it; chatauth auth refresh asks again, save replaces it",
                    "credential_rejected", retryable: true,
                    rest: #","retry_after_seconds":3600,"account":"bot""#) + "\n")
    }

    @Test func `without a source one refusal ends it, and there is no talk of another`() throws {
        let stage = try Stage(accounts: [Definitions.plain("bot")])
        let client = try #require(stage.connect())
        _ = stage.call(client, "credentials.save_token", #"{"account":"bot","token":"abc"}"#)
        _ = stage.call(client, "token.reject", #"{"account":"bot"}"#)
        #expect(
            stage.ask(client, get)
                == Expected.error(
                    127,
                    "the platform refused the credential, and there is no source of another; chatauth save replaces it",
                    "credential_rejected", rest: #","account":"bot""#) + "\n")
    }
}
