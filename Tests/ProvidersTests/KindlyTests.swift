import CredentialCore
import Providers
import Secrets
import Testing

private func bot(
    language: String? = "en", strategy: KindlyDefinition.Strategy? = nil,
    base: String = "https://k.example/v2",
    bindPath: String = "auth/chat", defaultIssuer: String? = nil, expectedIssuer: String? = nil
) throws -> KindlyDefinition {
    KindlyDefinition(
        botKey: "key-1", market: "nb", language: language, strategy: strategy, baseURL: try HTTPURL(base),
        bindPath: bindPath, defaultIssuer: defaultIssuer, expectedIssuer: expectedIssuer)
}

private func chat(_ token: String? = "chat-token") throws -> KindlyChat {
    try #require(KindlyChat(id: "chat-1", token: token.map(secret)))
}

private func credential(
    id: String? = nil, access: String? = nil, issuer: String? = nil
) throws -> Credential {
    try Credential(idToken: id.map(secret), accessToken: access.map(secret), issuer: issuer)
}

private let chatLines = [
    "kindly-bot-key: key-1", "kindly-chat-uuid: chat-1", "kindly-chat-client: linux",
    "kindly-chat-version: 3.0.10", "kindly-chatbubble-token: chat-token",
]
private let content = ["Content-Type: application/json", "Accept: application/json"]

@Suite struct `Kindly requests` {
    @Test func `R1: connect names bot, chat, language and market, and shows nobody`() throws {
        let request = try KindlyRequests.connect(bot(), chat: chat(nil))
        #expect(request.url.text == "https://k.example/v2/connect?language_code=en&include_greeting=false")
        #expect(request.method == .post)
        #expect(lines(request.headers) == chatLines.dropLast() + content)
        #expect(shown(request.body) == #"{"context":{},"market":"nb"}"#)
    }

    @Test func `without a language the bot decides, and an odd one is escaped`() throws {
        #expect(
            try KindlyRequests.connect(bot(language: nil), chat: chat()).url.text
                == "https://k.example/v2/connect?include_greeting=false")
        #expect(
            try KindlyRequests.connect(bot(language: "a&b=c"), chat: chat()).url.text
                == "https://k.example/v2/connect?language_code=a%26b%3Dc&include_greeting=false")
    }

    @Test func `R19 to R22: a bind shows bearer, companion and issuer`() throws {
        let request = try KindlyRequests.bind(
            bot(), chat: chat(), credential: credential(id: "id", access: "acc", issuer: "https://i.example"))
        #expect(request.url.text == "https://k.example/v2/auth/chat")
        #expect(request.method == .post)
        #expect(
            lines(request.headers)
                == [
                    "Authorization: Bearer id", "X-Access-Token: acc", "X-Auth-Issuer: https://i.example",
                ] + chatLines + content)
        #expect(shown(request.body) == "{}")
    }

    @Test func `R51: invalidate shows the old bearer and neither companion nor issuer`() throws {
        let request = try KindlyRequests.invalidate(
            bot(), chat: chat(), credential: credential(id: "id", access: "acc", issuer: "https://i.example"))
        #expect(request.url.text == "https://k.example/v2/auth/chat/invalidate")
        #expect(lines(request.headers) == ["Authorization: Bearer id"] + chatLines + content)
        #expect(shown(request.body) == "{}")
    }

    @Test func `a configured path takes the place of the route`() throws {
        let request = try KindlyRequests.bind(
            bot(bindPath: "x/y"), chat: chat(), credential: credential(id: "id"))
        #expect(request.url.text == "https://k.example/v2/x/y")
    }
}

@Suite struct `Kindly headers` {
    private func names(
        _ credential: Credential?, _ route: KindlyRoute = .bind, defaultIssuer: String? = nil
    ) throws -> [String] {
        lines(
            KindlyRequests.headers(
                try bot(defaultIssuer: defaultIssuer), chat: try chat(), credential: credential, route: route)
        ).filter { !$0.hasPrefix("kindly-") }
    }

    @Test func `R13: an access token alone is the bearer, without a companion`() throws {
        #expect(try names(credential(access: "acc")) == ["Authorization: Bearer acc"])
    }

    @Test func `R11, R20: the ID token is the bearer, else the access token`() throws {
        #expect(try names(credential(id: "id")) == ["Authorization: Bearer id"])
        #expect(try names(credential(id: "", access: "acc")) == ["Authorization: Bearer acc"])
        #expect(try names(nil) == [])
    }

