package import CredentialCore
import JSON
package import Secrets

/// What is sent to a social.plus network.
package enum SocialPlusRequests {
    /// Makes a session, for a login and for a renewal alike (R161): `POST sessions` with the API key.
    ///
    /// `apiKey` is what the definition's reference leads to, `version` that of this program. Without an auth token only networks
    /// outside secure mode answer (R157, R188).
    ///
    /// - Throws: `sourceUnavailable` when the key cannot stand in a header, the route makes no URL, or the auth token is none.
    package static func session(
        _ network: SocialPlusDefinition, apiKey: SecretBytes, user: SocialPlusUser, device: DeviceID,
        authToken: SecretBytes?, version: String
    ) throws(RefreshFailure) -> PlatformRequest {
        guard let key = PlatformWire.headerValue(apiKey) else { throw RefreshFailure(.sourceUnavailable) }
        if let authToken {
            do throws(SocialPlusFieldFailure) {
                try SocialPlusUser.check(authToken: authToken)
            } catch {
                throw RefreshFailure(.malformed)
            }
        }
        var writer = JSONWriter(capacity: 512)
        writer.beginObject()
        writer.key("userId")
        writer.string(user.id)
        writer.key("deviceId")
        writer.string(device.text)
        writer.key("deviceInfo")
        writer.beginObject()
        // The list of kinds is closed: of ios, android, web and node the last is what a program without a screen honestly is.
        writer.key("kind")
        writer.string("node" as String)
        writer.key("model")
        writer.string("linux" as String)
        writer.key("sdkVersion")
        writer.string(String(("chatauthd/" + version).prefix(30)))
        writer.endObject()
        if let displayName = user.displayName {
            writer.key("displayName")
            writer.string(displayName)
        }
        if let authToken {
            writer.key("authToken")
            writer.string(authToken)
        }
        writer.endObject()
        return PlatformRequest(
            url: try PlatformWire.url(network.baseURL, network.sessionsPath), method: .post,
            headers: [
                ("x-api-key", key), ("Content-Type", SecretBytes("application/json")),
                ("Accept", SecretBytes("application/json")),
            ], body: writer.finish().finish())
    }

    /// Asks whether an access token is good: `GET sessions` with it (R190, R192).
    package static func verify(
        _ network: SocialPlusDefinition, token: Credential
    ) throws(RefreshFailure) -> PlatformRequest {
        try bearing(token, network, .get, network.verifyPath)
    }

    /// Ends an access token on the server: `DELETE sessions` with it (R164).
    package static func revoke(
        _ network: SocialPlusDefinition, token: Credential
    ) throws(RefreshFailure) -> PlatformRequest {
        try bearing(token, network, .delete, network.revokePath)
    }

    private static func bearing(
        _ token: Credential, _ network: SocialPlusDefinition, _ method: HTTPMethod, _ route: String
    ) throws(RefreshFailure) -> PlatformRequest {
        var bearer = SecretBuffer(capacity: token.bearer.count + 7)
        bearer.append("Bearer ")
        bearer.append(token.bearer)
        return PlatformRequest(
            url: try PlatformWire.url(network.baseURL, route), method: method,
            headers: [("Authorization", bearer.finish()), ("Accept", SecretBytes("application/json"))])
    }
}
