import CredentialCore
import Providers
import Secrets
import Testing

@Suite struct `Answers of backends` {
    private static let sent = WallTime(seconds: 1_767_225_600)

    private func read(
        _ body: StaticString, fields: FieldMap? = nil, for wish: SourceContext.Wish = .credentials,
        status: Int = 200, type: String? = "application/json", retryAfter: Milliseconds? = nil
    ) throws(RefreshFailure) -> SourceAnswer.Reading {
        try SourceAnswer.read(
            FetchResponse(
                status: status, retryAfter: retryAfter, date: Self.sent, contentType: type,
                body: SecretBytes(body)), fields: fields, for: wish, sentAt: Self.sent)
    }

    private func isSame(_ secret: SecretBytes?, _ text: StaticString) -> Bool {
        secret?.isEqual(to: SecretBytes(text)) ?? false
    }

    @Test(
        arguments: [
            #"{"id_token":"t"}"#, #"{"idToken":"t"}"#, #"{"jwt":"t"}"#, #"{"token":"t"}"#,
            #"{"id_token":"","token":"t"}"#, #"{"id_token":null,"jwt":"t"}"#,
            #" {"x":[1,{"y":2}],"token":"t"} "#,
        ] as [StaticString])
    func `the usual names of an identity token are understood`(body: StaticString) throws {
        let reading = try read(body)
        #expect(isSame(reading.fresh.credential.idToken, "t"))
        #expect(reading.fresh.credential.accessToken == nil)
        #expect(reading.fresh.expiries == .unknown)
        #expect(reading.fresh.originDate == Self.sent)
        #expect(!reading.hasImplausibleExpiry)
    }

