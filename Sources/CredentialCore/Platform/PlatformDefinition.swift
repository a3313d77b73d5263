/// How an account's platform is spoken to, beside the source that its credentials come from.
package enum PlatformDefinition: Equatable, Sendable {
    case kindly(KindlyDefinition)
    case chatbase(ChatbaseDefinition)
    case socialPlus(SocialPlusDefinition)
    /// A platform that nobody here knows: one described request binds the credential.
    case described(BindDefinition)

    /// How its requests travel.
    package var transport: PlatformTransport {
        switch self {
        case .kindly(let platform): platform.transport
        case .chatbase(let platform): platform.transport
        case .socialPlus(let platform): platform.transport
        case .described(let bind): bind.transport
        }
    }

    /// Where it is, for people.
    package var host: String {
        switch self {
        case .kindly(let platform): platform.baseURL.host
        case .chatbase(let platform): platform.baseURL.host
        case .socialPlus(let platform): platform.baseURL.host
        case .described(let bind): bind.url.host
        }
    }

    /// Where a credential may be sent, and for whom: endpoints, client and user.
    var destinationParts: [(name: String, value: String)] {
        switch self {
        case .kindly(let platform):
            [
                ("base", platform.baseURL.text), ("bind", platform.bindPath),
                ("invalidate", platform.invalidatePath), ("bot", platform.botKey),
            ]
        case .chatbase(let platform): [("base", platform.baseURL.text), ("agent", platform.agentID)]
        case .socialPlus(let platform):
            [
                ("base", platform.baseURL.text), ("sessions", platform.sessionsPath),
                ("verify", platform.verifyPath), ("revoke", platform.revokePath),
                ("key", platform.apiKey.label),
            ] + (platform.userID.map { [("user", $0)] } ?? [])
        case .described(let bind): [("bind", bind.url.text)]
        }
    }

    /// Every secret that has to be at hand before the platform can be spoken to, in the order in which it is used.
    package var references: [SecretReference] {
        switch self {
        case .kindly, .chatbase: []
        case .socialPlus(let platform): [platform.apiKey]
        case .described(let bind):
            bind.headers.compactMap { header in
                if case .secret(let reference, _) = header.value { reference } else { nil }
            }
        }
    }
}

/// How requests to a platform travel.
package struct PlatformTransport: Equatable, Sendable {
    /// An absolute path to PEM certificates that are trusted instead of the system's.
    package let caFile: String?
    /// `http://host:port` or `https://host:port`; nil: no proxy.
    package let proxy: String?
    /// One attempt in all.
    package let timeout: Milliseconds

    /// Takes what was read and checked.
    package init(caFile: String? = nil, proxy: String? = nil, timeout: Milliseconds = .seconds(8)) {
        self.caFile = caFile
        self.proxy = proxy
        self.timeout = timeout
    }
}
