import CredentialCore
import JOSE
import Secrets
import Testing

/// The example keys of RFC 8037 and RFC 7515, as they stand there.
enum Example {
    static let ed25519 =
        #"{"kty":"OKP","crv":"Ed25519","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A","#
        + #""x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#
    static let p256 =
        #"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","#
        + #""y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0","d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"}"#

    static func key(_ jwk: String, _ algorithm: SignatureAlgorithm, isPrivate: Bool = true)
        throws(SigningFailure) -> Key
    {
        try Key(reading: secret(jwk), algorithm, isPrivate: isPrivate)
    }
}

@Suite struct `A key` {
    private func refusal(
        _ bytes: SecretBytes, _ algorithm: SignatureAlgorithm, isPrivate: Bool = true
    ) -> SigningFailure? {
        failure { () throws(SigningFailure) in try Key(reading: bytes, algorithm, isPrivate: isPrivate) }
    }

    @Test func `for one kind of algorithm is not for another`() throws {
        let all = SignatureAlgorithm.allCases
        #expect(all.filter { refusal(secret(Example.ed25519), $0) == nil } == [.edDSA])
        #expect(all.filter { refusal(secret(Example.p256), $0) == nil } == [.es256])
        #expect(
            all.filter { refusal(secret("a secret of both sides"), $0) == nil } == [.hs256, .hs384, .hs512])
    }

    @Test func `that states an algorithm is for that one`() {
        let jwk = { (alg: String) in secret(Example.p256.replacing("{", with: "{\"alg\":\(alg),")) }
        #expect(refusal(jwk("\"ES256\""), .es256) == nil)
        for alg in ["\"ES384\"", "\"RS256\"", "\"none\"", "null", "7", "\"es256\""] {
            #expect(refusal(jwk(alg), .es256) == .keyUnsuitable, "\(alg)")
        }
    }

    @Test func `that is for encryption, or for the other operation, is unsuitable`() {
        let jwk = { (member: String) in secret(Example.p256.replacing("{", with: "{\(member),")) }
        #expect(refusal(jwk(#""use":"sig""#), .es256) == nil)
        #expect(refusal(jwk(#""use":"enc""#), .es256) == .keyUnsuitable)
        #expect(refusal(jwk(#""key_ops":["sign"]"#), .es256) == nil)
        #expect(refusal(jwk(#""key_ops":["verify"]"#), .es256) == .keyUnsuitable)
        #expect(refusal(jwk(#""key_ops":["verify"]"#), .es256, isPrivate: false) == nil)
        #expect(refusal(jwk(#""key_ops":"sign""#), .es256) == .keyUnsuitable)
    }

    @Test func `whose numbers are not a key's is malformed`() throws {
        let good = Example.p256
        let wrong = [
            good.replacing("f83OJ3", with: "f83OJ4"),  // not on the curve
            good.replacing("\"x\":\"f83", with: "\"x\":\"A\",\"z\":\"f83"),
            good.replacing("RVEU\"", with: "RVEV\""),  // unused bits
            good.replacing("\"d\":", with: "\"e\":"), good.replacing("\"y\":", with: "\"z\":"),
            good.replacing("\"jpsQ", with: "\"AAAAjpsQ"), good.replacing("\"jpsQ", with: "\"psQ"),
            good.replacing("jpsQ", with: "jps="), "{", "{}", "[]", "{\"kty\":7}",
        ]
        for text in wrong {
            let expected: SigningFailure =
                ["{}", "{\"kty\":7}"].contains(text) ? .keyUnsuitable : .keyMalformed
            #expect(refusal(secret(text), .es256) == expected, "\(text)")
        }
        // The point at infinity, and coordinates of zero.
        let zero = #"{"kty":"EC","crv":"P-256","x":"\#(base64URL([UInt8](repeating: 0, count: 32)))","#
        #expect(
            refusal(
                secret(zero + #""y":"\#(base64URL([UInt8](repeating: 0, count: 32)))"}"#), .es256,
                isPrivate: false)
                == .keyMalformed)
        #expect(refusal(secret(Example.ed25519.replacing("nWGx", with: "nWGy")), .edDSA) == .keyMalformed)
    }

    @Test func `with a private half of another pair signs nothing`() throws {
        // A valid scalar, of another point.
        let mixed = Example.p256.replacing("jpsQ", with: "jpsR")
        let key = try Example.key(mixed, .es256)
        #expect(failure { () throws(SigningFailure) in try key.signature(of: [1]) } == .keyMalformed)
    }

    @Test func `that is only public does not sign`() throws {
        let key = try Example.key(Example.p256, .es256, isPrivate: false)
        #expect(failure { () throws(SigningFailure) in try key.signature(of: [1]) } == .keyMalformed)
        let signature = try Example.key(Example.p256, .es256).signature(of: [1])
        #expect(key.believes(signature, of: [1]))
        #expect(!key.believes(signature, of: [2]))
    }

    @Test func `for ECDSA believes r and s of the exact length only, and neither zero nor the order`() throws
    {
        let key = try Example.key(Example.p256, .es256)
        let message: [UInt8] = [1, 2, 3]
        let good = try key.signature(of: message)
        #expect(good.count == 64 && key.believes(good, of: message))
        let zero = [UInt8](repeating: 0, count: 32)
        let one = [UInt8](repeating: 0, count: 31) + [1]
        let order = hex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
        let prime = hex("ffffffff00000001000000000000000000000000ffffffffffffffffffffffff")
        for r in [zero, one, order, prime] {
            for s in [zero, one, order, prime] { #expect(!key.believes(r + s, of: message)) }
            #expect(!key.believes(r + good[32...], of: message))
            #expect(!key.believes(good[..<32] + r, of: message))
        }
        #expect(!key.believes(Array(good.dropLast()), of: message))
        #expect(!key.believes(good + [0], of: message))
        #expect(!key.believes([0] + good, of: message))
        #expect(!key.believes([], of: message))
        var der: [UInt8] = []
        for half in [Array(good[..<32]), Array(good[32...])] {
            let number = (half[0] >= 0x80 ? [0] : []) + half
            der += [0x02, UInt8(number.count)] + number
        }
        #expect(!key.believes([0x30, UInt8(der.count)] + der, of: message))
    }

    @Test func `of RSA is strong enough`() throws {
        guard let openssl = OpenSSL() else { return }
        try #require(openssl.run("genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:1024 -out weak.pem"))
        try #require(openssl.run("pkey -in weak.pem -pubout -out weak.pub"))
        for algorithm in [SignatureAlgorithm.rs256, .ps256] {
            #expect(try refusal(secret(openssl.file("weak.pem")), algorithm) == .keyUnsuitable)
            #expect(
                try refusal(secret(openssl.file("weak.pub")), algorithm, isPrivate: false) == .keyUnsuitable)
        }
        // Only what is stated counts, so any odd number of 2048 bits will do here.
        let n = base64URL([UInt8](repeating: 0xFF, count: 256))
        for (e, isGood) in [([3], true), ([1, 0, 1], true), ([1], false), ([2], false), ([0], false)]
            as [([UInt8], Bool)]
        {
            let jwk = secret("{\"kty\":\"RSA\",\"n\":\"\(n)\",\"e\":\"\(base64URL(e))\"}")
            #expect((refusal(jwk, .rs256, isPrivate: false) == nil) == isGood, "\(e)")
        }
        for count in [255, 1025, 2048] {
            let n = base64URL([UInt8](repeating: 0xFF, count: count))
            let jwk = secret("{\"kty\":\"RSA\",\"n\":\"\(n)\",\"e\":\"AQAB\"}")
            #expect(refusal(jwk, .rs256, isPrivate: false) != nil)
        }
        let even = base64URL([UInt8](repeating: 0xFF, count: 255) + [0xFE])
        let jwk = secret("{\"kty\":\"RSA\",\"n\":\"\(even)\",\"e\":\"AQAB\"}")
        #expect(refusal(jwk, .rs256, isPrivate: false) != nil)
    }
}
