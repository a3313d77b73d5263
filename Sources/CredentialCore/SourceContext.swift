/// For whom and why a source is asked; goes to the backend, the handler or the program behind it (R3 to R5).
package struct SourceContext: Equatable, Sendable {
    /// What is wanted.
    package enum Wish: String, Sendable, CaseIterable {
        /// One token.
        case token
        /// Any of the four parts of a credential.
        case credentials
        /// A short-lived token that a platform exchanges for a session.
        case authToken = "auth_token"
        /// A token that the platform takes as it is.
        case accessToken = "access_token"
    }

    /// For which account.
    package let account: AccountName
    /// Why.
    package let reason: RefreshReason
    /// The chat that the token is for, where the platform has chats.
    package let chatID: String?
    /// The user that the token is for, where the platform is told one.
    package let userID: String?
    /// What is wanted.
    package let wish: Wish
    /// How long whoever is asked may take, where that is a handler (R7).
    package let limit: Milliseconds

    /// Takes the parts.
    package init(
        account: AccountName, reason: RefreshReason, chatID: String? = nil, userID: String? = nil,
        wish: Wish = .credentials, limit: Milliseconds = AccountDefinition.usualCallbackTimeout
    ) {
        self.limit = limit
        self.account = account
        self.reason = reason
        self.chatID = chatID
        self.userID = userID
        self.wish = wish
    }
}
