import CredentialCore
import OAuth
import Secrets
import TestSupport
import Testing

@Suite struct `Answers of a token endpoint` {
    private func read(_ response: FetchResponse) throws -> TokenAnswer {
        try TokenAnswer.read(response, sentAt: sent, issuer: "https://as.example")
    }

    private func read(_ body: String) throws -> TokenAnswer { try read(response(200, body)) }

    @Test func `all that a server grants arrives`() throws {
        let answer = try read(
            #"{"access_token":"a","id_token":"i","refresh_token":"r","token_type":"Bearer","expires_in":60,"scope":"x y"}"#
        )
        #expect(text(answer.fresh.credential.accessToken) == "a")
        #expect(text(answer.fresh.credential.idToken) == "i")
        #expect(answer.fresh.credential.issuer == "https://as.example")
        #expect(answer.fresh.expiries == Expiries(hint: sent + .seconds(60)))
        #expect(answer.fresh.originDate == sent)
        #expect(text(answer.refreshToken) == "r")
        #expect(answer.scope == "x y")
        #expect(!answer.hasImplausibleExpiry)
    }

    @Test(arguments: [
        #"{"access_token":"a"}"#, #"{"access_token":"a","refresh_token":""}"#,
        #"{"access_token":"a","refresh_token":null}"#, #"{"access_token":"a","refresh_token":"a\u0000b"}"#,
        #"{"access_token":"a","refresh_token":"é"}"#,
    ])
    func `without a usable refresh token the old one stays`(_ body: String) throws {
        #expect(try read(body).refreshToken == nil)
        #expect(TokenAnswer.successor(in: response(200, body)) == nil)
    }

