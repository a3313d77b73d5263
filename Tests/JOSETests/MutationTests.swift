import CredentialCore
import JOSE
import Secrets
import TestSupport
import Testing

@Suite struct `Bytes from outside` {
    private static let rounds = 3000

    private func mutate(_ good: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
        var bytes = good
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
            let index = Int.random(in: 0..<max(bytes.count, 1), using: &generator)
            switch Int.random(in: 0..<5, using: &generator) {
            case 0 where !bytes.isEmpty: bytes[index] = .random(in: .min ... .max, using: &generator)
            case 1 where !bytes.isEmpty: bytes.remove(at: index)
            case 2: bytes.insert(.random(in: .min ... .max, using: &generator), at: min(index, bytes.count))
            case 3: bytes.removeSubrange(min(index, bytes.count)...)
            default:
                let from = Int.random(in: 0...good.count, using: &generator)
                let length = Int.random(in: 0...min(20, good.count - from), using: &generator)
                bytes.insert(contentsOf: good[from..<(from + length)], at: min(index, bytes.count))
            }
        }
        return bytes
    }

    @Test func `never make an ID token that is believed, and never end the process`() throws {
        var generator = SeededGenerator.announced(for: "mutated ID tokens")
        let key = try Example.key(Example.p256, .es256)
        let claims = #"{"iss":"i","aud":"a","exp":2000000000,"iat":1}"#
        let good = bytes(try token(header: #"{"alg":"ES256","kid":"a"}"#, payload: claims, key: key))
        let keys = "{\"keys\":[\(Example.p256.replacing("{", with: #"{"kid":"a","#)),\(Example.ed25519)]}"
        let believe = { (token: [UInt8], keys: [UInt8]) in
            failure { () throws(VerificationFailure) in
                try IDToken.verify(
                    VerificationOrder(
                        id: 1, token: secret(token), keys: secret(keys), issuer: "i", audience: "a",
                        accessToken: nil, now: WallTime(seconds: 1_700_000_000)))
            }
        }
        #expect(believe(good, Array(keys.utf8)) == nil)
        for _ in 0..<Self.rounds {
            let token = mutate(good, &generator)
            if token != good { #expect(believe(token, Array(keys.utf8)) != nil) }
            // A changed set may still hold the key.
            _ = believe(good, mutate(Array(keys.utf8), &generator))
        }
    }

    @Test func `never make a key that signs what its own public half does not believe`() throws {
        guard let openssl = OpenSSL() else { return }
        var generator = SeededGenerator.announced(for: "mutated keys")
        for (jwk, algorithm) in [(Example.p256, SignatureAlgorithm.es256), (Example.ed25519, .edDSA)] {
            for _ in 0..<Self.rounds {
                let changed = secret(mutate(Array(jwk.utf8), &generator))
                guard let key = try? Key(reading: changed, algorithm, isPrivate: true),
                    let signature = try? key.signature(of: [1, 2, 3])
                else { continue }
                let other = try Key(reading: changed, algorithm, isPrivate: false)
                #expect(other.believes(signature, of: [1, 2, 3]))
            }
        }
        for (algorithm, name) in [(SignatureAlgorithm.es256, "ec"), (.edDSA, "ed"), (.rs256, "rsa")] {
            try openssl.makePair(algorithm, name)
            let pem = try openssl.file("\(name).pem")
            for _ in 0..<(algorithm == .rs256 ? 300 : Self.rounds) {
                guard
                    let key = try? Key(reading: secret(mutate(pem, &generator)), algorithm, isPrivate: true),
                    let signature = try? key.signature(of: [1, 2, 3])
                else { continue }
                #expect(key.believes(signature, of: [1, 2, 3]))
                #expect(!key.believes(signature, of: [1, 2]))
            }
        }
    }
}
