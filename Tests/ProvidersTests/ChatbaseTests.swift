import CredentialCore
import Providers
import Secrets
import Testing

@Suite struct `Requests to Chatbase` {
    private func agent(_ id: String = "agent-1", userAgent: String? = nil) throws -> ChatbaseDefinition {
        ChatbaseDefinition(
            agentID: id, baseURL: try HTTPURL("https://www.chatbase.co/api/sdk"), userAgent: userAgent)
    }

    private func credential(_ token: String) throws -> Credential {
        try Credential(idToken: secret(token), accessToken: nil)
    }

    private var device: DeviceID {
        get throws { try #require(DeviceID("6F9619FF-8B86-4D01-B42D-00CF4FC964FF")) }
    }

    @Test func `R82, R87: identify shows the token to the agent's verify route`() throws {
        let request = try ChatbaseRequests.verify(
            agent(), device: device, stored: nil, token: credential("new"))
        #expect(request.url.text == "https://www.chatbase.co/api/sdk/agents/agent-1/verify")
        #expect(request.method == .post)
        #expect(shown(request.body) == #"{"token":"new"}"#)
        #expect(
            lines(request.headers) == [
                "X-Device-Id: 6F9619FF-8B86-4D01-B42D-00CF4FC964FF", "Content-Type: application/json",
                "Accept: application/json",
            ])
    }

    @Test func `R76: X-User-Token is sent raw and only when identified`() throws {
        let request = try ChatbaseRequests.verify(
            agent(), device: device, stored: credential("old"), token: credential("new"))
        #expect(lines(request.headers).contains("X-User-Token: old"))
        #expect(shown(request.body) == #"{"token":"new"}"#)
        #expect(
            try lines(ChatbaseRequests.headers(device: device, stored: credential("old"))) == [
                "X-Device-Id: 6F9619FF-8B86-4D01-B42D-00CF4FC964FF", "X-User-Token: old",
            ])
    }

    @Test func `R74, R75: anonymous requests carry the device and nothing else`() throws {
        #expect(
            try lines(ChatbaseRequests.headers(device: device, stored: nil)) == [
                "X-Device-Id: 6F9619FF-8B86-4D01-B42D-00CF4FC964FF"
            ])
    }

    @Test func `R75: nothing is ever sent as Authorization`() throws {
        for stored in [nil, try credential("old")] {
            let request = try ChatbaseRequests.verify(
                agent(userAgent: "me/1"), device: device, stored: stored, token: credential("new"))
            #expect(!request.headers.contains { $0.name.lowercased() == "authorization" })
            #expect(request.headers[0].name == "X-Device-Id")
        }
    }

    @Test func `R94: a token that has expired is still sent`() throws {
        let expired = try Credential(idToken: jwt(#"{"user_id":"u","exp":1}"#), accessToken: nil)
        #expect(try ChatbaseRequests.headers(device: device, stored: expired).count == 2)
    }

    @Test func `R75: a configured User-Agent is sent, one that is no header value is not`() throws {
        let request = try ChatbaseRequests.verify(
            agent(userAgent: "Chatbase-iOS-SDK/1.0"), device: device, stored: nil,
            token: credential("new"))
        #expect(lines(request.headers).last == "User-Agent: Chatbase-iOS-SDK/1.0")
        for userAgent in ["", "a\r\nX: y", "ä"] {
            #expect(throws: RefreshFailure(.sourceUnavailable)) {
                try ChatbaseRequests.verify(
                    agent(userAgent: userAgent), device: device, stored: nil, token: credential("new"))
            }
        }
    }

    @Test(arguments: [
        ("a/b", "a%2Fb"), ("a?b#c", "a%3Fb%23c"), ("ä\u{1}", "%C3%A4%01"), ("...", "..."), ("%", "%25"),
    ])
    func `R82: an agent's identifier stays one segment of the path`(_ id: String, _ segment: String) throws {
        let request = try ChatbaseRequests.verify(
            agent(id), device: device, stored: nil, token: credential("new"))
        #expect(request.url.text == "https://www.chatbase.co/api/sdk/agents/\(segment)/verify")
    }

    @Test(arguments: ["", ".", "..", String(repeating: "a", count: 3000)])
    func `R82: an identifier that leads elsewhere makes the agent unusable`(_ id: String) throws {
        #expect(throws: RefreshFailure(.sourceUnavailable)) {
            try ChatbaseRequests.verify(agent(id), device: device, stored: nil, token: credential("new"))
        }
    }
}

