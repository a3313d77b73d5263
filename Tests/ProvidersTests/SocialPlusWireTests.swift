import CredentialCore
import Providers
import Secrets
import Testing

func network(terminatesOnUserNotFound: Bool = true) throws -> SocialPlusDefinition {
    SocialPlusDefinition(
        apiKey: .file(path: "/key"), baseURL: try HTTPURL("https://apix.eu.amity.co"), region: .eu,
        terminatesOnUserNotFound: terminatesOnUserNotFound)
}

@Suite struct `Requests to social.plus` {
    private let device = DeviceID(high: 0, low: 0)

    private func session(
        key: String = "key", user: SocialPlusUser? = nil, authToken: String? = nil, version: String = "1"
    ) throws -> PlatformRequest {
        try SocialPlusRequests.session(
            network(), apiKey: secret(key), user: user ?? SocialPlusUser(id: "user-123"), device: device,
            authToken: authToken.map { secret($0) }, version: version)
    }

    @Test func `R161: a login and a renewal make a session`() throws {
        let request = try session(
            key: "key\n", user: SocialPlusUser(id: "user-123", displayName: "Ada \"A\""), authToken: "t0k")
        #expect(request.url.text == "https://apix.eu.amity.co/api/v4/sessions")
        #expect(request.method == .post)
        #expect(
            lines(request.headers) == [
                "x-api-key: key", "Content-Type: application/json", "Accept: application/json",
            ])
        #expect(
            shown(request.body)
                == #"{"userId":"user-123","deviceId":"00000000-0000-4000-8000-000000000000","deviceInfo":{"kind":"node","model":"linux","sdkVersion":"chatauthd/1"},"displayName":"Ada \"A\"","authToken":"t0k"}"#
        )
    }

    @Test func `R156, R157, R188: display name and auth token are left out where there is none`() throws {
        let body = try #require(shown(session(user: SocialPlusUser(id: "u", displayName: "")).body))
        #expect(!body.contains("displayName") && !body.contains("authToken"))
        #expect(
            try shown(session(version: String(repeating: "9", count: 40)).body)?.contains(
                #""sdkVersion":"chatauthd/99999999999999999999"}"#) == true)
    }

    @Test(arguments: ["", "\n", "a\nb", "ä"])
    func `R153: a key that no header can carry makes the network unusable`(_ key: String) {
        #expect(throws: RefreshFailure(.sourceUnavailable)) { try session(key: key) }
    }

    @Test(arguments: ["", String(repeating: "t", count: 101), "a b", "a\n", "ä"])
    func `R157: an auth token has 1 to 100 characters`(_ token: String) throws {
        #expect(throws: RefreshFailure(.malformed)) { try session(authToken: token) }
        #expect(throws: SocialPlusFieldFailure.authTokenInvalid) {
            try SocialPlusUser.check(authToken: secret(token))
        }
        try SocialPlusUser.check(authToken: secret(String(repeating: "t", count: 100)))
    }

    @Test func `R155: a user has 1 to 50 characters`() throws {
        for id in ["", String(repeating: "u", count: 51), "a\u{0}", "a\nb"] {
            #expect(throws: SocialPlusFieldFailure.userIDInvalid) { try SocialPlusUser(id: id) }
        }
        #expect(try SocialPlusUser(id: String(repeating: "\u{1F600}", count: 50)).id.count == 50)
    }

    @Test func `R156: a display name has at most 100 characters`() throws {
        for name in [String(repeating: "n", count: 101), "a\u{1b}[31m"] {
            #expect(throws: SocialPlusFieldFailure.displayNameInvalid) {
                try SocialPlusUser(id: "u", displayName: name)
            }
        }
        #expect(
            try SocialPlusUser(id: "u", displayName: String(repeating: "ä", count: 100)).displayName?.count
                == 100)
    }

    @Test func `R164, R190: verification and revocation carry the access token and no key`() throws {
        let token = try Credential(idToken: nil, accessToken: secret("a.b.c"))
        let verify = try SocialPlusRequests.verify(network(), token: token)
        let revoke = try SocialPlusRequests.revoke(network(), token: token)
        #expect(verify.method == .get && verify.url.text == "https://apix.eu.amity.co/api/v3/sessions")
        #expect(revoke.method == .delete && revoke.url.text == "https://apix.eu.amity.co/api/v4/sessions")
        for request in [verify, revoke] {
            #expect(
                lines(request.headers) == ["Authorization: Bearer a.b.c", "Accept: application/json"])
            #expect(request.body == nil)
        }
    }

    @Test func `R154: each region has its own address`() {
        #expect(
            SocialPlusDefinition.Region.allCases.map(\.baseText) == [
                "https://apix.sg.amity.co", "https://apix.eu.amity.co", "https://apix.us.amity.co",
            ])
    }
}

