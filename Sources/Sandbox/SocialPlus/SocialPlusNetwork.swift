import CredentialCore
import JSON

/// One network: its settings, its users, and the tokens that it has given out.
struct SocialPlusNetwork: Sendable {
    var settings = SocialPlusSettings()
    var users = SocialPlusUsers()
    private var authTokens: [String: (user: String, end: Int64)] = [:]
    private var revoked: Set<String> = []
    private(set) var push = SocialPlusPush()
    /// What signs the network's own access tokens, once it has given out one.
    private var ownKey: SigningKey?

    private static let authTokenLimit = 10_000

    mutating func answer(
        _ call: SocialPlusCall, _ surroundings: Surroundings
    ) throws(SocialPlusFailure) -> Answer {
        try call.checkRoute()
        switch call.route {
        case "token", "token_v3": return try authToken(call, surroundings)
        case "sessions": return try login(call, surroundings)
        case "verify":
            _ = try session(call, surroundings.now)
            return Self.object(surroundings.now) { json in
                json.key("lastCachePurge")
                json.null()
            }
        case "revoke": return try revoke(call, surroundings.now)
        default:
            try checkKey(call)
            if call.route == "notification" {
                let wanted = try SocialPlusPush.Registration(try call.body())
                try users.count(wanted.user, now: surroundings.now, limit: settings.rateLimit)
                try users.check(wanted.user)
                // A device is its user's; one that nobody has named signed in with a token of the customer.
                guard users.user(of: wanted.device) ?? wanted.user == wanted.user else { throw .notPermitted }
                push.register(wanted)
            } else {
                guard let device = call.request.parameter("deviceId"),
                    SocialPlusLogin.deviceLengths.contains(device.unicodeScalars.count)
                else { throw .invalid(field: "deviceId") }
                push.unregister(device)
            }
            return Self.object(surroundings.now) { json in
                json.key("status")
                json.string("success" as StaticString)
                json.key("data")
                json.beginObject()
                json.endObject()
            }
        }
    }

    private func checkKey(_ call: SocialPlusCall) throws(SocialPlusFailure) {
        guard call.request.header("x-api-key") == settings.apiKey else { throw .unauthorized }
    }

    // MARK: - Auth tokens

    private mutating func authToken(
        _ call: SocialPlusCall, _ surroundings: Surroundings
    ) throws(SocialPlusFailure) -> Answer {
        guard call.request.header("x-server-key") == settings.serverKey else { throw .serverUnauthorized }
        guard settings.isSecure else { throw .secureModeOff }
        let isOld = call.route == "token_v3"
        let body =
            isOld
            ? ControlObject(call.request.query.map { ($0.name, .text($0.value)) }) : try call.body()
        let user = try body.required("userId", SocialPlusLogin.userLengths)
        let token = surroundings.random(21).map { byte in
            String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }.joined()
        if authTokens.count >= Self.authTokenLimit {
            authTokens = authTokens.filter { $0.value.end > surroundings.now }
            // A soak test that lets none expire must not eat the machine.
            if authTokens.count >= Self.authTokenLimit { authTokens = [:] }
        }
        authTokens[token] = (user, surroundings.now + settings.authTokenLifetime * 1000)
        guard isOld else {
            return Answer(
                status: 200, contentType: "text/plain", body: Array(token.utf8), date: surroundings.now)
        }
        return Answer(status: 200, date: surroundings.now) { $0.string(token) }
    }

    private func checkAuthToken(_ login: SocialPlusLogin, _ now: Int64) throws(SocialPlusFailure) {
        guard settings.isSecure else { return }
        guard let token = login.authToken, let known = authTokens[token], known.user == login.userID,
            now < known.end
        else { throw .unauthorized }
    }

    // MARK: - Sessions

    private mutating func login(
        _ call: SocialPlusCall, _ surroundings: Surroundings
    ) throws(SocialPlusFailure) -> Answer {
        try checkKey(call)
        let login = try SocialPlusLogin(try call.body())
        let now = surroundings.now
        try users.count(login.userID, now: now, limit: settings.rateLimit)
        try checkAuthToken(login, now)
        try users.check(login.userID)
        if let name = login.displayName { users.rename(login.userID, name) }
        users.pair(login.deviceID, with: login.userID)
        let session = SocialPlusSession(
            login: login, displayName: users.displayName(login.userID), issuedAt: now,
            lifetime: settings.tokenLifetime)
        ownKey = ownKey ?? SigningKey(making: .hs256, id: nil, random: surroundings.random)
        var recipe = TokenRecipe()
        recipe.algorithm = .hs256
        let claims = session.claims(id: TokenMint.base64URL(surroundings.random(12)))
        guard let key = ownKey, let token = recipe.mint(claims, with: key) else { throw .unauthorized }
        return session.answer(token, refreshToken: TokenMint.base64URL(surroundings.random(32)))
    }

    /// The user of the bearer's access token, which one of the network's own or the customer's keys has signed.
    private mutating func session(
        _ call: SocialPlusCall, _ now: Int64, evenRevoked: Bool = false
    ) throws(SocialPlusFailure) -> String {
        guard let text = call.request.bearer, let token = ReceivedToken(text), isSigned(token),
            token.isTimely(now), evenRevoked || !revoked.contains(text)
        else { throw .unauthorized }
        guard let user = token.text("userId"),
            SocialPlusLogin.userLengths.contains(user.unicodeScalars.count)
        else { throw .userMissing }
        try users.count(user, now: now, limit: settings.rateLimit)
        try users.check(user)
        return user
    }

    private func isSigned(_ token: ReceivedToken) -> Bool {
        ownKey?.hasSigned(token) == true || settings.customerKeys.contains { $0.hasSigned(token) }
    }

    private mutating func revoke(_ call: SocialPlusCall, _ now: Int64) throws(SocialPlusFailure) -> Answer {
        _ = try session(call, now, evenRevoked: settings.secondRevoke == .accepted)
        if let token = call.request.bearer { revoked.insert(token) }
        return Self.object(now) { json in
            json.key("success")
            json.bool(true)
        }
    }

    private static func object(_ now: Int64, _ write: (inout JSONWriter) -> Void) -> Answer {
        Answer(status: 200, date: now) { json in
            json.beginObject()
            write(&json)
            json.endObject()
        }
    }
}
