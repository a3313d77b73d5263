import Testing

/// Signing in at the stand-in of social.plus, and what ends a session.
@Suite struct `social.plus sessions` {
    private let social: SocialPlusClient
    private var client: PlatformClient { social.client }

    init() throws { social = try SocialPlusClient() }

    // MARK: - Auth tokens

    @Test func `an auth token is plain text, 42 hexadecimal digits`() throws {
        let token = try social.authToken()
        #expect(token.utf8.count == 42 && token.allSatisfy(\.isHexDigit))
        #expect(try social.authToken() != token)
        let old = try client.json(
            "GET", "/api/v3/authentication/token?userId=user-1", headers: ["x-server-key: server-key"])
        _ = try social.login(authToken: old.text)
        #expect(try client.violations() == [])
    }

    @Test func `the customer's server needs its key, and a network that wants tokens`() throws {
        for headers in [[], ["x-server-key: api-key"]] {
            let wire = try client.call(
                "POST", "/api/v4/authentication/token", #"{"userId":"u"}"#, headers: headers)
            #expect(wire.status == 401)
            #expect(wire.header("Content-Type") == "text/plain")
            #expect(wire.bodyText == "Unauthorized")
        }
        for body in ["{}", #"{"userId":""}"#, #"{"userId":7}"#] {
            let answer = try client.json(
                "POST", "/api/v4/authentication/token", body, headers: ["x-server-key: server-key"],
                status: 422)
            #expect(answer["code"]?.integer == 500_000)
        }
        try client.set(#"{"secure_mode":false}"#)
        let answer = try client.json(
            "POST", "/api/v4/authentication/token", #"{"userId":"u"}"#, headers: ["x-server-key: server-key"],
            status: 403)
        #expect(answer["code"]?.integer == 400_300)
    }

    // MARK: - Signing in

    @Test func `a session, as the platform describes it`() throws {
        let answer = try social.login(
            authToken: try social.authToken(),
            more:
                #","displayName":"Ada","deviceInfo":{"kind":"node","model":"linux","sdkVersion":"chatauthd/1"}"#
        )
        #expect(
            answer.keys == [
                "accessToken", "expiresAt", "files", "issuedAt", "lastCachePurge", "refreshToken", "users",
            ])
        #expect(
            answer["users"]?[0]
                == .object([
                    "userId": .text("user-1"), "displayName": .text("Ada"), "isGlobalBan": .bool(false),
                ]))
        for date in ["issuedAt", "expiresAt"] {
            #expect(answer[date]?.text?.utf8.count == 24 && answer[date]?.text?.hasSuffix("Z") == true)
        }
        let token = try #require(answer["accessToken"]?.text)
        let claims = try Tree(claimsOf: token)
        #expect(claims["userId"] == .text("user-1"))
        #expect(claims["deviceId"] == .text("device-1"))
        let (issued, ends) = (try #require(claims["iat"]?.integer), try #require(claims["exp"]?.integer))
        #expect((2_592_000...2_592_001).contains(ends - issued))
        #expect(try social.verify(token) == .object(["lastCachePurge": .null]))
        let again = try social.login(authToken: try social.authToken())
        #expect(again["users"]?[0]?["displayName"] == .text("Ada"))
        #expect(try client.violations() == [])
    }

    @Test func `in secure mode an auth token must be known, fresh and for this user`() throws {
        let token = try social.authToken("user-1")
        for (user, token) in [("user-1", nil), ("user-2", token), ("user-1", "0123")] {
            let answer = try social.login(user, authToken: token, status: 401)
            #expect(answer["status"] == .text("error"))
            #expect(answer["code"]?.integer == 400_100)
        }
        _ = try social.login(authToken: token)
        try client.advance(601)
        #expect(try social.login(authToken: token, status: 401)["code"]?.integer == 400_100)
        try client.set(#"{"secure_mode":false}"#)
        _ = try social.login(authToken: nil)
    }

    @Test func `another network's key is no key`() throws {
        for headers in [[], ["x-api-key: server-key"]] {
            let answer = try client.json(
                "POST", "/api/v4/sessions", #"{"userId":"u","deviceId":"d"}"#, headers: headers, status: 401)
            #expect(answer["code"]?.integer == 400_100)
        }
        #expect(try client.violations() == ["x-api-key is missing"])
    }

    @Test(arguments: [
        (#"{"deviceId":"d"}"#, "userId"), (#"{"userId":"u"}"#, "deviceId"),
        (#"{"userId":"","deviceId":"d"}"#, "userId"),
        (#"{"userId":7,"deviceId":"d"}"#, "userId"),
        (#"{"userId":"\#(String(repeating: "u", count: 51))","deviceId":"d"}"#, "userId"),
        (#"{"userId":"u","deviceId":"\#(String(repeating: "d", count: 151))"}"#, "deviceId"),
        (
            #"{"userId":"u","deviceId":"d","displayName":"\#(String(repeating: "n", count: 101))"}"#,
            "displayName"
        ),
        (#"{"userId":"u","deviceId":"d","authToken":""}"#, "authToken"),
        (#"{"userId":"u","deviceId":"d","authToken":"\#(String(repeating: "t", count: 101))"}"#, "authToken"),
        (#"{"userId":"u","deviceId":"d","deviceInfo":{"kind":"linux"}}"#, "deviceInfo.kind"),
        (
            #"{"userId":"u","deviceId":"d","deviceInfo":{"model":"\#(String(repeating: "m", count: 101))"}}"#,
            "model"
        ),
        (
            #"{"userId":"u","deviceId":"d","deviceInfo":{"sdkVersion":"\#(String(repeating: "1", count: 31))"}}"#,
            "sdkVersion"
        ),
        (#"{"userId":"u","deviceId":"d","deviceInfo":"node"}"#, "deviceInfo"),
    ])
    func `a field beyond its limits`(body: String, field: String) throws {
        let answer = try client.json(
            "POST", "/api/v4/sessions", body, headers: SocialPlusClient.api, status: 422)
        #expect(answer["code"]?.integer == 500_000)
        #expect(answer["data"]?["detail"]?[0]?.text?.hasPrefix(field) == true)
    }

    @Test func `the longest fields, counted in characters`() throws {
        try client.set(#"{"secure_mode":false}"#)
        _ = try social.login(String(repeating: "ü", count: 50), authToken: nil)
        let wire = try client.call("POST", "/api/v4/sessions", "{", headers: SocialPlusClient.api)
        #expect(wire.status == 400)
        #expect(try Tree(wire.body)["code"]?.integer == 400_000)
    }

    // MARK: - The end

    @Test func `R203: an access token ends with its time, and when it is revoked`() throws {
        let token = try social.accessToken()
        let other = try social.accessToken()
        #expect(try social.revoke(token) == .object(["success": .bool(true)]))
        #expect(try social.verify(token, status: 401)["code"]?.integer == 400_100)
        #expect(try social.revoke(token, status: 401)["code"]?.integer == 400_100)
        try client.set(#"{"second_revoke_status":200}"#)
        _ = try social.revoke(token)
        _ = try social.verify(token, status: 401)
        _ = try social.verify(other)
        try client.advance(2_592_002)
        _ = try social.verify(other, status: 401)
        _ = try social.revoke(other, status: 401)
    }

    @Test func `revoking may fail while signing in does not`() throws {
        let token = try social.accessToken()
        _ = try client.sandbox.json(
            "POST", client.control + "/faults", body: #"{"fault":"status","status":500,"route":"revoke"}"#)
        _ = try social.accessToken()
        #expect(
            try client.call("DELETE", "/api/v4/sessions", headers: ["Authorization: Bearer \(token)"]).status
                == 500)
    }

    @Test func `what meets an error is not carried out, and what loses its answer is`() throws {
        let (failed, lost) = (try social.accessToken(), try social.accessToken())
        _ = try client.sandbox.json(
            "POST", client.control + "/faults",
            body: #"[{"fault":"status","status":500,"route":"revoke"},{"fault":"reset","route":"revoke"}]"#)
        for token in [failed, lost] {
            _ = try client.call("DELETE", "/api/v4/sessions", headers: ["Authorization: Bearer \(token)"])
        }
        _ = try social.verify(failed)
        _ = try social.verify(lost, status: 401)
    }

    @Test(
        arguments: [
            ("banned", 403, 400_312), ("system_banned", 401, 400_100), ("deleted", 404, 400_400),
        ] as [(String, Int, Int64)])
    func `whoever is shut out notices with the next call`(state: String, status: Int, code: Int64) throws {
        let token = try social.accessToken()
        let auth = try social.authToken()
        try social.put("user-1", state)
        #expect(try social.verify(token, status: status)["code"]?.integer == code)
        #expect(try social.login(authToken: auth, status: status)["code"]?.integer == code)
        let users = try client.sandbox.json("GET", client.control + "/users")
        #expect(users["users"]?[0]?["state"] == .text(state))
        try social.put("user-1", "active")
        _ = try social.verify(token)
    }

    @Test func `somebody who is banned before the first call`() throws {
        try social.put("user-1", "banned")
        let answer = try social.login(authToken: try social.authToken(), status: 403)
        #expect(answer["message"] == .text("User is global banned."))
    }
}
