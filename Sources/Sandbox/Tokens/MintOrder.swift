import CredentialCore
import JSON

/// A token that the control API is asked to make: good without more, and wrong in every way that a test may want.
struct MintOrder: Sendable {
    private let claims: ControlObject
    private let recipe: TokenRecipe

    /// What it is to be signed with.
    var algorithm: SignatureAlgorithm { recipe.algorithm }

    /// Seconds that a token is good for when nobody says otherwise.
    private static let lifetime: Int64 = 3600

    /// Reads an order: `identity` names the claims that say who it is for; they come first, whatever their type.
    ///
    /// `exp` is Unix seconds; `expires_in_seconds`, in place of it, counts from `now`, Unix milliseconds. The rest is a recipe.
    init(
        _ body: [UInt8], identity: [String], algorithm: SignatureAlgorithm, now: Int64
    ) throws(ControlFailure) {
        var object = try ControlObject(body: body)
        var claims: [(key: String, value: ControlValue)] = []
        for name in identity {
            if let value = object.value(name) { claims.append((name, value)) }
        }
        let lifetime = try object.integer("expires_in_seconds", BackendSettings.lifetimes)
        let end = try object.integer("exp", BackendSettings.lifetimes)
        guard lifetime == nil || end == nil else {
            throw .wrongType(key: "exp", expected: "left out beside expires_in_seconds")
        }
        claims.append(("exp", .integer(end ?? now / 1000 + (lifetime ?? Self.lifetime))))
        self.claims = ControlObject(claims)
        recipe = try TokenRecipe(&object, algorithm: algorithm)
        try object.finish()
    }

    /// `{"token":"…"}`, signed with the recipe's key, or with `key` when it is for the recipe's algorithm.
    func answer(with key: SigningKey?, date: Int64) throws(ControlFailure) -> Answer {
        let own = recipe.key ?? key
        guard let own, own.algorithm == recipe.algorithm else { throw .missingKey("key") }
        guard let token = recipe.mint(claims, with: own) else { throw .unusableKey(key: "key") }
        return Answer(status: 200, date: date) { json in
            json.beginObject()
            json.key("token")
            json.string(token)
            json.endObject()
        }
    }
}
