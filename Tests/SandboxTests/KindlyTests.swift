import Testing

@Suite struct `Kindly stand-in` {
    let sandbox: RunningSandbox

    init() throws { sandbox = try RunningSandbox() }

    @Test func `a bot, a chat and the token of the chat are asked for`() throws {
        var client = try KindlyClient(sandbox, #"{"bot_key":"shop"}"#)
        let token = try client.mint()
        #expect(try client.bind(token).status == 200)
        client.token = "another"
        #expect(try client.bind(token).problem == "kindly-chatbubble-token is not of this chat")
        client.token = nil
        #expect(try client.bind(token).status == 401)
        client.chat = "chat-2"
        #expect(try client.bind(token).problem == "no such chat")
        client.chat = ""
        #expect(try client.bind(token).status == 400)
        let stranger = try sandbox.call(
            "POST", "/kindly/shop/chatbubble/v2/connect",
            headers: ["kindly-bot-key: x", "kindly-chat-uuid: 1"])
        #expect(stranger.status == 404)
        #expect(try client.violations() == [])
    }

    @Test func `connecting again gives the same chat, token and history`() throws {
        let client = try KindlyClient(sandbox)
        #expect(try client.call("message", body: #"{"message":"Hi"}"#).status == 200)
        #expect(try Tree(client.call("connect").body)["token"]?.text == client.token)
        let latest = try Tree(client.call("latest", method: "GET").body)
        #expect(latest["messages"] == .array([.object(["message": .text("Hi")])]))
    }

    @Test(arguments: ["RS256", "ES256"])
    func `a bind of a signed token holds until it ends`(algorithm: String) throws {
        let client = try KindlyClient(sandbox)
        let before = try sandbox.now() / 1000
        let wire = try client.bind(
            try client.mint(#"{"alg":"\#(algorithm)","claims":{"chat":{"id":"chat-1"}}}"#))
        #expect(wire.status == 200)
        let until = try #require(try Tree(wire.body)["expires_at"]?.integer)
        #expect((before + 900...before + 960).contains(until))
        #expect(try client.user() == .text("user-1"))
    }

    @Test(
        arguments: [
            (#"{"alg":"PS256"}"#, "the algorithm is not allowed"),
            (#"{"alg":"HS256"}"#, "the algorithm is not allowed"),
            (#"{"signature":"wrong"}"#, "the signature is wrong"),
            (#"{"signature":"absent"}"#, "the token is no JWT"),
            (#"{"claims":{"iss":"https://other.example"}}"#, "iss is not the configured one"),
            (#"{"claims":{"iss":null}}"#, "iss is not the configured one"),
            (#"{"lifetime_seconds":0}"#, "the token has expired, or is not valid yet"),
            (#"{"claims":{"nbf":99999999999}}"#, "the token has expired, or is not valid yet"),
            (#"{"claims":{"exp":"soon"}}"#, "the token has expired, or is not valid yet"),
            (#"{"claims":{"chat":{"id":"chat-2"}}}"#, "chat.id is another chat"),
            (#"{"claims":{"chat":{"id":7}}}"#, "chat.id is another chat"),
            (#"{"claims":{"sub":null}}"#, "sub is missing"),
        ])
    func `a token that is refused, and why`(recipe: String, reason: String) throws {
        let client = try KindlyClient(sandbox, #"{"expected_issuer":"https://customer.example"}"#)
        let wire = try client.bind(try client.mint(recipe))
        #expect(wire.status == 401)
        #expect(wire.problem == reason)
        #expect(try client.user() == .null)
    }

    @Test func `the public key of a customer decides, when there is one`() throws {
        try sandbox.set(#"{"token_format":"signed_jwt","body_claims":{"chat.id":"chatId"}}"#)
        let pem = try #require(try sandbox.json("GET", "/_sandbox/backend/support/key")["public_key"])
        let client = try KindlyClient(sandbox, #"{"public_key":\#(pem.compact)}"#)
        let answer = try sandbox.json("POST", "/backend/support/token", body: #"{"chatId":"chat-1"}"#)
        #expect(try client.bind(answer["token"]?.text).status == 200)
        #expect(try client.bind(client.mint()).problem == "the signature is wrong")
        let no = try sandbox.json("PUT", "/_sandbox/kindly/shop", body: #"{"public_key":"no"}"#, status: 400)
        #expect(no["error"] == .text("\"public_key\" is no key for this algorithm"))
    }

    @Test func `Authorization that is missing or blank`() throws {
        let client = try KindlyClient(sandbox)
        #expect(try client.bind(nil).problem == "Authorization is missing")
        #expect(try client.call("auth/chat", ["Authorization: Bearer "]).status == 401)
        #expect(try client.call("auth/chat", ["Authorization: Basic eDp5"]).status == 401)
    }

    @Test func `the companion of a token of one's own is ignored, and its expiry too`() throws {
        let client = try KindlyClient(sandbox)
        let wire = try client.bind(
            try client.mint(#"{"claims":{"exp":null}}"#), companion: try client.mint())
        #expect(wire.status == 200)
        #expect(try Tree(wire.body) == .object([:]))
        #expect(try client.violations() == [])
    }

    @Test(arguments: [
        ("seconds", Tree.number("4102444800")), ("float", .number("4102444800.5")),
        ("milliseconds", .number("4102444800000")), ("iso", .text("2100-01-01T00:00:00.000Z")),
        ("string", .text("4102444800")), ("garbage", .text("soon")),
    ])
    func `the expiry in each form`(form: String, value: Tree) throws {
        let client = try KindlyClient(sandbox, #"{"expiry":"\#(form)"}"#)
        let wire = try client.bind(try client.mint(#"{"claims":{"exp":4102444800}}"#))
        #expect(try Tree(wire.body)["expires_at"] == value)
    }

    @Test func `no expiry at all, and one that ends before the token`() throws {
        var client = try KindlyClient(sandbox, #"{"expiry":"missing"}"#)
        #expect(try Tree(client.bind(try client.mint()).body) == .object([:]))
        client = try KindlyClient(sandbox, #"{"bind_seconds":5,"expiry":"milliseconds"}"#)
        let until = try #require(try Tree(client.bind(client.mint()).body)["expires_at"]?.integer)
        #expect(until <= (try sandbox.now()) + 5000)
    }

    @Test func `binding again replaces the identity, unbinding takes it away, the history stays`() throws {
        let client = try KindlyClient(sandbox)
        let (first, second) = (try client.mint(), try client.mint(#"{"claims":{"sub":"user-2"}}"#))
        _ = try client.bind(first)
        let said = try client.call("message", KindlyClient.headers(first), body: #"{"message":"Hi"}"#)
        #expect(try Tree(said.body) == .object(["messages": .number("1"), "user": .text("user-1")]))
        _ = try client.bind(second)
        #expect(try client.user() == .text("user-2"))
        for _ in 0..<2 {
            #expect(try client.call("auth/chat/invalidate", KindlyClient.headers(second)).status == 200)
        }
        #expect(try client.user() == .null)
        let more = try client.call("message", body: #"{"message":"Bye"}"#)
        #expect(try Tree(more.body) == .object(["messages": .number("2"), "user": .null]))
    }

    @Test func `a bound chat wants a token that is good now`() throws {
        let client = try KindlyClient(sandbox)
        let token = try client.mint(#"{"lifetime_seconds":60}"#)
        _ = try client.bind(token)
        for route in ["message", "trigger"] {
            #expect(try client.call(route).problem == "Authorization is missing")
            #expect(try client.call(route, KindlyClient.headers(token)).status == 200)
        }
        _ = try sandbox.json("POST", "/_sandbox/kindly/shop/revoke", body: #"{"token":"\#(token)"}"#)
        #expect(try client.call("message", KindlyClient.headers(token)).problem == "the token is revoked")
        let next = try client.mint(#"{"lifetime_seconds":60}"#)
        #expect(try client.call("message", KindlyClient.headers(next)).status == 200)
        _ = try sandbox.json("PUT", "/_sandbox/clock", body: #"{"offset_seconds":61}"#)
        let late = try client.call("message", KindlyClient.headers(next))
        #expect(late.problem == "the token has expired, or is not valid yet")
    }

    @Test(arguments: ["connect", "latest", "auth/chat/invalidate", "auth/notification_services"])
    func `a route that must not see the companion or the issuer`(route: String) throws {
        let client = try KindlyClient(sandbox)
        _ = try client.call(
            route, KindlyClient.headers("x", "y", "z"), method: route == "latest" ? "GET" : "POST")
        #expect(
            try client.violations() == [
                "X-Access-Token was sent to \(route)", "X-Auth-Issuer was sent to \(route)",
            ])
        _ = try sandbox.json("DELETE", "/_sandbox/violations?kindly=shop")
        #expect(try client.violations() == [])
    }

    @Test func `a route that is not there, and a header field twice`() throws {
        let client = try KindlyClient(sandbox)
        #expect(try client.call("logout").status == 404)
        _ = try client.call("auth/chat", KindlyClient.headers("x") + KindlyClient.headers("y"))
        #expect(
            try client.violations() == ["there is no such route", "Authorization was sent 2 times"])
        let list = try sandbox.json("GET", "/_sandbox/violations")["violations"]
        #expect(list?[0]?["path"] == .text("/kindly/shop/chatbubble/v2/logout"))
        #expect(list?[0]?["route"] == .text("other"))
    }

    @Test func `a fault meets one route only, and what fails is not done`() throws {
        let client = try KindlyClient(sandbox)
        let token = try client.mint()
        _ = try client.bind(token)
        _ = try sandbox.json(
            "POST", "/_sandbox/kindly/shop/faults",
            body: #"{"fault":"status","status":500,"route":"auth/chat/invalidate"}"#)
        #expect(try client.bind(token).status == 200)
        #expect(try client.call("auth/chat/invalidate").status == 500)
        #expect(try client.user() == .text("user-1"))
        #expect(try client.call("auth/chat/invalidate").status == 200)
        #expect(try client.user() == .null)
    }

    @Test func `chats can be forgotten`() throws {
        let client = try KindlyClient(sandbox)
        #expect(try sandbox.json("DELETE", "/_sandbox/kindly/shop/chats") == .object([:]))
        #expect(try client.bind(client.mint()).problem == "no such chat")
    }
}
