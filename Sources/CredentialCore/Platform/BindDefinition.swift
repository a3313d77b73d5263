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
    /// GET or POST.
    package let method: HTTPSource.Method
    /// What is sent; in a literal `{bearer}`, `{companion}`, `{issuer}` and `{account}` stand for what the credential has.
    ///
    /// A header whose placeholder stands for nothing is left out.
    package let headers: [HTTPSource.Header]
    /// The body, with the same placeholders, JSON-escaped; nil: none with GET, `{}` with POST.
    package let bodyTemplate: String?
    /// The media type of the body.
    package let contentType: String
    /// Where the answer says until when it holds; a dot descends; nil: nowhere.
    package let expiryField: String?
    /// When it is made.
    package let order: Order
    /// How it travels.
    package let transport: PlatformTransport

    /// Takes what was read and checked.
    package init(
        url: HTTPURL, method: HTTPSource.Method = .post, headers: [HTTPSource.Header] = [],
        bodyTemplate: String? = nil, contentType: String = "application/json", expiryField: String? = nil,
        order: Order = .behind, transport: PlatformTransport = PlatformTransport()
    ) {
        self.url = url
        self.method = method
        self.headers = headers
        self.bodyTemplate = bodyTemplate
        self.contentType = contentType
        self.expiryField = expiryField
        self.order = order
        self.transport = transport
    }
}
