/// What a handler is asked for.
public struct Question: Sendable {
    /// What can be asked.
    public enum Kind: String, Sendable, CaseIterable {
        /// A fresh credential.
        case credentialFetch = "credential.fetch"
        /// A token for a session that is about to end.
        case sessionWillRenew = "session.will_renew"
        /// An access token in place of one that is about to end.
        case sessionOnTokenRenew = "session.on_token_renew"
    }

    /// What is asked.
    public let kind: Kind
    /// For which account.
    public let account: String
    /// All that the daemon says.
    public let parameters: Answer

    /// Why: `initial`, `expiring`, `rejected` or `forced`.
    public var reason: String? { parameters.text("reason") }
    /// The chat that the token is for, where the platform has chats.
    public var chatID: String? { parameters.text("chat_id") }
    /// The user that it is for, where the platform is told one.
    public var userID: String? { parameters.text("user_id") }
    /// Behind it an answer is dropped: seconds since the epoch.
    public var deadline: Int64? { parameters.integer("deadline") }

    init?(_ method: String, _ parameters: Answer) {
        guard let kind = Kind(rawValue: method), let account = parameters.text("account") else { return nil }
        self.kind = kind
        self.account = account
        self.parameters = parameters
    }
}

/// What a handler answers.
public enum HandlerAnswer: Sendable {
    /// A credential; at least one of the tokens must be there.
    case credential(
        idToken: Secret? = nil, accessToken: Secret? = nil, issuer: String? = nil, expiresAt: Int64? = nil)
    /// The one token that there is.
    case token(Secret, expiresAt: Int64? = nil)
    /// A token that the platform exchanges for a session.
    case authToken(Secret)
    /// There is no token now: the session must not be renewed.
    case unable
    /// There is nothing to say.
    case nothing

    var parameter: Parameter {
        var members: [String: Parameter] = [:]
        switch self {
        case .credential(let idToken, let accessToken, let issuer, let expiresAt):
            members["id_token"] = idToken.map { .secret($0) }
            members["access_token"] = accessToken.map { .secret($0) }
            members["issuer"] = issuer.map { .text($0) }
            members["expires_at"] = expiresAt.map { .integer($0) }
        case .token(let token, let expiresAt):
            members["token"] = .secret(token)
            members["expires_at"] = expiresAt.map { .integer($0) }
        case .authToken(let token): members["auth_token"] = .secret(token)
        case .unable: members["unable"] = true
        case .nothing: break
        }
        return .object(members)
    }
}
