package import CredentialCore
import JSON
package import Secrets

/// What a token says of itself that is no secret, for people who look for the reason of a refusal.
///
/// Nothing here was verified, and everything is printable and short: a claim that is not counts as absent.
package struct SeenToken: Equatable, Sendable {
    /// `alg` of the header.
    package let algorithm: String?
    /// `kid` of the header.
    package let keyID: String?
    /// `iss`.
    package let issuer: String?
    /// `aud`, of which there may be several.
    package let audience: [String]
    /// `exp`.
    package let exp: ExpiryReading
    /// `nbf`.
    package let notBefore: ExpiryReading

    /// Nil for a token that is no JWT in compact form.
    package init?(_ token: SecretBytes) {
        guard let exp = UnverifiedJWT(token)?.exp else { return nil }
        let header: (String?, String?)? = TokenClaims.read(.header, of: token) { header in
            (header.member("alg")?.string, header.member("kid")?.string)
        }
        let payload: (String?, [String], ExpiryReading)? = TokenClaims.read(.payload, of: token) { payload in
            var notBefore = ExpiryReading.absent
            if let claim = payload.member("nbf") { notBefore = .numericDate(claim) }
            return (payload.member("iss")?.string, Self.audience(in: payload), notBefore)
        }
        guard let header, let payload else { return nil }
        algorithm = PlatformWire.plain(header.0, limit: 64)
        keyID = PlatformWire.plain(header.1, limit: 128)
        issuer = PlatformWire.plain(payload.0, limit: 256)
        audience = payload.1
        notBefore = payload.2
        self.exp = exp
    }

    private static func audience(in payload: borrowing JSONValue) -> [String] {
        guard let claim = payload.member("aud") else { return [] }
        if claim.kind == .string { return PlatformWire.plain(claim.string, limit: 256).map { [$0] } ?? [] }
        guard claim.kind == .array else { return [] }
        var audience: [String] = []
        var elements = claim.elements()
        while audience.count < 8, let element = elements.next() {
            if let text = PlatformWire.plain(element.string, limit: 256) { audience.append(text) }
        }
        return audience
    }

    /// Whether it is signed with a key pair, as whoever has only the public key needs it (RFC 7518 §3.1).
    var isSignedWithPrivateKey: Bool {
        guard let algorithm else { return false }
        return ["RS", "ES", "PS"].contains { algorithm.hasPrefix($0) } || algorithm == "EdDSA"
            || algorithm == "Ed25519"
    }
}
