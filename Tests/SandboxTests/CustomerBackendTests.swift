import Testing

@Suite struct `Customer backend` {
    let sandbox: RunningSandbox

    init() throws { sandbox = try RunningSandbox() }

    @Test func `a POST is answered with a token for an hour`() throws {
        let wire = try sandbox.call("POST", "/backend/support/token", body: "{}")
        #expect(wire.status == 200)
        #expect(wire.header("Content-Type") == "application/json")
        let answer = try Tree(wire.body)
        #expect(answer.keys == ["expires_in", "token"])
        #expect(answer["expires_in"] == .number("3600"))
        #expect(answer["token"]?.text?.utf8.count == 43)
    }

    @Test func `no token is issued twice, unless told so`() throws {
        let tokens = Set(try (0..<20).map { _ in try sandbox.token()["token"]?.text })
        #expect(tokens.count == 20)
        try sandbox.set(#"{"fresh":false}"#)
        #expect(try sandbox.token()["token"] == sandbox.token()["token"])
    }

    @Test func `GET is as good as POST, anything else is 405`() throws {
        #expect(try sandbox.call("GET", "/token").status == 200)
        let wire = try sandbox.call("PUT", "/token", body: "{}")
        #expect(wire.status == 405)
        #expect(wire.header("Allow") == "GET, POST")
    }

    @Test(arguments: [
        ("expires_in", "expires_in", Tree.number("90")),
        ("expires_in_string", "expires_in", .text("90")),
        ("expires_in_float", "expires_in", .number("90.5")),
        ("null", "expires_in", .null),
        ("garbage", "expires_in", .text("soon")),
        ("negative", "expires_in", .number("-3600")),
        ("enormous", "expires_in", .number("1e+300")),
    ])
    func `a length of time in each form`(form: String, field: String, value: Tree) throws {
        let answer = try sandbox.token("support", "?lifetime_seconds=90&expiry=\(form)")
        #expect(answer.keys == [field, "token"])
        #expect(answer[field] == value)
        try sandbox.set(#"{"lifetime_seconds":90,"expiry":"\#(form)","expiry_field":"ttl"}"#)
        #expect(try sandbox.token()["ttl"] == value)
    }

    @Test func `no expiry at all`() throws {
        #expect(try sandbox.token("support", "?expiry=missing").keys == ["token"])
    }

    @Test func `an instant in seconds, milliseconds and as text`() throws {
        let before = try sandbox.now()
        let seconds = try sandbox.token("support", "?lifetime_seconds=90&expiry=expires_at_seconds")
        let milliseconds = try sandbox.token("support", "?lifetime_seconds=90&expiry=expires_at_milliseconds")
        let after = try sandbox.now()
        let inSeconds = try #require(seconds["expires_at"]?.integer)
        #expect((before / 1000 + 90...after / 1000 + 90).contains(inSeconds))
        let inMilliseconds = try #require(milliseconds["expires_at"]?.integer)
        #expect((before + 90_000...after + 90_000).contains(inMilliseconds))
    }

    @Test(
        arguments: [
            (0, "1970-01-01T00:0", "Thu, 01 Jan 1970 00:0"),
            (-86_400, "1969-12-31T00:0", "Wed, 31 Dec 1969 00:0"),
            (1_675_123_200, "2023-01-31T00:0", "Tue, 31 Jan 2023 00:0"),
            (1_680_220_800, "2023-03-31T00:0", "Fri, 31 Mar 2023 00:0"),
            (1_693_440_000, "2023-08-31T00:0", "Thu, 31 Aug 2023 00:0"),
            (951_782_400, "2000-02-29T00:0", "Tue, 29 Feb 2000 00:0"),
            (4_107_542_400, "2100-03-01T00:0", "Mon, 01 Mar 2100 00:0"),
            (1_798_761_540, "2026-12-31T23:59:", "Thu, 31 Dec 2026 23:59:"),
        ] as [(Int64, String, String)])
    func `the calendar, by a clock that is put there`(second: Int64, text: String, date: String) throws {
        let offset = second - (try sandbox.now()) / 1000
        _ = try sandbox.json("PUT", "/_sandbox/clock", body: #"{"offset_seconds":\#(offset)}"#)
        let wire = try sandbox.call("GET", "/token?lifetime_seconds=0&expiry=expires_at_text")
        #expect(wire.header("Date")?.hasPrefix(date) == true)
        let instant = try #require(try Tree(wire.body)["expires_at"]?.text)
        #expect(instant.hasPrefix(text))
        #expect(instant.hasSuffix("Z") && instant.utf8.count == 24)
    }

    @Test func `a JWT says when it ends, and nothing else does`() throws {
        try sandbox.set(#"{"token_format":"jwt","expiry":"missing","lifetime_seconds":7}"#)
        let before = try sandbox.now() / 1000
        let answer = try sandbox.token()
        let after = try sandbox.now() / 1000
        #expect(answer.keys == ["token"])
        let parts = try #require(
            answer["token"]?.text?.split(separator: ".", omittingEmptySubsequences: false))
        #expect(parts.count == 3)
        let payload = try Tree(try decoded(parts[1]))
        #expect(payload.keys == ["exp", "iat", "iss", "jti", "sub"])
        #expect(payload["sub"] == .text("support"))
        let ends = try #require(payload["exp"]?.integer)
        #expect((before + 7...after + 7).contains(ends))
        #expect(try Tree(decoded(parts[0]))["alg"] == .text("RS256"))
        #expect(try decoded(parts[2]).count == 256)
    }

    @Test func `a JWT without exp`() throws {
        let answer = try sandbox.token("support", "?token_format=jwt_without_exp")
        let parts = try #require(answer["token"]?.text?.split(separator: "."))
        #expect(try Tree(decoded(parts[1])).keys == ["iat", "iss", "jti", "sub"])
    }

    @Test(arguments: [1, 2, 3, 71_680, 262_144]) func `an opaque token is as long as asked`(length: Int)
        throws
    {
        let token = try sandbox.token("support", "?token_bytes=\(length)")["token"]?.text
        #expect(token?.utf8.count == length)
    }

    @Test(arguments: [1000, 1001, 1002, 71_680, 262_144])
    func `a JWT is as long as asked, or three bytes longer`(
        length: Int
    ) throws {
        let token = try #require(
            try sandbox.token("support", "?token_format=jwt&token_bytes=\(length)")["token"]?.text)
        #expect((length...length + 3).contains(token.utf8.count))
        let parts = token.split(separator: ".")
        #expect(try Tree(decoded(parts[1]))["pad"] != nil)
    }

    @Test func `members are called what the configuration calls them`() throws {
        try sandbox.set(
            #"""
            {"fields":{"id_token":"idToken","access_token":"accessToken","issuer":"iss"},
             "issuer":"https://login.example","expiry":"missing"}
            """#)
        let answer = try sandbox.token()
        #expect(answer.keys == ["accessToken", "idToken", "iss"])
        #expect(answer["iss"] == .text("https://login.example"))
        #expect(answer["idToken"] != answer["accessToken"])
        #expect(try sandbox.token("support", "?field.id_token=jwt").keys == ["jwt"])
    }

    @Test func `a demanded header field must arrive with its value`() throws {
        try sandbox.set(#"{"require_headers":{"Authorization":"Bearer s3cret","X-Tenant":"7"}}"#)
        let path = "/backend/support/token"
        #expect(try sandbox.call("POST", path).status == 401)
        #expect(try sandbox.call("POST", path, headers: ["authorization: Bearer s3cret"]).status == 401)
        #expect(
            try sandbox.call("POST", path, headers: ["Authorization: Bearer other", "X-Tenant: 7"]).status
                == 401)
        #expect(
            try sandbox.call("POST", path, headers: ["authorization: Bearer s3cret", "x-tenant: 7"]).status
                == 200)
    }

    @Test func `a skewed backend shifts its Date and its instants, not its lengths of time`() throws {
        try sandbox.set(#"{"date_offset_seconds":86400,"expiry":"expires_at_seconds"}"#)
        let answer = try #require(try sandbox.token()["expires_at"]?.integer)
        let now = try sandbox.now() / 1000
        #expect((now + 86_400 + 3590...now + 86_400 + 3600).contains(answer))
        try sandbox.set(#"{"date_offset_seconds":-1000000000}"#)
        let wire = try sandbox.call("GET", "/backend/support/token")
        #expect(wire.header("Date")?.contains("199") == true)
        #expect(try Tree(wire.body)["expires_in"] == .number("3600"))
    }

    @Test func `backends know nothing of one another`() throws {
        try sandbox.set(#"{"lifetime_seconds":5}"#, for: "a")
        try sandbox.script(#"{"fault":"empty"}"#, for: "b")
        #expect(try sandbox.token("a")["expires_in"] == .number("5"))
        #expect(try sandbox.token("c")["expires_in"] == .number("3600"))
        #expect(try sandbox.call("POST", "/backend/b/token").status == 400)
        #expect(try sandbox.token("b")["expires_in"] == .number("3600"))
    }

    @Test(arguments: [
        "/", "/token/", "/tokens", "/backend/token", "/backend//token", "/backend/-a/token",
        "/backend/a/token/x",
        "/backend/a%2Ftoken", "/backend/a/other", "/_sandboxed",
    ])
    func `an unknown route is 404, and counted`(path: String) throws {
        #expect(try sandbox.call("POST", path).status == 404)
        #expect(try sandbox.json("GET", "/_sandbox/counters")["unknown_routes"]?.integer == 1)
    }

    @Test(arguments: [
        ("lifetme_seconds=5", "unknown key \"lifetme_seconds\""),
        ("lifetime_seconds=x", "must be a whole number"),
        ("lifetime_seconds=99999999999", "must be between"), ("expiry=later", "known: expires_in"),
        ("field.refresh_token=x", "known: id_token, access_token, issuer"),
    ])
    func `a setting in the query that makes no sense is 400`(query: String, message: String) throws {
        let answer = try sandbox.json("POST", "/backend/support/token?\(query)", status: 400)
        #expect(answer["error"]?.text?.contains(message) == true)
    }

    private func decoded(_ text: Substring) throws -> [UInt8] {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var bytes: [UInt8] = []
        var bits = 0
        var count = 0
        for character in text.utf8 {
            bits = (bits << 6 | (try #require(alphabet.firstIndex(of: character)))) & 0xFFFF
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> count))
            }
        }
        return bytes
    }
}
