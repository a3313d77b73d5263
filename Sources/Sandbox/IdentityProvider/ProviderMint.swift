import CredentialCore
import JSON

/// Makes the tokens of one answer of an identity provider, and remembers them.
struct ProviderMint {
    let name: String
    let issuer: String
    let clientID: String
    let subject: String
    let scope: String?
    let surroundings: Surroundings

    /// What an answer carries.
    struct Tokens: Sendable {
        let accessToken: String
        let idToken: String?
        let refreshToken: String?
    }

    private var mint: TokenMint { TokenMint(random: surroundings.random) }
    private var seconds: Int64 { surroundings.now / 1000 }

    /// Tokens of one grant; without `refresh`, or where it is not to change, the given refresh token is repeated.
    func tokens(
        _ state: inout ProviderState, recipe: TokenRecipe, family: Int, hasIDToken: Bool, refresh: String?,
        hasRefresh: Bool
    ) throws(ControlFailure) -> Tokens {
        let settings = state.settings
        let key = try state.key(recipe.algorithm, name, clientID, surroundings.random)
        let access: String
        switch settings.accessTokenFormat {
        case .opaque: access = mint.opaque(length: 0)
        case .jwt: access = try accessJWT(settings, recipe.algorithm, key)
        }
        remember(access, .access, family, settings.accessTokenLifetime, &state)
        var idToken: String?
        if hasIDToken {
            idToken = recipe.mint(claims(settings), with: key, accessToken: access)
            guard let idToken else { throw .unusableKey(key: "key") }
            remember(idToken, .id, family, settings.idTokenLifetime, &state)
        }
        var next = refresh
        if hasRefresh, refresh == nil || settings.rotates {
            let token = mint.opaque(length: 0)
            if let refresh { state.issued[refresh]?.isSpent = true }
            let lifetime = settings.refreshTokenLifetime
            remember(token, .refresh, family, lifetime == 0 ? nil : lifetime, &state)
            next = token
        }
        return Tokens(accessToken: access, idToken: idToken, refreshToken: hasRefresh ? next : nil)
    }

    private func claims(_ settings: ProviderSettings) -> ControlObject {
        ControlObject([
            ("iss", .text(settings.mismatch == .token ? Self.otherIssuer : issuer)), ("sub", .text(subject)),
            ("aud", .text(clientID)), ("iat", .integer(seconds)),
            ("exp", .integer(seconds + settings.idTokenLifetime)), ("jti", .text(mint.opaque(length: 16))),
        ])
    }

    // RFC 9068, as far as anybody looks.
    private func accessJWT(
        _ settings: ProviderSettings, _ algorithm: SignatureAlgorithm, _ key: SigningKey
    ) throws(ControlFailure) -> String {
        var recipe = TokenRecipe()
        recipe.algorithm = algorithm
        var claims = ControlObject([
            ("iss", .text(issuer)), ("sub", .text(subject)), ("aud", .text("https://api.example")),
            ("client_id", .text(clientID)), ("iat", .integer(seconds)),
            ("exp", .integer(seconds + settings.accessTokenLifetime)),
            ("jti", .text(mint.opaque(length: 16))),
        ])
        if let scope { claims.set("scope", .text(scope)) }
        guard let token = recipe.mint(claims, with: key) else { throw .unusableKey(key: "key") }
        return token
    }

    private func remember(
        _ token: String, _ kind: ProviderState.Issued.Kind, _ family: Int, _ lifetime: Int64?,
        _ state: inout ProviderState
    ) {
        state.remember(
            token,
            ProviderState.Issued(
                kind: kind, clientID: clientID, subject: subject, scope: scope, family: family,
                // To the second, as `exp` says it.
                until: lifetime.map { (seconds + $0) * 1000 }),
            now: surroundings.now)
    }

    /// What a provider says that tells the wrong issuer.
    static let otherIssuer = "https://other-issuer.example"
}
