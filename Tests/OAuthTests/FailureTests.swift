import CredentialCore
import OAuth
import Secrets
import Testing

private struct Refusal: Sendable, CustomTestStringConvertible {
    let status: Int
    let body: String
    var type: String? = "application/json"
    let kind: RefreshFailure.Kind
    var code: String?

    var testDescription: String { "\(status) \(body.prefix(40))" }
}

private let long = String(repeating: "x", count: 64)
private let refusals: [Refusal] = [
    // The server's verdict on the grant: 4xx, JSON, and exactly this word.
    .init(status: 400, body: #"{"error":"invalid_grant"}"#, kind: .grantDead, code: "invalid_grant"),
    .init(status: 401, body: #"{"error":"invalid_grant"}"#, kind: .grantDead, code: "invalid_grant"),
    .init(
        status: 400, body: #"{"error":"invalid_grant","error_description":"\u0000"}"#, type: nil,
        kind: .grantDead, code: "invalid_grant"),
    // Nearly that, and not that.
    .init(status: 400, body: #"{"error":"INVALID_GRANT"}"#, kind: .rejected, code: "INVALID_GRANT"),
    .init(status: 400, body: #"{"error":"invalid_grant "}"#, kind: .rejected),
    .init(status: 400, body: #"{"error":["invalid_grant"]}"#, kind: .rejected),
    .init(status: 400, body: #"{"error":{"code":"invalid_grant"}}"#, kind: .rejected),
    .init(status: 400, body: #"{"error_description":"invalid_grant"}"#, kind: .rejected),
    .init(status: 400, body: #"["invalid_grant"]"#, kind: .rejected),
    .init(
        status: 400, body: #"error=invalid_grant"#, type: "application/x-www-form-urlencoded", kind: .rejected
    ),
    .init(status: 400, body: #"{"error":"invalid_grant""#, kind: .rejected),
    .init(status: 400, body: "<h1>invalid_grant</h1>", type: "text/html", kind: .upstreamError),
    .init(status: 500, body: #"{"error":"invalid_grant"}"#, kind: .upstreamError, code: "invalid_grant"),
    .init(status: 503, body: #"{"error":"invalid_grant"}"#, kind: .upstreamError, code: "invalid_grant"),
    .init(status: 302, body: #"{"error":"invalid_grant"}"#, kind: .upstreamError, code: "invalid_grant"),
    .init(status: 429, body: #"{"error":"invalid_grant"}"#, kind: .upstreamError, code: "invalid_grant"),
    .init(status: 408, body: #"{"error":"invalid_grant"}"#, kind: .upstreamError, code: "invalid_grant"),
    // The client is not believed: the next secret may be.
    .init(status: 401, body: #"{"error":"invalid_client"}"#, kind: .clientRefused, code: "invalid_client"),
    .init(status: 400, body: #"{"error":"invalid_client"}"#, kind: .clientRefused, code: "invalid_client"),
    .init(status: 401, body: #"{"message":"Unauthorized"}"#, kind: .clientRefused),
    .init(status: 401, body: "", kind: .rejected),
    .init(status: 401, body: "<html>", type: "text/html", kind: .upstreamError),
    .init(status: 500, body: #"{"error":"invalid_client"}"#, kind: .upstreamError, code: "invalid_client"),
    // What was asked for is refused.
    .init(
        status: 400, body: #"{"error":"unauthorized_client"}"#, kind: .rejected, code: "unauthorized_client"),
    .init(status: 400, body: #"{"error":"invalid_scope"}"#, kind: .rejected, code: "invalid_scope"),
    .init(status: 401, body: #"{"error":"invalid_scope"}"#, kind: .rejected, code: "invalid_scope"),
    .init(status: 403, body: #"{"error":"access_denied"}"#, kind: .rejected, code: "access_denied"),
    .init(status: 400, body: #"{"error":"\#(long)"}"#, kind: .rejected, code: long),
    // A word that is not safe to print is not printed.
    .init(status: 400, body: #"{"error":"\#(long)x"}"#, kind: .rejected),
    .init(status: 400, body: #"{"error":"a b"}"#, kind: .rejected),
    .init(status: 400, body: #"{"error":"a\u001b[31m"}"#, kind: .rejected),
    .init(status: 400, body: #"{"error":""}"#, kind: .rejected),
    // Whoever answered gives no reason.
    .init(status: 400, body: "", type: nil, kind: .rejected),
    .init(status: 403, body: #"{"message":"Forbidden"}"#, kind: .rejected),
    .init(status: 404, body: "not found", type: "text/plain", kind: .rejected),
    .init(status: 403, body: "<!DOCTYPE html>", type: "Text/HTML; charset=utf-8", kind: .upstreamError),
    // It will pass.
    .init(
        status: 400, body: #"{"error":"temporarily_unavailable"}"#, kind: .upstreamError,
        code: "temporarily_unavailable"),
    .init(status: 400, body: #"{"error":"slow_down"}"#, kind: .upstreamError, code: "slow_down"),
    .init(status: 429, body: "", kind: .upstreamError),
    .init(status: 503, body: "", kind: .upstreamError),
    .init(status: 502, body: "<html>", type: "text/html", kind: .upstreamError),
    .init(status: 307, body: "", kind: .upstreamError),
    .init(status: 304, body: "", kind: .upstreamError),
]

@Suite struct `Refusals of an authorization server` {
    @Test(arguments: refusals)
    fileprivate func `only the server's own word ends a grant`(_ refusal: Refusal) {
        let answer = response(refusal.status, refusal.body, type: refusal.type, retryAfter: .seconds(9))
        let expected = RefreshFailure(
            refusal.kind, httpStatus: refusal.status, providerCode: refusal.code, retryAfter: .seconds(9))
        #expect(failure { try TokenAnswer.read(answer, sentAt: sent, issuer: nil) } == expected)
        #expect(failure { try Introspection.read(answer) } == expected)
        #expect(Revocation.read(answer) == expected)
        #expect(TokenAnswer.refusesClient(answer) == (refusal.kind == .clientRefused))
    }

    @Test(
        arguments: [
            (200, "", "application/json", SpendCertainty.lost),
            (200, #"{"access_token":"a"#, "application/json", .lost),
            (200, "[]", "application/json", .lost), (200, "", nil, .lost), (204, "", nil, .lost),
            (200, "<html>", "text/html", .open), (200, "{}", "application/json", nil),
            (200, #"{"access_token":"a"}"#, nil, nil), (200, #"{"error":"x"}"#, nil, nil),
            (301, "", nil, .notSpent), (400, "", nil, .notSpent), (401, "", nil, .notSpent),
            (403, "<html>", "text/html", .notSpent), (429, "", nil, .notSpent), (503, "", nil, .notSpent),
            (408, "", nil, .open), (500, "", nil, .open), (502, "<html>", "text/html", .open),
            (504, "", nil, .open),
            (0, "", nil, .open), (.max, "", nil, .open),
        ] as [(Int, String, String?, SpendCertainty?)])
    func `an answer tells whether the refresh token may be spent`(
        _ status: Int, _ body: String, _ type: String?, _ certainty: SpendCertainty?
    ) {
        #expect(SpendOutcome.certainty(of: response(status, body, type: type)) == certainty)
    }

    @Test func `without an answer it may be spent where it may have arrived`() {
        let lost: Set<FetchFailure> = [
            .connectionLost, .timeout, .tooLarge, .malformedResponse, .workerLost,
        ]
        for failure in FetchFailure.allCases {
            #expect(
                SpendOutcome.certainty(of: failure) == (lost.contains(failure) ? .lost : .notSpent),
                "\(failure)")
        }
    }

    @Test(arguments: [
        (#"{"active":true,"exp":1767225700}"#, Introspection.active(.at(sent + .seconds(100)))),
        (#"{"active":true}"#, .active(.absent)), (#"{"active":true,"exp":null}"#, .active(.absent)),
        (#"{"active":true,"exp":1.5}"#, .active(.at(WallTime(seconds: 1)))),
        (#"{"active":true,"exp":1e300}"#, .active(.implausible)),
        (#"{"active":true,"exp":"17"}"#, .active(.implausible)),
        (#"{"active":true,"exp":1767225700000}"#, .active(.implausible)),
        (#"{"active":false,"exp":1767225700}"#, .inactive),
    ])
    func `introspection says active or not, and until when`(_ body: String, _ reading: Introspection) throws {
        #expect(try Introspection.read(response(200, body)) == reading)
    }

    @Test(arguments: ["", "{}", "[]", #"{"active":"true"}"#, #"{"active":1}"#, #"{"active":null}"#, "<html>"])
    func `an introspection that does not say so is none`(_ body: String) {
        #expect(
            failure { try Introspection.read(response(200, body)) }
                == RefreshFailure(.malformed, httpStatus: 200))
    }

    @Test func `a revoked token is one that the server no longer knows`() {
        #expect(Revocation.read(response(200, "")) == nil)
        #expect(Revocation.read(response(200, "<html>", type: "text/html")) == nil)
        #expect(
            Revocation.read(response(400, #"{"error":"unsupported_token_type"}"#))
                == RefreshFailure(.rejected, httpStatus: 400, providerCode: "unsupported_token_type"))
        #expect(
            Revocation.read(response(503, "", retryAfter: .seconds(60)))
                == RefreshFailure(.upstreamError, httpStatus: 503, retryAfter: .seconds(60)))
        #expect(Revocation.read(response(302, "")) == RefreshFailure(.upstreamError, httpStatus: 302))
    }
}
