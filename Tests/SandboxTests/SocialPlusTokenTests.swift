import Testing

/// Access tokens of the customer at the stand-in of social.plus, push registrations, and what is never sent.
@Suite struct `social.plus access tokens` {
    private let social: SocialPlusClient
    private var client: PlatformClient { social.client }

    init() throws { social = try SocialPlusClient() }

    private func addKey(_ algorithm: String) throws {
        if algorithm == "HS256" {
            try client.set(#"{"customer_keys":[{"alg":"HS256","key":"customer-secret"}]}"#)
        } else {
            _ = try client.sandbox.json(
                "POST", client.control + "/keys", body: #"{"alg":"\#(algorithm)","kid":"k1"}"#)
        }
    }

    @Test(arguments: ["HS256", "RS256", "ES256"])
    func `R195: a token that a key of the customer has signed is good`(
        algorithm: String
    ) throws {
        try addKey(algorithm)
        let token = try client.mint(#"{"userId":"user-9","expires_in_seconds":60}"#)
        _ = try social.verify(token)
        try client.advance(61)
        _ = try social.verify(token, status: 401)
        #expect(try client.violations() == [])
    }

    @Test func `R195: a token of another key, algorithm or time is not`() throws {
        try addKey("HS256")
        for order in [
            #"{"userId":"u","key":"another secret"}"#, #"{"userId":"u","signature":"absent"}"#,
            #"{"userId":"u","alg":"HS512","key":"customer-secret"}"#, #"{"userId":"u","exp":1}"#,
        ] {
            #expect(try social.verify(try client.mint(order), status: 401)["code"]?.integer == 400_100)
        }
        for headers in [[], ["Authorization: Basic eA=="], ["Authorization: Bearer x"]] {
            #expect(try client.call("GET", "/api/v3/sessions", headers: headers).status == 401)
        }
        try client.set("{}")
        _ = try social.verify(
            try client.mint(#"{"userId":"u","alg":"HS256","key":"customer-secret"}"#), status: 401)
    }

    @Test(arguments: ["{}", #"{"userId":7}"#, #"{"userId":""}"#]) func `a token for nobody`(order: String)
        throws
    {
        try addKey("HS256")
        let answer = try social.verify(try client.mint(order), status: 422)
        #expect(answer["code"]?.integer == 500_000)
        #expect(try client.violations() == ["the access token has no userId"])
    }

    @Test func `such a session is revoked, and its user banned, like any other`() throws {
        try addKey("ES256")
        let token = try client.mint(#"{"userId":"user-9"}"#)
        try social.put("user-9", "banned")
        #expect(try social.verify(token, status: 403)["code"]?.integer == 400_312)
        #expect(try social.revoke(token, status: 403)["code"]?.integer == 400_312)
        try social.put("user-9", "active")
        _ = try social.revoke(token)
        _ = try social.verify(token, status: 401)
    }

    @Test func `a user who calls too often must wait five seconds, and nobody else`() throws {
        #expect(try client.sandbox.json("GET", client.control)["rate_limit"]?.integer == 100)
        try client.set(#"{"rate_limit":1,"customer_keys":[{"alg":"HS256","key":"customer-secret"}]}"#)
        let token = try client.mint(#"{"userId":"user-1"}"#)
        // Two calls within five seconds: on a machine that is too busy for that, the next two.
        let refused = try (0..<20).lazy.map { _ in
            try client.call("GET", "/api/v3/sessions", headers: ["Authorization: Bearer \(token)"])
        }.first { $0.status == 429 }
        #expect(try Tree(try #require(refused).body)["code"]?.integer == 400_311)
        _ = try social.verify(try client.mint(#"{"userId":"user-2"}"#))
        try client.advance(5)
        _ = try social.verify(token)
    }

    @Test func `a device registers for push with its own user`() throws {
        try client.set(#"{"secure_mode":false}"#)
        _ = try social.login("user-1", authToken: nil)
        let path = "/v1/notification"
        func register(_ body: String, status: Int = 200) throws -> Tree {
            try client.json("POST", path, body, headers: SocialPlusClient.api, status: status)
        }
        let good = #"{"deviceId":"device-1","userId":"user-1","platform":"ios","token":"00aF"}"#
        let answer = try register(good)
        #expect(answer == .object(["status": .text("success"), "data": .object([:])]))
        for body in [
            #"{"deviceId":"device-1","userId":"user-1","platform":"linux","token":"00"}"#,
            #"{"deviceId":"device-1","userId":"user-1","platform":"ios","token":"0g"}"#,
            #"{"deviceId":"device-1","userId":"user-1","platform":"ios","token":"\#(String(repeating: "0", count: 401))"}"#,
            #"{"deviceId":"device-1","userId":"user-1","platform":"android","token":""}"#,
            #"{"deviceId":"device-1","platform":"android","token":"x"}"#,
        ] {
            #expect(try register(body, status: 422)["code"]?.integer == 500_000)
        }
        let foreign = #"{"deviceId":"device-1","userId":"user-2","platform":"android","token":"x"}"#
        #expect(try register(foreign, status: 403)["code"]?.integer == 400_301)
        let wrongKey = try client.call("POST", path, good, headers: ["x-api-key: x"])
        #expect(wrongKey.status == 401)
        let push = client.control + "/push"
        #expect(try client.sandbox.json("GET", push)["registrations"]?[0]?["token"] == .text("00aF"))
        #expect(try client.call("DELETE", path, headers: SocialPlusClient.api).status == 422)
        _ = try client.json("DELETE", path + "?deviceId=device-1", headers: SocialPlusClient.api)
        #expect(try client.sandbox.json("GET", push)["registrations"] == .array([]))
        #expect(try client.violations() == [])
    }

    @Test func `keys and tokens where they do not belong are held against the client`() throws {
        try client.set(#"{"secure_mode":false}"#)
        let wire = try client.call(
            "POST", "/api/v4/sessions", #"{"userId":"u","deviceId":"d"}"#,
            headers: SocialPlusClient.api + ["x-server-key: server-key", "Authorization: Bearer x"])
        #expect(wire.status == 200)
        #expect(
            try client.violations() == [
                "x-server-key is the customer's server's, and is never sent here",
                "Authorization does not belong here",
            ])
    }

    @Test(arguments: [
        ("GET", "/api/v4/sessions", 405), ("POST", "/api/v3/sessions", 405), ("PUT", "/v1/notification", 405),
        ("GET", "/api/v4/authentication/token", 405), ("POST", "/api/v4/logout", 404), ("GET", "/", 404),
        ("DELETE", "/api/v4/sessions/users/u", 404),
    ])
    func `there are no other routes`(method: String, path: String, status: Int) throws {
        #expect(try client.call(method, path, "{}", headers: SocialPlusClient.api).status == status)
        #expect(
            try client.violations().first == (status == 404 ? "there is no such route" : "wrong method"))
    }

    @Test(arguments: [
        (#"{"second_revoke_status":300}"#, "200 or 401"), (#"{"rate_limit":0}"#, "must be between"),
        (#"{"customer_keys":{}}"#, "an array"), (#"{"customer_keys":[{"key":"x"}]}"#, "\"alg\" is missing"),
        (#"{"customer_keys":[{"alg":"HS512","key":"x"}]}"#, "known: HS256, RS256, ES256"),
        (#"{"customer_keys":[{"alg":"ES256","key":"x"}]}"#, "is no key"), (#"{"key":"x"}"#, "unknown key"),
    ])
    func `a setting that makes no sense is refused`(settings: String, message: String) throws {
        let answer = try client.sandbox.json("PUT", client.control, body: settings, status: 400)
        #expect(answer["error"]?.text?.contains(message) == true, "\(answer)")
    }

    @Test(arguments: [
        ("users", #"{"userId":"u","state":"gone"}"#, "known: active, banned, system_banned, deleted"),
        ("users", #"{"state":"active"}"#, "\"userId\" is missing"),
        ("keys", #"{"alg":"PS256"}"#, "known: HS256, RS256, ES256"),
        ("mint", #"{"userId":"u"}"#, "\"key\" is missing"),
    ])
    func `an order that makes no sense is refused`(action: String, body: String, message: String) throws {
        let answer = try client.sandbox.json("POST", client.control + "/" + action, body: body, status: 400)
        #expect(answer["error"]?.text?.contains(message) == true, "\(answer)")
    }
}
