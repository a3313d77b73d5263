/// Tokens that are minted here: signed with a secret key, and sent to nobody by us (RFC 7519).
package struct JWTSource: Equatable, Sendable {
    /// The key: raw bytes for HS*, PEM or JWK for the others.
    package let key: SecretReference
    /// Bound to the key by the configuration.
    package let algorithm: SignatureAlgorithm
    /// `kid`; nil: the header has none.
    package let keyID: String?
    /// For how long a minted token is valid: `exp` − `iat`.
    package let lifetime: Milliseconds
    /// Claims beside `iat` and `exp`, `iss`, `sub` and `aud` among them, in the order of the configuration.
    package let claims: [Claim]

    /// One claim.
    package struct Claim: Equatable, Sendable {
        /// Its name.
        package let name: String
        /// Its value.
        package let value: Value

        /// What a claim can be; `{account}` in a text stands for the account's name.
        package indirect enum Value: Equatable, Sendable {
            case text(String)
            case integer(Int64)
            case boolean(Bool)
            case list([Value])
            case object([Claim])
        }

        /// Takes name and value.
        package init(name: String, value: Value) {
            self.name = name
            self.value = value
        }
    }

    /// Takes what was read and checked.
    package init(
        key: SecretReference, algorithm: SignatureAlgorithm, keyID: String? = nil, lifetime: Milliseconds,
        claims: [Claim]
    ) {
        self.key = key
        self.algorithm = algorithm
        self.keyID = keyID
        self.lifetime = lifetime
        self.claims = claims
    }
}
