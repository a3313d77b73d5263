/// Every method that the daemon answers: its name on the wire, who may call it, and what it takes.
///
/// The table is the contract: the server dispatches by it, `rpc.discover` is written from it, and the command line and the
/// documentation are tested against it.
package enum Method: String, Sendable, CaseIterable {
    case rpcHello = "rpc.hello"
    case rpcDiscover = "rpc.discover"
    case tokenGet = "token.get"
    case tokenReject = "token.reject"
    case headersGet = "headers.get"
    case credentialsSave = "credentials.save"
    case credentialsSaveToken = "credentials.save_token"
    case credentialsInspect = "credentials.inspect"
    case credentialsDelete = "credentials.delete"
    case grantImport = "grant.import"
    case grantList = "grant.list"
    case grantDelete = "grant.delete"
    case secretSet = "secret.set"
    case secretList = "secret.list"
    case secretDelete = "secret.delete"
    case accountAdd = "account.add"
    case accountRemove = "account.remove"
    case accountList = "account.list"
    case accountShow = "account.show"
    case accountStart = "account.start"
    case accountStop = "account.stop"
    case accountCheck = "account.check"
    case accountDoctor = "account.doctor"
    case authRefresh = "auth.refresh"
    case authAuthenticate = "auth.authenticate"
    case authDeauthenticate = "auth.deauthenticate"
    case identityIdentify = "identity.identify"
    case identityLogout = "identity.logout"
    case identitySwitch = "identity.switch"
    case identityState = "identity.state"
    case identityReport = "identity.report"
    case sessionLogin = "session.login"
    case sessionLoginWithAccessToken = "session.login_with_access_token"
    case sessionLogout = "session.logout"
    case sessionSecureLogout = "session.secure_logout"
    case sessionState = "session.state"
    case sessionRenew = "session.renew"
    case sessionReport = "session.report"
    case chatID = "chat.id"
    case chatAttach = "chat.attach"
    case chatReset = "chat.reset"
    case deviceID = "device.id"
    case deviceReset = "device.reset"
    case handlerRegister = "handler.register"
    case handlerUnregister = "handler.unregister"
    case handlerList = "handler.list"
    case eventsSubscribe = "events.subscribe"
    case eventsUnsubscribe = "events.unsubscribe"
    case storeStatus = "store.status"
    case storeUnseal = "store.unseal"
    case daemonStatus = "daemon.status"
    case daemonDoctor = "daemon.doctor"
    case daemonMetrics = "daemon.metrics"
    case daemonReload = "daemon.reload"
    case daemonSetLogLevel = "daemon.set_log_level"

    /// Who may call it.
    package enum Access: String, Sendable {
        /// Everybody.
        case anybody
        /// Everybody; what is answered is filtered to what the peer may know.
        case filtered
        /// Who may use the account.
        case use
        /// Who may operate the account.
        case operate
        /// Administrators, on the administration socket.
        case admin
    }

    /// One named parameter (JSON-RPC 2.0, section 4.2: by name).
    package struct Parameter: Sendable {
        /// Its name on the wire.
        package let name: String
        /// What its value must be.
        package let type: Kind
        /// Whether a call without it is refused with −32602.
        package let isRequired: Bool
        /// What it means, for people: a lower-case fragment.
        package let summary: String

        /// The JSON type, as JSON Schema names it.
        package enum Kind: String, Sendable {
            case string, number, boolean, object, array
            /// A number, or a text that holds one or an RFC 3339 moment.
            case moment
        }
    }

    /// What is said of a method in one place.
    package struct Description: Sendable {
        /// Who may call it.
        package let access: Access
        /// What it does, for people: a lower-case fragment.
        package let summary: String
        /// What it takes, required ones first.
        package let parameters: [Parameter]
    }

    package var description: Description {
        switch self {
        case .rpcHello:
            Description(
                access: .anybody,
                summary:
                    "say which client this is; answers the protocol version and the peer as the daemon sees it",
                parameters: [.text("client", "name of the client program"), .text("version", "its version")])
        case .rpcDiscover:
            Description(access: .anybody, summary: "answer this table as an OpenRPC document", parameters: [])
        case .tokenGet:
            Description(
                access: .use, summary: "answer a bearer token that is valid now",
                parameters: [
                    .account,
                    .number("min_valid", "seconds for which it must be valid at least"),
                    .number("wait", "seconds to wait for a refresh at most; 20 if absent, 0 in a batch"),
                    .flag("force", "refresh first, even if the token is fresh"),
                ])
        case .tokenReject:
            Description(
                access: .use, summary: "report that a platform refused the token",
                parameters: [
                    .account, .number("generation", "which one; the current one if absent"),
                    .number("http_status", "what the platform answered"), .text("code", "its error code"),
                ])
        case .headersGet:
            Description(
                access: .use, summary: "answer the complete header list for a request to the platform",
                parameters: [
                    .account,
                    .text(
                        "route",
                        "which request of the platform it is for; at Kindly auth/chat if absent, message, trigger, or any other"
                    ),
                    .number("min_valid", "as in token.get"), .number("wait", "as in token.get"),
                ])
        case .credentialsSave:
            Description(
                access: .operate, summary: "replace the credential wholesale",
                parameters: [
                    .account, .text("id_token", "the identity token"),
                    .text("access_token", "the access token"),
                    .text("issuer", "who issued them"), .moment("expires_at", "the caller's hint"),
                ])
        case .credentialsSaveToken:
            Description(
                access: .operate, summary: "replace the credential by one token",
                parameters: [
                    .account, .text("token", "the token", isRequired: true),
                    .moment("expires_at", "the caller's hint"),
                ])
        case .credentialsInspect:
            Description(
                access: .use, summary: "answer everything about the credential but the tokens",
                parameters: [.account])
        case .credentialsDelete:
            Description(access: .operate, summary: "forget the credential", parameters: [.account])
        case .grantImport:
            Description(
                access: .admin, summary: "keep a refresh token, or replace the one that is kept",
                parameters: [
                    .text("grant", "the grant's name", isRequired: true),
                    .text("refresh_token", "the refresh token", isRequired: true),
                    .text(
                        "account",
                        "whose server it is for; without it, that of all accounts that spend the grant"),
                    .text("scope", "the scope that was granted, if it is known"),
                ])
        case .grantList:
            Description(
                access: .admin, summary: "list the grants; never what they are", parameters: .page)
        case .grantDelete:
            Description(
                access: .admin, summary: "forget a grant, and end it at its server",
                parameters: [
                    .text("grant", "the grant's name", isRequired: true),
                    .flag("revoke", "whether the server is told (RFC 7009); true if absent"),
                ])
        case .secretSet:
            Description(
                access: .admin, summary: "set a secret that configuration refers to, or replace it",
                parameters: [
                    .text("secret", "the secret's name", isRequired: true),
                    .text("value", "its value, byte by byte", isRequired: true),
                ])
        case .secretList:
            Description(
                access: .admin, summary: "list the secrets; never what they are", parameters: .page)
        case .secretDelete:
            Description(
                access: .admin, summary: "remove a secret that no account refers to",
                parameters: [.text("secret", "the secret's name", isRequired: true)])
        case .accountAdd:
            Description(
                access: .admin, summary: "add an account and keep it in the store",
                parameters: [
                    .account, .text("provider", "the platform; generic if absent"),
                    Parameter(
                        name: "settings", type: .object, isRequired: false,
                        summary: "the keys of the platform, as in a file"),
                    Parameter(
                        name: "source", type: .object, isRequired: false,
                        summary: "where fresh credentials come from"),
                    Parameter(
                        name: "allow", type: .object, isRequired: false,
                        summary: "who may use and who may operate it"),
                    .flag("autostart", "whether it refreshes by itself; true if absent"),
                    .number("early_fraction", "the part of its life after which a credential is due"),
                    .number("callback_timeout", "seconds to wait for a handler; 15 if absent"),
                ])
        case .accountRemove:
            Description(access: .admin, summary: "remove an account that was added", parameters: [.account])
        case .accountList:
            Description(
                access: .filtered, summary: "list the accounts that the peer may use", parameters: .page)
        case .accountShow:
            Description(
                access: .use, summary: "answer one account's definition and state", parameters: [.account])
        case .accountStart:
            Description(access: .operate, summary: "let the account work again", parameters: [.account])
        case .accountStop:
            Description(
                access: .operate, summary: "let the account rest: no hand-outs, no refreshes",
                parameters: [.account])
        case .accountCheck:
            Description(
                access: .operate,
                summary: "ask the source for a credential and say how that went; nothing is stored",
                parameters: [.account])
        case .accountDoctor:
            Description(
                access: .operate, summary: "explain what is wrong with the account, and what to do",
                parameters: [
                    .account,
                    .flag("online", "try the source and the way to the platform as well; false if absent"),
                ])
        case .authRefresh:
            Description(
                access: .operate, summary: "refresh now and answer when that is done",
                parameters: [
                    .account, .text("reason", "why, for the log"), .number("wait", "as in token.get"),
                ])
        case .authAuthenticate:
            Description(
                access: .operate,
                summary: "sign in, or another user: ask the source and show the platform what it gave",
                parameters: [.account, .number("wait", "as in token.get")])
        case .identityIdentify, .identityLogout, .identitySwitch, .identityState, .identityReport,
            .sessionLogin, .sessionLoginWithAccessToken, .sessionLogout, .sessionSecureLogout,
            .sessionState, .sessionRenew, .sessionReport, .chatID, .chatAttach, .chatReset, .deviceID,
            .deviceReset:
            platformDescription
        case .authDeauthenticate:
            Description(
                access: .operate,
                summary: "forget the credential and its grant, and end both at the server",
                parameters: [.account])
        case .handlerRegister:
            Description(
                access: .operate,
                summary: "be asked for fresh credentials on this connection, instead of whoever was",
                parameters: [
                    .account, .kinds,
                    .text("want", "credentials, or token for one token; credentials if absent"),
                ])
        case .handlerUnregister:
            Description(
                access: .operate, summary: "be asked no more", parameters: [.account, .kinds])
        case .handlerList:
            Description(
                access: .filtered, summary: "list who is asked for the accounts that the peer may operate",
                parameters: .page)
        case .eventsSubscribe:
            Description(
                access: .filtered, summary: "be told of changes on this connection",
                parameters: [
                    Parameter(
                        name: "topics", type: .array, isRequired: true,
                        summary: "account, auth, daemon, handler, identity, push, session, token"),
                    Parameter(
                        name: "accounts", type: .array, isRequired: false, summary: "only these accounts"),
                ])
        case .eventsUnsubscribe:
            Description(access: .filtered, summary: "be told no more", parameters: [])
        case .storeStatus:
            Description(access: .admin, summary: "answer how the store is", parameters: [])
        case .storeUnseal:
            Description(
                access: .admin, summary: "open a sealed store with its master key",
                parameters: [
                    .text("key", "the 32 bytes of the master key as hexadecimal digits", isRequired: true)
                ])
        case .daemonStatus:
            Description(access: .filtered, summary: "answer how the daemon is", parameters: [])
        case .daemonDoctor:
            Description(
                access: .filtered, summary: "explain what is wrong with the daemon, and what to do",
                parameters: [])
        case .daemonMetrics:
            Description(access: .admin, summary: "answer the counters as OpenMetrics text", parameters: [])
        case .daemonReload:
            Description(access: .admin, summary: "read the configuration again", parameters: [])
        case .daemonSetLogLevel:
            Description(
                access: .admin, summary: "set what is logged from now on",
                parameters: [.text("level", "error, warning, notice, info or debug", isRequired: true)])
        }
    }
}

extension Method.Parameter {
    static let account = Self(name: "account", type: .string, isRequired: true, summary: "the account's name")

    static let kinds = Self(
        name: "kinds", type: .array, isRequired: false,
        summary: "which questions: credential.fetch, session.will_renew, session.on_token_renew")

    static func text(_ name: String, _ summary: String, isRequired: Bool = false) -> Self {
        Self(name: name, type: .string, isRequired: isRequired, summary: summary)
    }
    static func number(_ name: String, _ summary: String, isRequired: Bool = false) -> Self {
        Self(name: name, type: .number, isRequired: isRequired, summary: summary)
    }
    static func flag(_ name: String, _ summary: String) -> Self {
        Self(name: name, type: .boolean, isRequired: false, summary: summary)
    }
    static func moment(_ name: String, _ summary: String) -> Self {
        Self(name: name, type: .moment, isRequired: false, summary: summary)
    }
}

extension [Method.Parameter] {
    /// What every list takes.
    fileprivate static var page: Self {
        [
            .text("cursor", "where the last page ended"),
            .number("limit", "how many at most; 100 if absent"),
        ]
    }
}
