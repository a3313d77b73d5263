import CredentialCore
import JOSE
import Secrets
import Testing

@Suite struct `An ID token` {
    private static let now = WallTime(seconds: 1_700_000_000)
    private let key: Key
    private let accessToken = secret("access-token-abc123")

    init() throws { key = try Example.key(Example.p256, .es256) }

    private static let p256 = Example.p256.replacing("{", with: #"{"kid":"a","#)
    private static let ed25519 = Example.ed25519.replacing("{", with: #"{"kid":"b","#)
    private static let keys = "{\"keys\":[\(p256),\(ed25519)]}"

    private func refusal(
        _ claims: String, header: String = #"{"alg":"ES256","kid":"a"}"#, keys: String = keys,
        key: Key? = nil,
        hasAccessToken: Bool = true, isBroken: Bool = false
    ) throws -> VerificationFailure? {
        var token = bytes(try token(header: header, payload: claims, key: key ?? self.key))
        if isBroken { token[token.count - 20] = token[token.count - 20] == 65 ? 66 : 65 }
        let order = VerificationOrder(
            id: 1, token: secret(token), keys: secret(keys), issuer: "https://idp.example", audience: "me",
            accessToken: hasAccessToken ? accessToken : nil, now: Self.now)
        return failure { () throws(VerificationFailure) in try IDToken.verify(order) }
    }

    private func claims(
        iss: String = "\"https://idp.example\"", aud: String = "\"me\"", exp: String = "1700000300",
        more: String = ""
    ) -> String {
        "{\"iss\":\(iss),\"aud\":\(aud),\"exp\":\(exp),\"iat\":1699999999\(more)}"
    }

    @Test func `of the issuer, for the client, and of now is believed`() throws {
        #expect(try refusal(claims()) == nil)
        #expect(try refusal(claims(aud: "[\"me\"]")) == nil)
        let eddsa = try Example.key(Example.ed25519, .edDSA)
        #expect(try refusal(claims(), header: #"{"alg":"EdDSA","kid":"b"}"#, key: eddsa) == nil)
    }

    @Test(arguments: [
        "\"https://idp.example/\"", "\"https://IDP.example\"", "\"\"", "null", "[\"https://idp.example\"]",
        "7",
    ]) func `of another issuer is not`(iss: String) throws {
        #expect(try refusal(claims(iss: iss)) == .issuerMismatch)
    }

    @Test(arguments: [
        ("\"you\"", "", false), ("[]", "", false), ("null", "", false), ("{\"me\":1}", "", false),
        ("[\"you\"]", "", false),
        ("[\"me\",7]", "", false), ("[[\"me\"]]", "", false), ("\"ME\"", "", false),
        ("[\"me\",\"you\"]", "", false),
        ("[\"me\",\"you\"]", ",\"azp\":\"you\"", false), ("[\"me\",\"you\"]", ",\"azp\":7", false),
        ("[\"me\",\"me\"]", "", false), ("[\"me\",\"you\"]", ",\"azp\":\"me\"", true),
        ("[\"you\",\"they\"]", ",\"azp\":\"me\"", false), ("\"me\"", ",\"azp\":\"you\"", true),
    ]) func `for somebody else is not`(aud: String, more: String, isGood: Bool) throws {
        #expect(try refusal(claims(aud: aud, more: more)) == (isGood ? nil : .audienceMismatch))
    }

    @Test(
        arguments: [
            ("-5", VerificationFailure.expired), ("0", .expired), ("1.7e9", .expired), ("1.5", .expired),
            ("1699999999.9", .expired), ("1700000000", .expired), ("1700000001", nil), ("1700000001.5", nil),
            ("2147483648", nil), ("9007199254740993", .malformed), ("9223372036854775808", .malformed),
            ("1e300", .malformed), ("1e400", .malformed), ("-1e400", .expired), ("\"17\"", .malformed),
            ("\"1700000300\"", .malformed), ("true", .malformed), ("null", .malformed), ("[]", .malformed),
            ("{}", .malformed),
        ] as [(String, VerificationFailure?)]) func `ends when it says, and says so with a date`(
            exp: String, expected: VerificationFailure?
        ) throws
    {
        #expect(try refusal(claims(exp: exp)) == expected)
    }

    @Test func `without an end is not believed`() throws {
        #expect(try refusal(#"{"iss":"https://idp.example","aud":"me"}"#) == .malformed)
        for payload in ["", "[]", "7", "{", "{\"iss\":\"https://idp.example\",\"iss\":\"x\"}"] {
            #expect(try refusal(payload) == .malformed)
        }
    }

    @Test(arguments: ["nbf", "iat"]) func `may come from a clock that is a minute ahead`(name: String) throws
    {
        let begin = #"{"iss":"https://idp.example","aud":"me","exp":1700000300,"#
        for (value, expected) in [
            ("1700000060", nil), ("1700000061", .notYetValid), ("1e300", .malformed), ("-5", nil),
            ("\"1\"", .malformed), ("null", .malformed),
        ] as [(String, VerificationFailure?)] {
            #expect(try refusal(begin + "\"\(name)\":\(value)}") == expected, "\(value)")
        }
    }

    @Test func `names the access token that came with it`() throws {
        let good = ",\"at_hash\":\"UmVcZ6GYNYUw6lgGuNgu2Q\""
        #expect(try refusal(claims(more: good)) == nil)
        for wrong in [
            "\"UmVcZ6GYNYUw6lgGuNgu2g\"", "\"umVcZ6GYNYUw6lgGuNgu2Q\"", "\"\"",
            "\"UmVcZ6GYNYUw6lgGuNgu2Q==\"", "7", "null",
            "\"n5T_NlzMUxYwFBG6j6CjTg7Fuon8bz4O\"",
        ] { #expect(try refusal(claims(more: ",\"at_hash\":\(wrong)")) == .accessTokenMismatch, "\(wrong)") }
        #expect(try refusal(claims(more: ",\"at_hash\":\"AAAA\""), hasAccessToken: false) == nil)
    }

    @Test(arguments: [
        ("dNZX1hEZ9wBCzNL40Upu646bdzQA", SignatureAlgorithm.rs256, "wfgvmE9VxjAudsl9lc6TqA"),
        ("jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y", .hs256, "77QmUPtjPfzWtF2AnpK9RQ"),
        ("access-token-abc123", .ps256, "UmVcZ6GYNYUw6lgGuNgu2Q"),
        ("access-token-abc123", .es256, "UmVcZ6GYNYUw6lgGuNgu2Q"),
        ("access-token-abc123", .es384, "n5T_NlzMUxYwFBG6j6CjTg7Fuon8bz4O"),
        ("access-token-abc123", .hs384, "n5T_NlzMUxYwFBG6j6CjTg7Fuon8bz4O"),
        ("access-token-abc123", .hs512, "tDEsSlWNzCPs4qS1aB1K2Pw9q_wMtficdyNo5aXxlqE"),
        ("access-token-abc123", .edDSA, "tDEsSlWNzCPs4qS1aB1K2Pw9q_wMtficdyNo5aXxlqE"),
    ]) func `hashes an access token as its algorithm does`(
        token: String, algorithm: SignatureAlgorithm, expected: String
    ) {
        #expect(base64URL(bytes(algorithm.halfHash(of: secret(token)))) == expected)
    }

    @Test func `with several faults is refused for the most severe`() throws {
        let worst = claims(
            iss: "\"x\"", aud: "\"x\"", exp: "1", more: ",\"nbf\":1800000000,\"at_hash\":\"x\"")
        #expect(try refusal(worst, isBroken: true) == .signatureWrong)
        #expect(try refusal(worst, keys: "{}", isBroken: true) == .keysMalformed)
        #expect(try refusal(worst, header: #"{"alg":"ES256","kid":"z"}"#, isBroken: true) == .unknownKey)
        #expect(
            try refusal(worst, header: #"{"alg":"RS256","kid":"a"}"#, isBroken: true) == .algorithmMismatch)
        #expect(try refusal(worst) == .issuerMismatch)
        #expect(try refusal(claims(aud: "\"x\"", exp: "1", more: ",\"at_hash\":\"x\"")) == .audienceMismatch)
        #expect(try refusal(claims(exp: "1", more: ",\"at_hash\":\"x\"")) == .accessTokenMismatch)
        #expect(try refusal(claims(exp: "1", more: ",\"nbf\":1800000000")) == .expired)
    }

    @Test func `selects a key by its name, byte by byte`() throws {
        // The same letter twice, composed and decomposed.
        let composed = "{\"keys\":[\(Self.p256.replacing("\"a\"", with: "\"\u{E9}\"")),\(Self.ed25519)]}"
        let header = { (kid: String) in "{\"alg\":\"ES256\",\"kid\":\"\(kid)\"}" }
        #expect(try refusal(claims(), header: header("\u{E9}"), keys: composed) == nil)
        #expect(try refusal(claims(), header: header("e\u{301}"), keys: composed) == .unknownKey)
        for kid in ["A", "a ", "../a", "a' OR 1=1", "", "c"] {
            #expect(try refusal(claims(), header: header(kid)) == .unknownKey, "\(kid)")
        }
        // Known, but another's.
        #expect(try refusal(claims(), header: header("b")) == .algorithmMismatch)
        // Without a name there must be no choice.
        #expect(try refusal(claims(), header: #"{"alg":"ES256"}"#) == .unknownKey)
        #expect(try refusal(claims(), header: #"{"alg":"ES256"}"#, keys: "{\"keys\":[\(Self.p256)]}") == nil)
        #expect(try refusal(claims(), header: #"{"alg":"ES256"}"#, keys: "{\"keys\":[]}") == .unknownKey)
    }

