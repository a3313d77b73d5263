import CredentialCore
import JOSE
import Secrets
import Testing

@Suite struct `OpenSSL's own command` {
    private static let pairs: [SignatureAlgorithm] = [.rs256, .ps256, .es256, .es384, .edDSA]

    private func options(_ algorithm: SignatureAlgorithm) -> String {
        switch algorithm {
        case .ps256: "dgst -sha256 -sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:32"
        case .es384: "dgst -sha384"
        default: "dgst -sha256"
        }
    }

    // What it takes and gives for ECDSA is DER.
    private func der(_ raw: [UInt8]) -> [UInt8] {
        var content: [UInt8] = []
        for half in [raw[..<(raw.count / 2)], raw[(raw.count / 2)...]] {
            let number = Array(half.drop { $0 == 0 })
            let padded = (number[0] >= 0x80 ? [0] : []) + number
            content += [0x02, UInt8(padded.count)] + padded
        }
        return [0x30, UInt8(content.count)] + content
    }

    private func raw(_ der: [UInt8], half: Int) -> [UInt8] {
        var position = 2
        var result: [UInt8] = []
        for _ in 0..<2 {
            let length = Int(der[position + 1])
            let number = der[(position + 2)..<(position + 2 + length)].drop { $0 == 0 }
            result += [UInt8](repeating: 0, count: half - number.count) + number
            position += 2 + length
        }
        return result
    }

