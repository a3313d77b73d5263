import CredentialCore
import JOSE
import JSON

/// How tests steer an identity provider: settings, a first grant, single tokens, other keys.
extension IdentityProvider {
    // Keys and tokens stay: what was issued under other settings is still good.
    mutating func configure(_ name: String, _ settings: ControlObject) throws(ControlFailure) {
        instances[name].settings = try ProviderSettings(settings)
    }

    mutating func reset(_ name: String) {
        instances.reset(name)
    }

    func writeSettings(_ name: String, _ json: inout JSONWriter) {
        instances[name].settings.write(&json)
    }

    mutating func act(
        _ request: Request, _ name: String, _ action: String, _ surroundings: Surroundings
    ) throws(ControlFailure) -> Answer? {
        guard request.method == "POST" else { return nil }
        var object = try ControlObject(body: request.body)
        let issuer = issuer(name, request)
        switch action {
        case "grant":
            let client =
                try object.text("client_id") ?? instances[name].settings.clients.first?.id ?? "client"
            let subject = try object.text("subject") ?? instances[name].settings.subject
            let scope = try object.text("scope") ?? "openid"
            try object.finish()
            let endpoint = TokenEndpoint(
                name: name, issuer: issuer, address: address(name, request), surroundings: surroundings)
            let family = instances[name].newFamily()
            return try endpoint.issue(
                client, subject: subject, scope: scope, family: family, refresh: nil, isForUser: true,
                &instances[name])
        case "mint": return try mint(&object, name, issuer, surroundings)
        case "rotate":
            let algorithm = try object.algorithm("alg") ?? instances[name].settings.recipe.algorithm
            let keepsOld = try object.bool("keep_old") ?? true
            try object.finish()
            guard !algorithm.isShared else { throw .unusableKey(key: "alg") }
            try instances[name].addKey(algorithm, name, surroundings.random)
            if !keepsOld { instances[name].dropOldKeys() }
            let state = instances[name]
            return Answer(status: 200, date: surroundings.now) { state.writeKeys(&$0) }
        case "device":
            guard let code = try object.text("user_code") else { throw .missingKey("user_code") }
            let decision = try object.word("decision", DeviceCodes.Decision.self) ?? .approve
            let subject = try object.text("subject")
            try object.finish()
            guard instances[name].deviceCodes.decide(code, decision, subject: subject) else {
                throw .notThere("user code")
            }
            return Answer(status: 200, date: surroundings.now) { ControlObject([]).write(&$0) }
        case "revoke":
            guard let token = try object.text("token") else { throw .missingKey("token") }
            try object.finish()
            guard instances[name].issued[token] != nil else { throw .notThere("token") }
            instances[name].revoke(token)
            return Answer(status: 200, date: surroundings.now) { ControlObject([]).write(&$0) }
        default: return nil
        }
    }

    // One ID token and one access token, by settings that hold for this answer alone.
    private mutating func mint(
        _ object: inout ControlObject, _ name: String, _ issuer: String, _ surroundings: Surroundings
    ) throws(ControlFailure) -> Answer {
        let settings = instances[name].settings
        let hasHash = object.value("at_hash") != nil
        let hasAlgorithm = object.value("alg") != nil
        var recipe = try TokenRecipe(&object)
        if !hasHash { recipe.accessTokenHash = settings.recipe.accessTokenHash }
        if !hasAlgorithm { recipe.algorithm = settings.recipe.algorithm }
        let range = BackendSettings.lifetimes
        var changed = settings
        changed.accessTokenFormat =
            try object.word("access_token_format", ProviderSettings.AccessTokenFormat.self)
            ?? settings.accessTokenFormat
        changed.idTokenLifetime = try object.integer("id_token_seconds", range) ?? settings.idTokenLifetime
        changed.accessTokenLifetime =
            try object.integer("access_token_seconds", range) ?? settings.accessTokenLifetime
        let client = try object.text("client_id") ?? settings.clients.first?.id ?? "client"
        let subject = try object.text("subject") ?? settings.subject
        try object.finish()
        let mint = ProviderMint(
            name: name, issuer: issuer, clientID: client, subject: subject, scope: nil,
            surroundings: surroundings)
        let family = instances[name].newFamily()
        instances[name].settings = changed
        defer { instances[name].settings = settings }
        let tokens = try mint.tokens(
            &instances[name], recipe: recipe, family: family, hasIDToken: true, refresh: nil,
            hasRefresh: false)
        return Answer(status: 200, date: surroundings.now) { json in
            ControlObject([
                ("id_token", .text(tokens.idToken ?? "")), ("access_token", .text(tokens.accessToken)),
                ("issuer", .text(issuer)),
            ]).write(&json)
        }
    }
}