@Suite struct `Answers of Chatbase` {
    @Test(
        arguments: [
            (#"{"data":{"ok":true}}"#, nil), (#"{"data":{"ok":true,"userId":"user-42"}}"#, "user-42"),
            (#"{"data":{"userId":42}}"#, "42"), (#"{}"#, nil), (#"{"data":null}"#, nil),
            (#"{"data":{"userId":""}}"#, nil), (#"{"data":{"userId":"a\nb"}}"#, nil),
            (#"{"data":{"userId":["x"]}}"#, nil),
            ("{\"data\":{\"userId\":\"" + String(repeating: "x", count: 257) + "\"}}", nil),
        ] as [(String, String?)])
    func `R82: any 2xx that is an object is an acceptance`(_ body: String, _ userID: String?) throws {
        #expect(try ChatbaseAnswer.read(answer(200, body)).userID == userID)
        #expect(try ChatbaseAnswer.read(answer(201, body, type: nil)).userID == userID)
    }

    @Test(arguments: [("", "application/json"), ("[]", nil), ("<html>", "text/html"), ("{}", "text/html")])
    func `R86: a success that is not the agent's is none`(_ body: String, _ type: String?) {
        #expect(throws: RefreshFailure(.malformed, httpStatus: 200, providerCode: "UNKNOWN")) {
            try ChatbaseAnswer.read(answer(200, body, type: type))
        }
    }

    @Test(
        arguments: [
            (401, "AUTH_INVALID_JWT", RefreshFailure.Kind.rejected),
            (403, "AUTH_OWNERSHIP_MISMATCH", .rejected), (403, "AUTH_OWNERSHIP", .rejected),
            (403, "FORBIDDEN", .upstreamError), (404, "AGENT_NOT_FOUND", .upstreamError),
            (400, "VALIDATION_INVALID_BODY", .upstreamError),
            (400, "VALIDATION_INVALID_JSON", .upstreamError),
            (402, "CHAT_CREDITS_EXHAUSTED", .upstreamError),
            (402, "CHAT_AGENT_CREDITS_EXHAUSTED", .upstreamError),
            (429, "RATE_LIMITED", .upstreamError), (500, "INTERNAL", .upstreamError),
        ] as [(Int, String, RefreshFailure.Kind)])
    func `R85: a failure keeps status and code, and only a refusal is one`(
        _ status: Int, _ code: String, _ kind: RefreshFailure.Kind
    ) {
        #expect(
            throws: RefreshFailure(
                kind, httpStatus: status, providerCode: code, retryAfter: .seconds(9))
        ) {
            try ChatbaseAnswer.read(
                answer(
                    status, #"{"error":{"code":"\#(code)","message":"no","details":{"token":"Required"}}}"#,
                    retryAfter: .seconds(9)))
        }
    }

    @Test(
        arguments: [
            "", "<html>", "[]", #"{"error":"AUTH_INVALID_JWT"}"#, #"{"error":{"code":5}}"#,
            #"{"error":{"code":"with space"}}"#, #"{"error":{"code":""}}"#, #"{"code":"X"}"#,
            #"{"error":{"code":"\#(String(repeating: "A", count: 65))"}}"#,
        ])
    func `R85: a body that says no code is UNKNOWN with its status`(_ body: String) {
        for (status, kind) in [(401, RefreshFailure.Kind.rejected), (404, .upstreamError)] {
            #expect(throws: RefreshFailure(kind, httpStatus: status, providerCode: "UNKNOWN")) {
                try ChatbaseAnswer.read(answer(status, body))
            }
        }
    }

    @Test(arguments: [301, 302, 307, 401, 403, 503])
    func `R86: the page of a gateway is no word of the agent`(_ status: Int) {
        #expect(throws: RefreshFailure(.upstreamError, httpStatus: status, providerCode: "UNKNOWN")) {
            try ChatbaseAnswer.read(answer(status, "<html>", type: "text/html; charset=utf-8"))
        }
    }
}