    @Test func `R14, R21: X-Access-Token is sent only when a companion exists`() throws {
        #expect(try names(credential(id: "id", access: "acc")).contains("X-Access-Token: acc"))
        #expect(try names(credential(id: "same", access: "same")) == ["Authorization: Bearer same"])
        #expect(try names(credential(id: "id", access: "")) == ["Authorization: Bearer id"])
    }

    @Test func `R22, R24: X-Auth-Issuer is the credential's, else the configured one, else not there`() throws
    {
        let own = try credential(id: "id", issuer: "https://own.example")
        #expect(
            try names(own, defaultIssuer: "https://d.example").contains("X-Auth-Issuer: https://own.example"))
        #expect(
            try names(credential(id: "id"), defaultIssuer: "https://d.example").contains(
                "X-Auth-Issuer: https://d.example"))
        #expect(try names(credential(id: "id")) == ["Authorization: Bearer id"])
        #expect(try names(nil, defaultIssuer: "https://d.example") == [])
    }

    @Test(
        arguments: [
            (nil, true), ("auth/chat", true), ("/auth/chat", true), ("message", true), ("/message/", true),
            ("trigger", true), ("chatbubble/v2/message", true), ("x/y", true), ("latest", false),
            ("connect", false), ("auth/chat/invalidate", false), ("auth/notification_services", false),
            ("messages", false), ("message/1", false), ("x.Y", true),
            (String(repeating: "a", count: 64), false),
        ] as [(String?, Bool)])
    func `R23: companion and issuer go to auth chat, message and trigger only`(
        _ route: String?, _ reads: Bool
    ) throws {
        let bot = try bot(bindPath: route == "x.Y" ? "x.Y" : "x/y")
        let known = try #require(KindlyRoute(route, of: bot))
        let headers = lines(
            KindlyRequests.headers(
                bot, chat: try chat(),
                credential: try credential(id: "id", access: "acc", issuer: "https://i.example"),
                route: known))
        #expect(headers.contains("X-Access-Token: acc") == reads)
        #expect(headers.contains("X-Auth-Issuer: https://i.example") == reads)
        #expect(headers.contains("Authorization: Bearer id"))
        #expect(headers.suffix(5) == chatLines[...])
    }

    @Test(arguments: [
        "", "MESSAGE", "message?x=1", "message#", "mes sage", "mess\u{E4}ge", "..", "x.Y", "message\n",
        String(repeating: "a", count: 65),
    ])
    func `what is no name of a route is none`(_ route: String) throws {
        #expect(KindlyRoute(route, of: try bot(bindPath: "x/y")) == nil)
    }

    @Test func `R25: nothing that is sent depends on an expiry`() throws {
        // A credential as it is sent has no expiry; what a JWT says of itself is in the token alone.
        let token = jwt(#"{"exp":1767225600}"#)
        let request = try KindlyRequests.bind(
            bot(), chat: chat(), credential: Credential(idToken: token, accessToken: nil))
        let rest =
            lines(request.headers).filter { !$0.hasPrefix("Authorization") } + [shown(request.body) ?? ""]
        #expect(rest.allSatisfy { !$0.contains("1767225600") && !$0.lowercased().contains("expir") })
    }
}

