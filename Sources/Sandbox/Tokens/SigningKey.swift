import CredentialCore
import JOSE
import JSON
import Secrets

/// A key with which a stand-in signs: one that it made, or one that a test gave it.
struct SigningKey: Sendable {
    let algorithm: SignatureAlgorithm
    /// `kid` of the tokens; nil: they have none.
    let id: String?
    /// PEM or JWK; for HS* the secret itself.
    private let material: SecretBytes
    /// SubjectPublicKeyInfo; nil for a shared secret, and for a key that came from outside.
    private let publicKey: [UInt8]?

    /// Makes a new key; nil when the library is absent.
    init?(
        making algorithm: SignatureAlgorithm, id: String?, random: @Sendable (Int) -> [UInt8]
    ) {
        self.algorithm = algorithm
        self.id = id
        guard !algorithm.isShared else {
            // As text, so that it can be given to others by the control API.
            material = SecretBytes(text: TokenMint.base64URL(random(48)))
            publicKey = nil
            return
        }
        guard let pair = try? KeyPair(for: algorithm) else { return nil }
        material = pair.privateKey
        publicKey = pair.publicKey
    }

    /// Takes a private key in PEM or as a JWK, or a shared secret.
    init(_ text: String, for algorithm: SignatureAlgorithm, id: String?) throws(ControlFailure) {
        self.algorithm = algorithm
        self.id = id
        material = SecretBytes(text: text)
        publicKey = nil
        guard key != nil else { throw .unusableKey(key: "key") }
    }

    private var key: Key? { try? Key(reading: material, algorithm, isPrivate: true) }

    /// The private key in PEM, or the secret: everything in here is made up.
    var secretText: String { material.text }

    /// The public key in PEM; nil where there is none to show.
    var publicPEM: String? {
        publicKey.map { KeyPair.pem($0.span, "PUBLIC KEY").text }
    }

    /// The signature of `text`, base64url; nil when the key cannot sign.
    func signature(of text: String) -> String? {
        guard let key else { return nil }
        var buffer = SecretBuffer(capacity: 1024)
        do {
            try key.sign(Array(text.utf8).span, appendingTo: &buffer)
        } catch {
            return nil
        }
        return TokenMint.base64URL(buffer.finish().bytes)
    }

    /// Whether `token` is signed with this key; for a pair, its public half is enough.
    func hasSigned(_ token: ReceivedToken) -> Bool {
        if let publicPEM { return token.isSigned(by: publicPEM, algorithm) }
        return token.isSigned(by: secretText, algorithm)
    }

    /// Writes all that somebody who verifies, or signs in its place, needs.
    func write(_ json: inout JSONWriter) {
        json.beginObject()
        json.key("alg")
        json.string(algorithm.rawValue)
        json.key(algorithm.isShared ? "secret" : "private_key")
        json.string(secretText)
        if let publicPEM {
            json.key("public_key")
            json.string(publicPEM)
            json.key("jwks")
            json.beginObject()
            json.key("keys")
            json.beginArray()
            writeJWK(&json)
            json.endArray()
            json.endObject()
        }
        json.endObject()
    }

    /// Writes the public half as a JWK (RFC 7517 §4) for signatures; nothing for a shared secret.
    ///
    /// The numbers stand at fixed places: the keys are made here, all RSA ones with 2048 bits and the exponent 65537.
    func writeJWK(_ json: inout JSONWriter) {
        guard let publicKey else { return }
        let number: (Range<Int>) -> String = { TokenMint.base64URL(publicKey[$0]) }
        let end = publicKey.count
        let members: [Request.Pair] =
            switch algorithm {
            case .rs256, .ps256: [("kty", "RSA"), ("n", number(33..<289)), ("e", "AQAB")]
            case .es256:
                [
                    ("kty", "EC"), ("crv", "P-256"), ("x", number((end - 64)..<(end - 32))),
                    ("y", number((end - 32)..<end)),
                ]
            case .es384:
                [
                    ("kty", "EC"), ("crv", "P-384"), ("x", number((end - 96)..<(end - 48))),
                    ("y", number((end - 48)..<end)),
                ]
            case .edDSA: [("kty", "OKP"), ("crv", "Ed25519"), ("x", number((end - 32)..<end))]
            case .hs256, .hs384, .hs512: []
            }
        json.beginObject()
        for member in members {
            json.key(named: member.name)
            json.string(member.value)
        }
        json.key("use")
        json.string("sig")
        json.key("alg")
        json.string(algorithm.rawValue)
        if let id {
            json.key("kid")
            json.string(id)
        }
        json.endObject()
    }
}

extension SecretBytes {
    /// A copy of a text that the sandbox made up or was told.
    convenience init(text: String) {
        self.init(copying: Array(text.utf8).span)
    }

    /// A copy of the bytes: in the sandbox nothing is a secret.
    var bytes: [UInt8] { withSpan { span in span.indices.map { span[$0] } } }
    /// The bytes as text.
    var text: String { String(decoding: bytes, as: UTF8.self) }
}
