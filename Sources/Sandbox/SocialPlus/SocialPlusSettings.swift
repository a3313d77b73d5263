import JSON

/// How one social.plus network answers.
struct SocialPlusSettings: Sendable {
    /// What clients send as `x-api-key`; that of another region is as wrong as any.
    var apiKey = "api-key"
    /// What the customer's server sends as `x-server-key`.
    var serverKey = "server-key"
    /// Whether signing in needs an auth token.
    var isSecure = true
    /// Seconds that an access token is good for.
    var tokenLifetime: Int64 = 2_592_000
    /// Seconds that an auth token is good for.
    var authTokenLifetime: Int64 = 600
    /// What revoking a token again gets.
    var secondRevoke = SecondRevoke.refused
    /// Calls of one user within five seconds, beyond which there is 429.
    var rateLimit: Int64 = 100
    /// The keys of the customer, whose access tokens are good here.
    var customerKeys: [CustomerKey] = []

    enum SecondRevoke: Int64, CaseIterable, Sendable {
        case accepted = 200
        case refused = 401
    }

    private static let keyLimit = 16

    init() {}

    init(_ source: ControlObject) throws(ControlFailure) {
        var object = source
        apiKey = try object.headerText("api_key") ?? apiKey
        serverKey = try object.headerText("server_key") ?? serverKey
        isSecure = try object.bool("secure_mode") ?? isSecure
        tokenLifetime =
            try object.integer("token_lifetime_seconds", BackendSettings.lifetimes) ?? tokenLifetime
        authTokenLifetime =
            try object.integer("auth_token_lifetime_seconds", BackendSettings.lifetimes) ?? authTokenLifetime
        if let status = try object.integer("second_revoke_status", 200...401) {
            guard let second = SecondRevoke(rawValue: status) else {
                throw .wrongType(key: "second_revoke_status", expected: "200 or 401")
            }
            secondRevoke = second
        }
        rateLimit = try object.integer("rate_limit", 1...1_000_000) ?? rateLimit
        switch object.value("customer_keys") {
        case nil: break
        case .array(let values):
            for value in values {
                guard case .object(let key) = value else {
                    throw .wrongType(key: "customer_keys", expected: "an array of objects")
                }
                try add(try CustomerKey(key))
            }
        default: throw .wrongType(key: "customer_keys", expected: "an array of objects")
        }
        try object.finish()
    }

    /// Adds a key of the customer.
    mutating func add(_ key: CustomerKey) throws(ControlFailure) {
        guard customerKeys.count < Self.keyLimit else {
            throw .tooMany(key: "customer_keys", highest: Self.keyLimit)
        }
        customerKeys.append(key)
    }

    /// Writes the settings as they would be sent to set them.
    func write(_ json: inout JSONWriter) {
        json.beginObject()
        json.key("api_key")
        json.string(apiKey)
        json.key("server_key")
        json.string(serverKey)
        json.key("secure_mode")
        json.bool(isSecure)
        json.key("token_lifetime_seconds")
        json.integer(tokenLifetime)
        json.key("auth_token_lifetime_seconds")
        json.integer(authTokenLifetime)
        json.key("second_revoke_status")
        json.integer(secondRevoke.rawValue)
        json.key("rate_limit")
        json.integer(rateLimit)
        json.key("customer_keys")
        json.beginArray()
        for key in customerKeys { key.write(&json) }
        json.endArray()
        json.endObject()
    }
}
