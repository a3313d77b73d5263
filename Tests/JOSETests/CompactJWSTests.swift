import CredentialCore
import JOSE
import Secrets
import Testing

@Suite struct `A token in compact form` {
    private let key: Key

    init() throws { key = try Key(secret: secret("a secret of both sides"), .hs256) }

    private func refusal(_ token: SecretBytes) -> VerificationFailure? {
        failure { () throws(VerificationFailure) in try CompactJWS(token).verify(key) }
    }

    @Test func `is taken apart`() throws {
        let token = try CompactJWS(
            token(header: #"{"alg":"HS256","typ":"JWT","kid":"a\u002fb"}"#, payload: "{\"n\":1}", key: key))
        try token.verify(key)
        #expect(token.algorithm == "HS256")
        #expect(token.keyID == "a/b")
        #expect(text(token.payload) == "{\"n\":1}")
    }

    @Test(arguments: ["none", "None", "NONE", "nOnE", "none "])
    func `without an algorithm is refused in any spelling`(name: String) throws {
        let expected: VerificationFailure = name == "none " ? .algorithmMismatch : .malformed
        #expect(try refusal(token(header: "{\"alg\":\"\(name)\"}")) == expected)
        #expect(try refusal(token(header: "{\"alg\":\"\(name)\"}", key: key)) == expected)
    }

    @Test(arguments: [
        #"{}"#, #"{"alg":null}"#, #"{"alg":1}"#, #"{"alg":["HS256"]}"#, #"["HS256"]"#, #""HS256""#, "", "{",
        #"{"alg":"HS256","alg":"HS256"}"#, #"{"alg":"HS256","\u0061lg":"none"}"#,
        #"{"alg":"HS256","kid":"1","kid":"2"}"#, #"{"alg":"HS256","kid":7}"#, #"{"alg":"HS256","kid":null}"#,
        #"{"alg":"HS256","crit":["exp"]}"#, #"{"alg":"HS256","crit":[]}"#, #"{"alg":"HS256","crit":null}"#,
        #"{"alg":"HS256","b64":false}"#, #"{"alg":"HS256","b64":true}"#, #"{"alg":"HS256","zip":"DEF"}"#,
        #"{"alg":"HS256","cty":"JWT"}"#, #"{"alg":"HS256","cty":"jwt"}"#, #"{"alg":"HS256","cty":7}"#,
        #"{"alg":"HS256","cty":"application/jose"}"#, #"{"alg":"HS256","enc":"A256GCM"}"#,
        #"{"alg":"HS256"} x"#,
    ]) func `whose header asks for what is not understood is refused, whatever the signature says`(
        header: String
    ) throws {
        #expect(try refusal(token(header: header, key: key)) == .malformed)
    }

    @Test(arguments: ["HS384", "RS256", "hs256", "EdDSA", "PBES2-HS256+A128KW", "dir", "", "HS256 "])
    func `names an algorithm that is not the key's`(name: String) throws {
        #expect(try refusal(token(header: "{\"alg\":\"\(name)\"}", key: key)) == .algorithmMismatch)
    }

    @Test func `brings its own key, which is not looked at`() throws {
        let header =
            #"{"alg":"HS256","jwk":{"kty":"oct","k":"AAAA"},"jku":"https://evil.example","x5u":"x","x5c":["x"]}"#
        #expect(try refusal(token(header: header, key: key)) == nil)
        let other = try Key(secret: secret([0, 0, 0]), .hs256)
        #expect(try refusal(token(header: header, key: other)) == .signatureWrong)
    }

    @Test func `has strict base64url in each part`() throws {
        let good = text(try token(header: #"{"alg":"HS256"}"#, key: key))
        #expect(refusal(secret(good)) == nil)
        let parts = good.split(separator: ".").map(String.init)
        // A last digit with other unused bits decodes to the same bytes in a lenient reader.
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let last = try #require(parts[2].last.flatMap { alphabet.firstIndex(of: $0) })
        let twin = String(parts[2].dropLast()) + String(alphabet[last + 1])
        let wrong = [
            good + "=", good + " ", " " + good, good + "\n", good + ".", "." + good, good + ".x", good + "\0",
            parts[0] + "." + parts[1], parts[0] + "." + parts[1] + "." + parts[2] + "." + parts[2],
            parts[0] + "=." + parts[1] + "." + parts[2], parts[0] + "." + parts[1] + "==." + parts[2],
            parts[0] + "." + parts[1] + "." + twin, parts[0] + "." + parts[1] + "." + parts[2] + "A=",
            parts[0] + "." + parts[1] + ".+" + parts[2].dropFirst(), "",
            ".", "..", "...", "....",
        ]
        for text in wrong { #expect(refusal(secret(text)) == .malformed, "\(text)") }
    }

    @Test func `is bounded, and dots alone cost nothing`() throws {
        let dots = secret([UInt8](repeating: UInt8(ascii: "."), count: 60 << 10))
        let clock = ContinuousClock()
        // The fastest of many: what else this machine does is not of interest.
        let fastest = (0..<20).map { _ in clock.measure { #expect(refusal(dots) == .malformed) } }.min()
        #expect(try #require(fastest) < .milliseconds(1))
        let payload = String(repeating: "x", count: Credential.tokenLimit)
        #expect(try refusal(token(header: #"{"alg":"HS256"}"#, payload: payload, key: key)) == .malformed)
    }

    @Test(arguments: [
        "eyJhbGciOiJkaXIiLCJlbmMiOiJBMTI4R0NNIn0..AAAA.AAAA.AAAA",
        "eyJhbGciOiJQQkVTMi1IUzI1NitBMTI4S1ciLCJlbmMiOiJBMTI4R0NNIiwicDJjIjoyMTQ3NDgzNjQ4LCJwMnMiOiJBQUFBIn0.AAAA.AAAA.AAAA.AAAA",
    ]) func `is not encrypted: a JWE is refused before anything is derived`(jwe: String) {
        #expect(refusal(secret(jwe)) == .malformed)
    }

    @Test func `in the JSON serialisation is refused`() {
        #expect(
            refusal(secret(#"{"payload":"e30","protected":"eyJhbGciOiJIUzI1NiJ9","signature":"AAAA"}"#))
                == .malformed)
    }

    @Test func `is believed only with every bit in place`() throws {
        let good = bytes(try token(header: #"{"alg":"HS256"}"#, payload: #"{"sub":"a"}"#, key: key))
        for index in good.indices {
            for bit in 0..<8 {
                var changed = good
                changed[index] ^= 1 << bit
                #expect(refusal(secret(changed)) != nil, "byte \(index), bit \(bit)")
            }
        }
    }

    @Test func `is minted with a header of ours and the claims as they are`() throws {
        let claims = secret(#"{"b":1,"a":"é"}"#)
        let named = try JWTMinter.mint(claims: claims, key: key, keyID: "k\"1")
        let parts = text(named).split(separator: ".").map(String.init)
        #expect(parts[0] == base64URL(#"{"alg":"HS256","typ":"JWT","kid":"k\"1"}"#))
        #expect(parts[1] == base64URL(bytes(claims)))
        let token = try CompactJWS(named)
        try token.verify(key)
        #expect(token.keyID == "k\"1")
        let nameless = try JWTMinter.mint(claims: claims, key: key, keyID: nil)
        #expect(try CompactJWS(nameless).keyID == nil)
        let chatbase = try JWTMinter.mint(
            claims: secret(#"{"user_id":"u-42","exp":4102444800}"#),
            key: Key(secret: secret("test-identity-secret"), .hs256), keyID: nil)
        #expect(
            text(chatbase)
                == "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ1c2VyX2lkIjoidS00MiIsImV4cCI6NDEwMjQ0NDgwMH0."
                + "M5Ogow5G3-PcFst0bNJ9aPN9UMAc_wfI_Q1iZGutiBY")
    }
}
