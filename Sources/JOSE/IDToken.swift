package import CredentialCore
import JSON
import Secrets

/// Verifies ID tokens (OpenID Connect Core 1.0 §3.1.3.7): the signature first, then what is claimed.
package enum IDToken {
    /// By how much two clocks may differ, for `nbf` and `iat`.
    private static let skew = Milliseconds.seconds(60)

    /// Verifies what `order` asks for.
    package static func verify(_ order: VerificationOrder) throws(VerificationFailure) {
        let token = try CompactJWS(order.token)
        let key = try JWKSet(order.keys).key(for: token)
        try token.verify(key)
        try token.payload.withSpan { bytes throws(VerificationFailure) in
            var document = JSONDocument(limits: JSONLimits(length: Credential.tokenLimit, depth: 32))
            guard let claims = try? document.parse(bytes), claims.kind == .object else { throw .malformed }
            // The most severe fault first: somebody else's token, then a token of something else, then one of another time.
            guard claims.member("iss")?.string?.isSame(as: order.issuer) == true else {
                throw .issuerMismatch
            }
            guard isMeant(for: order.audience, claims) else { throw .audienceMismatch }
            try checkAccessToken(claims, key.algorithm, order)
            try checkTime(claims, order.now)
        }
    }

    private static func isMeant(for audience: String, _ claims: borrowing JSONValue) -> Bool {
        guard let value = claims.member("aud") else { return false }
        if value.kind == .string { return value.string?.isSame(as: audience) == true }
        guard value.kind == .array else { return false }
        var isNamed = false
        var count = 0
        var elements = value.elements()
        while let element = elements.next() {
            guard let text = element.string else { return false }
            isNamed = isNamed || text.isSame(as: audience)
            count += 1
        }
        // Several audiences: the party that it was issued to has to be named (§2, azp).
        if count > 1, claims.member("azp")?.string?.isSame(as: audience) != true { return false }
        return isNamed
    }

    private static func checkTime(
        _ claims: borrowing JSONValue, _ now: WallTime
    ) throws(VerificationFailure) {
        guard let exp = claims.member("exp"), case .at(let end) = ExpiryReading.numericDate(exp) else {
            throw .malformed
        }
        guard now < end else { throw .expired }
        for name: StaticString in ["nbf", "iat"] {
            guard let value = claims.member(name) else { continue }
            guard case .at(let begin) = ExpiryReading.numericDate(value) else { throw .malformed }
            guard begin <= now + skew else { throw .notYetValid }
        }
    }

    private static func checkAccessToken(
        _ claims: borrowing JSONValue, _ algorithm: SignatureAlgorithm, _ order: VerificationOrder
    ) throws(VerificationFailure) {
        guard let value = claims.member("at_hash"), let accessToken = order.accessToken else { return }
        guard value.kind == .string, let stated = Base64URL.decode(value.raw), !stated.isEmpty else {
            throw .accessTokenMismatch
        }
        guard stated.isEqual(to: algorithm.halfHash(of: accessToken)) else { throw .accessTokenMismatch }
    }
}