    @Test(arguments: pairs) func `believes our tokens, and we believe its signatures`(
        algorithm: SignatureAlgorithm
    ) throws {
        guard let openssl = OpenSSL() else { return }
        try openssl.makePair(algorithm, "key")
        let key = try Key(reading: secret(openssl.file("key.pem")), algorithm, isPrivate: true)
        let token = text(try JWTMinter.mint(claims: secret(#"{"sub":"a"}"#), key: key, keyID: "k"))
        let dot = try #require(token.lastIndex(of: "."))
        let digits = Array(token[token.index(after: dot)...].utf8)
        let decoded = Base64URL.decode(digits.span)
        let signature = try #require(decoded)
        let isECDSA = algorithm == .es256 || algorithm == .es384
        try openssl.write(Array(token[..<dot].utf8), to: "data")
        try openssl.write(isECDSA ? der(bytes(signature)) : bytes(signature), to: "signature")
        let check =
            algorithm == .edDSA
            ? "pkeyutl -verify -pubin -inkey key.pub -rawin -in data -sigfile signature"
            : "\(options(algorithm)) -verify key.pub -signature signature data"
        #expect(openssl.run(check))
        try openssl.write(Array((token[..<dot] + "x").utf8), to: "data")
        #expect(!openssl.run(check))

        let sign =
            algorithm == .edDSA
            ? "pkeyutl -sign -inkey key.pem -rawin -in data -out signature"
            : "\(options(algorithm)) -sign key.pem -out signature data"
        try #require(openssl.run(sign))
        let publicKey = try Key(reading: secret(openssl.file("key.pub")), algorithm, isPrivate: false)
        var theirs = try openssl.file("signature")
        if isECDSA { theirs = raw(theirs, half: algorithm == .es256 ? 32 : 48) }
        #expect(try publicKey.believes(theirs, of: openssl.file("data")))
        theirs[theirs.count / 2] ^= 1
        #expect(try !publicKey.believes(theirs, of: openssl.file("data")))
    }

    @Test func `writes keys in forms that are all read`() throws {
        guard let openssl = OpenSSL() else { return }
        try openssl.makePair(.rs256, "rsa")
        try openssl.makePair(.es256, "ec")
        try #require(openssl.run("rsa -in rsa.pem -traditional -out pkcs1.pem"))
        try #require(openssl.run("rsa -in rsa.pem -RSAPublicKey_out -out pkcs1.pub"))
        try #require(openssl.run("ec -in ec.pem -out sec1.pem"))
        try #require(openssl.run("ec -in ec.pem -no_public -out short.pem"))
        // As `openssl ecparam -genkey` writes it: parameters in a block of their own, before the key.
        let parameters = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
        try openssl.write(Array(parameters.utf8) + openssl.file("sec1.pem"), to: "parameters.pem")
        let windows = String(decoding: try openssl.file("ec.pem"), as: UTF8.self).replacing(
            "\n", with: "\r\n")
        try openssl.write(Array(("Key of somebody\r\n" + windows).utf8), to: "windows.pem")
        for (file, pub, algorithm) in [
            ("rsa.pem", "rsa.pub", SignatureAlgorithm.rs256), ("pkcs1.pem", "pkcs1.pub", .rs256),
            ("ec.pem", "ec.pub", .es256), ("sec1.pem", "ec.pub", .es256), ("short.pem", "ec.pub", .es256),
            ("parameters.pem", "ec.pub", .es256), ("windows.pem", "ec.pub", .es256),
        ] {
            let key = try Key(reading: secret(openssl.file(file)), algorithm, isPrivate: true)
            let publicKey = try Key(reading: secret(openssl.file(pub)), algorithm, isPrivate: false)
            #expect(try publicKey.believes(key.signature(of: [1, 2]), of: [1, 2]), "\(file)")
        }
    }

    @Test func `writes what is refused as well`() throws {
        guard let openssl = OpenSSL() else { return }
        try openssl.makePair(.es256, "ec")
        try openssl.makePair(.rs256, "rsa")
        try #require(openssl.run("pkey -in ec.pem -aes256 -passout pass:x -out locked.pem"))
        try #require(openssl.run("rsa -in rsa.pem -traditional -aes256 -passout pass:x -out old.pem"))
        try #require(openssl.run("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:secp256k1 -out k1.pem"))
        try #require(openssl.run("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-521 -out p521.pem"))
        try #require(openssl.run("genpkey -algorithm x25519 -out x.pem"))
        try #require(openssl.run("genpkey -algorithm ed448 -out ed448.pem"))
        try #require(
            openssl.run(
                "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -pkeyopt ec_param_enc:explicit -out explicit.pem"
            ))
        try #require(openssl.run("req -x509 -new -key ec.pem -subj /CN=a -days 1 -out cert.pem"))
        let refusal = { (text: [UInt8], algorithm: SignatureAlgorithm, isPrivate: Bool) in
            failure { () throws(SigningFailure) in
                try Key(reading: secret(text), algorithm, isPrivate: isPrivate)
            }
        }
        for file in ["locked.pem", "old.pem", "cert.pem"] {
            #expect(try refusal(openssl.file(file), .es256, true) == .keyMalformed, "\(file)")
        }
        for file in ["k1.pem", "p521.pem", "explicit.pem", "x.pem", "ed448.pem", "rsa.pem"] {
            #expect(try refusal(openssl.file(file), .es256, true) == .keyUnsuitable, "\(file)")
        }
        // The other half of the pair, two keys, and pieces of one.
        let (pem, pub) = (try openssl.file("ec.pem"), try openssl.file("ec.pub"))
        #expect(refusal(pub, .es256, true) == .keyUnsuitable)
        #expect(refusal(pem, .es256, false) == .keyUnsuitable)
        #expect(refusal(pem + pem, .es256, true) == .keyMalformed)
        for length in stride(from: 0, to: pem.count - 30, by: 7) {
            #expect(refusal(Array(pem[..<length]), .es256, true) == .keyMalformed)
        }
        let text = String(decoding: pem, as: UTF8.self)
        for wrong in [
            text.replacing("END PRIVATE", with: "END EC PRIVATE"),
            text.replacing("BEGIN PRIVATE", with: "BEGIN RSA PRIVATE"),
            text.replacing("M", with: "-"), text.replacing("-----\nM", with: "-----\n=M"),
            text.replacing("PRIVATE KEY", with: "EC PARAMETERS"), String(repeating: text, count: 1000),
        ] { #expect(refusal(Array(wrong.utf8), .es256, true) == .keyMalformed) }
    }
}
