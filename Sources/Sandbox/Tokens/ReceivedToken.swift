import CredentialCore
import JOSE
import JSON
import Secrets

/// A signed token as a client sent it, taken apart (RFC 7515 §7.1): believe the claims only after one of the checks.
struct ReceivedToken {
    /// `alg`, as the header claims it.
    var algorithm: String { token.algorithm }
    /// `kid` of the header.
    var keyID: String? { token.keyID }
    let claims: ControlObject
    private let token: CompactJWS

    /// Takes a token apart; nil for what is no signed token: `alg` none, a claim twice, a payload that is no object.
    init?(_ text: String) {
        guard let token = try? CompactJWS(SecretBytes(text: text)),
            case .object(let claims)? = try? ControlValue.parse(token.payload.bytes)
        else { return nil }
        self.token = token
        self.claims = claims
    }

    /// Whether `text` is a public key, in PEM or as a JWK, with which that algorithm can be verified; for HS* a secret.
    static func isKey(_ text: String, for algorithm: SignatureAlgorithm) -> Bool {
        (try? Key(reading: SecretBytes(text: text), algorithm, isPrivate: false)) != nil
    }

    /// Whether a key in PEM (or a secret, for HS*) signed it, by this algorithm and no other.
    func isSigned(by key: String, _ algorithm: SignatureAlgorithm) -> Bool {
        guard let key = try? Key(reading: SecretBytes(text: key), algorithm, isPrivate: false) else {
            return false
        }
        return (try? token.verify(key)) != nil
    }

    /// Whether a key signed it, by its algorithm and no other.
    func isSigned(by key: Key) -> Bool { (try? token.verify(key)) != nil }

    /// Whether a key of a set signed it, the one that its `kid` names (RFC 7517 §5).
    func isSigned(byOneOf keys: [UInt8]) -> Bool {
        guard let set = try? JWKSet(SecretBytes(copying: keys.span)), let key = try? set.key(for: token)
        else {
            return false
        }
        return (try? token.verify(key)) != nil
    }

    /// A claim that is a text; nil when it is absent or anything else.
    func text(_ path: String) -> String? {
        guard case .text(let text)? = claims[path: path] else { return nil }
        return text
    }

    /// A claim that is an instant, in Unix milliseconds (RFC 7519 §2, NumericDate); nil when it is absent or no number.
    func instant(_ name: String) -> Int64? {
        switch claims[path: name] {
        case .integer(let seconds)? where seconds.magnitude < 1 << 50: seconds * 1000
        case .double(let seconds)? where seconds.magnitude < 1e15: Int64(seconds * 1000)
        default: nil
        }
    }

    /// Whether a claim is there and is no instant: nobody may take it for absent.
    func isGarbled(_ name: String) -> Bool { claims[path: name] != nil && instant(name) == nil }

    /// Whether `exp` and `nbf`, where they are there, hold at `now` (Unix milliseconds), without any skew.
    func isTimely(_ now: Int64) -> Bool {
        guard !isGarbled("exp"), !isGarbled("nbf") else { return false }
        if let end = instant("exp"), now >= end { return false }
        if let begin = instant("nbf"), now < begin { return false }
        return true
    }

    /// What `at_hash` of an ID token with this algorithm has to be (OpenID Connect Core 1.0 §3.1.3.6); nil for an
    /// algorithm that is not spoken here.
    func accessTokenHash(_ accessToken: String) -> String? {
        SignatureAlgorithm(rawValue: algorithm).map { accessToken.halfHash($0) }
    }
}

extension String {
    /// The left half of the hash of a token, base64url, as `at_hash` has it.
    func halfHash(_ algorithm: SignatureAlgorithm) -> String {
        TokenMint.base64URL(algorithm.halfHash(of: SecretBytes(text: self)).bytes)
    }
}
