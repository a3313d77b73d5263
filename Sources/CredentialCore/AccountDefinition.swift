/// One account as the operator described it.
package struct AccountDefinition: Equatable, Sendable {
    /// What it is called.
    package let name: AccountName
    /// The platform that it speaks to.
    package let provider: Provider
    /// Where fresh credentials come from; nil: only from whoever saves one.
    package let source: SourceDefinition?
    /// Who may use and operate it.
    package let access: AccessRules
    /// Whether it fetches and refreshes by itself from the start.
    package let startsByItself: Bool
    /// Who described it.
    package let origin: Origin

    /// The platforms that are known.
    package enum Provider: String, Sendable, CaseIterable {
        /// A token and nothing else.
        case generic
        /// Any OAuth 2 or OpenID Connect provider: tokens that it issues, ends and revokes.
        case oauth
    }

    /// Who describes accounts.
    package enum Origin: String, Sendable {
        case configuration
        /// Added over RPC and kept in the store.
        case rpc
    }

    /// Takes what was read and checked.
    package init(
        name: AccountName, provider: Provider = .generic, source: SourceDefinition? = nil,
        access: AccessRules = .nobody, startsByItself: Bool = true, origin: Origin = .configuration
    ) {
        self.name = name
        self.provider = provider
        self.source = source
        self.access = access
        self.startsByItself = startsByItself
        self.origin = origin
    }

    /// Where a credential of this account may be sent.
    ///
    /// A generic credential is sent nowhere by us; one of an OAuth provider to the endpoints of that provider.
    package var destination: Destination {
        if case .oauth(let source) = source { return source.destination }
        return Destination("provider=\(provider.rawValue)")
    }
}

/// Where fresh credentials come from.
package enum SourceDefinition: Equatable, Sendable {
    case `static`(StaticSource)
    case file(FileSource)
    case http(HTTPSource)
    case oauth(OAuthSource)
    case jwt(JWTSource)

    /// The word for it in configuration.
    package var kind: String {
        switch self {
        case .static: "static"
        case .file: "file"
        case .http: "http"
        case .oauth: "oauth"
        case .jwt: "jwt"
        }
    }
}

extension SourceDefinition {
    /// Whether its credentials are made of the secrets that it refers to, and of nothing else: with another secret they are outdated.
    package var isMadeOfSecrets: Bool {
        switch self {
        case .static, .jwt: true
        case .file, .http, .oauth: false
        }
    }

    /// Whether asking it costs a refresh token that may be good for one use.
    package var spendsGrant: Bool {
        guard case .oauth(let source) = self, case .refreshToken = source.flow else { return false }
        return true
    }

    /// Every secret that has to be at hand before the source can be asked, in the order in which it is used.
    package var references: [SecretReference] {
        switch self {
        case .static(let source): [source.idToken, source.accessToken].compactMap { $0 }
        case .file(let source): [source.file]
        case .http(let source):
            source.headers.compactMap { header in
                if case .secret(let reference, _) = header.value { reference } else { nil }
            }
        case .oauth(let source):
            switch source.authentication {
            case .none: []
            case .basic(let secrets), .form(let secrets): secrets
            case .privateKeyJWT(let key, _, _): [key]
            }
        case .jwt(let source): [source.key]
        }
    }
}

/// A secret that configuration refers to and never contains.
package enum SecretReference: Hashable, Sendable {
    /// An absolute path; the file must belong to root or the daemon's user and be closed to everybody else.
    case file(path: String)
    /// The name of a systemd credential, in `$CREDENTIALS_DIRECTORY`.
    case credential(name: String)
    /// A secret in the store, set by `secret.set`.
    case secret(SecretName)
}

