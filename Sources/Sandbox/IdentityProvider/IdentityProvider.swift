import CredentialCore
import JSON

/// Stands in for an identity provider: OpenID Connect discovery, a set of keys that rotates, and the endpoints for tokens.
///
/// Each name is an issuer of its own, at `/idp/NAME`. A refresh token is good once: used again, it takes all of its grant along.
struct IdentityProvider: StandIn {
    var instances = Instances(ProviderState())

    static let noun = "idp"
    static let routes = [
        "discovery", "jwks", "token", "introspect", "revoke", "device_authorization",
    ]

    func place(of segments: [String]) -> (owner: Owner, route: String)? {
        guard segments.count > 2, segments[0] == Self.noun, Owner.isName(segments[1]) else { return nil }
        let owner = Owner(noun: Self.noun, name: segments[1])
        switch segments.dropFirst(2).joined(separator: "/") {
        case ".well-known/openid-configuration", ".well-known/oauth-authorization-server":
            return (owner, "discovery")
        case let route where Self.routes.contains(route) && route != "discovery": return (owner, route)
        default: return nil
        }
    }

    mutating func answer(
        _ request: Request, _ name: String, _ route: String, _ surroundings: Surroundings
    ) -> Answer {
        let now = surroundings.now
        let method = route == "discovery" || route == "jwks" ? "GET" : "POST"
        guard request.method == method else { return .problem(405, "use \(method)", date: now) }
        let issuer = issuer(name, request)
        switch route {
        case "discovery": return discovery(name, issuer, request, now)
        case "jwks":
            let state = instances[name]
            return Answer(status: 200, date: now) { state.writeKeys(&$0) }
        default:
            let endpoint = TokenEndpoint(
                name: name, issuer: issuer, address: address(name, request), surroundings: surroundings)
            var answer = endpoint.answer(request, route, &instances[name])
            // Proxies and servers write targets down (RFC 6749 §2.3.1).
            for parameter in ["client_secret", "refresh_token", "token"]
            where request.parameter(parameter) != nil {
                answer.violations.append("\(parameter) was sent in the query")
            }
            return answer
        }
    }

    /// What the provider calls itself towards this client.
    func issuer(_ name: String, _ request: Request) -> String {
        instances[name].settings.issuer ?? address(name, request)
    }

    /// Where this client reaches the provider.
    func address(_ name: String, _ request: Request) -> String {
        "\(request.origin ?? "http://localhost")/\(Self.noun)/\(name)"
    }

    private func discovery(_ name: String, _ issuer: String, _ request: Request, _ now: Int64) -> Answer {
        let base = address(name, request)
        let settings = instances[name].settings
        let texts: ([String]) -> ControlValue = { .array($0.map { .text($0) }) }
        return Answer(status: 200, date: now) { json in
            ControlObject([
                ("issuer", .text(settings.mismatch == .discovery ? ProviderMint.otherIssuer : issuer)),
                ("token_endpoint", .text(base + "/token")), ("jwks_uri", .text(base + "/jwks")),
                ("introspection_endpoint", .text(base + "/introspect")),
                ("revocation_endpoint", .text(base + "/revoke")),
                ("device_authorization_endpoint", .text(base + "/device_authorization")),
                ("response_types_supported", texts(["code"])), ("subject_types_supported", texts(["public"])),
                (
                    "grant_types_supported",
                    texts(["refresh_token", "client_credentials"] + TokenEndpoint.extensionGrants)
                ),
                (
                    "id_token_signing_alg_values_supported",
                    texts(SignatureAlgorithm.allCases.map(\.rawValue))
                ),
                (
                    "token_endpoint_auth_methods_supported",
                    texts(["client_secret_basic", "client_secret_post", "private_key_jwt", "none"])
                ),
            ]).write(&json)
        }
    }

    /// The set of keys that a provider publishes.
    func publishedKeys(of name: String) -> [UInt8] {
        let state = instances[name]
        return Array(Answer(status: 200, date: 0) { state.writeKeys(&$0) }.body.dropLast())
    }

    /// What introspection tells a platform in this process; nil: the client is not known.
    func introspect(
        _ token: String, at name: String, clientID: String, secret: String, now: Int64
    ) -> (isActive: Bool, subject: String, until: Int64?)? {
        let state = instances[name]
        guard state.settings.client(clientID, secret) != nil else { return nil }
        guard let live = state.live(token, now: now), !live.isSpent else { return (false, "", nil) }
        return (true, live.subject, state.settings.tellsExpiry ? live.until : nil)
    }
}
