/// A Kindly bot, as the operator described it (R1, R2).
///
/// Host, prefix and the route `auth/chat` are known, its body and the form of its answer are not: what could be otherwise is a setting.
package struct KindlyDefinition: Equatable, Sendable {
    /// How the bot verifies its users; it changes what is warned about, never what is sent.
    package enum Strategy: String, Sendable, CaseIterable {
        /// A JWT that the customer's backend signs; the public key is in Kindly's admin panel.
        case kindlyJWT = "kindly_jwt"
        /// A JWT of an identity provider, verified by its key set.
        case identityProvider = "identity_provider"
        /// An opaque token, verified by introspection (RFC 7662).
        case introspection
    }

    /// Who makes the chat.
    package enum Connecting: String, Sendable, CaseIterable {
        /// The broker, by `POST connect`.
        case broker
        /// A client, which attaches its own chat by `chat.attach`.
        case client
    }

    /// Which bot.
    package let botKey: String
    /// The market of the bot; there is no default (R1).
    package let market: String
    /// `language_code` of `connect`; nil: the bot's own.
    package let language: String?
    /// How the bot verifies its users; nil: not said, and nothing is warned about.
    package let strategy: Strategy?
    /// Who makes the chat.
    package let connecting: Connecting
    /// Scheme, host and path, without a slash at its end; `https://bot.kindly.ai/chatbubble/v2` unless configured.
    package let baseURL: HTTPURL
    /// The route that makes a chat, relative to `baseURL`.
    package let connectPath: String
    /// The route that binds a credential.
    package let bindPath: String
    /// The route that unbinds it.
    package let invalidatePath: String
    /// Sent as `kindly-chat-client`.
    package let clientName: String
    /// Sent as `kindly-chat-version`.
    package let clientVersion: String
    /// The member of the bind's answer that says until when it holds; a dot descends.
    package let expiryField: String
    /// Sent as `X-Auth-Issuer` where the credential has no issuer (R24).
    package let defaultIssuer: String?
    /// What `iss` of a token should be, for `doctor` (R67).
    package let expectedIssuer: String?
    /// Refuse a credential whose `at_hash` is not of its access token, instead of warning (R17).
    package let isAtHashStrict: Bool
    /// How its requests travel.
    package let transport: PlatformTransport

    /// Takes what was read and checked.
    package init(
        botKey: String, market: String, language: String? = nil, strategy: Strategy? = nil,
        connecting: Connecting = .broker, baseURL: HTTPURL, connectPath: String = "connect",
        bindPath: String = "auth/chat", invalidatePath: String = "auth/chat/invalidate",
        clientName: String = "linux", clientVersion: String = "3.0.10", expiryField: String = "expires_at",
        defaultIssuer: String? = nil, expectedIssuer: String? = nil, isAtHashStrict: Bool = false,
        transport: PlatformTransport = PlatformTransport()
    ) {
        self.botKey = botKey
        self.market = market
        self.language = language
        self.strategy = strategy
        self.connecting = connecting
        self.baseURL = baseURL
        self.connectPath = connectPath
        self.bindPath = bindPath
        self.invalidatePath = invalidatePath
        self.clientName = clientName
        self.clientVersion = clientVersion
        self.expiryField = expiryField
        self.defaultIssuer = defaultIssuer
        self.expectedIssuer = expectedIssuer
        self.isAtHashStrict = isAtHashStrict
        self.transport = transport
    }
}
