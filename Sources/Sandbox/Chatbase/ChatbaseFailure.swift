import JSON

/// What the platform refuses, with its status and its code.
enum ChatbaseFailure: Error, Equatable {
    case noRoute
    case wrongMethod
    /// Also an agent whose channel for the SDK is off.
    case unknownAgent
    case invalidJSON
    /// A member or a header field, and what is wrong with it.
    case invalidBody(field: String, message: String)
    case invalidToken
    /// The token is genuine and names nobody.
    case userMissing
    /// The conversation belongs to somebody else.
    case notOwner
    case unknownConversation
    case noUserMessage

    var status: Int {
        switch self {
        case .noRoute, .unknownAgent, .unknownConversation: 404
        case .wrongMethod: 405
        case .invalidJSON, .invalidBody, .noUserMessage: 400
        case .invalidToken, .userMissing: 401
        case .notOwner: 403
        }
    }

    var code: String {
        switch self {
        case .noRoute: "NOT_FOUND"
        case .wrongMethod: "METHOD_NOT_ALLOWED"
        case .unknownAgent: "AGENT_NOT_FOUND"
        case .invalidJSON: "VALIDATION_INVALID_JSON"
        case .invalidBody: "VALIDATION_INVALID_BODY"
        case .invalidToken, .userMissing: "AUTH_INVALID_JWT"
        // The vendor's name is known by its beginning only.
        case .notOwner: "AUTH_OWNERSHIP_REQUIRED"
        case .unknownConversation: "CONVERSATION_NOT_FOUND"
        case .noUserMessage: "CHAT_RETRY_NO_USER_MESSAGE"
        }
    }

    private var message: String {
        switch self {
        case .noRoute: "There is no such route."
        case .wrongMethod: "The route does not know this method."
        case .unknownAgent: "The agent does not exist, or its channel is off."
        case .invalidJSON: "The body is not valid JSON."
        case .invalidBody: "The request is not valid."
        case .invalidToken: "The token is not valid."
        case .userMissing: "The token names no user."
        case .notOwner: "The conversation belongs to somebody else."
        case .unknownConversation: "The conversation does not exist."
        case .noUserMessage: "There is no message of the user to answer again."
        }
    }

    /// The envelope of every error: `{"error":{"code","message","details"}}`.
    func answer(date: Int64) -> Answer {
        Answer(status: status, date: date) { json in
            json.beginObject()
            json.key("error")
            json.beginObject()
            json.key("code")
            json.string(code)
            json.key("message")
            json.string(message)
            if case .invalidBody(let field, let message) = self {
                json.key("details")
                json.beginObject()
                json.key(named: field)
                json.string(message)
                json.endObject()
            }
            json.endObject()
            json.endObject()
        }
    }
}