/// Tokens that do not change but by hand.
package struct StaticSource: Equatable, Sendable {
    /// Where the identity token is.
    package let idToken: SecretReference?
    /// Where the access token is.
    package let accessToken: SecretReference?
    /// Who issued them.
    package let issuer: String?
    /// When they end; nil: as the bearer says, or never.
    package let expiresAt: WallTime?

    /// Takes what was read and checked.
    package init(
        idToken: SecretReference? = nil, accessToken: SecretReference? = nil, issuer: String? = nil,
        expiresAt: WallTime? = nil
    ) {
        self.idToken = idToken
        self.accessToken = accessToken
        self.issuer = issuer
        self.expiresAt = expiresAt
    }
}

/// A file that another program keeps up to date: read anew for each refresh.
package struct FileSource: Equatable, Sendable {
    /// The file that is read.
    package let file: SecretReference
    /// What its content is.
    package let format: Format

    /// What a file may contain.
    package enum Format: Equatable, Sendable {
        /// The file is the token; one line end after it is not part of it.
        case token
        /// The file is a JSON object.
        case json(FieldMap)
    }

    /// Takes what was read and checked.
    package init(file: SecretReference, format: Format) {
        self.file = file
        self.format = format
    }
}

/// Which members of an answer are what; nil: the member is not looked for.
///
/// A dot descends into an object.
package struct FieldMap: Equatable, Sendable {
    /// The one token, in the absence of the other two.
    package var token: String?
    /// The identity token.
    package var idToken: String?
    /// The access token.
    package var accessToken: String?
    /// The issuer.
    package var issuer: String?
    /// A moment.
    package var expiresAt: String?
    /// Seconds from when the request was sent.
    package var expiresIn: String?

    /// Takes the names.
    package init(
        token: String? = nil, idToken: String? = nil, accessToken: String? = nil, issuer: String? = nil,
        expiresAt: String? = nil, expiresIn: String? = nil
    ) {
        self.token = token
        self.idToken = idToken
        self.accessToken = accessToken
        self.issuer = issuer
        self.expiresAt = expiresAt
        self.expiresIn = expiresIn
    }
}

/// The user's own backend: one HTTPS request gives a fresh credential.
package struct HTTPSource: Equatable, Sendable {
    /// Where the request goes.
    package let url: HTTPURL
    /// GET or POST.
    package let method: Method
    /// What is sent beside the usual headers.
    package let headers: [Header]
    /// A text with `{account}` and `{reason}` in it, JSON-escaped where they are put in; nil: an object with both.
    package let bodyTemplate: String?
    /// The media type of the body.
    package let contentType: String
    /// Nil: every name that backends commonly use is understood.
    package let fields: FieldMap?
    /// An absolute path to PEM certificates that are trusted instead of the system's.
    package let caFile: String?
    /// `http://host:port` or `https://host:port`; nil: no proxy.
    package let proxy: String?
    /// One attempt in all.
    package let timeout: Milliseconds

    /// The methods that give credentials.
    package enum Method: String, Sendable, CaseIterable {
        case get = "GET"
        case post = "POST"
    }

    /// One header line.
    package struct Header: Equatable, Sendable {
        /// The field name.
        package let name: String
        /// What is sent in it.
        package let value: Value

        /// Where a value comes from.
        package enum Value: Equatable, Sendable {
            case literal(String)
            case secret(SecretReference, prefix: String)
        }

        /// Takes name and value.
        package init(name: String, value: Value) {
            self.name = name
            self.value = value
        }
    }

    /// Takes what was read and checked.
    package init(
        url: HTTPURL, method: Method = .post, headers: [Header] = [], bodyTemplate: String? = nil,
        contentType: String = "application/json", fields: FieldMap? = nil, caFile: String? = nil,
        proxy: String? = nil, timeout: Milliseconds = .seconds(8)
    ) {
        self.url = url
        self.method = method
        self.headers = headers
        self.bodyTemplate = bodyTemplate
        self.contentType = contentType
        self.fields = fields
        self.caFile = caFile
        self.proxy = proxy
        self.timeout = timeout
    }
}
