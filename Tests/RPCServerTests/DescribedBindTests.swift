import Broker
import BrokerSupport
import CredentialCore
import Testing

/// A platform that is described, and the backend that issues its tokens.
private final class Described {
    var issued = "token-1"
    var body = "{}"
    var status = 200
    private(set) var asked = 0
    private(set) var binds = 0

    func answer(_ request: FetchRequest) -> Result<FetchResponse, FetchFailure> {
        guard request.url.text == "https://platform.example/bind" else {
            asked += 1
            return PlatformAnswers.json(200, #"{"token":"\#(issued)","expires_in":3600}"#)
        }
        binds += 1
        return PlatformAnswers.json(status, body)
    }
}

@Suite struct `Platforms that are described` {
    private let platform = Described()

    private func account(
        _ order: BindDefinition.Order, host: String = "platform"
    ) throws -> AccountDefinition {
        let bind = BindDefinition(
            url: try HTTPURL("https://\(host).example/bind"), expiryField: "until", order: order)
        let source = try HTTPSource(url: HTTPURL("https://backend.example/token"))
        return AccountDefinition(
            name: Definitions.name("bot"), platform: .described(bind), source: .http(source))
    }

    private func stage(_ order: BindDefinition.Order) throws -> (Stage, MemoryConnection) {
        let stage = try Stage(accounts: [account(order)])
        stage.fetcher.backend = { [platform] in platform.answer($0) }
        stage.advance(.zero)
        return (stage, try #require(stage.connect()))
    }

    private func call(_ stage: Stage, _ client: MemoryConnection, _ method: String) -> String {
        stage.call(client, method, #"{"account":"bot"}"#)
    }

    @Test(arguments: [BindDefinition.Order.behind, .before])
    func `an answer without the member that says until when is warned of, until it is there`(
        _ order: BindDefinition.Order
    ) throws {
        let (stage, client) = try stage(order)
        #expect(call(stage, client, "credentials.inspect").contains(#""warnings":["expiry_missing"]"#))
        #expect(call(stage, client, "account.show").contains(#""warnings":["expiry_missing"]"#))
        let findings = call(stage, client, "account.doctor")
        #expect(findings.contains(#""code":"expiry_missing""#) && findings.contains("no member until"))
        // What was found out outlives a rest.
        _ = call(stage, client, "account.stop")
        #expect(call(stage, client, "credentials.inspect").contains(#""warnings":["expiry_missing"]"#))
        _ = call(stage, client, "account.start")
        #expect(call(stage, client, "credentials.inspect").contains(#""warnings":["expiry_missing"]"#))
        platform.body = #"{"until":1767229000}"#
        platform.issued = "token-2"
        stage.advance(.seconds(2))
        _ = call(stage, client, "auth.refresh")
        #expect(!call(stage, client, "credentials.inspect").contains("warnings"))
        #expect(
            call(stage, client, "token.get").contains(#""expires_at":1767229000,"expiry_source":"backend""#))
    }

    @Test func `whom nobody could be told of signs out of a parked account without a complaint`() throws {
        let (stage, client) = try stage(.behind)
        stage.broker.configure([try account(.behind, host: "other")])
        stage.run()
        #expect(call(stage, client, "token.get").contains(#""kind":"account_parked""#))
        #expect(
            call(stage, client, "auth.deauthenticate")
                == #"{"jsonrpc":"2.0","id":1,"result":{"account":"bot"}}"#)
    }

    @Test(arguments: [BindDefinition.Order.behind, .before])
    func `what it takes and calls over is not handed out, and it is asked no more than after any failure`(
        _ order: BindDefinition.Order
    ) throws {
        platform.body = #"{"until":1767225500}"#
        let (stage, client) = try stage(order)
        stage.advance(.seconds(1))
        let answer = call(stage, client, "token.get")
        #expect(answer.contains(#""kind":"stale_credential""#) && answer.contains("2025-12-31T23:58:20Z"))
        #expect(call(stage, client, "account.doctor").contains(#""code":"backend_expiry_past""#))
        stage.advance(.seconds(3600))
        #expect((5...100).contains(platform.asked))
        platform.body = "{}"
        stage.advance(.seconds(300))
        #expect(call(stage, client, "token.get").contains(#""bearer_token":"token-1""#))
    }

    @Test func `R50: who is refused when he signs in changes nothing, then and later`() throws {
        platform.body = #"{"until":1767229000}"#
        let (stage, client) = try stage(.before)
        stage.advance(.seconds(2))
        let before = call(stage, client, "credentials.inspect")
        platform.issued = "token-2"
        platform.status = 401
        #expect(call(stage, client, "auth.authenticate").contains(#""kind":"credential_rejected""#))
        #expect(call(stage, client, "credentials.inspect") == before)
        stage.advance(.seconds(1800))
        #expect(call(stage, client, "credentials.inspect") == before)
        #expect(platform.asked == 2)
    }

    @Test func `an exp that is no moment is warned of, wherever the token is for`() throws {
        // {"exp":"soon"}
        platform.issued = "e30.eyJleHAiOiJzb29uIn0.eA"
        platform.body = #"{"until":1767229000}"#
        let (stage, client) = try stage(.behind)
        #expect(call(stage, client, "credentials.inspect").contains(#""warnings":["exp_implausible"]"#))
        #expect(call(stage, client, "account.doctor").contains(#""code":"exp_implausible""#))
    }
}
