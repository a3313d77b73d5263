import Testing

/// The calls of social.plus that several suites make.
struct SocialPlusClient {
    let client: PlatformClient

    init() throws { client = try PlatformClient("socialplus", headers: []) }

    static let api = ["x-api-key: api-key"]

    /// An auth token, as the customer's server asks for one.
    func authToken(_ user: String = "user-1") throws -> String {
        let wire = try client.call(
            "POST", "/api/v4/authentication/token", #"{"userId":"\#(user)"}"#,
            headers: ["x-server-key: server-key"])
        try #require(wire.status == 200)
        return wire.bodyText
    }

    func login(
        _ user: String = "user-1", device: String = "device-1", authToken: String?, more: String = "",
        status: Int = 200
    ) throws -> Tree {
        let member = authToken.map { #","authToken":"\#($0)""# } ?? ""
        return try client.json(
            "POST", "/api/v4/sessions",
            #"{"userId":"\#(user)","deviceId":"\#(device)"\#(member)\#(more)}"#, headers: Self.api,
            status: status)
    }

    /// The access token of somebody who has just signed in.
    func accessToken(_ user: String = "user-1") throws -> String {
        try #require(try login(user, authToken: try authToken(user))["accessToken"]?.text)
    }

    func verify(_ token: String, status: Int = 200) throws -> Tree {
        try client.json(
            "GET", "/api/v3/sessions", headers: ["Authorization: Bearer \(token)"], status: status)
    }

    func revoke(_ token: String, status: Int = 200) throws -> Tree {
        try client.json(
            "DELETE", "/api/v4/sessions", headers: ["Authorization: Bearer \(token)"], status: status)
    }

    func put(_ user: String, _ state: String) throws {
        _ = try client.sandbox.json(
            "POST", client.control + "/users", body: #"{"userId":"\#(user)","state":"\#(state)"}"#)
    }
}
