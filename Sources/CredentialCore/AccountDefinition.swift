/// One account as the operator described it.
package struct AccountDefinition: Equatable, Sendable {
    /// What it is called.
    package let name: AccountName
    /// The platform that it speaks to.
    package let provider: Provider
    /// How the platform is spoken to; nil: it is not, the credential is handed out and nothing else.
    package let platform: PlatformDefinition?
    /// What a client's requests to the platform carry, with `{bearer}`, `{companion}`, `{issuer}` and `{account}` in them; empty:
    /// what is usual there.
    ///
    /// Texts only: a header whose placeholder stands for nothing is left out.
    package let requestHeaders: [HTTPSource.Header]
    /// Where fresh credentials come from; nil: only from whoever saves one.
    package let source: SourceDefinition?
    /// Who may use and operate it.
    package let access: AccessRules
    /// Whether it fetches and refreshes by itself from the start.
    package let startsByItself: Bool
    /// At which part of its life a credential is due, unless it is due before that by the common rule; nil: by that rule alone.
    package let earlyFraction: EarlyFraction?
    /// How long a handler or a program is waited for (R7).
    package let callbackTimeout: Milliseconds
    /// Who described it.
    package let origin: Origin

    /// The platforms that are known.
    package enum Provider: String, Sendable, CaseIterable {
        /// A token and nothing else.
        case generic
        /// Any OAuth 2 or OpenID Connect provider: tokens that it issues, ends and revokes.
        case oauth
        /// Kindly, whose bots bind a credential to a chat.
        case kindly
        /// Chatbase, whose agents take a token once the server has seen it.
        case chatbase
        /// social.plus, which gives a session for a user.
        case socialPlus = "socialplus"
    }

    /// Whether somebody is signed in there, and stays signed out once he has signed out, until he signs in again.
    package var hasSignIn: Bool {
        switch provider {
        case .kindly, .chatbase, .socialPlus: true
        case .generic, .oauth: false
        }
    }

    /// How long a handler or a program is waited for, unless configured.
    package static let usualCallbackTimeout = Milliseconds.seconds(15)

    /// Who describes accounts.
    package enum Origin: String, Sendable {
        case configuration
        /// Added over RPC and kept in the store.
        case rpc
    }

    /// Takes what was read and checked.
    package init(
        name: AccountName, provider: Provider = .generic, platform: PlatformDefinition? = nil,
        requestHeaders: [HTTPSource.Header] = [], source: SourceDefinition? = nil,
        access: AccessRules = .nobody, startsByItself: Bool = true,
        earlyFraction: EarlyFraction? = nil, callbackTimeout: Milliseconds = usualCallbackTimeout,
        origin: Origin = .configuration
    ) {
        self.name = name
        self.provider = provider
        self.platform = platform
        self.requestHeaders = requestHeaders
        self.earlyFraction = earlyFraction
        self.callbackTimeout = callbackTimeout
        self.source = source
        self.access = access
        self.startsByItself = startsByItself
        self.origin = origin
    }

    /// Where a credential of this account may be sent.
    ///
    /// A generic credential is sent nowhere by us; one of an OAuth provider to the endpoints of that provider, and one of a chat
    /// platform to that platform as well.
    package var destination: Destination {
        var servers: String?
        if case .oauth(let source) = source { servers = source.destination.text }
        guard let platform else { return Destination(servers ?? "provider=\(provider.rawValue)") }
        let fields = platform.destinationParts.map { name, value in "\(name)=\(value.utf8.count):\(value)" }
        let own = (["provider=\(provider.rawValue)"] + fields).joined(separator: ";")
        return Destination(servers.map { own + ";" + $0 } ?? own)
    }
}

/// Where fresh credentials come from.
package enum SourceDefinition: Equatable, Sendable {
    case `static`(StaticSource)
    case file(FileSource)
    case http(HTTPSource)
    case oauth(OAuthSource)
    case jwt(JWTSource)
    case rpc

    /// The word for it in configuration.
    package var kind: String {
        switch self {
        case .static: "static"
        case .file: "file"
        case .http: "http"
        case .oauth: "oauth"
        case .jwt: "jwt"
        case .rpc: "rpc"
        }
    }
}

extension SourceDefinition {
    /// Whether its credentials are made of the secrets that it refers to, and of nothing else: with another secret they are outdated.
    package var isMadeOfSecrets: Bool {
        switch self {
        case .static, .jwt: true
        case .file, .http, .oauth, .rpc: false
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
        case .rpc: []
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

    /// Where it is, as one word; different for different places.
    var label: String {
        switch self {
        case .file(let path): "file:" + path
        case .credential(let name): "credential:" + name
        case .secret(let name): "secret:" + name.text
        }
    }
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