@Suite struct `Answers of social.plus` {
    private func read(
        _ response: FetchResponse, _ purpose: SocialPlusAnswer.Purpose = .login
    ) throws -> SocialPlusAnswer.Session {
        try SocialPlusAnswer.session(response, purpose, of: network())
    }

    @Test func `R161: a session has its tokens and its dates`() throws {
        let session = try read(
            answer(
                200,
                #"{"accessToken":"a","refreshToken":"r","issuedAt":"2026-01-01T00:00:00.000Z","expiresAt":"2026-01-31T00:00:00.000Z","users":[{"userId":"u"}],"files":[],"lastCachePurge":null}"#
            ))
        #expect(shown(session.credential.bearer) == "a" && shown(session.refreshToken) == "r")
        #expect(session.issuedAt == WallTime(seconds: 1_767_225_600))
        #expect(session.expiries == Expiries(hint: WallTime(seconds: 1_769_817_600)))
        #expect(!session.hasImplausibleExpiry)
    }

    @Test(
        arguments: [
            ("1769817600", 1_769_817_600, false), ("1769817600000", 1_769_817_600, false),
            (#""1769817600""#, 1_769_817_600, false), ("null", nil, false), ("true", nil, true),
            (#""soon""#, nil, true), ("1e300", nil, true),
        ] as [(String, Int64?, Bool)])
    func `R161: dates come in many forms`(_ date: String, _ seconds: Int64?, _ isImplausible: Bool) throws {
        let session = try read(answer(200, #"{"accessToken":"a","issuedAt":\#(date),"expiresAt":\#(date)}"#))
        #expect(session.expiries.hint == seconds.map { WallTime(seconds: $0) })
        #expect(session.issuedAt == seconds.map { WallTime(seconds: $0) })
        #expect(session.hasImplausibleExpiry == isImplausible)
        #expect(session.refreshToken == nil)
    }

    @Test func `R175: the token's own expiry counts as well`() throws {
        let token = try #require(shown(jwt(#"{"userId":"u","exp":1767225700}"#)))
        let session = try read(answer(200, #"{"accessToken":"\#(token)"}"#))
        #expect(session.expiries == Expiries(exp: WallTime(seconds: 1_767_225_700)))
    }

    @Test(
        arguments: [
            ("{}", RefreshFailure.Kind.empty), (#"{"accessToken":""}"#, .empty),
            (#"{"accessToken":null}"#, .empty), (#"{"accessToken":5}"#, .malformed),
            (#"{"accessToken":"a","refreshToken":5}"#, .malformed), ("", .malformed), ("[]", .malformed),
            (#"{"accessToken":"a\n"}"#, .malformed), (#"{"accessToken":"a","accessToken":"b"}"#, .malformed),
        ] as [(String, RefreshFailure.Kind)])
    func `R174: a success without a token is none`(_ body: String, _ kind: RefreshFailure.Kind) {
        #expect(throws: RefreshFailure(kind, httpStatus: 200)) { try read(answer(200, body)) }
    }

    @Test func `R174: a page is no session`() {
        #expect(throws: RefreshFailure(.malformed, httpStatus: 200)) {
            try read(answer(200, #"{"accessToken":"a"}"#, type: "text/html"))
        }
    }

    /// Status, code, and what it means for login, renewal, verification, revocation.
    private static let table: [(Int, String, [RefreshFailure.Kind])] = [
        (401, "400100", [.rejected, .terminated, .rejected, .rejected]),
        (401, #""400100""#, [.rejected, .terminated, .rejected, .rejected]),
        (403, "400312", [.rejected, .terminated, .terminated, .terminated]),
        (403, #""400312""#, [.rejected, .terminated, .terminated, .terminated]),
        (404, "400400", [.upstreamError, .terminated, .terminated, .terminated]),
        (403, "400300", [.rejected, .rejected, .rejected, .rejected]),
        (403, "400301", [.rejected, .rejected, .rejected, .rejected]),
        (429, "400311", [.upstreamError, .upstreamError, .upstreamError, .upstreamError]),
        (400, "400000", [.upstreamError, .upstreamError, .upstreamError, .upstreamError]),
        (422, "500000", [.upstreamError, .upstreamError, .upstreamError, .upstreamError]),
        (500, "500000", [.upstreamError, .upstreamError, .upstreamError, .upstreamError]),
    ]

    @Test(arguments: table)
    func `R178: what a code means depends on what was asked`(
        _ status: Int, _ code: String, _ kinds: [RefreshFailure.Kind]
    ) throws {
        let response = answer(
            status, #"{"status":"error","code":\#(code),"message":"no"}"#, retryAfter: .seconds(3))
        for (purpose, kind) in zip(SocialPlusAnswer.Purpose.allCases, kinds) {
            #expect(
                try SocialPlusAnswer.failure(response, purpose, of: network())
                    == RefreshFailure(
                        kind, httpStatus: status,
                        providerCode: code.filter { $0 != "\"" }, retryAfter: .seconds(3)),
                "\(purpose)")
        }
    }

    @Test func `R178: whether a user that is not found was deleted is configured`() throws {
        let response = answer(404, #"{"status":"error","code":400400,"message":"no"}"#)
        #expect(
            try SocialPlusAnswer.failure(
                response, .renewal, of: network(terminatesOnUserNotFound: false)
            ).kind == .upstreamError)
    }

    @Test(arguments: SocialPlusAnswer.Purpose.allCases)
    func `R178: nothing but a readable code ends a session`(_ purpose: SocialPlusAnswer.Purpose) throws {
        for body in ["", "Unauthorized", #"{"code":400312.5}"#, #"{"code":"x"}"#, #"{"code":[400312]}"#] {
            #expect(
                try SocialPlusAnswer.failure(answer(401, body), purpose, of: network())
                    == RefreshFailure(.rejected, httpStatus: 401))
            #expect(
                try SocialPlusAnswer.failure(answer(403, body), purpose, of: network())
                    == RefreshFailure(.upstreamError, httpStatus: 403))
        }
        let page = answer(403, #"{"code":400312}"#, type: "text/html")
        #expect(
            try SocialPlusAnswer.failure(page, purpose, of: network())
                == RefreshFailure(.upstreamError, httpStatus: 403))
    }

    @Test func `R190: any object is a yes to a verification`() throws {
        try SocialPlusAnswer.verified(answer(200, #"{"lastCachePurge":null}"#), .login, of: network())
        for bad in [answer(200), answer(200, "{}", type: "text/html"), answer(200, "[]")] {
            #expect(throws: RefreshFailure(.malformed, httpStatus: 200)) {
                try SocialPlusAnswer.verified(bad, .login, of: network())
            }
        }
        #expect(throws: RefreshFailure(.rejected, httpStatus: 401)) {
            try SocialPlusAnswer.verified(answer(401), .renewal, of: network())
        }
    }

    @Test func `R164: nothing but the platform's success is a revocation`() throws {
        try SocialPlusAnswer.revoked(answer(200, #"{"success":true}"#), of: network())
        try SocialPlusAnswer.revoked(answer(204), of: network())
        for body in ["", "[]", #"{"success":false}"#, "<html>"] {
            #expect(throws: RefreshFailure(.malformed, httpStatus: 200)) {
                try SocialPlusAnswer.revoked(answer(200, body), of: network())
            }
        }
        #expect(throws: RefreshFailure(.upstreamError, httpStatus: 500)) {
            try SocialPlusAnswer.revoked(answer(500), of: network())
        }
        #expect(throws: RefreshFailure(.rejected, httpStatus: 401)) {
            try SocialPlusAnswer.revoked(answer(401), of: network())
        }
    }
}

@Suite struct `Access tokens of social.plus` {
    private static let now = WallTime(seconds: 1_767_225_600)

    @Test func `R193: an access token is a JWT`() {
        for token in ["", "opaque", "a.b.c.d", "e30.W10."] {
            #expect(throws: SocialPlusAccessToken.Failure.notJWT) {
                try SocialPlusAccessToken.user(of: secret(token))
            }
        }
        #expect(
            SocialPlusAccessToken.Failure.notJWT.refreshFailure
                == RefreshFailure(.malformed, cause: .token(.notJWT)))
    }

    @Test(
        arguments: [
            "{}", #"{"userId":""}"#, #"{"userId":7}"#, #"{"userId":null}"#, #"{"sub":"u"}"#,
            #"{"userId":"\#(String(repeating: "u", count: 51))"}"#,
        ])
    func `R194: an access token names its user`(_ payload: String) {
        #expect(throws: SocialPlusAccessToken.Failure.userIDMissing) {
            try SocialPlusAccessToken.user(of: jwt(payload))
        }
    }

    @Test func `R197: a renewed token is the same user's, and has not ended`() throws {
        #expect(try SocialPlusAccessToken.user(of: jwt(#"{"userId":"u-1","exp":1}"#)).id == "u-1")
        func check(_ payload: String) throws {
            try SocialPlusAccessToken.checkRenewed(jwt(payload), for: "u-1", now: Self.now)
        }
        try check(#"{"userId":"u-1"}"#)
        try check(#"{"userId":"u-1","exp":1767225601}"#)
        #expect(throws: SocialPlusAccessToken.Failure.otherUser) { try check(#"{"userId":"u-2"}"#) }
        #expect(throws: SocialPlusAccessToken.Failure.expired) {
            try check(#"{"userId":"u-1","exp":1767225600}"#)
        }
    }
}
