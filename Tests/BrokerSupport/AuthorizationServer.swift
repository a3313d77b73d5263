package import CredentialCore
package import Secrets

/// An authorization server in memory whose refresh tokens can be used once, and that ends a line of them when one comes twice.
package final class AuthorizationServer {
    package static let issuer = "https://as.example"
    /// What was asked, in order: `POST /token refresh rt-1 scope=a`.
    package private(set) var lines: [String] = []
    /// Requests of the token endpoint.
    package var tokenCalls: Int { lines.count { $0.hasPrefix("POST /token") } }
    package private(set) var live: Set<String> = []
    package private(set) var revoked: [String] = []
    /// How often a token that had been spent came back.
    package private(set) var reuses = 0
    /// `client_secret` that is good; nil: a public client.
    package var clientSecret: String?
    package var expiresIn: Int? = 3600
    package var rotates = true
    /// Claims and signature are the test's business.
    package var idToken: String?
    package var introspection = #"{"active":true,"exp":1767229200}"#
    package var introspectionStatus = 200
    package var metadataIssuer = AuthorizationServer.issuer
    package var knowsOAuthMetadata = true
    package var keys = #"{"keys":[]}"#
    package var revocationStatus = 200
    private var spent: Set<String> = []
    private var lastToken = 0
    private var lastAccessToken = 0

    package init() {}

    /// A new refresh token, as a person who signs in would get it.
    package func issue() -> SecretBytes {
        lastToken += 1
        live.insert("rt-\(lastToken)")
        return Self.secret("rt-\(lastToken)")
    }

    package func respond(_ request: FetchRequest) -> Result<FetchResponse, FetchFailure> {
        let url = request.url.text
        let path = String(url.dropFirst(Self.issuer.count))
        let form = Self.form(request)
        switch path {
        case "/.well-known/oauth-authorization-server":
            lines.append("GET " + path)
            return knowsOAuthMetadata ? json(metadata) : json("{}", status: 404)
        case "/.well-known/openid-configuration":
            lines.append("GET " + path)
            return json(metadata)
        case "/keys":
            lines.append("GET /keys")
            return json(keys)
        case "/token": return token(form)
        case "/introspect":
            lines.append("POST /introspect " + (form["token"] ?? ""))
            return json(introspection, status: introspectionStatus)
        case "/revoke":
            let token = form["token"] ?? ""
            lines.append("POST /revoke " + token)
            if (200..<300).contains(revocationStatus) {
                revoked.append(token)
                live.remove(token)
            }
            return json("", status: revocationStatus)
        default: return .failure(.connectionFailed)
        }
    }

    private func token(_ form: [String: String]) -> Result<FetchResponse, FetchFailure> {
        var line = "POST /token"
        defer { lines.append(line) }
        if let clientSecret, form["client_secret"] != clientSecret {
            line += " refused " + (form["client_secret"] ?? "")
            return json(#"{"error":"invalid_client"}"#, status: 401)
        }
        let scope = form["scope"].map { " scope=" + $0 } ?? ""
        guard form["grant_type"] == "refresh_token" else {
            line += " client" + scope
            return json(answer(refreshToken: nil))
        }
        let given = form["refresh_token"] ?? ""
        line += " refresh " + given + scope
        guard live.contains(given) else {
            if spent.contains(given) {
                reuses += 1
                live = []
            }
            return json(#"{"error":"invalid_grant"}"#, status: 400)
        }
        guard rotates else { return json(answer(refreshToken: nil)) }
        live.remove(given)
        spent.insert(given)
        lastToken += 1
        live.insert("rt-\(lastToken)")
        return json(answer(refreshToken: "rt-\(lastToken)"))
    }

    private func answer(refreshToken: String?) -> String {
        lastAccessToken += 1
        var text = #"{"access_token":"at-\#(lastAccessToken)","token_type":"bearer""#
        if let expiresIn { text += #","expires_in":\#(expiresIn)"# }
        if let refreshToken { text += #","refresh_token":"\#(refreshToken)""# }
        if let idToken { text += #","id_token":"\#(idToken)""# }
        return text + "}"
    }

    private var metadata: String {
        let base = Self.issuer
        return #"{"issuer":"\#(metadataIssuer)","token_endpoint":"\#(base)/token","introspection_endpoint":"#
            + #""\#(base)/introspect","revocation_endpoint":"\#(base)/revoke","jwks_uri":"\#(base)/keys"}"#
    }

    private func json(_ text: String, status: Int = 200) -> Result<FetchResponse, FetchFailure> {
        .success(
            FetchResponse(
                status: status, retryAfter: nil, date: nil, contentType: "application/json",
                body: Self.secret(text)))
    }

    package static func secret(_ text: String) -> SecretBytes {
        var buffer = SecretBuffer(capacity: text.utf8.count)
        buffer.append(text)
        return buffer.finish()
    }

    package static func text(_ secret: SecretBytes) -> String {
        secret.withSpan { bytes in
            var text: [UInt8] = []
            for index in 0..<bytes.count { text.append(bytes[index]) }
            return String(decoding: text, as: UTF8.self)
        }
    }

    private static func form(_ request: FetchRequest) -> [String: String] {
        guard let body = request.body else { return [:] }
        var fields: [String: String] = [:]
        for pair in text(body).split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { fields[String(parts[0])] = String(parts[1]) }
        }
        return fields
    }
}

extension Definitions {
    /// An account at `AuthorizationServer` that spends a grant.
    package static func oauth(
        _ name: String, grant: String = "g", scope: [String] = [],
        issuer: String = AuthorizationServer.issuer,
        authentication: OAuthSource.ClientAuthentication = .none,
        introspection: OAuthSource.Introspection = .automatic, flow: OAuthSource.Flow? = nil,
        caFile: String? = nil
    ) -> AccountDefinition {
        let source = OAuthSource(
            endpoints: OAuthSource.Endpoints(issuer: issuer),
            flow: flow ?? .refreshToken(grant: self.name(grant)), clientID: "client",
            authentication: authentication, scope: scope, introspection: introspection,
            caFile: caFile)
        return AccountDefinition(name: self.name(name), provider: .oauth, source: .oauth(source))
    }
}
