import CredentialCore
import JOSE
import JSON
import Secrets
import TestSupport
import Testing

@Suite struct `The JOSE cookbook` {
    private func example(_ path: String) throws -> (
        key: SecretBytes, payload: String, compact: String, input: String
    )? {
        guard let directory = Vectors.directory(named: "jose-cookbook") else { return nil }
        let bytes = try #require(Files.bytes(at: directory + "/" + path))
        var document = JSONDocument()
        let root = try document.parse(bytes.span)
        guard let input = root.member("input"), let output = root.member("output") else {
            Issue.record("no example")
            return nil
        }
        return (
            input.json("key") ?? secret(""), input.member("payload")?.string ?? "",
            output.member("compact")?.string ?? "", root.member("signing")?.member("sig-input")?.string ?? ""
        )
    }

    private func shared(_ jwk: SecretBytes) throws -> SecretBytes {
        let secret = try jwk.withSpan { bytes in
            var document = JSONDocument()
            return try document.parse(bytes).decoded("k")
        }
        return try #require(secret)
    }

    @Test func `RFC 7520, 4.1: RS256 is believed, and made again`() throws {
        guard let example = try example("jws/4_1.rsa_v15_signature.json") else { return }
        let key = try Key(reading: example.key, .rs256, isPrivate: true)
        let token = try CompactJWS(secret(example.compact))
        try token.verify(key)
        #expect(text(token.payload) == example.payload)
        #expect(token.keyID == "bilbo.baggins@hobbiton.example")
        let signature = try key.signature(of: Array(example.input.utf8))
        #expect(example.input + "." + base64URL(signature) == example.compact)
    }

    @Test func `RFC 7520, 4.2 and 4.3: PS384 and ES512 are not spoken`() throws {
        for path in ["jws/4_2.rsa-pss_signature.json", "jws/4_3.ecdsa_signature.json"] {
            guard let example = try example(path) else { return }
            let token = try CompactJWS(secret(example.compact))
            #expect(SignatureAlgorithm(rawValue: token.algorithm) == nil)
            let set = secret("{\"keys\":[" + text(example.key) + "]}")
            // P-521 is passed over; RSA is for other algorithms.
            let expected: VerificationFailure = path.contains("rsa") ? .algorithmMismatch : .unknownKey
            let order = VerificationOrder(
                id: 1, token: secret(example.compact), keys: set, issuer: "", audience: "", accessToken: nil,
                now: WallTime(seconds: 0))
            #expect(failure { () throws(VerificationFailure) in try IDToken.verify(order) } == expected)
        }
    }

    @Test func `RFC 7520, 4.4: HS256 is believed, and made again`() throws {
        guard let example = try example("jws/4_4.hmac-sha2_integrity_protection.json") else { return }
        let key = try Key(secret: shared(example.key), .hs256)
        try CompactJWS(secret(example.compact)).verify(key)
        let signature = try key.signature(of: Array(example.input.utf8))
        #expect(example.input + "." + base64URL(signature) == example.compact)
    }

    @Test func `RFC 8037: EdDSA is believed, and made again`() throws {
        guard let example = try example("curve25519/jws.json") else { return }
        let key = try Key(reading: example.key, .edDSA, isPrivate: true)
        try CompactJWS(secret(example.compact)).verify(key)
        let signature = try key.signature(of: Array(example.input.utf8))
        #expect(example.input + "." + base64URL(signature) == example.compact)
    }

    @Test func `RFC 7797: an unencoded payload is refused`() throws {
        for path in ["rfc7797/hmac-sha2_b64_false.json", "rfc7797/4.2.hmac-sha2_b64_false.json"] {
            guard let example = try example(path) else { return }
            for compact in [example.compact, example.input + ".AAAA"] where !compact.isEmpty {
                #expect(
                    failure { () throws(VerificationFailure) in try CompactJWS(secret(compact)) }
                        == .malformed)
            }
        }
    }

    @Test(arguments: ["rsa_private", "ec_private"])
    func `the keys of RFC 7520 that are too new or for others`(
        name: String
    ) throws {
        guard let directory = Vectors.directory(named: "jose-cookbook") else { return }
        let file = name == "rsa_private" ? "3_4.rsa_private_key.json" : "3_2.ec_private_key.json"
        let jwk = secret(try #require(Files.bytes(at: directory + "/jwk/" + file)))
        let algorithms: [SignatureAlgorithm] = [.rs256, .ps256, .es256, .es384, .edDSA]
        let read = algorithms.filter { algorithm in
            failure { () throws(SigningFailure) in try Key(reading: jwk, algorithm, isPrivate: true) } == nil
        }
        #expect(read == (name == "rsa_private" ? [.rs256, .ps256] : []))
    }
}
