import BrokerSupport
import CredentialCore
import Secrets
import Testing

/// Texts that many tests expect.
enum Expected {
    /// The answer to `token.get` for `bot`, given an hour ago's worth of nothing: fresh, an hour to live.
    static func token(
        id: String = "1", account: String = "bot", _ token: String = "abc", generation: Int = 1,
        expiresAt: Int = 1_767_229_200, refreshAt: Int = 1_767_229_170, state: String = "fresh",
        rest: String = ""
    ) -> String {
        #"{"jsonrpc":"2.0","id":\#(id),"result":{"account":"\#(account)","generation":\#(generation),"#
            + #""bearer_token":"\#(token)","token_type":"Bearer","expires_at":\#(expiresAt),"#
            + #""expiry_source":"hint","expiries":{"backend":null,"hint":\#(expiresAt),"exp":null},"#
            + #""refresh_at":\#(refreshAt),"state":"\#(state)"\#(rest)}}"#
    }

    /// An error response with data.
    static func error(
        id: String = "1", _ code: Int, _ message: String, _ kind: String, retryable: Bool = false,
        rest: String = ""
    ) -> String {
        #"{"jsonrpc":"2.0","id":\#(id),"error":{"code":\#(code),"message":"\#(message)","#
            + #""data":{"kind":"\#(kind)","retryable":\#(retryable)\#(rest)}}}"#
    }

    static func invalidParams(_ message: String) -> String { error(-32602, message, "invalid_params") }

    static let parseError = error(id: "null", -32700, "Parse error", "parse_error")
    static let notResponse = error(
        id: "null", -32600,
        #"an answer has jsonrpc \"2.0\", the id of the question as it was, and a result or an error but not both, not even null"#,
        "invalid_request")

    static func invalidRequest(id: String = "null") -> String {
        error(id: id, -32600, "Invalid Request", "invalid_request")
    }
    static let unknownAccount = error(
        100, "no such account, or not allowed; chatauth account list shows those that you may use",
        "account_unknown")
}

extension Stage {
    /// A stage with the account `bot`, whose backend has given `abc` for an hour, and a client of its user.
    static func serving(instance: InstanceKind = .user(uid: 1000), limits: Limits? = nil) throws -> (
        Stage, MemoryConnection
    ) {
        let stage = try Stage(
            instance: instance, limits: limits,
            accounts: [
                Definitions.http(
                    "bot", access: AccessRules(use: Definitions.user(7), operate: Definitions.user(8)))
            ])
        stage.advance(.zero)
        stage.fetcher.answer(#"{"token":"abc","expires_in":3600}"#)
        stage.run()
        return (stage, try #require(stage.connect()))
    }
}

extension String {
    /// The first value of a member, without quotes; nil where there is none.
    func member(_ name: String) -> String? {
        guard let start = firstRange(of: "\"\(name)\":") else { return nil }
        let rest = self[start.upperBound...]
        if rest.hasPrefix("\"") { return String(rest.dropFirst().prefix { $0 != "\"" }) }
        return String(rest.prefix { $0 != "," && $0 != "}" && $0 != "]" })
    }
}
