import CredentialCore
import JSON

/// How tests steer a bot: settings, tokens that it believes, tokens that it believes no longer, chats as it sees them.
extension Kindly {
    // Chats, keys and revocations stay: a test changes how a bot is configured while a chat is open.
    mutating func configure(_ name: String, _ settings: ControlObject) throws(ControlFailure) {
        instances[name].settings = try KindlySettings(settings)
    }

    mutating func reset(_ name: String) {
        instances.reset(name)
    }

    func writeSettings(_ name: String, _ json: inout JSONWriter) {
        instances[name].settings.write(name, &json)
    }

    mutating func act(
        _ request: Request, _ name: String, _ action: String, _ surroundings: Surroundings
    ) throws(ControlFailure) -> Answer? {
        switch (request.method, action) {
        case ("GET", "key"):
            let word = request.parameter("alg") ?? "RS256"
            var query = ControlObject([("alg", .text(word))])
            let key = try key(query.algorithm("alg") ?? .rs256, name, surroundings)
            return Answer(status: 200, date: surroundings.now) { key.write(&$0) }
        case ("POST", "mint"):
            return try mint(ControlObject(body: request.body), name, surroundings)
        case ("POST", "revoke"):
            var object = try ControlObject(body: request.body)
            guard let token = try object.text("token") else { throw .missingKey("token") }
            try object.finish()
            instances[name].revoked.insert(token)
            return Answer(status: 200, date: surroundings.now) { ControlObject([]).write(&$0) }
        case ("DELETE", "chats"):
            instances[name].chats = [:]
            fallthrough
        case ("GET", "chats"):
            let chats = instances[name].chats
            return Answer(status: 200, date: surroundings.now) { Self.write(chats, &$0) }
        default: return nil
        }
    }

    private mutating func key(
        _ algorithm: SignatureAlgorithm, _ name: String, _ surroundings: Surroundings
    ) throws(ControlFailure) -> SigningKey {
        if let key = instances[name].keys.first(where: { $0.algorithm == algorithm }) { return key }
        let id = "\(name)-\(algorithm.rawValue)"
        guard let key = SigningKey(making: algorithm, id: id, random: surroundings.random) else {
            throw .notThere("key")
        }
        instances[name].keys.append(key)
        return key
    }

    private mutating func mint(
        _ source: ControlObject, _ name: String, _ surroundings: Surroundings
    ) throws(ControlFailure) -> Answer {
        var object = source
        let settings = instances[name].settings
        let recipe = try TokenRecipe(&object)
        let lifetime = try object.integer("lifetime_seconds", BackendSettings.lifetimes) ?? settings.lifetime
        try object.finish()
        let seconds = surroundings.now / 1000
        let claims = ControlObject([
            ("iss", .text(settings.expectedIssuer ?? "https://customer.example")), ("sub", .text("user-1")),
            ("iat", .integer(seconds)), ("exp", .integer(seconds + lifetime)),
            ("jti", .text(TokenMint.base64URL(surroundings.random(12)))),
        ])
        // Its own key is made even where the recipe brings another: nobody sees the difference.
        let own = try key(recipe.algorithm, name, surroundings)
        guard let token = recipe.mint(claims, with: own) else { throw .unusableKey(key: "key") }
        return Answer(status: 200, date: surroundings.now) { json in
            ControlObject([("token", .text(token))]).write(&json)
        }
    }

    private static func write(_ chats: [String: Chat], _ json: inout JSONWriter) {
        json.beginObject()
        for (uuid, chat) in chats.sorted(by: { $0.key < $1.key }) {
            json.key(named: uuid)
            json.beginObject()
            json.key("user")
            if let identity = chat.identity { json.string(identity.subject) } else { json.null() }
            json.key("issuer")
            if let issuer = chat.identity?.issuer { json.string(issuer) } else { json.null() }
            json.key("messages")
            json.integer(Int64(chat.messages.count))
            json.endObject()
        }
        json.endObject()
    }
}
