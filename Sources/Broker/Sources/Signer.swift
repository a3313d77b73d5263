import CredentialCore
import Secrets

/// Has tokens signed and verified, and remembers who asked.
final class Signer {
    private let port: any SigningPort
    private var signatures: [UInt64: (Result<SecretBytes, SigningFailure>) -> Void] = [:]
    private var verifications: [UInt64: (Result<Void, VerificationFailure>) -> Void] = [:]
    private var lastID: UInt64 = 0

    init(port: any SigningPort) { self.port = port }

    func sign(
        _ claims: SecretBytes, key: SecretBytes, algorithm: SignatureAlgorithm, keyID: String?,
        completion: @escaping (Result<SecretBytes, SigningFailure>) -> Void
    ) {
        lastID += 1
        signatures[lastID] = completion
        port.sign(
            SigningOrder(id: lastID, algorithm: algorithm, key: key, keyID: keyID, claims: claims))
    }

    func halfHash(
        of token: SecretBytes, _ algorithm: SignatureAlgorithm,
        completion: @escaping (Result<SecretBytes, SigningFailure>) -> Void
    ) {
        lastID += 1
        signatures[lastID] = completion
        port.halfHash(HashOrder(id: lastID, algorithm: algorithm, token: token))
    }

    func verify(
        _ token: SecretBytes, keys: SecretBytes, issuer: String, audience: String, accessToken: SecretBytes?,
        now: WallTime, completion: @escaping (Result<Void, VerificationFailure>) -> Void
    ) {
        lastID += 1
        verifications[lastID] = completion
        port.verify(
            VerificationOrder(
                id: lastID, token: token, keys: keys, issuer: issuer, audience: audience,
                accessToken: accessToken, now: now))
    }

    func signingDidEnd(_ id: UInt64, _ outcome: Result<SecretBytes, SigningFailure>) {
        signatures.removeValue(forKey: id)?(outcome)
    }

    func verificationDidEnd(_ id: UInt64, _ outcome: Result<Void, VerificationFailure>) {
        verifications.removeValue(forKey: id)?(outcome)
    }
}
