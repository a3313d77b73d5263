/// Makes what one answer of a customer backend carries.
struct BackendTokenMaker {
    let settings: BackendSettings
    let name: String
    let request: Request
    let mint: TokenMint
    /// With what signed tokens are signed.
    let key: SigningKey?
    /// Unix milliseconds of the backend's clock.
    let now: Int64
    /// When what is made here ends.
    let until: Int64

    /// The value of a member; nil when it has to be signed and cannot be.
    func value(_ role: BackendSettings.Role, accessToken: String?) -> String? {
        guard role != .issuer else { return settings.issuer }
        switch settings.tokenFormat {
        case .opaque: return mint.opaque(length: settings.tokenBytes)
        case .jwt, .jwtWithoutExpiry:
            return mint.jwt(
                length: settings.tokenBytes, subject: name, issuer: settings.issuer, issuedAt: now / 1000,
                expiry: settings.tokenFormat == .jwt ? until / 1000 : nil)
        case .signed:
            return key.flatMap {
                settings.recipe.mint(claims, with: $0, accessToken: role == .idToken ? accessToken : nil)
            }
        }
    }

    private var claims: ControlObject {
        var claims = ControlObject([
            ("iss", .text(settings.issuer)), ("sub", .text(name)), ("iat", .integer(now / 1000)),
            ("exp", .integer(until / 1000)), ("jti", .text(TokenMint.base64URL(mint.random(12)))),
        ])
        guard let body = try? ControlObject(body: request.body) else { return claims }
        for claim in settings.bodyClaims {
            if let value = body[path: claim.value] { claims.set(claim.name, value) }
        }
        return claims
    }
}