    @Test(
        arguments: [
            (#"{"authToken":"t","message":"ok"}"#, .authToken), (#"{"auth_token":"t"}"#, .authToken),
            (#"{"accessToken":"t"}"#, .accessToken), (#"{"token":"t"}"#, .authToken),
            (#"{"authToken":"t","accessToken":"of the backend"}"#, .authToken),
            (#"{"authToken":"another","accessToken":"t","token":"of the backend"}"#, .accessToken),
        ] as [(StaticString, SourceContext.Wish)])
    func `R159, R192: what is wished for by name is found as the vendor's backends write it`(
        body: StaticString, wish: SourceContext.Wish
    ) throws {
        #expect(isSame(try read(body, for: wish).fresh.credential.bearer, "t"))
    }

    @Test func `a map is the whole truth, whatever is wished for`() throws {
        let answer: StaticString = #"{"authToken":"of another","jwt":"t"}"#
        let reading = try read(answer, fields: FieldMap(token: "jwt"), for: .authToken)
        #expect(isSame(reading.fresh.credential.bearer, "t"))
        #expect(throws: RefreshFailure(.empty, httpStatus: 200)) {
            try read(#"{"authToken":"t"}"#, fields: FieldMap(token: "jwt"), for: .authToken)
        }
        // Who asks for any credential has no use for it.
        #expect(throws: RefreshFailure(.empty, httpStatus: 200)) { try read(#"{"authToken":"t"}"#) }
    }

    @Test(arguments: [#"{"access_token":"t"}"#, #"{"accessToken":"t"}"#] as [StaticString])
    func `an access token alone is the bearer`(body: StaticString) throws {
        #expect(isSame(try read(body).fresh.credential.bearer, "t"))
    }

    @Test(
        arguments: [
            (#"{"token":"t","expires_in":60}"#, 60), (#"{"token":"t","expiresIn":"60"}"#, 60),
            (#"{"token":"t","expires_in":60.9}"#, 60), (#"{"token":"t","expires_at":1767225700}"#, 100),
            (#"{"token":"t","expires_at":1767225700000}"#, 100),
            (#"{"token":"t","expiresAt":"2026-01-01T00:01:00Z"}"#, 60),
            (#"{"token":"t","expires_at":1767225700,"expires_in":60}"#, 60),
            (#"{"token":"t","expires_at":1767225630,"expires_in":60}"#, 30),
            (#"{"token":"t","expires_at":null,"expires_in":60}"#, 60), (#"{"token":"t","expires_in":-5}"#, 0),
        ] as [(StaticString, Int64)])
    func `an expiry is the earlier of the two`(body: StaticString, seconds: Int64) throws {
        #expect(try read(body).fresh.expiries.hint == Self.sent + .seconds(seconds))
    }

    @Test(
        arguments: [
            #"{"token":"t","expires_in":1e300}"#, #"{"token":"t","expires_at":true}"#,
            #"{"token":"t","expires_at":"soon"}"#, #"{"token":"t","expires_in":99999999999999999999}"#,
        ] as [StaticString])
    func `an expiry that is no moment counts as unknown, with a warning`(body: StaticString) throws {
        let reading = try read(body)
        #expect(reading.fresh.expiries.hint == nil)
        #expect(reading.hasImplausibleExpiry)
    }

    @Test func `the bearer's own expiry is read`() throws {
        // {"alg":"none"}.{"exp":1767225700}.
        let reading = try read(#"{"token":"eyJhbGciOiJub25lIn0.eyJleHAiOjE3NjcyMjU3MDB9."}"#)
        #expect(reading.fresh.expiries.exp == WallTime(seconds: 1_767_225_700))
    }

    @Test func `a map names members by paths, and what it says of tokens is all`() throws {
        let map = FieldMap(idToken: "data.jwt", accessToken: "data.at", expiresIn: "data.ttl")
        let reading = try read(
            #"{"data":{"jwt":"i","at":"a","ttl":60},"token":"wrong","issuer":"me"}"#, fields: map)
        #expect(isSame(reading.fresh.credential.idToken, "i"))
        #expect(isSame(reading.fresh.credential.companion, "a"))
        #expect(reading.fresh.credential.issuer == "me")
        #expect(reading.fresh.expiries.hint == Self.sent + .seconds(60))
        #expect(throws: RefreshFailure(.empty, httpStatus: 200)) {
            try read(#"{"token":"t"}"#, fields: FieldMap(idToken: "jwt"))
        }
        #expect(
            isSame(try read(#"{"a.b":"t"}"#, fields: FieldMap(token: "a.b")).fresh.credential.bearer, "t"))
        #expect(throws: RefreshFailure(.empty, httpStatus: 200)) {
            try read(#"{"a":"t"}"#, fields: FieldMap(token: "a.b.c"))
        }
    }

    @Test(
        arguments: [
            ("", RefreshFailure.Kind.empty), ("{}", .empty), (#"{"token":""}"#, .empty),
            (#"{"ok":false}"#, .empty),
            (#"{"error":"x"}"#, .empty), ("<html>", .malformed), ("[]", .malformed), (#""t""#, .malformed),
            ("null", .malformed), (#"{"token":5}"#, .malformed), (#"{"token":"a","token":"b"}"#, .malformed),
            (#"{"token":"a\n"}"#, .malformed), (#"{"token":"t","issuer":5}"#, .malformed),
            (#"{"token":"t""#, .malformed),
            (#"{"token":["t"]}"#, .malformed), (#"{"token":"t","issuer":"a b"}"#, .malformed),
        ] as [(StaticString, RefreshFailure.Kind)])
    func `what holds no credential is told apart`(body: StaticString, kind: RefreshFailure.Kind) {
        #expect(throws: RefreshFailure(kind, httpStatus: 200)) { try read(body) }
    }

    @Test func `a token of 256 KiB is taken and one byte more is not`() throws {
        func body(_ length: Int) -> SecretBytes {
            var buffer = SecretBuffer()
            buffer.append(#"{"token":""#)
            for _ in 0..<length { buffer.append(0x74) }
            buffer.append(#""}"#)
            return buffer.finish()
        }
        let reading = try SourceAnswer.read(body(262_144), fields: nil, sentAt: Self.sent)
        #expect(reading.fresh.credential.bearer.count == 262_144)
        #expect(throws: RefreshFailure(.tooLarge)) {
            try SourceAnswer.read(body(262_145), fields: nil, sentAt: Self.sent)
        }
    }

    @Test(
        arguments: [
            (401, "application/json", RefreshFailure.Kind.rejected), (403, "application/json", .rejected),
            (401, nil, .rejected), (403, "text/html; charset=utf-8", .upstreamError),
            (401, "TEXT/HTML", .upstreamError),
            (403, "application/xhtml+xml", .upstreamError), (400, "application/json", .upstreamError),
            (404, "application/json", .upstreamError), (429, "application/json", .upstreamError),
            (500, "application/json", .upstreamError), (503, "text/html", .upstreamError),
            (301, nil, .upstreamError), (302, nil, .upstreamError), (307, nil, .upstreamError),
            (199, nil, .upstreamError),
        ] as [(Int, String?, RefreshFailure.Kind)])
    func `only 401 and 403 that are no page are a refusal`(
        status: Int, type: String?, kind: RefreshFailure.Kind
    ) {
        #expect(
            throws: RefreshFailure(
                kind, httpStatus: status, providerCode: "no_user", retryAfter: .seconds(7))
        ) {
            try read(
                #"{"error":"no_user","token":"t"}"#, status: status, type: type, retryAfter: .seconds(7))
        }
    }

    @Test(
        arguments: [
            #"{"error":"with space"}"#, #"{"error":""}"#, #"{"error":5}"#, #"{"error":"\u001b[31m"}"#,
            "<html>",
            #"{"error":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}"#,
        ] as [StaticString])
    func `an error code that is not safe to print is left out`(body: StaticString) {
        #expect(throws: RefreshFailure(.rejected, httpStatus: 401)) { try read(body, status: 401) }
    }

    @Test(
        arguments: [
            ("t\n", "t"), ("t\r\n", "t"), ("t", "t"), (" t", " t"), ("t\n\n", nil), ("", nil), ("\n", nil),
        ]
            as [(StaticString, StaticString?)])
    func `a bare token ends before its line end`(text: StaticString, token: StaticString?) {
        let reading = try? SourceAnswer.read(token: SecretBytes(text))
        if let token {
            #expect(isSame(reading?.fresh.credential.bearer, token))
        } else {
            #expect(reading == nil)
        }
    }
}

@Suite struct `Requests to backends` {
    private static let secret = SecretReference.file(path: "/s")

    private func make(
        _ source: HTTPSource, _ secrets: [StaticString] = []
    ) throws -> FetchRequest {
        let name = try #require(AccountName("bot"))
        return try SourceRequest.make(
            id: 9, source: source, context: SourceContext(account: name, reason: .expiring),
            secrets: secrets.map { SecretBytes($0) })
    }

    private func url() throws -> HTTPURL { try HTTPURL("https://b.example/t") }

    @Test func `a template is filled in, and other braces stay`() throws {
        let request = try make(
            HTTPSource(
                url: url(), bodyTemplate: "{x{account}&{reason}{{account}}{", contentType: "text/plain"))
        #expect(request.body?.isEqual(to: SecretBytes("{xbot&expiring{bot}{")) == true)
        #expect(request.headers.map(\.name) == ["Content-Type", "Accept"])
        #expect(request.headers[0].value.isEqual(to: SecretBytes("text/plain")))
    }

    @Test func `a GET has no body, and what the operator says of headers holds`() throws {
        let request = try make(
            HTTPSource(
                url: url(), method: .get,
                headers: [HTTPSource.Header(name: "accept", value: .literal("text/plain"))]))
        #expect(request.body == nil)
        #expect(request.headers.map(\.name) == ["accept"])
        #expect(request.id == 9 && request.bodyLimit == 1_048_576 && request.timeout == .seconds(8))
    }

    @Test(arguments: ["", "\n", "a\nb", "a\r\n\r\n", "\u{7f}", "ä", "a\tb"] as [StaticString])
    func `a secret that no header can carry makes the source unusable`(secret: StaticString) throws {
        let header = HTTPSource.Header(name: "A", value: .secret(Self.secret, prefix: "Bearer "))
        #expect(throws: RefreshFailure(.sourceUnavailable)) {
            try make(HTTPSource(url: url(), headers: [header]), [secret])
        }
        #expect(throws: RefreshFailure(.sourceUnavailable)) {
            try make(HTTPSource(url: url(), headers: [header]), [])
        }
    }

    @Test func `secrets stand behind their prefixes in the order of the headers`() throws {
        let headers = [
            HTTPSource.Header(name: "A", value: .secret(.file(path: "/a"), prefix: "x ")),
            HTTPSource.Header(name: "B", value: .literal("b")),
            HTTPSource.Header(name: "C", value: .secret(.credential(name: "c"), prefix: "")),
        ]
        let source = try HTTPSource(url: url(), headers: headers)
        #expect(SourceDefinition.http(source).references == [.file(path: "/a"), .credential(name: "c")])
        let request = try make(source, ["1\r\n", "2"])
        #expect(request.headers[0].value.isEqual(to: SecretBytes("x 1")))
        #expect(request.headers[2].value.isEqual(to: SecretBytes("2")))
    }
}

@Suite struct `Requests and answers of backends that speak of chats` {
    private func request(
        body: String? = nil, type: String = "application/json", answer: HTTPSource.Answer = .json,
        chat: String? = nil, user: String? = nil
    ) throws -> [String] {
        let source = HTTPSource(
            url: try HTTPURL("https://b.example"), bodyTemplate: body, contentType: type, answer: answer)
        let request = try SourceRequest.make(
            id: 1, source: source,
            context: SourceContext(
                account: try #require(AccountName("bot")), reason: .initial, chatID: chat, userID: user),
            secrets: [])
        return lines(request.headers) + [shown(request.body) ?? ""]
    }

    @Test func `R5: the chat and the user are told where there are any`() throws {
        #expect(try request().last == #"{"account":"bot","reason":"initial"}"#)
        #expect(
            try request(chat: "c\"1", user: "u").last
                == #"{"chatId":"c\"1","userId":"u","account":"bot","reason":"initial"}"#)
    }

    @Test func `R56: what stands in a body is escaped as its media type asks`() throws {
        let body = #"{"c":"{chat_id}","u":"{user_id}","w":"{reason}","x":{}}"#
        #expect(
            try request(body: body, chat: "a\"\\\n{user_id}", user: nil).last
                == #"{"c":"a\"\\\u000A{user_id}","u":"","w":"initial","x":{}}"#)
        #expect(
            try request(
                body: "c={chat_id}&a={account}", type: "application/x-www-form-urlencoded; charset=utf-8",
                chat: "a b&c=é"
            ).last == "c=a%20b%26c%3D%C3%A9&a=bot")
        #expect(try request(body: "{chat_id}", type: "text/plain", chat: "a\"b").last == "a\"b")
    }

    @Test func `a token may be the whole answer`() throws {
        #expect(try request(answer: .text).contains("Accept: text/plain"))
        func read(_ body: String, _ status: Int = 200, _ type: String = "text/plain") throws(RefreshFailure)
            -> String?
        {
            shown(
                try SourceAnswer.read(
                    answer(status, body, type: type), answer: .text, fields: nil, sentAt: .distantPast
                ).fresh.credential.bearer)
        }
        #expect(try read("0123abc\r\n") == "0123abc")
        #expect(throws: RefreshFailure(.upstreamError, httpStatus: 200)) { try read("<p>", 200, "text/html") }
        #expect(throws: RefreshFailure(.empty, httpStatus: 200)) { try read("\n") }
        #expect(throws: RefreshFailure(.malformed, httpStatus: 200)) { try read("a\nb") }
        #expect(throws: RefreshFailure(.rejected, httpStatus: 401)) { try read("Unauthorized", 401) }
        #expect(throws: RefreshFailure(.upstreamError, httpStatus: 503)) { try read("token", 503) }
    }
}
