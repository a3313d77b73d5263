package import CredentialCore
import JSON
import Secrets

/// What an issuer says of its endpoints (RFC 8414, OpenID Connect Discovery 1.0).
package struct ServerMetadata: Equatable, Sendable {
    /// RFC 6749 §3.2.
    package let token: HTTPURL
    /// RFC 7662; nil: none.
    package let introspection: HTTPURL?
    /// RFC 7009; nil: none.
    package let revocation: HTTPURL?
    /// The keys that ID tokens are signed with; nil: none.
    package let keys: HTTPURL?

    /// Where an issuer's metadata may be, in the order in which they are asked for.
    ///
    /// RFC 8414 §3.1 puts its well-known path before the issuer's, OpenID Connect Discovery §4.1 behind it.
    package static func locations(of issuer: String) -> [HTTPURL] {
        var base = issuer[...]
        if base.hasSuffix("/") { base = base.dropLast() }
        guard let schemeEnd = base.firstIndex(of: ":") else { return [] }
        let afterScheme = base[schemeEnd...].dropFirst(3)
        let pathStart = afterScheme.firstIndex(of: "/") ?? base.endIndex
        let texts = [
            base[..<pathStart] + "/.well-known/oauth-authorization-server" + base[pathStart...],
            base + "/.well-known/openid-configuration",
        ]
        return texts.compactMap { try? HTTPURL(String($0)) }
    }

    /// Reads an answer; `issuer` must be the one that was asked, byte by byte (RFC 8414 §3.3).
    package static func read(_ response: FetchResponse, issuer: String) throws(RefreshFailure)
        -> ServerMetadata
    {
        guard (200..<300).contains(response.status) else {
            throw RefreshFailure(
                .upstreamError, httpStatus: response.status, retryAfter: response.retryAfter)
        }
        return try response.body.withSpan { bytes throws(RefreshFailure) in
            var document = JSONDocument(limits: JSONLimits(length: 1 << 18, depth: 32))
            guard let root = try? document.parse(bytes), root.kind == .object else {
                throw RefreshFailure(.upstreamError, httpStatus: response.status)
            }
            guard let stated = root.member("issuer")?.string, stated == issuer else {
                throw RefreshFailure(.issuerMismatch, httpStatus: response.status)
            }
            func endpoint(_ name: StaticString) throws(RefreshFailure) -> HTTPURL? {
                guard let value = root.member(name), !value.isNull else { return nil }
                guard let text = value.string, let url = try? HTTPURL(text) else {
                    throw RefreshFailure(.upstreamError, httpStatus: response.status)
                }
                return url
            }
            guard let token = try endpoint("token_endpoint") else {
                throw RefreshFailure(.upstreamError, httpStatus: response.status)
            }
            return ServerMetadata(
                token: token, introspection: try endpoint("introspection_endpoint"),
                revocation: try endpoint("revocation_endpoint"), keys: try endpoint("jwks_uri"))
        }
    }
}

/// The endpoints of a client, once everything is known that is not configured.
package struct ServerEndpoints: Equatable, Sendable {
    /// RFC 6749 §3.2.
    package let token: HTTPURL
    /// RFC 7662; nil: none.
    package let introspection: HTTPURL?
    /// RFC 7009; nil: none.
    package let revocation: HTTPURL?
    /// The keys that ID tokens are signed with; nil: none.
    package let keys: HTTPURL?

    /// What is configured wins over what the issuer says; nil: the issuer has to be asked first.
    package init?(_ configured: OAuthSource.Endpoints, _ metadata: ServerMetadata?) {
        guard let token = configured.token ?? metadata?.token else { return nil }
        self.token = token
        introspection = configured.introspection ?? metadata?.introspection
        revocation = configured.revocation ?? metadata?.revocation
        keys = configured.keys ?? metadata?.keys
    }
}
