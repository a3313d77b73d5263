/// A Chatbase agent, as the operator described it.
package struct ChatbaseDefinition: Equatable, Sendable {
    /// Which agent.
    package let agentID: String
    /// Scheme, host and path, without a slash at its end; `https://www.chatbase.co/api/sdk` unless configured.
    package let baseURL: HTTPURL
    /// The name of the device row; nil: the user's one in a user instance, the account's own in the system instance (R78).
    package let device: String?
    /// Sent as `User-Agent`; nil: an honest one of our own.
    package let userAgent: String?
    /// Whether a stored identity is shown to the server again at each start (R96).
    package let identifiesOnStart: Bool
    /// Whether `data.userId` of the verification is taken for the current user (contradiction 7; false as the vendor's document has it).
    package let trustsVerifiedUserID: Bool
    /// How its requests travel.
    package let transport: PlatformTransport

    /// Takes what was read and checked.
    package init(
        agentID: String, baseURL: HTTPURL, device: String? = nil, userAgent: String? = nil,
        identifiesOnStart: Bool = false, trustsVerifiedUserID: Bool = false,
        transport: PlatformTransport = PlatformTransport()
    ) {
        self.agentID = agentID
        self.baseURL = baseURL
        self.device = device
        self.userAgent = userAgent
        self.identifiesOnStart = identifiesOnStart
        self.trustsVerifiedUserID = trustsVerifiedUserID
        self.transport = transport
    }
}
