import CredentialCore
import JOSE
import JSON
import Secrets
import TestSupport
import Testing

@Suite struct `Wycheproof` {
    private struct Tally {
        var valid = 0
        var invalid = 0
        var skipped = 0
        var wrong: [Int64] = []

        mutating func note(_ id: Int64, _ result: String, isBelieved: Bool) {
            if result == "valid" { valid += 1 } else { invalid += 1 }
            if isBelieved != (result == "valid") { wrong.append(id) }
        }
    }

    /// Goes through the vectors of a file: `body` gets each with its group.
    private func each(
        _ file: String,
        _ body: (_ group: borrowing JSONValue, _ vector: borrowing JSONValue, _ id: Int64, _ result: String)
            throws -> Void
    ) throws -> Bool {
        guard let directory = Vectors.directory(named: "wycheproof") else { return false }
        let bytes = try #require(Files.bytes(at: directory + "/" + file))
        var document = JSONDocument(limits: JSONLimits(length: bytes.count, depth: 32))
        let root = try document.parse(bytes.span)
        guard let list = root.member("testGroups") else {
            Issue.record("no groups")
            return false
        }
        var groups = list.elements()
        while let group = groups.next() {
            guard let list = group.member("tests") else { continue }
            var vectors = list.elements()
            while let vector = vectors.next() {
                try body(
                    group, vector, vector.member("tcId")?.integer ?? 0, vector.member("result")?.string ?? "")
            }
        }
        return true
    }

    private func member(_ value: borrowing JSONValue, _ name: StaticString) -> String {
        value.member(name)?.string ?? ""
    }

    private func finish(_ tally: Tally, _ file: String, skipped: String = "") {
        #expect(tally.wrong == [], "\(file)")
        #expect(tally.valid > 0 && tally.invalid > 0)
        if tally.skipped > 0 {
            print(
                "SKIPPED: \(tally.skipped) vectors of \(file): \(skipped); \(tally.valid + tally.invalid) tried"
            )
        }
    }

    @Test(arguments: [
        ("ecdsa_secp256r1_sha256_p1363_test.json", SignatureAlgorithm.es256),
        ("ecdsa_secp384r1_sha384_p1363_test.json", .es384),
        ("ed25519_test.json", .edDSA), ("rsa_signature_2048_sha256_test.json", .rs256),
        ("rsa_signature_3072_sha256_test.json", .rs256), ("rsa_pss_2048_sha256_mgf1_32_test.json", .ps256),
    ]) func `signatures are believed where they are valid, by the key as PEM and as JWK`(
        file: String, algorithm: SignatureAlgorithm
    ) throws {
        var tally = Tally()
        let isThere = try each(file) { group, vector, id, result in
            let pem = try Key(reading: secret(member(group, "publicKeyPem")), algorithm, isPrivate: false)
            let (message, signature) = (hex(member(vector, "msg")), hex(member(vector, "sig")))
            let isBelieved = pem.believes(signature, of: message)
            // Some groups have no JWK: RFC 7518 has no name for their curve or exponent.
            if let jwk = group.json("publicKeyJwk") ?? group.json("keyJwk") {
                let key = try Key(reading: jwk, algorithm, isPrivate: false)
                #expect(key.believes(signature, of: message) == isBelieved)
            }
            // "Acceptable" is what a lenient reader may believe: this one does not.
            tally.note(id, result, isBelieved: isBelieved)
        }
        if isThere { finish(tally, file) }
    }

    @Test(arguments: [
        ("hmac_sha256_test.json", SignatureAlgorithm.hs256), ("hmac_sha384_test.json", .hs384),
        ("hmac_sha512_test.json", .hs512),
    ]) func `HMACs are believed where they are valid`(file: String, algorithm: SignatureAlgorithm) throws {
        var tally = Tally()
        let isThere = try each(file) { group, vector, id, result in
            // JWS does not shorten tags.
            guard
                group.member("tagSize")?.integer
                    == Int64(member(group, "type").isEmpty ? 0 : algorithm.tagBits)
            else {
                tally.skipped += 1
                return
            }
            let key = try Key(secret: secret(hex(member(vector, "key"))), algorithm)
            let isBelieved = key.believes(hex(member(vector, "tag")), of: hex(member(vector, "msg")))
            tally.note(id, result, isBelieved: isBelieved)
        }
        if isThere { finish(tally, file, skipped: "shortened tags") }
    }

    // PS384 under a key for PS256, which the vectors take for valid: here the key's own `alg` decides.
    private static let boundOtherwise: Set<Int64> = [346, 350]
    // Said to be invalid, but byte for byte the same as 357, which is valid.
    private static let sameAsAValidOne: Set<Int64> = [367, 370]
    // Said to be valid, but with a question mark in the base64url.
    private static let notBase64URL: Set<Int64> = [372, 373]

    @Test func `JSON Web Signatures are believed where they are valid`() throws {
        let file = "json_web_signature_test.json"
        var tally = Tally()
        let isThere = try each(file) { group, vector, id, result in
            guard let jws = vector.member("jws"), jws.kind == .string else {
                // The JSON serialisation cannot even be given to our functions.
                tally.skipped += 1
                return
            }
            let isShared = group.member("private")?.member("kty")?.string == "oct"
            guard let jwk = group.json(isShared ? "private" : "public"),
                let key = try key(jwk, isShared: isShared)
            else {
                tally.skipped += 1
                return
            }
            let token = SecretBytes(copying: jws.raw)
            let refusal = failure { () throws(VerificationFailure) in try CompactJWS(token).verify(key) }
            if Self.boundOtherwise.contains(id) {
                #expect(result == "valid" && refusal == .algorithmMismatch)
            } else if Self.sameAsAValidOne.contains(id) {
                #expect(result == "invalid" && refusal == nil)
            } else if Self.notBase64URL.contains(id) {
                #expect(result == "valid" && refusal == .malformed)
            } else {
                tally.note(id, result, isBelieved: refusal == nil)
            }
        }
        if isThere { finish(tally, file, skipped: "JSON serialisation, RS384, RS512, PS384, PS512, ES512") }
    }

    // Nil: the key says that it is for an algorithm that is not spoken.
    private func key(_ jwk: SecretBytes, isShared: Bool) throws -> Key? {
        let (stated, kind, shared) = try jwk.withSpan { bytes in
            var document = JSONDocument()
            let root = try document.parse(bytes)
            return (root.member("alg")?.string, root.member("kty")?.string, root.decoded("k"))
        }
        if isShared { return try Key(secret: #require(shared), .hs256) }
        let name = stated ?? (kind == "RSA" ? "RS256" : "ES256")
        guard let algorithm = SignatureAlgorithm(rawValue: name) else { return nil }
        // A key for encryption is refused before any token is looked at.
        return try? Key(reading: jwk, algorithm, isPrivate: false)
    }
}

extension SignatureAlgorithm {
    fileprivate var tagBits: Int {
        switch self {
        case .hs384: 384
        case .hs512: 512
        default: 256
        }
    }
}
