import JSON

/// What the platform refuses, with its status and its code.
enum SocialPlusFailure: Error, Equatable {
    case noRoute
    case wrongMethod
    case invalidJSON
    /// A member, parameter or claim that is missing or beyond its limits.
    case invalid(field: String)
    /// Also a user whom the operators of the platform have shut out.
    case unauthorized
    /// The same from the routes for servers, which say it in plain text.
    case serverUnauthorized
    /// Auth tokens are asked of a network that needs none.
    case secureModeOff
    case notPermitted
    case banned
    /// The user has been deleted.
    case notFound
    case rateLimited
    /// The access token is genuine and names nobody.
    case userMissing

    var status: Int {
        switch self {
        case .noRoute, .notFound: 404
        case .wrongMethod: 405
        case .invalidJSON: 400
        case .invalid, .userMissing: 422
        case .unauthorized, .serverUnauthorized: 401
        case .secureModeOff, .notPermitted, .banned: 403
        case .rateLimited: 429
        }
    }

    var code: Int64 {
        switch self {
        case .noRoute, .notFound: 400_400
        case .wrongMethod, .invalidJSON: 400_000
        case .invalid, .userMissing: 500_000
        case .unauthorized, .serverUnauthorized: 400_100
        case .secureModeOff: 400_300
        case .notPermitted: 400_301
        case .rateLimited: 400_311
        case .banned: 400_312
        }
    }

    private var message: String {
        switch self {
        case .noRoute: "There is no such route."
        case .wrongMethod: "The route does not know this method."
        case .invalidJSON: "The body is not valid JSON."
        case .invalid, .userMissing: "Parameters validation error!"
        case .unauthorized, .serverUnauthorized: "Unauthorized"
        case .secureModeOff: "Secure mode is not enabled."
        case .notPermitted: "Permission denied."
        case .banned: "User is global banned."
        case .notFound: "User not found."
        case .rateLimited: "Too many requests."
        }
    }

    /// The envelope of every error: `{"status":"error","code","message","data":{"detail":[…]}}`.
    func answer(date: Int64) -> Answer {
        if self == .serverUnauthorized {
            return Answer(
                status: 401, contentType: "text/plain", body: Array("Unauthorized".utf8), date: date)
        }
        return Answer(status: status, date: date) { json in
            json.beginObject()
            json.key("status")
            json.string("error" as StaticString)
            json.key("code")
            json.integer(code)
            json.key("message")
            json.string(message)
            json.key("data")
            json.beginObject()
            json.key("detail")
            json.beginArray()
            switch self {
            case .invalid(let field): json.string("\(field) is missing or beyond its limits")
            case .userMissing: json.string("userId is missing in the access token" as StaticString)
            default: break
            }
            json.endArray()
            json.endObject()
            json.endObject()
        }
    }
}
