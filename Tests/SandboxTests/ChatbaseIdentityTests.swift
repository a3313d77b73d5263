import Testing

/// Signing in at the stand-in of Chatbase: whose token is believed, and what a call must and must not carry.
@Suite struct `Chatbase identity` {
    private let client: PlatformClient
    private let verify = "/api/sdk/agents/agent-1/verify"

    init() throws { client = try PlatformClient("chatbase", headers: ["X-Device-Id: device-1"]) }

    private func verified(_ token: String) throws -> Tree {
        try client.json("POST", verify, #"{"token":"\#(token)"}"#)
    }

    @Test func `a token is made as the vendor's sample code would`() throws {
        try client.set(#"{"identity_secret":"test-identity-secret"}"#)
        #expect(
            try client.mint(#"{"user_id":"u-42","exp":4102444800}"#)
                == "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ1c2VyX2lkIjoidS00MiIsImV4cCI6NDEwMjQ0NDgwMH0"
                + ".M5Ogow5G3-PcFst0bNJ9aPN9UMAc_wfI_Q1iZGutiBY")
    }

    @Test(arguments: [
        (#"{"user_id":"user-42"}"#, "user-42"), (#"{"sub":"user-7"}"#, "user-7"), (#"{"user_id":42}"#, "42"),
        (#"{"sub":"loser","user_id":"winner"}"#, "winner"),
        (#"{"user_id":"eternal","claims":{"exp":null}}"#, "eternal"),
        (#"{"user_id":"u","claims":{"email":"u@example.com","exp":4102444800.5}}"#, "u"),
    ])
    func `a good token signs in whom it names`(order: String, user: String) throws {
        let answer = try verified(try client.mint(order))
        #expect(answer == .object(["data": .object(["ok": .bool(true), "userId": .text(user)])]))
        #expect(try client.violations() == [])
    }

    @Test(arguments: [
        #"{"user_id":"u","expires_in_seconds":0}"#, #"{"user_id":"u","exp":1}"#,
        #"{"user_id":"u","key":"another secret"}"#, #"{"user_id":"u","signature":"absent"}"#,
        #"{"user_id":"u","signature":"wrong"}"#,
        #"{"user_id":"u","alg":"HS512","key":"identity-secret"}"#,
        #"{"user_id":"u","claims":{"nbf":4102444800}}"#,
        #"{"user_id":"u","claims":{"exp":"4102444800"}}"#,
    ])
    func `a token that is not good is refused`(order: String) throws {
        let answer = try client.json("POST", verify, #"{"token":"\#(try client.mint(order))"}"#, status: 401)
        #expect(answer["error"]?["code"] == .text("AUTH_INVALID_JWT"))
        #expect(try client.violations() == [])
    }

    @Test(arguments: ["x", "a.b.c", "..", "eyJhbGciOiJIUzI1NiJ9..x", "ü"]) func `neither is what is no token`(
        token: String
    ) throws {
        let answer = try client.json("POST", verify, #"{"token":"\#(token)"}"#, status: 401)
        #expect(answer["error"]?["code"] == .text("AUTH_INVALID_JWT"))
    }

    @Test(arguments: [
        #"{}"#, #"{"user_id":""}"#, #"{"user_id":true}"#, #"{"user_id":1.5}"#, #"{"user_id":{},"sub":"u"}"#,
    ]) func `a token for nobody is refused, and held against the client`(order: String) throws {
        let token = try client.mint(order)
        let answer = try client.json("POST", verify, #"{"token":"\#(token)"}"#, status: 401)
        #expect(answer["error"]?["code"] == .text("AUTH_INVALID_JWT"))
        #expect(try client.violations() == ["the token has neither user_id nor sub"])
    }

    @Test func `without identity verification no token is good`() throws {
        let token = try client.mint(#"{"user_id":"u"}"#)
        try client.set(#"{"identity_verification":false}"#)
        let answer = try client.json("POST", verify, #"{"token":"\#(token)"}"#, status: 401)
        #expect(answer["error"]?["code"] == .text("AUTH_INVALID_JWT"))
    }

    @Test(arguments: ["", "{", #"{"token":"#, #"{"token":"a","token":"b"}"#]) func `a body that is no JSON`(
        body: String
    ) throws {
        let answer = try client.json("POST", verify, body, status: 400)
        #expect(answer["error"]?["code"] == .text("VALIDATION_INVALID_JSON"))
    }

    @Test(arguments: ["{}", #"{"token":""}"#, #"{"token":7}"#, #"{"token":null}"#])
    func `a body without a token`(
        body: String
    ) throws {
        let answer = try client.json("POST", verify, body, status: 400)
        #expect(answer["error"]?["code"] == .text("VALIDATION_INVALID_BODY"))
        #expect(answer["error"]?["details"] == .object(["token": .text("Required")]))
    }

    @Test func `another agent is unknown, and so is one whose channel is off`() throws {
        let token = try client.mint(#"{"user_id":"u"}"#)
        let other = try client.json(
            "POST", "/api/sdk/agents/agent-2/verify", #"{"token":"\#(token)"}"#, status: 404)
        #expect(other["error"]?["code"] == .text("AGENT_NOT_FOUND"))
        try client.set(#"{"channel_enabled":false}"#)
        let own = try client.json("POST", verify, #"{"token":"\#(token)"}"#, status: 404)
        #expect(own["error"]?["code"] == .text("AGENT_NOT_FOUND"))
    }

    @Test func `a call without a device is refused`() throws {
        for headers in [[], ["X-Device-Id:"]] {
            let wire = try client.sandbox.call(
                "POST", "/chatbase/main" + verify, headers: headers + ["Content-Type: application/json"],
                body: #"{"token":"x"}"#)
            #expect(wire.status == 400)
            let error = try Tree(wire.body)["error"]
            #expect(error?["code"] == .text("VALIDATION_INVALID_BODY"))
            #expect(error?["details"]?["X-Device-Id"] == .text("Required"))
        }
        #expect(try client.violations() == ["X-Device-Id is missing", "X-Device-Id is missing"])
    }

    @Test func `Authorization is answered as if it were not there, and held against the client`() throws {
        let token = try client.mint(#"{"user_id":"u"}"#)
        let wire = try client.call(
            "POST", verify, #"{"token":"\#(token)"}"#, headers: ["Authorization: Bearer \(token)"])
        #expect(wire.status == 200)
        #expect(try client.violations() == ["Authorization is never sent here"])
    }

    @Test func `a body is JSON and says so`() throws {
        let token = try client.mint(#"{"user_id":"u"}"#)
        let wire = try client.sandbox.call(
            "POST", "/chatbase/main" + verify, headers: ["X-Device-Id: d"], body: #"{"token":"\#(token)"}"#)
        #expect(wire.status == 200)
        #expect(try client.violations() == ["Content-Type is not application/json"])
    }

    @Test(arguments: [
        "/api/sdk/agents/agent-1/logout", "/api/sdk/agents/agent-1/identity", "/api/sdk/agents/agent-1",
        "/api/sdk", "/", "/api/sdk/agents/agent-1/verify/", "/api/v2/chat",
    ])
    func `there is no call to sign out, and no other route either`(path: String) throws {
        #expect(try client.call("POST", path, "{}").status == 404)
        #expect(try client.violations() == ["there is no such route, and no call to sign out"])
    }

    @Test func `a route knows one method`() throws {
        #expect(try client.call("GET", verify).status == 405)
        #expect(try client.call("DELETE", "/api/sdk/agents/agent-1/conversations").status == 405)
        #expect(try client.violations() == ["wrong method", "wrong method"])
    }

    @Test func `the old token that a device still sends when it signs in may have expired`() throws {
        let old = try client.mint(#"{"user_id":"u","exp":1}"#)
        let new = try client.mint(#"{"user_id":"u"}"#)
        let wire = try client.call("POST", verify, #"{"token":"\#(new)"}"#, headers: ["X-User-Token: \(old)"])
        #expect(wire.status == 200)
    }

    @Test(arguments: [
        (#"{"agent":"x"}"#, "unknown key"), (#"{"agent_id":"a/b"}"#, "is no name"),
        (#"{"identity_secret":""}"#, "is no key"), (#"{"merge_delay_milliseconds":-1}"#, "must be between"),
    ])
    func `a setting that makes no sense is refused`(settings: String, message: String) throws {
        let answer = try client.sandbox.json("PUT", client.control, body: settings, status: 400)
        #expect(answer["error"]?.text?.contains(message) == true)
    }

    @Test(arguments: [
        (#"{"user_id":"u","alg":"HS1"}"#, "known: HS256"),
        (#"{"user_id":"u","exp":99999999999}"#, "must be between"),
        (#"{"user_id":"u","exp":1,"expires_in_seconds":1}"#, "left out"),
        (#"{"user_id":"u","alg":"RS256"}"#, "\"key\" is missing"),
        (#"{"user_id":"u","alg":"RS256","key":"x"}"#, "is no key"), (#"{"name":"u"}"#, "unknown key"),
    ])
    func `an order for a token that makes no sense is refused`(order: String, message: String) throws {
        let answer = try client.sandbox.json("POST", client.control + "/mint", body: order, status: 400)
        #expect(answer["error"]?.text?.contains(message) == true, "\(answer)")
    }

    @Test func `faults wait for their route`() throws {
        _ = try client.sandbox.json(
            "POST", client.control + "/faults", body: #"{"fault":"status","status":503,"route":"chat"}"#)
        _ = try verified(try client.mint(#"{"user_id":"u"}"#))
        #expect(try client.call("POST", "/api/sdk/agents/agent-1/chat", #"{"message":"Hi"}"#).status == 503)
    }
}
