import CredentialCore
import JSON

/// How one identity provider is configured, and in which of the many ways it answers.
struct ProviderSettings: Sendable {
    /// Somebody who may ask (RFC 6749 §2).
    struct Client: Sendable {
        let id: String
        let secret: String?
        /// With what its assertions are verified (RFC 7523 §2.2).
        let key: VerificationKey?

        /// Whether it cannot authenticate itself.
        var isPublic: Bool { secret == nil && key == nil }
    }

    /// A public key in PEM or as a JWK, or a secret, and the algorithm that it is for.
    struct VerificationKey: Sendable {
        let algorithm: SignatureAlgorithm
        let text: String
    }

    /// Somebody whose assertions are grants (RFC 7523 §2.1).
    struct AssertionIssuer: Sendable {
        let issuer: String
        let key: VerificationKey
    }

    enum AccessTokenFormat: String, CaseIterable, Sendable {
        case opaque, jwt
    }

    /// How the token answer says for how long its access token is good (RFC 6749 §5.1).
    enum ExpiresIn: String, CaseIterable, Sendable {
        case number, string, float, missing, null, zero, negative, garbage
    }

    /// Where another issuer than the right one is told (RFC 8414 §3.3, OpenID Connect Core 1.0 §3.1.3.7).
    enum Mismatch: String, CaseIterable, Sendable {
        case nowhere, discovery
        case token = "id_token"
    }

    /// Nil: the address under which the client reaches it.
    var issuer: String?
    var mismatch = Mismatch.nowhere
    var clients = [Client(id: "client", secret: "secret", key: nil)]
    var subject = "user-1"
    /// How ID tokens are made; `alg` is that of JWT access tokens too.
    var recipe = TokenRecipe()
    var accessTokenFormat = AccessTokenFormat.opaque
    var expiresIn = ExpiresIn.number
    /// Whether the token endpoint answers with an ID token.
    var hasIDToken = true
    var idTokenLifetime: Int64 = 3600
    var accessTokenLifetime: Int64 = 3600
    /// Zero: they do not expire.
    var refreshTokenLifetime: Int64 = 0
    /// Whether each refresh brings another refresh token (RFC 9700 §4.14.2).
    var rotates = true
    /// Whether introspection tells `exp`, which is optional (RFC 7662 §2.2).
    var tellsExpiry = true
    var assertionIssuers: [AssertionIssuer] = []
    var deviceCodeLifetime: Int64 = 600
    /// Seconds that a device waits between two questions.
    var deviceInterval: Int64 = 5

    init() { recipe.accessTokenHash = .right }

    /// Reads settings from the control API.
    init(_ source: ControlObject) throws(ControlFailure) {
        var object = source
        issuer = try object.text("issuer")
        mismatch = try object.word("issuer_mismatch", Mismatch.self) ?? mismatch
        if let objects = try object.objects("clients") {
            clients = []
            for object in objects { clients.append(try Client(object)) }
        }
        for object in try object.objects("assertion_issuers") ?? [] {
            assertionIssuers.append(try AssertionIssuer(object))
        }
        deviceCodeLifetime =
            try object.integer("device_code_seconds", BackendSettings.lifetimes) ?? deviceCodeLifetime
        deviceInterval = try object.integer("device_interval_seconds", 0...86_400) ?? deviceInterval
        subject = try object.text("subject") ?? subject
        let hasHash = object.value("at_hash") != nil
        recipe = try TokenRecipe(&object)
        if !hasHash { recipe.accessTokenHash = .right }
        accessTokenFormat =
            try object.word("access_token_format", AccessTokenFormat.self) ?? accessTokenFormat
        expiresIn = try object.word("expires_in", ExpiresIn.self) ?? expiresIn
        hasIDToken = try object.bool("id_token") ?? hasIDToken
        let range = BackendSettings.lifetimes
        idTokenLifetime = try object.integer("id_token_seconds", range) ?? idTokenLifetime
        accessTokenLifetime = try object.integer("access_token_seconds", range) ?? accessTokenLifetime
        refreshTokenLifetime = try object.integer("refresh_token_seconds", range) ?? refreshTokenLifetime
        rotates = try object.bool("rotate_refresh_tokens") ?? rotates
        tellsExpiry = try object.bool("introspection_exp") ?? tellsExpiry
        try object.finish()
    }

    /// Writes the settings as they would be sent to set them.
    func write(_ json: inout JSONWriter) {
        json.beginObject()
        if let issuer {
            json.key("issuer")
            json.string(issuer)
        }
        let members = ControlObject([
            ("issuer_mismatch", .text(mismatch.rawValue)), ("subject", .text(subject)),
            ("access_token_format", .text(accessTokenFormat.rawValue)),
            ("expires_in", .text(expiresIn.rawValue)), ("id_token", .bool(hasIDToken)),
            ("id_token_seconds", .integer(idTokenLifetime)),
            ("access_token_seconds", .integer(accessTokenLifetime)),
            ("refresh_token_seconds", .integer(refreshTokenLifetime)),
            ("rotate_refresh_tokens", .bool(rotates)), ("introspection_exp", .bool(tellsExpiry)),
            ("device_code_seconds", .integer(deviceCodeLifetime)),
            ("device_interval_seconds", .integer(deviceInterval)),
            ("clients", .array(clients.map { .object($0.object) })),
            ("assertion_issuers", .array(assertionIssuers.map { .object($0.object) })),
        ])
        members.writeMembers(&json)
        recipe.writeMembers(&json)
        json.endObject()
    }

    /// The client that a name and a secret belong to; nil: nobody.
    func client(_ id: String, _ secret: String?) -> Client? {
        clients.first { $0.id == id && $0.secret == secret && ($0.key == nil || secret != nil) }
    }
}

extension ProviderSettings.Client {
    fileprivate init(_ source: ControlObject) throws(ControlFailure) {
        var object = source
        guard let id = try object.text("client_id") else { throw .missingKey("clients.client_id") }
        self.id = id
        secret = try object.text("client_secret")
        key = try ProviderSettings.VerificationKey(&object)
        try object.finish()
    }

    fileprivate var object: ControlObject {
        var object = ControlObject([("client_id", .text(id))])
        if let secret { object.set("client_secret", .text(secret)) }
        key?.write(to: &object)
        return object
    }
}

extension ProviderSettings.AssertionIssuer {
    fileprivate init(_ source: ControlObject) throws(ControlFailure) {
        var object = source
        guard let issuer = try object.text("issuer") else { throw .missingKey("assertion_issuers.issuer") }
        guard let key = try ProviderSettings.VerificationKey(&object) else {
            throw .missingKey("assertion_issuers.public_key")
        }
        (self.issuer, self.key) = (issuer, key)
        try object.finish()
    }

    fileprivate var object: ControlObject {
        var object = ControlObject([("issuer", .text(issuer))])
        key.write(to: &object)
        return object
    }
}

extension ProviderSettings.VerificationKey {
    /// Reads `alg` and `public_key`; nil where there is no key.
    fileprivate init?(_ object: inout ControlObject) throws(ControlFailure) {
        algorithm = try object.algorithm("alg") ?? .rs256
        guard let text = try object.text("public_key") else { return nil }
        guard ReceivedToken.isKey(text, for: algorithm) else { throw .unusableKey(key: "public_key") }
        self.text = text
    }

    fileprivate func write(to object: inout ControlObject) {
        object.set("alg", .text(algorithm.rawValue))
        object.set("public_key", .text(text))
    }
}
