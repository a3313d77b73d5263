import CredentialCore
import Providers
import Secrets
import Testing

@Suite struct `Answers to binds` {
    private static let moment = WallTime(seconds: 1_767_225_600)

    private func expiry(_ body: String, field: String? = "expires_at") throws -> ExpiryReading {
        try BindAnswer.read(answer(200, body), expiryField: field).expiry
    }

    @Test(arguments: [
        #"{"expires_at":1767225600}"#, #"{"expires_at":1767225600.9}"#, #"{"expires_at":1767225600000}"#,
        #"{"expires_at":"1767225600"}"#, #"{"expires_at":"2026-01-01T00:00:00.000Z"}"#,
        #"{"expires_at":"2026-01-01T01:00:00+01:00"}"#, #"{"data":{"expires_at":1767225600}}"#,
        #"{"expires_at":null,"data":{"expires_at":"2026-01-01T00:00:00Z"}}"#,
    ])
    func `R35: the backend's expiry is read in every form`(_ body: String) throws {
        #expect(try expiry(body) == .at(Self.moment))
    }

    @Test(
        arguments: [
            (#"{"expires_at":1e300}"#, .implausible), (#"{"expires_at":"soon"}"#, .implausible),
            (#"{"expires_at":true}"#, .implausible), (#"{"expires_at":[]}"#, .implausible),
            (#"{"expires_at":0}"#, .at(.distantPast)), (#"{"expires_at":-5}"#, .at(.distantPast)),
            ("{}", .absent), ("", .absent), ("[]", .absent), ("7", .absent), (#"{"data":7}"#, .absent),
            (#"{"expires_at":null}"#, .absent),
        ] as [(String, ExpiryReading)])
    func `R35: what is no moment is unknown, and what is past is past`(
        _ body: String, _ reading: ExpiryReading
    ) throws {
        #expect(try expiry(body) == reading)
    }

    @Test(
        arguments: [
            // By our clock it is over; the platform's says otherwise, and is followed.
            (-100, -1000, 900), (0, -1, 1), (-1, -2, 1),
            // By both it is over.
            (-100, -50, -100), (-100, -100, -100), (-100, 1000, -100), (0, 0, 0),
            // A platform that says nothing of its clock is taken to have ours.
            (-100, nil, -100),
            // What is not over is left as it is, wherever the platform's clock is.
            (100, -1000, 100), (100, 1000, 100), (100, nil, 100),
        ] as [(Int64, Int64?, Int64)])
    func `R35: an expiry that is past by our clock alone is moved by the difference of the clocks`(
        _ expiry: Int64, _ date: Int64?, _ end: Int64
    ) throws {
        let now = Self.moment
        let response = answer(
            200, #"{"expires_at":\#(now.seconds + expiry)}"#, date: date.map { now + .seconds($0) })
        #expect(
            try BindAnswer.read(response, expiryField: "expires_at").end(at: now) == now + .seconds(end))
    }

    @Test(
        arguments: [
            (#"{"expires_at":"soon"}"#, .implausible, .implausible),
            (#"{"expires_at":1e300}"#, .implausible, .implausible),
            (#"{"expires":1767225600}"#, .missing, nil), ("{}", .missing, nil), ("", .missing, nil),
            ("[]", .missing, nil), (#"{"expires_at":null}"#, nil, nil),
            (#"{"data":{"expires_at":1767225600}}"#, nil, nil),
        ] as [(String, BindAnswer.ExpiryFlaw?, BindAnswer.ExpiryFlaw?)])
    func `an expiry that cannot be read is a flaw, and so is one that was described and is not there`(
        _ body: String, _ described: BindAnswer.ExpiryFlaw?, _ kindlys: BindAnswer.ExpiryFlaw?
    ) throws {
        let response = answer(200, body)
        #expect(try BindAnswer.read(response, expiryField: "expires_at").flaw == described)
        #expect(try BindAnswer.read(response, expiryField: nil).flaw == nil)
        #expect(try BindAnswer.read(response, expiryField: "expires_at", ofChat: true).flaw == kindlys)
    }

    @Test(
        arguments: [
            (403, #"{"error":"chatbubble token"}"#, "application/json", true), (404, "", nil, true),
            (401, #"{"error":"kindly-chatbubble-token is not of this chat"}"#, "application/json", true),
            (401, #"{"error":"no such chat"}"#, "application/json", false), (401, "", nil, false),
            (404, "<html>", "text/html", false), (500, "", nil, false), (429, "", nil, false),
        ] as [(Int, String, String?, Bool)])
    func `R48: an answer may be of the chat, and not of the credential`(
        _ status: Int, _ body: String, _ type: String?, _ isOfChat: Bool
    ) {
        func cause(ofChat hasChat: Bool) -> RefreshFailure.Cause? {
            #expect(throws: RefreshFailure.self) {
                try BindAnswer.read(
                    answer(status, body, type: type), expiryField: "expires_at", ofChat: hasChat)
            }?.cause
        }
        #expect(cause(ofChat: true) == (isOfChat ? .chatUnknown : nil))
        #expect(cause(ofChat: false) == nil)
    }

    @Test func `another member may say it, below others or with a dot in its name`() throws {
        let body = #"{"a":{"until":1767225600},"b.c":1767225600,"expires_at":1}"#
        #expect(try expiry(body, field: "a.until") == .at(Self.moment))
        #expect(try expiry(body, field: "b.c") == .at(Self.moment))
        #expect(try expiry(body, field: nil) == .absent)
        #expect(try expiry(body, field: "expires_at.x") == .absent)
    }

    @Test(
        arguments: [
            (401, #"{"error":"bad signature"}"#, "application/json", .rejected, nil),
            (401, #"{"error":"token_expired"}"#, "application/json", .rejected, "token_expired"),
            (401, "", nil, .rejected, nil), (401, "no", "text/plain", .rejected, nil),
            (401, "<html>", "text/html; charset=utf-8", .upstreamError, nil),
            (
                401, #"{"error":"X-Access-Token requires a JWT id_token in Authorization"}"#,
                "application/json",
                .companionInvalid, nil
            ),
            (
                401, #"{"error":{"message":"X-Access-Token requires a JWT id_token in Authorization."}}"#,
                "application/json", .companionInvalid, nil
            ),
            (
                401, "X-Access-Token requires a JWT id_token in Authorization", "text/plain",
                .companionInvalid,
                nil
            ),
            (
                500, "X-Access-Token requires a JWT id_token in Authorization", "text/plain", .upstreamError,
                nil
            ),
            (403, "", nil, .upstreamError, nil), (404, "", nil, .upstreamError, nil),
            (429, "", nil, .upstreamError, nil), (302, "", nil, .upstreamError, nil),
            (200, "<html>", "text/html", .upstreamError, nil),
            (200, "{", "application/json", .malformed, nil),
            (200, "ok", "text/plain", .malformed, nil),
        ] as [(Int, String, String?, RefreshFailure.Kind, String?)])
    func `R16, R32: only the platform's own 401 refuses a credential`(
        _ status: Int, _ body: String, _ type: String?, _ kind: RefreshFailure.Kind, _ code: String?
    ) {
        let failure = #expect(throws: RefreshFailure.self) {
            try BindAnswer.read(
                answer(status, body, type: type, retryAfter: .seconds(7)), expiryField: "expires_at")
        }
        #expect(failure?.kind == kind)
        #expect(failure?.httpStatus == status)
        #expect(failure?.providerCode == code)
        if status >= 300 { #expect(failure?.retryAfter == .seconds(7)) }
    }

    @Test func `which statuses refuse a credential can be described`() {
        for (status, kind) in [(403, RefreshFailure.Kind.rejected), (401, .upstreamError)] {
            #expect(throws: RefreshFailure(kind, httpStatus: status)) {
                try BindAnswer.read(answer(status, "{}"), expiryField: nil, refusals: [403, 410])
            }
        }
    }

    @Test(
        arguments: [
            (#"{"error":"no\u0007 \u001b[31mway"}"#, "no [31mway"), (#"{"message":"m"}"#, "m"),
            (#"{"detail":"d"}"#, "d"), (#"{"description":"x"}"#, "x"),
            (#"{"error":{"message":"deep"}}"#, "deep"),
            (#"{"error":{"a":{"message":"too deep"}}}"#, nil), (#"{"error":"","message":"m"}"#, "m"),
            (#"{"other":"o"}"#, nil), ("plain\r\ntext\n", "plain text"), ("", nil), ("  \n", nil),
            ("a\u{202E}b", "a b"),
        ] as [(String, String?)])
    func `an error's text is found under the usual names, and harms no terminal`(
        _ body: String, _ text: String?
    ) {
        #expect(ErrorText.read(answer(400, body)) == text)
    }

    @Test func `an error's text has at most 512 bytes, and whole characters`() {
        let long = ErrorText.read(answer(400, String(repeating: "ä", count: 100_000)))
        #expect(long == String(repeating: "ä", count: 256))
        #expect(ErrorText.read(answer(400, "x" + String(repeating: "€", count: 1000)))?.utf8.count == 511)
        #expect(ErrorText.read(answer(400, "<html>no</html>", type: "text/html")) == nil)
    }
}

@Suite struct `Described binds` {
    private func request(
        headers: [HTTPSource.Header] = [], body: String? = nil, type: String = "application/json",
        method: HTTPMethod = .post, id: String? = "id", access: String? = nil, issuer: String? = nil,
        secrets: [String] = []
    ) throws -> PlatformRequest {
        try DescribedBind.request(
            BindDefinition(
                url: HTTPURL("https://c.example/bind"), method: method, headers: headers, bodyTemplate: body,
                contentType: type), account: #require(AccountName("bot")),
            credential: Credential(
                idToken: id.map(secret), accessToken: access.map(secret), issuer: issuer),
            secrets: secrets.map(secret))
    }

    private func literal(_ name: String, _ text: String) -> HTTPSource.Header {
        .init(name: name, value: .literal(text))
    }

    @Test func `placeholders stand for what the credential has`() throws {
        let found = try request(
            headers: [
                literal("Authorization", "Bearer {bearer}"), literal("X-Access-Token", "{companion}"),
                literal("X-Auth-Issuer", "{issuer}"), literal("X-Account", "{account}/{other}"),
            ], body: #"{"t":"{bearer}","c":"{companion}","x":{}}"#, id: #"i"d\"#, access: "acc",
            issuer: "https://i.example")
        #expect(
            lines(found.headers) == [
                #"Authorization: Bearer i"d\"#, "X-Access-Token: acc", "X-Auth-Issuer: https://i.example",
                "X-Account: bot/{other}", "Content-Type: application/json", "Accept: application/json",
            ])
        #expect(shown(found.body) == #"{"t":"i\"d\\","c":"acc","x":{}}"#)
        #expect(found.method == .post)
        #expect(found.url.text == "https://c.example/bind")
    }

    @Test func `R21, R22: a header whose placeholder stands for nothing is left out`() throws {
        let found = try request(
            headers: [literal("X-Access-Token", "{companion}"), literal("X-Auth-Issuer", "i={issuer}")],
            body: "c={companion}&t={bearer}", type: "application/x-www-form-urlencoded", id: "a+b c=")
        #expect(
            lines(found.headers) == [
                "Content-Type: application/x-www-form-urlencoded", "Accept: application/json",
            ])
        #expect(shown(found.body) == "c=&t=a%2Bb%20c%3D")
    }

    @Test(arguments: HTTPMethod.allCases)
    func `a body goes along where the method takes one`(_ method: HTTPMethod) throws {
        let found = try request(method: method)
        #expect(found.method == method)
        #expect(found.body.map { shown($0) } == (method.takesBody ? "{}" : nil))
    }

    @Test func `clients' headers are those that are described, without what stands for nothing`() throws {
        let account = AccountDefinition(
            name: try #require(AccountName("bot")),
            requestHeaders: [
                literal("X-Session", "{bearer}"), literal("X-Companion", "{companion}"),
                literal("X-Client", "c/{account}"),
            ])
        let credential = try Credential(idToken: secret("i"), accessToken: nil)
        #expect(
            lines(DescribedBind.clientHeaders(of: account, credential: credential)) == [
                "X-Session: i", "X-Client: c/bot",
            ])
    }

    @Test func `a token is no template: what is put in is not looked at again`() throws {
        let found = try request(
            headers: [literal("Authorization", "{bearer}")], body: "{bearer}", id: "{account}{bearer}")
        #expect(lines(found.headers).first == "Authorization: {account}{bearer}")
        #expect(shown(found.body) == "{account}{bearer}")
    }

    @Test func `secrets stand in headers, without their line end`() throws {
        let key = SecretReference.secret(try #require(SecretName("k")))
        let headers: [HTTPSource.Header] = [
            .init(name: "X-Key", value: .secret(key, prefix: "Key ")), literal("accept", "text/plain"),
        ]
        #expect(
            lines(try request(headers: headers, method: .get, secrets: ["s\n"]).headers) == [
                "X-Key: Key s", "accept: text/plain",
            ])
        #expect(try request(headers: headers, method: .get, secrets: ["s"]).body == nil)
        #expect(shown(try request(headers: headers, secrets: ["s"]).body) == "{}")
        for secrets in [[], ["a\nb"], [""]] as [[String]] {
            #expect(throws: RefreshFailure(.sourceUnavailable)) {
                try request(headers: headers, secrets: secrets)
            }
        }
    }
}
