package import CredentialCore
import JSON
package import Secrets

/// What is sent to Chatbase, and what its clients are told to send (R75, R76).
///
/// There is no `Authorization` anywhere: the device speaks for itself in `X-Device-Id`, the user in `X-User-Token`, raw.
package enum ChatbaseRequests {
    /// Shows a token to the agent: `POST agents/ID/verify` with `{"token": …}` (R82).
    ///
    /// The device goes along, so that the server can move its anonymous conversations to the user (R87); so does the token that is
    /// stored, since the device belongs to its user until another is accepted.
    ///
    /// - Throws: `sourceUnavailable` when the agent's identifier cannot stand in a path, or the User-Agent not in a header.
    package static func verify(
        _ agent: ChatbaseDefinition, device: DeviceID, stored: Credential?, token: Credential
    ) throws(RefreshFailure) -> PlatformRequest {
        guard let segment = PlatformWire.segment(agent.agentID) else {
            throw RefreshFailure(.sourceUnavailable)
        }
        var headers = self.headers(device: device, stored: stored)
        headers.append(("Content-Type", SecretBytes("application/json")))
        headers.append(("Accept", SecretBytes("application/json")))
        // Without one the worker says honestly what it is.
        if let userAgent = agent.userAgent {
            guard userAgent.utf8.allSatisfy({ (0x20...0x7E).contains($0) }), !userAgent.isEmpty else {
                throw RefreshFailure(.sourceUnavailable)
            }
            headers.append(("User-Agent", PlatformWire.bytes(userAgent)))
        }
        var writer = JSONWriter(capacity: token.bearer.count + 16)
        writer.beginObject()
        writer.key("token")
        writer.string(token.bearer)
        writer.endObject()
        return PlatformRequest(
            url: try PlatformWire.url(agent.baseURL, "agents/" + segment + "/verify"), method: .post,
            headers: headers, body: writer.finish().finish())
    }

    /// The headers of every request to the agent: anonymous without a credential, the user's with one (R74 to R76).
    ///
    /// A token that has expired is sent like any other: nobody looks at its expiry until the server says 401 (R94, R95).
    package static func headers(
        device: DeviceID, stored: Credential?
    ) -> [(name: String, value: SecretBytes)] {
        var headers: [(name: String, value: SecretBytes)] = [
            ("X-Device-Id", PlatformWire.bytes(device.text))
        ]
        if let stored { headers.append(("X-User-Token", stored.bearer)) }
        return headers
    }
}
