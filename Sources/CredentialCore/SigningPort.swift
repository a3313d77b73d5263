package import Secrets

/// The signature algorithms that are spoken (RFC 7518 §3.1, RFC 8037 §3.1); which one a key is for is configured.
package enum SignatureAlgorithm: String, Sendable, CaseIterable {
    case hs256 = "HS256"
    case hs384 = "HS384"
    case hs512 = "HS512"
    case rs256 = "RS256"
    case ps256 = "PS256"
    case es256 = "ES256"
    case es384 = "ES384"
    case edDSA = "EdDSA"
}

/// One token to be signed.
package struct SigningOrder: Sendable {
    /// Comes back with the outcome.
    package let id: UInt64
    /// Bound to the key by configuration.
    package let algorithm: SignatureAlgorithm
    /// Raw bytes for HS*, PEM or JWK for the others.
    package let key: SecretBytes
    /// `kid`; nil: the header has none.
    package let keyID: String?
    /// The payload: a JSON object.
    package let claims: SecretBytes

    /// Takes the parts.
    package init(
        id: UInt64, algorithm: SignatureAlgorithm, key: SecretBytes, keyID: String?, claims: SecretBytes
    ) {
        self.id = id
        self.algorithm = algorithm
        self.key = key
        self.keyID = keyID
        self.claims = claims
    }
}

/// One ID token to be verified (OpenID Connect Core 1.0 §3.1.3.7).
package struct VerificationOrder: Sendable {
    /// Comes back with the outcome.
    package let id: UInt64
    /// The ID token.
    package let token: SecretBytes
    /// The issuer's key set, as it was fetched (RFC 7517 §5).
    package let keys: SecretBytes
    /// What `iss` must be.
    package let issuer: String
    /// What `aud` must contain: the client.
    package let audience: String
    /// What `at_hash` is checked against; nil: it is not.
    package let accessToken: SecretBytes?
    /// The time by which `exp`, `nbf` and `iat` are judged.
    package let now: WallTime

    /// Takes the parts.
    package init(
        id: UInt64, token: SecretBytes, keys: SecretBytes, issuer: String, audience: String,
        accessToken: SecretBytes?, now: WallTime
    ) {
        self.id = id
        self.token = token
        self.keys = keys
        self.issuer = issuer
        self.audience = audience
        self.accessToken = accessToken
        self.now = now
    }
}

/// One access token to be hashed, for the comparison with `at_hash` (OpenID Connect Core 1.0 §3.1.3.6).
package struct HashOrder: Sendable {
    /// Comes back with the outcome.
    package let id: UInt64
    /// Whose hash it is: the one that the ID token is signed with.
    package let algorithm: SignatureAlgorithm
    /// The access token.
    package let token: SecretBytes

    /// Takes the parts.
    package init(id: UInt64, algorithm: SignatureAlgorithm, token: SecretBytes) {
        self.id = id
        self.algorithm = algorithm
        self.token = token
    }
}

/// Why nothing was signed.
package enum SigningFailure: String, Error, Sendable, CaseIterable {
    /// The key cannot be read.
    case keyMalformed = "key_malformed"
    /// The key is of another kind than the algorithm, or too weak for it.
    case keyUnsuitable = "key_unsuitable"
    /// Too many orders are waiting.
    case busy
    /// The library failed.
    case libraryFailed = "library_failed"
}

/// Why a token is not believed: of several reasons the most severe.
package enum VerificationFailure: String, Error, Sendable, CaseIterable {
    /// It is no compact JWS, or its header asks for what is not understood.
    case malformed
    /// The key set cannot be read, or is ambiguous.
    case keysMalformed = "keys_malformed"
    /// No key with its `kid` is in the set: the set may have changed since it was fetched.
    case unknownKey = "unknown_key"
    /// The header's algorithm is not the key's.
    case algorithmMismatch = "algorithm_mismatch"
    /// The signature is not the key's.
    case signatureWrong = "signature_wrong"
    case issuerMismatch = "issuer_mismatch"
    case audienceMismatch = "audience_mismatch"
    case expired
    case notYetValid = "not_yet_valid"
    /// `at_hash` is not of the access token that came with it (OpenID Connect Core 1.0 §3.1.3.6).
    case accessTokenMismatch = "access_token_mismatch"
    /// Too many orders are waiting.
    case busy
    /// The library failed.
    case libraryFailed = "library_failed"
}

/// Signs and verifies off the loop: an RSA signature takes longer than a hundred cached answers.
package protocol SigningPort: AnyObject {
    /// Signs; the outcome comes later, on the loop, exactly once.
    func sign(_ order: SigningOrder)
    /// Hashes; the outcome, the left half of the hash, comes later as that of a signature.
    func halfHash(_ order: HashOrder)
    /// Verifies; the outcome comes later, on the loop, exactly once.
    func verify(_ order: VerificationOrder)
}

/// Whoever asked for signatures.
package protocol SigningObserver: AnyObject {
    /// The compact serialisation or the half of a hash, or why there is none.
    func signingDidEnd(_ id: UInt64, _ outcome: Result<SecretBytes, SigningFailure>)
    func verificationDidEnd(_ id: UInt64, _ outcome: Result<Void, VerificationFailure>)
}