@Suite struct `Kindly answers` {
    @Test func `a connect gives the chat's name and token`() throws {
        let found = try KindlyConnectAnswer.read(
            answer(
                200, #"{"chat_id":"other","token":"t","created":"2026-01-01T00:00:00.000Z","bot_name":"B"}"#),
            chat: chat(nil))
        #expect(found.id == "other")
        #expect(shown(found.token) == "t")
        #expect(!found.isAttached)
        let same = try KindlyConnectAnswer.read(answer(201, #"{"token":"t","chat_id":null}"#), chat: chat())
        #expect(same.id == "chat-1")
    }

    @Test(
        arguments: [
            (200, "{}", "application/json", .malformed), (200, "", "application/json", .malformed),
            (200, #"{"token":7}"#, "application/json", .malformed),
            (200, #"{"token":""}"#, "application/json", .malformed),
            (200, #"{"token":"a b"}"#, "application/json", .malformed),
            (200, #"{"token":"t","chat_id":7}"#, "application/json", .malformed),
            (200, #"{"token":"t","chat_id":"a\nb"}"#, "application/json", .malformed),
            (200, "<html>", "text/html", .upstreamError), (302, "", nil, .upstreamError),
            (401, #"{"error":"unknown_bot"}"#, "application/json", .upstreamError),
            (404, "", nil, .upstreamError), (500, "", nil, .upstreamError),
        ] as [(Int, String, String?, RefreshFailure.Kind)])
    func `a connect that gives no chat fails, and refuses no credential`(
        _ status: Int, _ body: String, _ type: String?, _ kind: RefreshFailure.Kind
    ) throws {
        let chat = try chat()
        let failure = #expect(throws: RefreshFailure.self) {
            try KindlyConnectAnswer.read(answer(status, body, type: type), chat: chat)
        }
        #expect(failure?.kind == kind)
        #expect(failure?.httpStatus == status)
    }

    @Test func `a chat reads back as it was stored`() throws {
        for chat in [
            try chat(nil), try chat(),
            try #require(KindlyChat(id: "\"\\", token: secret("~"), isAttached: true)),
        ] {
            let read = try #require(KindlyChat(json: chat.json()))
            #expect(read.id == chat.id)
            #expect(shown(read.token) == shown(chat.token))
            #expect(read.isAttached == chat.isAttached)
        }
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"chat_id":1}"#, #"{"chat_id":""}"#, #"{"chat_id":"a","chat_token":"\n"}"#,
    ])
    func `what is no stored chat is none`(_ text: String) {
        #expect(KindlyChat(json: secret(text)) == nil)
    }

    @Test func `R59: what could break out of a header names no chat`() {
        #expect(KindlyChat(id: "") == nil)
        #expect(KindlyChat(id: "a\r\nX: y") == nil)
        #expect(KindlyChat(id: "é") == nil)
        #expect(KindlyChat(id: String(repeating: "a", count: 257)) == nil)
        #expect(KindlyChat(id: "a", token: secret("b\n")) == nil)
        #expect(KindlyChat(id: "a", token: secret("")) == nil)
    }
}

@Suite struct `Kindly advice` {
    private static let jwtWithoutExpiry = #"{"iss":"https://i.example","chat":{"id":"chat-1"}}"#

    private func advice(
        _ credential: Credential, _ bot: KindlyDefinition, hasExpiry: Bool = true
    ) -> [KindlyAdvice] {
        KindlyAdvice.on(credential, for: bot, chatID: "chat-1", hasExpiry: hasExpiry)
    }

    private func token(_ payload: String, access: String? = nil, issuer: String? = nil) throws -> Credential {
        try Credential(idToken: jwt(payload), accessToken: access.map(secret), issuer: issuer)
    }

    @Test func `R15: introspection warns of a companion, and of a missing issuer or expiry`() throws {
        let bot = try bot(strategy: .introspection)
        #expect(try advice(credential(id: "opaque", issuer: "https://i.example"), bot) == [])
        #expect(try advice(credential(access: "opaque", issuer: "https://i.example"), bot) == [])
        #expect(
            try advice(credential(id: "opaque", access: "acc"), bot, hasExpiry: false) == [
                .companionWithIntrospection, .issuerMissing, .opaqueWithoutExpiry,
            ])
    }

    @Test func `R18: a bot with the backend's JWTs ignores the companion`() throws {
        let bot = try bot(strategy: .kindlyJWT)
        #expect(try advice(token(Self.jwtWithoutExpiry, access: "acc"), bot) == [.companionIgnored])
        #expect(
            try advice(credential(id: "opaque", issuer: "https://i.example"), bot) == [.opaqueBearer])
    }

    @Test func `R24: an opaque token needs an issuer, its own or the configured one`() throws {
        let opaque = try credential(access: "opaque")
        #expect(try advice(opaque, bot(strategy: .identityProvider)) == [.issuerMissing])
        #expect(try advice(opaque, bot(defaultIssuer: "https://d.example")) == [])
        #expect(try advice(token(Self.jwtWithoutExpiry), bot(strategy: .identityProvider)) == [])
    }

    @Test func `R40: an opaque token without any expiry is a trap, a JWT without one is not`() throws {
        let opaque = try credential(access: "opaque", issuer: "https://i.example")
        #expect(try advice(opaque, bot(), hasExpiry: false) == [.opaqueWithoutExpiry])
        #expect(try advice(token(Self.jwtWithoutExpiry), bot(), hasExpiry: false) == [])
    }

    @Test func `R67: another issuer or another chat than expected is said`() throws {
        let expecting = try bot(expectedIssuer: "https://i.example")
        #expect(try advice(token(Self.jwtWithoutExpiry), expecting) == [])
        #expect(try advice(token("{}"), expecting) == [.issuerUnexpected])
        #expect(
            try advice(token(#"{"iss":"https://i.example/","chat":{"id":"chat-2"}}"#), expecting) == [
                .issuerUnexpected, .chatUnexpected,
            ])
        #expect(try advice(token(#"{"chat":7}"#), bot()) == [])
    }
}
