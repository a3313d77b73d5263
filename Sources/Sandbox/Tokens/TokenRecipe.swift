import CredentialCore
import JSON

/// How a signed token is made, as a test orders it: everything right unless something else is said.
struct TokenRecipe: Sendable {
    enum Signature: String, CaseIterable, Sendable {
        case right
        /// Of the right length, and nobody's.
        case wrong
        /// `alg` none, and nothing behind the last dot.
        case absent
    }

    enum AccessTokenHash: String, CaseIterable, Sendable {
        case right, absent, wrong
    }

    var algorithm = SignatureAlgorithm.rs256
    /// Set over the claims that the token has anyway; null takes one away.
    var claims = ControlObject([])
    /// A private key or secret of the test's own; nil: the stand-in's.
    var key: SigningKey?
    /// `kid` in place of the key's; empty: none.
    var keyID: String?
    var signature = Signature.right
    var accessTokenHash = AccessTokenHash.absent

    init() {}

    /// Reads what it knows of `object`, and leaves the rest to others.
    init(
        _ object: inout ControlObject, algorithm: SignatureAlgorithm = .rs256
    ) throws(ControlFailure) {
        self.algorithm = try object.algorithm("alg") ?? algorithm
        claims = try object.object("claims") ?? claims
        keyID = try object.text("kid")
        if let text = try object.text("key") { key = try SigningKey(text, for: self.algorithm, id: nil) }
        signature = try object.word("signature", Signature.self) ?? signature
        accessTokenHash = try object.word("at_hash", AccessTokenHash.self) ?? accessTokenHash
    }

    /// Writes what differs from a plain recipe, in the words in which it was read.
    func writeMembers(_ json: inout JSONWriter) {
        json.key("alg")
        json.string(algorithm.rawValue)
        json.key("claims")
        claims.write(&json)
        if let keyID {
            json.key("kid")
            json.string(keyID)
        }
        json.key("signature")
        json.string(signature.rawValue)
        json.key("at_hash")
        json.string(accessTokenHash.rawValue)
    }

    /// A token with `base`, changed by the recipe; nil when the key cannot sign.
    ///
    /// `accessToken` is what `at_hash` is of; without one there is none.
    func mint(_ base: ControlObject, with ownKey: SigningKey, accessToken: String? = nil) -> String? {
        var content = base
        if let accessToken {
            switch accessTokenHash {
            case .right: content.set("at_hash", .text(accessToken.halfHash(algorithm)))
            case .wrong: content.set("at_hash", .text((accessToken + "?").halfHash(algorithm)))
            case .absent: break
            }
        }
        content.merge(claims)
        let key = key ?? ownKey
        var header = ControlObject([])
        header.set("alg", .text(signature == .absent ? "none" : algorithm.rawValue))
        header.set("typ", .text("JWT"))
        if let id = keyID ?? key.id, !id.isEmpty { header.set("kid", .text(id)) }
        let signed = "\(TokenMint.base64URL(header.bytes)).\(TokenMint.base64URL(content.bytes))"
        switch signature {
        case .absent: return signed + "."
        case .right: return key.signature(of: signed).map { "\(signed).\($0)" }
        case .wrong:
            // Of another text: no verifier can mistake it, and the length is right.
            return key.signature(of: signed + "?").map { "\(signed).\($0)" }
        }
    }
}

extension ControlObject {
    /// A signature algorithm by its name (RFC 7518 §3.1).
    mutating func algorithm(_ key: String) throws(ControlFailure) -> SignatureAlgorithm? {
        try word(key, SignatureAlgorithm.self)
    }

    /// It as JSON.
    var bytes: [UInt8] {
        Array(Answer(status: 200, date: 0) { write(&$0) }.body.dropLast())
    }
}