    @Test func `is not judged by an ambiguous set`() throws {
        let twice = "{\"keys\":[\(Self.p256),\(Self.ed25519.replacing("\"b\"", with: "\"a\""))]}"
        let mixed = "{\"keys\":[\(Self.p256),{\"kty\":\"oct\",\"kid\":\"o\",\"k\":\"AAAA\"}]}"
        let many = "{\"keys\":[" + Array(repeating: "{}", count: 101).joined(separator: ",") + "]}"
        for keys in [
            twice, mixed, many, "", "[]", "{}", "{\"keys\":{}}", "{\"keys\":[7]}",
            "{\"keys\":[],\"keys\":[]}",
        ] {
            #expect(try refusal(claims(), keys: keys) == .keysMalformed, "\(keys.prefix(80))")
        }
    }

    @Test func `passes over keys that are not for it`() throws {
        let others = [
            #"{"kty":"RSA","kid":"w","n":"AQAB","e":"AQAB"}"#, #"{"kty":"EC","crv":"P-521","kid":"x"}"#,
            #"{"kty":"new"}"#,
            Self.p256.replacing("{", with: #"{"use":"enc","#),
            Self.p256.replacing("\"a\"", with: "\"q\"").replacing("f83", with: "f84"),
        ].joined(separator: ",")
        #expect(try refusal(claims(), keys: "{\"keys\":[\(others),\(Self.p256)]}") == nil)
        for kid in ["w", "x", "q"] {
            let header = "{\"alg\":\"ES256\",\"kid\":\"\(kid)\"}"
            #expect(try refusal(claims(), header: header, keys: "{\"keys\":[\(others)]}") == .unknownKey)
        }
    }

    @Test func `may be signed in either way by an RSA key that states none`() throws {
        guard let openssl = OpenSSL() else { return }
        try openssl.makePair(.rs256, "key")
        try #require(openssl.run("rsa -pubin -in key.pub -modulus -noout -out modulus"))
        let modulus = String(decoding: try openssl.file("modulus"), as: UTF8.self).dropFirst(8).prefix {
            $0 != "\n"
        }
        let jwk = { (more: String) in
            "{\"keys\":[{\"kty\":\"RSA\",\"kid\":\"a\",\"n\":\"\(base64URL(hex(String(modulus))))\",\"e\":\"AQAB\"\(more)}]}"
        }
        for algorithm in [SignatureAlgorithm.rs256, .ps256] {
            let key = try Key(reading: secret(openssl.file("key.pem")), algorithm, isPrivate: true)
            let header = "{\"alg\":\"\(algorithm.rawValue)\",\"kid\":\"a\"}"
            #expect(try refusal(claims(), header: header, keys: jwk(""), key: key) == nil)
            for stated in [SignatureAlgorithm.rs256, .ps256] {
                #expect(
                    try refusal(
                        claims(), header: header, keys: jwk(",\"alg\":\"\(stated.rawValue)\""), key: key)
                        == (stated == algorithm ? nil : .algorithmMismatch))
            }
            #expect(
                try refusal(claims(), header: header, keys: jwk(",\"alg\":\"RS512\""), key: key)
                    == .unknownKey)
        }
    }
}