    @Test(
        arguments: [
            ("60", 60), ("60.9", 60), (#""60""#, 60), ("0", 0), ("-5", 0), (#""-5""#, 0),
            ("2147483648", 2_147_483_648),
        ] as [(String, Int64)])
    func `expires_in counts from when the request was sent`(_ number: String, _ seconds: Int64) throws {
        let answer = try read(#"{"access_token":"a","expires_in":\#(number)}"#)
        #expect(answer.fresh.expiries.hint == sent + .seconds(seconds))
        #expect(!answer.hasImplausibleExpiry)
    }

    @Test(arguments: [
        "1e300", "1000000000000000000", #""abc""#, #""NaN""#, "true", "[]", "9223372036854775808",
    ])
    func `an expires_in that is no number counts as unknown, with a warning`(_ number: String) throws {
        let answer = try read(#"{"access_token":"a","expires_in":\#(number)}"#)
        #expect(answer.fresh.expiries == .unknown)
        #expect(answer.hasImplausibleExpiry)
    }

    @Test func `an absent expires_in is unknown, and the token's own end is read`() throws {
        #expect(try read(#"{"access_token":"a"}"#).fresh.expiries == .unknown)
        #expect(try read(#"{"access_token":"a","expires_in":null}"#).fresh.expiries == .unknown)
        let answer = try read(
            #"{"access_token":"eyJhbGciOiJub25lIn0.eyJleHAiOjE3NjcyMjU3MDB9.","expires_in":600}"#)
        #expect(answer.fresh.expiries == Expiries(hint: sent + .seconds(600), exp: sent + .seconds(100)))
    }

    @Test(arguments: [#""bearer""#, #""Bearer""#, #""BEARER""#, "null"])
    func `a bearer token is one in any case`(_ type: String) throws {
        #expect(try text(read(#"{"access_token":"a","token_type":\#(type)}"#).fresh.credential.bearer) == "a")
    }

    @Test(arguments: [#""DPoP""#, #""mac""#, #""N_A""#, #""pop""#, #""""#, "1", "{}"])
    func `a token of another type is refused, and its refresh token kept`(_ type: String) {
        let answer = response(200, #"{"access_token":"a","refresh_token":"r","token_type":\#(type)}"#)
        #expect(failure { try read(answer) } == RefreshFailure(.notBearer, httpStatus: 200))
        #expect(text(TokenAnswer.successor(in: answer)) == "r")
    }

    @Test(arguments: [
        ("", RefreshFailure.Kind.empty), ("{}", .empty), (#"{"ok":false}"#, .empty),
        (#"{"access_token":""}"#, .empty),
        (#"{"access_token":null}"#, .empty), (#"{"refresh_token":"r"}"#, .empty), ("[]", .malformed),
        ("null", .malformed), ("x", .malformed),
        (#"{"access_token":5}"#, .malformed), (#"{"access_token":["a"]}"#, .malformed),
        (#"{"access_token":"a\n"}"#, .malformed), (#"{"access_token":"a","access_token":"b"}"#, .malformed),
        (#"{"access_token":"a""#, .malformed), (#"{"error":{"message":"no"}}"#, .upstreamError),
    ])
    func `a success without a token is none`(_ body: String, _ kind: RefreshFailure.Kind) {
        #expect(failure { try read(body) } == RefreshFailure(kind, httpStatus: 200))
    }

    @Test func `a page with a 200 is a portal's, not the server's`() {
        let page = response(200, "<html>Sign in to the network", type: "text/html; charset=utf-8")
        #expect(failure { try read(page) } == RefreshFailure(.upstreamError, httpStatus: 200))
    }

    @Test func `an error in a 200 ends nothing`() {
        #expect(
            failure { try read(#"{"error":"invalid_grant","access_token":"a"}"#) }
                == RefreshFailure(.rejected, httpStatus: 200, providerCode: "invalid_grant"))
        #expect(failure { try read(#"{"error":null}"#) } == RefreshFailure(.empty, httpStatus: 200))
    }

    @Test(arguments: ["5", #""""#, #""a\"b""#, #""é""#, #""a\nb""#, "null"])
    func `a scope that is none is as if it were not there`(_ scope: String) throws {
        #expect(try read(#"{"access_token":"a","scope":\#(scope)}"#).scope == nil)
    }

    @Test func `tokens of 256 KiB are taken, and one byte more is not`() throws {
        let token = String(repeating: "t", count: 262_144)
        let answer = try read(
            #"{"access_token":"\#(token)","id_token":"\#(token)","refresh_token":"\#(token)"}"#)
        #expect(answer.fresh.credential.accessToken?.count == 262_144)
        #expect(answer.refreshToken?.count == 262_144)
        #expect(
            failure { try read(#"{"access_token":"\#(token)t"}"#) }
                == RefreshFailure(.tooLarge, httpStatus: 200))
        #expect(try read(#"{"access_token":"a","refresh_token":"\#(token)t"}"#).refreshToken == nil)
    }

    // A token that cannot be used must not take the successor of the spent one with it.
    @Test func `whatever can be read of a refresh token is found`() {
        for body in [
            #"{"access_token":5,"refresh_token":"r"}"#, #"{"error":"x","refresh_token":"r"}"#,
            #"{"access_token":"a\n","refresh_token":"r"}"#,
        ] { #expect(text(TokenAnswer.successor(in: response(201, body))) == "r", "\(body)") }
        #expect(TokenAnswer.successor(in: response(400, #"{"refresh_token":"r"}"#)) == nil)
        #expect(TokenAnswer.successor(in: response(200, #"{"refresh_token":["r"]}"#)) == nil)
    }

    @Test func `no answer is too strange to be judged`() {
        var answers = AnswerGenerator(random: .announced(for: "token answers"))
        for _ in 0..<20_000 {
            let response = answers.next()
            let failure = failure { try read(response) }
            if (200..<300).contains(response.status) {
                #expect(failure?.kind != .grantDead && failure?.kind != .clientRefused)
            } else {
                #expect(failure != nil)
            }
            if failure?.kind == .grantDead { #expect((400..<500).contains(response.status)) }
            if let code = failure?.providerCode { #expect((1...64).contains(code.utf8.count)) }
            if failure == nil {
                // Where a token came, nothing is left open.
                #expect(SpendOutcome.certainty(of: response) == nil)
            }
            _ = try? Introspection.read(response)
            _ = Revocation.read(response)
            _ = try? ServerMetadata.read(response, issuer: "https://as.example")
            _ = TokenAnswer.successor(in: response)
        }
    }
}
