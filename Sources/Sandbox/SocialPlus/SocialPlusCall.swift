/// A request of the API, and what its fields may be.
struct SocialPlusCall {
    let route: String
    let request: Request

    /// The route of a path and a method: two paths serve two purposes each, and faults must tell them apart.
    static func route(_ path: ArraySlice<String>, method: String) -> String {
        switch path {
        case ["api", "v4", "authentication", "token"]: "token"
        case ["api", "v3", "authentication", "token"]: "token_v3"
        case ["api", "v3", "sessions"]: "verify"
        case ["api", "v4", "sessions"]: method == "DELETE" ? "revoke" : "sessions"
        case ["v1", "notification"]: method == "DELETE" ? "unregister" : "notification"
        default: "unknown"
        }
    }

    private var method: String? {
        switch route {
        case "token", "sessions", "notification": "POST"
        case "token_v3", "verify": "GET"
        case "revoke", "unregister": "DELETE"
        default: nil
        }
    }

    /// Refuses what is no call of the API.
    func checkRoute() throws(SocialPlusFailure) {
        guard let method else { throw .noRoute }
        guard request.method == method else { throw .wrongMethod }
    }

    /// The body, which must be an object.
    func body() throws(SocialPlusFailure) -> ControlObject {
        guard case .object(let object)? = try? ControlValue.parse(request.body) else { throw .invalidJSON }
        return object
    }

    /// What the client should not have done, whatever the answer is.
    var violations: [String] {
        var violations: [String] = []
        if method == nil {
            violations.append("there is no such route")
        } else if request.method != method {
            violations.append("wrong method")
        }
        let isForServers = route == "token" || route == "token_v3"
        if !isForServers, request.header("x-server-key") != nil {
            violations.append("x-server-key is the customer's server's, and is never sent here")
        }
        let isForSessions = route == "verify" || route == "revoke"
        if !isForSessions, request.header("Authorization") != nil {
            violations.append("Authorization does not belong here")
        }
        if ["sessions", "notification", "unregister"].contains(route), request.header("x-api-key") == nil {
            violations.append("x-api-key is missing")
        }
        if request.method == "POST", request.header("Content-Type")?.hasPrefix("application/json") != true {
            violations.append("Content-Type is not application/json")
        }
        return violations
    }
}

extension ControlObject {
    /// A text of so many characters; nil when it is absent.
    func field(_ path: String, _ lengths: ClosedRange<Int>) throws(SocialPlusFailure) -> String? {
        switch self[path: path] {
        case nil: return nil
        case .text(let text) where lengths.contains(text.unicodeScalars.count): return text
        default: throw .invalid(field: path)
        }
    }

    /// The same for one that must be there.
    func required(_ path: String, _ lengths: ClosedRange<Int>) throws(SocialPlusFailure) -> String {
        guard let text = try field(path, lengths) else { throw .invalid(field: path) }
        return text
    }
}

/// What somebody asks who signs in, within the limits of each field.
struct SocialPlusLogin {
    let userID, deviceID: String
    let displayName: String?
    let authToken: String?

    static let userLengths = 1...50
    static let deviceLengths = 1...150
    private static let kinds = ["ios", "android", "web", "node"]

    init(_ body: ControlObject) throws(SocialPlusFailure) {
        userID = try body.required("userId", Self.userLengths)
        deviceID = try body.required("deviceId", Self.deviceLengths)
        displayName = try body.field("displayName", 0...100)
        authToken = try body.field("authToken", 1...100)
        switch body[path: "deviceInfo"] {
        case nil: return
        case .object(let info):
            let kind = try info.field("kind", 1...10)
            guard kind.map(Self.kinds.contains) ?? true else { throw .invalid(field: "deviceInfo.kind") }
            _ = try info.field("model", 0...100)
            _ = try info.field("sdkVersion", 0...30)
        default: throw .invalid(field: "deviceInfo")
        }
    }
}
