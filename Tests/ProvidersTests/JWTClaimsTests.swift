import CredentialCore
import Providers
import Secrets
import Testing

@Suite struct `Claims of minted tokens` {
    private static let now = WallTime(seconds: 1_767_225_600)

    private func written(_ source: JWTSource, now: WallTime = now) throws -> String {
        let account = try #require(AccountName("support@bot"))
        return JWTClaims.write(source, account: account, now: now).withSpan { bytes in
            String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
        }
    }

    private func source(
        _ claims: [JWTSource.Claim], algorithm: SignatureAlgorithm = .hs256,
        lifetime: Milliseconds = .seconds(300)
    ) throws -> JWTSource {
        JWTSource(
            key: .secret(try #require(SecretName("key"))), algorithm: algorithm, lifetime: lifetime,
            claims: claims)
    }

    @Test func `Kindly's claims with a chat and its web hooks`() throws {
        let kindly = try source(
            [
                .init(name: "iss", value: .text("https://shop.example")),
                .init(name: "sub", value: .text("{account}")),
                .init(name: "email_verified", value: .boolean(true)),
                .init(
                    name: "chat",
                    value: .object([
                        .init(name: "id", value: .text("chat-{account}")),
                        .init(name: "webhook_domains", value: .list([.text("*.shop.example")])),
                    ])),
            ], algorithm: .rs256, lifetime: .seconds(900))
        #expect(
            try written(kindly)
                == #"{"iat":1767225600,"exp":1767226500,"iss":"https://shop.example","sub":"support@bot","email_verified":true,"chat":{"id":"chat-support@bot","webhook_domains":["*.shop.example"]}}"#
        )
    }

    @Test func `Chatbase's claims with custom attributes`() throws {
        let chatbase = try source(
            [
                .init(name: "user_id", value: .text("{account}")),
                .init(
                    name: "custom_attributes",
                    value: .object([.init(name: "seats", value: .integer(-3))])),
                .init(name: "stripe_accounts", value: .list([])),
            ], lifetime: .seconds(3600))
        #expect(
            try written(chatbase)
                == #"{"iat":1767225600,"exp":1767229200,"user_id":"support@bot","custom_attributes":{"seats":-3},"stripe_accounts":[]}"#
        )
    }

    @Test(arguments: [
        ("{account}{account}", "support@botsupport@bot"), ("{", "{"), ("{{account}", "{support@bot"),
        ("{acount}", "{acount}"), ("{account", "{account"), ("}", "}"),
        ("a\"{account}\\", #"a\"support@bot\\"#),
        ("\u{1F600}{account}", "\u{1F600}support@bot"),
    ])
    func `only the account's name is filled in, and all is escaped`(_ text: String, _ value: String) throws {
        #expect(
            try written(source([.init(name: "a", value: .text(text))]))
                == #"{"iat":1767225600,"exp":1767225900,"a":"\#(value)"}"#)
    }

    @Test func `a clock that is far off does no harm`() throws {
        for now in [WallTime(milliseconds: .max), WallTime(milliseconds: .min), WallTime(seconds: 0)] {
            #expect(try written(source([]), now: now).hasPrefix(#"{"iat":"#))
        }
    }
}
