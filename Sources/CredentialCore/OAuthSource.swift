/// An OAuth 2 client at an authorization server: spends a grant, or its own credentials, for tokens (RFC 6749).
package struct OAuthSource: Equatable, Sendable {
    /// Where the server is.
    package let endpoints: Endpoints
    /// What is spent.
    package let flow: Flow
    /// `client_id` (RFC 6749 §2.2).
    package let clientID: String
    /// How the client proves who it is.
    package let authentication: ClientAuthentication
    /// `scope` as it is asked for: tokens without doubles, in the order of their bytes; empty: none is asked for.
    package let scope: [String]
    /// `audience`, which many servers understand; nil: none.
    package let audience: String?
    /// `resource` (RFC 8707); nil: none.
    package let resource: String?
    /// When tokens are introspected to learn when they end (RFC 7662).
    package let introspection: Introspection
    /// An absolute path to PEM certificates that are trusted instead of the system's.
    package let caFile: String?
    /// `http://host:port` or `https://host:port`; nil: no proxy.
    package let proxy: String?
    /// One request in all.
    package let timeout: Milliseconds

    /// Where the requests of a client go.
    package struct Endpoints: Equatable, Sendable {
        /// The issuer, as text: compared byte by byte with what the server and its tokens say; nil: unknown.
        package let issuer: String?
        /// RFC 6749 §3.2; nil: the issuer's metadata say so (RFC 8414, OpenID Connect Discovery 1.0).
        package let token: HTTPURL?
        /// RFC 7662; nil: what the metadata say.
        package let introspection: HTTPURL?
        /// RFC 7009; nil: what the metadata say.
        package let revocation: HTTPURL?
        /// The keys that ID tokens are signed with (RFC 7517 §5); nil: what the metadata say.
        package let keys: HTTPURL?

        /// Takes what was read and checked; `issuer` or `token` is there.
        package init(
            issuer: String?, token: HTTPURL? = nil, introspection: HTTPURL? = nil, revocation: HTTPURL? = nil,
            keys: HTTPURL? = nil
        ) {
            self.issuer = issuer
            self.token = token
            self.introspection = introspection
            self.revocation = revocation
            self.keys = keys
        }
    }

    /// What is spent for tokens.
    package enum Flow: Equatable, Sendable {
        /// `grant_type=refresh_token` (RFC 6749 §6) with the grant of that name, which accounts may share.
        case refreshToken(grant: GrantName)
        /// `grant_type=client_credentials` (RFC 6749 §4.4).
        case clientCredentials
    }

    /// How a client proves who it is (RFC 6749 §2.3, OpenID Connect Core 1.0 §9).
    package enum ClientAuthentication: Equatable, Sendable {
        /// A public client: `client_id` alone.
        case none
        /// `client_secret_basic`; the secrets are tried in turn on `invalid_client`.
        case basic([SecretReference])
        /// `client_secret_post`; the secrets are tried in turn on `invalid_client`.
        case form([SecretReference])
        /// `private_key_jwt` (RFC 7523 §2.2).
        case privateKeyJWT(key: SecretReference, algorithm: SignatureAlgorithm, keyID: String?)
    }

    /// When the introspection endpoint is asked.
    package enum Introspection: String, Equatable, Sendable, CaseIterable {
        /// When a token says nothing of its end and the endpoint is known.
        case automatic
        case always
        case never
    }

    /// Takes what was read and checked.
    package init(
        endpoints: Endpoints, flow: Flow, clientID: String, authentication: ClientAuthentication,
        scope: [String] = [], audience: String? = nil, resource: String? = nil,
        introspection: Introspection = .automatic, caFile: String? = nil, proxy: String? = nil,
        timeout: Milliseconds = .seconds(8)
    ) {
        self.endpoints = endpoints
        self.flow = flow
        self.clientID = clientID
        self.authentication = authentication
        self.scope = scope
        self.audience = audience
        self.resource = resource
        self.introspection = introspection
        self.caFile = caFile
        self.proxy = proxy
        self.timeout = timeout
    }

    /// Where what this client holds may be sent: issuer, every endpoint that is configured, and the client.
    ///
    /// An issuer that moves an endpoint in its metadata is the same destination: it may do so.
    package var destination: Destination {
        let parts = [
            ("issuer", endpoints.issuer), ("token", endpoints.token?.text),
            ("introspection", endpoints.introspection?.text), ("revocation", endpoints.revocation?.text),
            ("client", clientID),
        ]
        let fields = parts.compactMap { name, value in value.map { "\(name)=\($0.utf8.count):\($0)" } }
        return Destination("provider=oauth;" + fields.joined(separator: ";"))
    }
}
