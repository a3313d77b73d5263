import CredentialCore
import JSON

/// How one bot at Kindly is configured, and how its server answers.
struct KindlySettings: Sendable {
    /// How the bot verifies its users, in the words of an account's configuration.
    enum Strategy: String, CaseIterable, Sendable {
        case kindlyJWT = "kindly_jwt"
        case identityProvider = "identity_provider"
        case introspection
    }

    /// In which form `auth/chat` says until when it holds: the real one's is not documented.
    enum Expiry: String, CaseIterable, Sendable {
        case seconds, float, milliseconds, iso, string, missing, garbage
    }

    /// An identity provider that the bot trusts.
    struct TrustedIssuer: Sendable {
        let issuer: String
        /// The stand-in of that name in this process, for its keys and for introspection.
        let provider: String?
        /// Keys that were given; they come before the stand-in's.
        let keys: ControlObject?
        /// What the bot introspects as.
        let clientID: String
        let clientSecret: String
    }

    /// Nil: the name of the instance.
    var botKey: String?
    var strategy = Strategy.kindlyJWT
    /// PEM; nil: only what the stand-in's own keys have signed is believed.
    var publicKey: String?
    /// What `iss` has to be; nil: it only has to be there.
    var expectedIssuer: String?
    var issuers: [TrustedIssuer] = []
    var expiry = Expiry.seconds
    /// Whether an ID token beside an access token must have `at_hash`.
    var requiresAccessTokenHash = false
    /// Seconds for which a bind holds at most, whatever the tokens say; nil: as long as they do.
    var bindSeconds: Int64?
    /// Seconds for which a token that the stand-in mints is good.
    var lifetime: Int64 = 900

    init() {}

    /// Reads settings from the control API.
    init(_ source: ControlObject) throws(ControlFailure) {
        var object = source
        botKey = try object.headerText("bot_key")
        strategy = try object.word("strategy", Strategy.self) ?? strategy
        publicKey = try object.text("public_key")
        if let publicKey, ![.rs256, .es256].contains(where: { ReceivedToken.isKey(publicKey, for: $0) }) {
            throw .unusableKey(key: "public_key")
        }
        expectedIssuer = try object.text("expected_issuer")
        for object in try object.objects("issuers") ?? [] { issuers.append(try TrustedIssuer(object)) }
        expiry = try object.word("expiry", Expiry.self) ?? expiry
        requiresAccessTokenHash = try object.bool("require_at_hash") ?? requiresAccessTokenHash
        bindSeconds = try object.integer("bind_seconds", BackendSettings.lifetimes)
        lifetime = try object.integer("lifetime_seconds", BackendSettings.lifetimes) ?? lifetime
        try object.finish()
    }

    /// Writes the settings as they would be sent to set them.
    func write(_ name: String, _ json: inout JSONWriter) {
        var object = ControlObject([
            ("bot_key", .text(botKey ?? name)), ("strategy", .text(strategy.rawValue)),
            ("expiry", .text(expiry.rawValue)), ("require_at_hash", .bool(requiresAccessTokenHash)),
            ("lifetime_seconds", .integer(lifetime)),
            ("issuers", .array(issuers.map { .object($0.object) })),
        ])
        if let bindSeconds { object.set("bind_seconds", .integer(bindSeconds)) }
        if let publicKey { object.set("public_key", .text(publicKey)) }
        if let expectedIssuer { object.set("expected_issuer", .text(expectedIssuer)) }
        object.write(&json)
    }
}

extension KindlySettings.TrustedIssuer {
    fileprivate init(_ source: ControlObject) throws(ControlFailure) {
        var object = source
        guard let issuer = try object.text("issuer") else { throw .missingKey("issuers.issuer") }
        self.issuer = issuer
        provider = try object.text("idp")
        keys = try object.object("jwks")
        clientID = try object.text("client_id") ?? "client"
        clientSecret = try object.text("client_secret") ?? "secret"
        guard provider != nil || keys != nil else { throw .missingKey("issuers.idp") }
        try object.finish()
    }

    fileprivate var object: ControlObject {
        var object = ControlObject([
            ("issuer", .text(issuer)), ("client_id", .text(clientID)), ("client_secret", .text(clientSecret)),
        ])
        if let provider { object.set("idp", .text(provider)) }
        if let keys { object.set("jwks", .object(keys)) }
        return object
    }
}
