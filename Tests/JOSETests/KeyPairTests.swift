import CredentialCore
import JOSE
import Secrets
import Testing

@Suite struct `Key pairs` {
    @Test(arguments: SignatureAlgorithm.allCases.filter { !$0.isShared })
    func `what one half signs, the other verifies`(algorithm: SignatureAlgorithm) throws {
        let (pair, other) = (try KeyPair(for: algorithm), try KeyPair(for: algorithm))
        let signature = try Key(reading: pair.privateKey, algorithm, isPrivate: true)
            .signature(of: Array("text".utf8))
        for (candidate, isRight) in [(pair, true), (other, false)] {
            let pem = KeyPair.pem(candidate.publicKey.span, "PUBLIC KEY")
            let key = try Key(reading: pem, algorithm, isPrivate: false)
            #expect(key.believes(signature, of: Array("text".utf8)) == isRight)
        }
    }

    @Test(arguments: SignatureAlgorithm.allCases.filter(\.isShared))
    func `a shared secret is no pair`(algorithm: SignatureAlgorithm) {
        #expect(throws: SigningFailure.keyUnsuitable) { _ = try KeyPair(for: algorithm) }
    }
}
