import Testing

/// Conversations at the stand-in of Chatbase: whose they are, before and after somebody signs in.
@Suite struct `Chatbase conversations` {
    private let client: PlatformClient
    private let agent = "/api/sdk/agents/agent-1"

    init() throws { client = try PlatformClient("chatbase", headers: []) }

    private func headers(_ device: String, _ token: String?) -> [String] {
        ["X-Device-Id: \(device)"] + (token.map { ["X-User-Token: \($0)"] } ?? [])
    }

    private func chat(
        _ text: String = "Hi", on device: String = "device-1", as token: String? = nil,
        in conversation: String? = nil
    ) throws -> Tree {
        let member = conversation.map { #","conversationId":"\#($0)""# } ?? ""
        let answer = try client.json(
            "POST", agent + "/chat", #"{"message":"\#(text)","stream":false\#(member)}"#,
            headers: headers(device, token))
        return try #require(answer["data"])
    }

    private func list(
        on device: String = "device-1", as token: String? = nil, _ query: String = ""
    ) throws -> Tree {
        try client.json("GET", agent + "/conversations" + query, headers: headers(device, token))
    }

    private func ids(_ list: Tree) -> [String] {
        (list["data"]?.elements ?? []).compactMap { $0["id"]?.text }
    }

    private func signIn(_ token: String, on device: String = "device-1") throws {
        _ = try client.json(
            "POST", agent + "/verify", #"{"token":"\#(token)"}"#, headers: headers(device, nil))
    }

    @Test func `R81: a device that nobody is signed in on has conversations and a user's id`() throws {
        let first = try chat("Hello")
        #expect(first.keys == ["id", "metadata", "parts", "role"])
        #expect(first["role"] == .text("assistant"))
        #expect(first["parts"]?[0] == .object(["type": .text("text"), "text": .text("You said: Hello")]))
        let metadata = try #require(first["metadata"])
        #expect(metadata.keys == ["conversationId", "finishReason", "usage", "userId", "userMessageId"])
        #expect(metadata["userId"]?.text?.hasPrefix("anon-") == true)
        #expect(try chat()["metadata"]?["userId"] == metadata["userId"])
        #expect(try chat(on: "device-2")["metadata"]?["userId"] != metadata["userId"])
        let conversations = try list()
        #expect(conversations["pagination"]?["total"]?.integer == 2)
        let entry = try #require(conversations["data"]?[1])
        #expect(entry.keys == ["createdAt", "id", "status", "title", "updatedAt", "userId"])
        #expect(entry["id"] == metadata["conversationId"])
        #expect(try client.violations() == [])
    }

    @Test func `R88, R99: conversations move to the user some time after the sign-in, not with it`() throws {
        try client.set(#"{"merge_delay_milliseconds":3600000}"#)
        let token = try client.mint(#"{"user_id":"user-42","expires_in_seconds":1000000}"#)
        let before = try chat()["metadata"]?["conversationId"]?.text
        try signIn(token)
        #expect(try ids(list(as: token)) == [])
        let after = try chat(as: token)["metadata"]?["conversationId"]?.text
        #expect(try ids(list(as: token)) == [after])
        #expect(try ids(list()) == [before])
        try client.advance(3600)
        #expect(try Set(ids(list(as: token))) == [before, after])
        #expect(try ids(list()) == [])
        #expect(try ids(list(on: "device-2", as: token)).count == 2)
        #expect(try list(as: token)["data"]?[0]?["userId"] == .text("user-42"))
    }

    @Test func `what is begun after the sign-in, without a token, stays the device's`() throws {
        try client.set(#"{"merge_delay_milliseconds":0}"#)
        let token = try client.mint(#"{"user_id":"user-42"}"#)
        try signIn(token)
        let anonymous = try chat()["metadata"]?["conversationId"]?.text
        #expect(try ids(list()) == [anonymous])
        #expect(try ids(list(as: token)) == [])
    }

    @Test func `a user's token is looked at with each call`() throws {
        let token = try client.mint(#"{"user_id":"u","expires_in_seconds":600}"#)
        _ = try chat(as: token)
        try client.advance(601)
        for (method, route, body) in [
            ("POST", "/chat", #"{"message":"Hi"}"#), ("GET", "/conversations", ""),
            ("GET", "/conversations/c/messages", ""), ("POST", "/conversations/c/retry", "{}"),
            ("POST", "/conversations/c/tool-result", "{}"),
        ] {
            for token in [token, "", "x"] {
                let answer = try client.json(
                    method, agent + route, body, headers: headers("device-1", token), status: 401)
                #expect(answer["error"]?["code"] == .text("AUTH_INVALID_JWT"))
            }
        }
    }

    @Test func `nobody speaks in a conversation of somebody else`() throws {
        let id = try #require(try chat()["metadata"]?["conversationId"]?.text)
        let token = try client.mint(#"{"user_id":"u"}"#)
        for headers in [headers("device-2", nil), headers("device-1", token)] {
            let answer = try client.json(
                "GET", agent + "/conversations/\(id)/messages", headers: headers, status: 403)
            #expect(answer["error"]?["code"]?.text?.hasPrefix("AUTH_OWNERSHIP") == true)
            let body = #"{"message":"Hi","conversationId":"\#(id)"}"#
            #expect(try client.call("POST", agent + "/chat", body, headers: headers).status == 403)
        }
        let unknown = try client.call(
            "GET", agent + "/conversations/none/messages", headers: headers("device-1", nil))
        #expect(unknown.status == 404)
    }

    @Test func `messages, and an answer once more`() throws {
        let first = try chat("One")
        let id = try #require(first["metadata"]?["conversationId"]?.text)
        _ = try chat("Two", in: id)
        let path = agent + "/conversations/\(id)"
        let device = headers("device-1", nil)
        let messages = try client.json("GET", path + "/messages", headers: device)
        #expect(
            messages["data"]?.elements.compactMap { $0["role"]?.text } == [
                "user", "assistant", "user", "assistant",
            ])
        let last = try #require(messages["data"]?[3]?["id"]?.text)
        let retried = try client.json("POST", path + "/retry", #"{"messageId":"\#(last)"}"#, headers: device)
        #expect(retried["data"]?["parts"]?[0]?["text"] == .text("You said: Two"))
        #expect(retried["data"]?["id"] != .text(last))
        let after = try client.json("GET", path + "/messages", headers: device)
        #expect(after["pagination"]?["total"]?.integer == 4)
        let none = try client.json(
            "POST", path + "/retry", #"{"messageId":"none"}"#, headers: device, status: 400)
        #expect(none["error"]?["code"] == .text("CHAT_RETRY_NO_USER_MESSAGE"))
        let tool = try client.json(
            "POST", path + "/tool-result", #"{"toolCallId":"t","output":{}}"#, headers: device)
        #expect(tool["data"]?["success"] == .bool(true))
    }

    @Test func `a stream ends with the user's id`() throws {
        let wire = try client.call(
            "POST", agent + "/chat", #"{"message":"Hi","stream":true}"#, headers: headers("device-1", nil))
        #expect(wire.header("Content-Type") == "text/event-stream")
        let events = wire.bodyText.split(separator: "\n")
        #expect(events.count == 4 && events.allSatisfy { $0.hasPrefix("data: ") })
        #expect(events.last == "data: [DONE]")
        let finish = try Tree(Array(events[2].dropFirst(6).utf8))
        #expect(finish["type"] == .text("finish"))
        #expect(finish["messageMetadata"]?["userId"]?.text?.hasPrefix("anon-") == true)
    }

    @Test func `a list in pages`() throws {
        let all = try (0..<5).map { _ in try #require(try chat()["metadata"]?["conversationId"]?.text) }
        let first = try list("?limit=3")
        #expect(first["pagination"]?["hasMore"] == .bool(true))
        let cursor = try #require(first["pagination"]?["cursor"]?.text)
        let second = try list("?limit=3&cursor=\(cursor)")
        #expect(
            second["pagination"]
                == .object(["cursor": .null, "hasMore": .bool(false), "total": .number("5")]))
        #expect(ids(first) + ids(second) == all.reversed())
        for query in ["?limit=0", "?limit=101", "?limit=x", "?cursor=none"] {
            let path = agent + "/conversations" + query
            #expect(try client.call("GET", path, headers: headers("device-1", nil)).status == 400)
        }
    }
}
