import JSON

/// How one customer backend answers.
struct BackendSettings: Sendable {
    /// Seconds that a token is good for; zero and negative ones are born expired.
    var lifetime: Int64 = 3600
    var expiry = Expiry.expiresIn
    /// The member that carries the expiry; nil: `expires_in` or `expires_at`, as the form suggests.
    var expiryField: String?
    var tokenFormat = TokenFormat.opaque
    /// The length of each token in bytes; 0: its natural length.
    var tokenBytes = 0
    /// Whether each answer carries new tokens; otherwise the first ones are repeated until the settings change.
    var isFresh = true
    /// Which members the answer has: what is in it, and what it is called.
    var fields: [(role: Role, name: String)] = [(.idToken, "token")]
    /// What the issuer member says.
    var issuer = "https://issuer.example"
    /// Seconds by which this backend's clock is ahead: its `Date` and every instant that it computes.
    var dateOffset: Int64 = 0
    /// Header fields without which the answer is 401.
    var requiredHeaders: [Request.Pair] = []
    /// How signed tokens are made.
    var recipe = TokenRecipe()
    /// Claims of signed tokens that come from the request: a path of claims, and the path of a member of the body.
    var bodyClaims: [Request.Pair] = []

    /// How the answer tells when its token ends.
    enum Expiry: String, CaseIterable, Sendable {
        case expiresIn = "expires_in"
        case expiresInString = "expires_in_string"
        case expiresInFloat = "expires_in_float"
        case atSeconds = "expires_at_seconds"
        case atMilliseconds = "expires_at_milliseconds"
        case atText = "expires_at_text"
        case missing, null, garbage, negative, enormous

        /// Whether it is an instant, not a length of time.
        var isInstant: Bool { self == .atSeconds || self == .atMilliseconds || self == .atText }
    }

    enum TokenFormat: String, CaseIterable, Sendable {
        case opaque
        /// A well-formed JWT (RFC 7519) with `exp`, whose signature is random.
        case jwt
        /// The same without `exp`.
        case jwtWithoutExpiry = "jwt_without_exp"
        /// One that proves something: signed, with claims from the settings and from the request.
        case signed = "signed_jwt"
    }

    /// What a member holds, in the words of an account's `fields`.
    enum Role: String, CaseIterable, Sendable {
        case idToken = "id_token"
        case accessToken = "access_token"
        case issuer
    }

    static let lifetimes: ClosedRange<Int64> = -10_000_000_000...10_000_000_000
    static let tokenLengths: ClosedRange<Int64> = 0...8_388_608

    /// Reads settings; `fields`, `issuer` and `required_headers` come from JSON only.
    init(_ source: ControlObject) throws(ControlFailure) {
        var object = source
        try readScalars(&object)
        recipe = try TokenRecipe(&object)
        for pair in try object.texts("body_claims") ?? [] {
            guard pair.name.utf8.count <= 128, pair.value.utf8.count <= 128 else {
                throw .outOfRange(key: "body_claims", lowest: 1, highest: 128)
            }
            bodyClaims.append(pair)
        }
        if let pairs = try object.texts("fields") { fields = try Self.fields(pairs) }
        issuer = try object.text("issuer") ?? issuer
        dateOffset = try object.integer("date_offset_seconds", Self.lifetimes) ?? dateOffset
        requiredHeaders = try object.headerFields("require_headers") ?? []
        try object.finish()
    }

    init() {}

    /// These settings with what a query says for this one request.
    func overridden(by query: [Request.Pair]) throws(ControlFailure) -> BackendSettings {
        let prefix = "field."
        var scalars = ControlObject(
            query.filter { !$0.name.hasPrefix(prefix) }.map { ($0.name, .text($0.value)) })
        let renamed = query.filter { $0.name.hasPrefix(prefix) }.map {
            (name: String($0.name.dropFirst(prefix.count)), value: $0.value)
        }
        var settings = self
        try settings.readScalars(&scalars)
        if !renamed.isEmpty { settings.fields = try Self.fields(renamed) }
        try scalars.finish()
        return settings
    }

    private mutating func readScalars(_ object: inout ControlObject) throws(ControlFailure) {
        lifetime = try object.integer("lifetime_seconds", Self.lifetimes) ?? lifetime
        expiry = try object.word("expiry", Expiry.self) ?? expiry
        expiryField = try object.text("expiry_field") ?? expiryField
        tokenFormat = try object.word("token_format", TokenFormat.self) ?? tokenFormat
        tokenBytes = Int(try object.integer("token_bytes", Self.tokenLengths) ?? Int64(tokenBytes))
        isFresh = try object.bool("fresh") ?? isFresh
    }

    private static func fields(_ pairs: [Request.Pair]) throws(ControlFailure) -> [(role: Role, name: String)]
    {
        var fields: [(role: Role, name: String)] = []
        for pair in pairs {
            guard let role = Role(rawValue: pair.name) else {
                throw .unknownWord(key: "fields", word: pair.name, known: Role.allCases.map(\.rawValue))
            }
            fields.append((role, pair.value))
        }
        return fields
    }

    /// Writes the settings as they would be sent to set them.
    func write(_ json: inout JSONWriter) {
        json.beginObject()
        json.key("lifetime_seconds")
        json.integer(lifetime)
        json.key("expiry")
        json.string(expiry.rawValue)
        if let expiryField {
            json.key("expiry_field")
            json.string(expiryField)
        }
        json.key("token_format")
        json.string(tokenFormat.rawValue)
        json.key("token_bytes")
        json.integer(Int64(tokenBytes))
        json.key("fresh")
        json.bool(isFresh)
        json.key("fields")
        json.beginObject()
        for field in fields {
            json.key(named: field.role.rawValue)
            json.string(field.name)
        }
        json.endObject()
        json.key("issuer")
        json.string(issuer)
        if tokenFormat == .signed {
            recipe.writeMembers(&json)
            json.key("body_claims")
            json.beginObject()
            for claim in bodyClaims {
                json.key(named: claim.name)
                json.string(claim.value)
            }
            json.endObject()
        }
        json.key("date_offset_seconds")
        json.integer(dateOffset)
        json.key("require_headers")
        json.beginObject()
        for header in requiredHeaders {
            json.key(named: header.name)
            json.string(header.value)
        }
        json.endObject()
        json.endObject()
    }
}
