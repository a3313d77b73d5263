import Testing

/// A client of a bot's stand-in, with one chat.
struct KindlyClient {
    let sandbox: RunningSandbox
    var bot = "shop"
    var chat = "chat-1"
    /// `kindly-chatbubble-token`; nil before `connect`.
    var token: String?

    init(_ sandbox: RunningSandbox, _ settings: String = "{}") throws {
        self.sandbox = sandbox
        _ = try sandbox.json("PUT", "/_sandbox/kindly/\(bot)", body: settings)
        let answer = try Tree(call("connect").body)
        token = try #require(answer["token"]?.text)
        #expect(answer["chat_id"] == .text(chat))
    }

    func call(
        _ route: String, _ headers: [String] = [], method: String = "POST", body: String = "{}"
    ) throws -> Wire {
        var fields = [
            "kindly-bot-key: \(bot)", "kindly-chat-uuid: \(chat)", "Content-Type: application/json",
        ]
        if let token { fields.append("kindly-chatbubble-token: \(token)") }
        return try sandbox.call(
            method, "/kindly/\(bot)/chatbubble/v2/\(route)", headers: fields + headers,
            body: method == "GET" ? "" : body)
    }

    /// `POST auth/chat`; nil values are not sent.
    func bind(_ bearer: String?, companion: String? = nil, issuer: String? = nil) throws -> Wire {
        try call("auth/chat", Self.headers(bearer, companion, issuer))
    }

    static func headers(_ bearer: String?, _ companion: String? = nil, _ issuer: String? = nil) -> [String] {
        [
            bearer.map { "Authorization: Bearer \($0)" }, companion.map { "X-Access-Token: \($0)" },
            issuer.map { "X-Auth-Issuer: \($0)" },
        ].compactMap(\.self)
    }

    /// A token that the stand-in mints for itself.
    func mint(_ recipe: String = "{}") throws -> String {
        try #require(try sandbox.json("POST", "/_sandbox/kindly/\(bot)/mint", body: recipe)["token"]?.text)
    }

    func violations() throws -> [String] {
        let list = try sandbox.json("GET", "/_sandbox/violations?kindly=\(bot)")["violations"]
        return (list?.elements ?? []).compactMap { $0["violation"]?.text }
    }

    /// Who is bound to the chat, as the stand-in sees it.
    func user() throws -> Tree? {
        try sandbox.json("GET", "/_sandbox/kindly/\(bot)/chats")[chat]?["user"]
    }
}

extension Wire {
    /// The text of `error` in the body.
    var problem: String? { (try? Tree(body))?["error"]?.text }
}
