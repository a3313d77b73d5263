/// One request that ties a credential to something on a platform that nobody here knows.
package struct BindDefinition: Equatable, Sendable {
    /// When the request is made.
    package enum Order: String, Sendable, CaseIterable {
        /// The credential is handed out meanwhile; the answer corrects its expiry or rejects it.
        case behind
        /// A credential that the platform does not take is never held.
        case before
    }

    /// Where it goes.
    package let url: HTTPURL
    /// How it goes there.
    package let method: HTTPMethod
    /// What is sent; in a literal `{bearer}`, `{companion}`, `{issuer}` and `{account}` stand for what the credential has.
    ///
    /// A header whose placeholder stands for nothing is left out.
    package let headers: [HTTPSource.Header]
    /// The body, with the same placeholders, escaped as the media type asks; nil: `{}`, and none where the method takes none.
    package let bodyTemplate: String?
    /// The media type of the body.
    package let contentType: String
    /// Where the answer says until when it holds; a dot descends; nil: nowhere.
    package let expiryField: String?
    /// The statuses that refuse the credential, 400 to 499; every other failure says nothing of it.
    package let refusals: [Int]
    /// When it is made.
    package let order: Order
    /// How it travels.
    package let transport: PlatformTransport

    /// What refuses a credential where nothing else is said (RFC 9110 §15.5.2).
    package static let usualRefusals = [401]

    /// Takes what was read and checked.
    package init(
        url: HTTPURL, method: HTTPMethod = .post, headers: [HTTPSource.Header] = [],
        bodyTemplate: String? = nil, contentType: String = "application/json", expiryField: String? = nil,
        refusals: [Int] = usualRefusals, order: Order = .behind,
        transport: PlatformTransport = PlatformTransport()
    ) {
        self.url = url
        self.method = method
        self.headers = headers
        self.bodyTemplate = bodyTemplate
        self.contentType = contentType
        self.expiryField = expiryField
        self.refusals = refusals
        self.order = order
        self.transport = transport
    }
}
