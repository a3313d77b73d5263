/// A social.plus network and one user on it, as the operator described them (R152 to R158).
package struct SocialPlusDefinition: Equatable, Sendable {
    /// Where a network lives; its key is good there only (R154).
    package enum Region: String, Sendable, CaseIterable {
        case sg, eu, us
    }

    /// Where the API key is; it identifies the app (R152, R153).
    package let apiKey: SecretReference
    /// Scheme and host, without a slash at the end; `https://apix.REGION.amity.co` unless configured.
    package let baseURL: HTTPURL
    /// Said in configuration; nil: `baseURL` was.
    package let region: Region?
    /// The user that `session.login` takes unless told another; 1 to 50 characters (R155).
    package let userID: String?
    /// At most 100 characters (R156).
    package let displayName: String?
    /// Whether a login without an auth token is refused before any network (R157).
    package let isSecureMode: Bool
    /// Whether the account logs in by itself when it starts and nobody is logged in.
    package let logsInOnStart: Bool
    /// Whether an access token is shown to the platform before it is used (R190).
    package let verifiesAccessToken: Bool
    /// How long renewals rest after a handler said that it has no token (R187).
    package let renewalPause: Milliseconds
    /// How long a login may take (R200).
    package let loginTimeout: Milliseconds
    /// Codes that end a session for good (400312: globally banned).
    package let terminatingCodes: [Int64]
    /// Whether "user not found" ends a session for good: the user was deleted.
    package let terminatesOnUserNotFound: Bool
    /// The route that makes a session, without a slash at its beginning, like the next two.
    package let sessionsPath: String
    /// The route that says whether an access token is good.
    package let verifyPath: String
    /// The route that ends it.
    package let revokePath: String
    /// How its requests travel.
    package let transport: PlatformTransport

    /// Takes what was read and checked.
    package init(
        apiKey: SecretReference, baseURL: HTTPURL, region: Region? = nil, userID: String? = nil,
        displayName: String? = nil, isSecureMode: Bool = true, logsInOnStart: Bool = false,
        verifiesAccessToken: Bool = true, renewalPause: Milliseconds = .seconds(600),
        loginTimeout: Milliseconds = .seconds(30), terminatingCodes: [Int64] = [400312],
        terminatesOnUserNotFound: Bool = true, sessionsPath: String = "api/v4/sessions",
        verifyPath: String = "api/v3/sessions", revokePath: String = "api/v4/sessions",
        transport: PlatformTransport = PlatformTransport()
    ) {
        self.apiKey = apiKey
        self.baseURL = baseURL
        self.region = region
        self.userID = userID
        self.displayName = displayName
        self.isSecureMode = isSecureMode
        self.logsInOnStart = logsInOnStart
        self.verifiesAccessToken = verifiesAccessToken
        self.renewalPause = renewalPause
        self.loginTimeout = loginTimeout
        self.terminatingCodes = terminatingCodes
        self.terminatesOnUserNotFound = terminatesOnUserNotFound
        self.sessionsPath = sessionsPath
        self.verifyPath = verifyPath
        self.revokePath = revokePath
        self.transport = transport
    }
}
