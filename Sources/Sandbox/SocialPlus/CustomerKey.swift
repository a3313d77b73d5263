import CredentialCore
import JOSE
import JSON
import Secrets

/// A key of the customer, whose access tokens a network believes; bound to one algorithm, because a token's header never
/// chooses.
///
/// It is text, because the control API takes it in and shows it again: a key of a test, never a secret.
struct CustomerKey: Sendable, Equatable {
    let algorithm: SignatureAlgorithm
    /// PEM or a JWK, either half of the pair; for HS256 the secret itself.
    let text: String
    /// `kid` of what it signs; nil: none.
    let id: String?

    /// The algorithms that a network knows.
    static let algorithms: [SignatureAlgorithm] = [.hs256, .rs256, .es256]

    /// Reads `alg`, `key` and `kid`.
    init(_ source: ControlObject) throws(ControlFailure) {
        var object = source
        guard let word = try object.text("alg") else { throw .missingKey("alg") }
        guard let algorithm = Self.algorithms.first(where: { $0.rawValue == word }) else {
            throw .unknownWord(key: "alg", word: word, known: Self.algorithms.map(\.rawValue))
        }
        guard let text = try object.text("key") else { throw .missingKey("key") }
        self.algorithm = algorithm
        self.text = text
        id = try object.text("kid")
        try object.finish()
        guard verifying != nil else { throw .unusableKey(key: "key") }
    }

    /// Makes a key; nil when the library is absent.
    init?(making algorithm: SignatureAlgorithm, id: String?, random: @Sendable (Int) -> [UInt8]) {
        guard let key = SigningKey(making: algorithm, id: id, random: random) else { return nil }
        self.algorithm = algorithm
        self.id = id
        text = key.secretText
    }

    /// The key as one that signs.
    ///
    /// - Throws: `unusableKey` for a public half.
    func signing() throws(ControlFailure) -> SigningKey { try SigningKey(text, for: algorithm, id: id) }

    // The public half, or the private one, which contains it.
    private var verifying: Key? {
        let bytes = SecretBytes(text: text)
        return (try? Key(reading: bytes, algorithm, isPrivate: false))
            ?? (try? Key(reading: bytes, algorithm, isPrivate: true))
    }

    /// Whether it has signed `token`.
    func hasSigned(_ token: ReceivedToken) -> Bool { verifying.map { token.isSigned(by: $0) } ?? false }

    func write(_ json: inout JSONWriter) {
        json.beginObject()
        json.key("alg")
        json.string(algorithm.rawValue)
        json.key("key")
        json.string(text)
        if let id {
            json.key("kid")
            json.string(id)
        }
        json.endObject()
    }
}
