import CredentialCore
import JOSE
import Secrets
import Testing

@Suite struct `A shared secret` {
    private func refusal(_ secret: SecretBytes) -> SigningFailure? {
        failure { () throws(SigningFailure) in try Key(secret: secret, .hs256) }
    }

    @Test func `is no key of another kind, in whatever form`() throws {
        guard let openssl = OpenSSL() else { return }
        for (algorithm, name) in [(SignatureAlgorithm.rs256, "rsa"), (.es256, "ec"), (.edDSA, "ed")] {
            try openssl.makePair(algorithm, name)
            for half in ["\(name).pem", "\(name).pub"] {
                let pem = try openssl.file(half)
                #expect(refusal(secret(pem)) == .keyUnsuitable)
                #expect(refusal(secret([0x20, 0x0A] + pem)) == .keyUnsuitable)
                #expect(refusal(secret(Array("see below\n".utf8) + pem)) == .keyUnsuitable)
                // The same without its armour, as some consoles show it.
                let lines = String(decoding: pem, as: UTF8.self).split(separator: "\n")
                let body = lines.filter { !$0.hasPrefix("-") }
                #expect(refusal(secret(body.joined(separator: "\n"))) == .keyUnsuitable)
                #expect(refusal(secret(body.joined())) == .keyUnsuitable)
                try #require(
                    openssl.run(
                        "pkey -in \(half) \(half.hasSuffix("pub") ? "-pubin" : "") -outform DER -out \(half).der"
                    ))
                #expect(try refusal(secret(openssl.file("\(half).der"))) == .keyUnsuitable)
            }
        }
        try #require(openssl.run("rsa -in rsa.pem -RSAPublicKey_out -out pkcs1.pem"))
        try #require(openssl.run("rsa -in rsa.pem -RSAPublicKey_out -outform DER -out pkcs1.der"))
        try #require(openssl.run("req -x509 -new -key ec.pem -subj /CN=a -days 1 -out cert.pem"))
        try #require(openssl.run("x509 -in cert.pem -outform DER -out cert.der"))
        for file in ["pkcs1.pem", "pkcs1.der", "cert.pem", "cert.der"] {
            #expect(try refusal(secret(openssl.file(file))) == .keyUnsuitable, "\(file)")
        }
    }

    @Test(arguments: [
        "", "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI a@b",
        "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTY",
        "sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5",
        "no-pty,command=\"x\" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI",
        "---- BEGIN SSH2 PUBLIC KEY ----\nAAAA", "-----BEGIN PUBLIC KEY-----", "-----BEGIN CERTIFICATE-----",
        Example.p256, Example.ed25519, #"{"keys":[]}"#, #" {"kty":"oct","k":"AAAA"}"#,
    ]) func `is refused where it is something else`(text: String) {
        #expect(refusal(secret(text)) == .keyUnsuitable)
    }

    @Test func `is accepted where it only begins like something else`() {
        for text in ["ssh-agent is a program", "{\"a\":1}", "MIIB", "0", "correct horse battery staple"] {
            #expect(refusal(secret(text)) == nil, "\(text)")
        }
        #expect(refusal(secret([0x30] + [UInt8](repeating: 7, count: 31))) == nil)
        #expect(refusal(secret([0x30, 30] + [UInt8](repeating: 7, count: 30))) == nil)
        #expect(refusal(secret([0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF])) == nil)
        #expect(refusal(secret([0x30, 0x88, 1, 2, 3, 4, 5, 6, 7, 8])) == nil)
        #expect(refusal(secret([0x30])) == nil)
    }

    @Test func `does not verify what was signed with the text of a public key`() throws {
        guard let openssl = OpenSSL() else { return }
        try openssl.makePair(.rs256, "rsa")
        let pem = try openssl.file("rsa.pub")
        try openssl.write(Array((base64URL(#"{"alg":"HS256"}"#) + "." + base64URL("{}")).utf8), to: "data")
        let digits = pem.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        try #require(openssl.run("dgst -sha256 -mac HMAC -macopt hexkey:\(digits) -binary -out mac data"))
        let token = secret(
            try openssl.file("data") + [UInt8(ascii: ".")] + Array(base64URL(openssl.file("mac")).utf8))
        let key = try Key(reading: secret(pem), .rs256, isPrivate: false)
        #expect(
            failure { () throws(VerificationFailure) in try CompactJWS(token).verify(key) }
                == .algorithmMismatch)
    }
}
