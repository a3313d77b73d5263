package import CredentialCore
import JSON
package import Secrets

/// What a client signs to prove who it is (RFC 7523 §3).
package enum ClientAssertion {
    /// For how long an assertion is valid: it is used at once.
    private static let lifetime = Milliseconds.seconds(60)

    /// The claims: `iss` and `sub` are the client, `aud` is where it goes, `jti` is new for each.
    package static func claims(
        clientID: String, audience: String, now: WallTime, identifier: String
    ) -> SecretBytes {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("iss")
        writer.string(clientID)
        writer.key("sub")
        writer.string(clientID)
        writer.key("aud")
        writer.string(audience)
        writer.key("iat")
        writer.integer(now.seconds)
        writer.key("exp")
        writer.integer((now + lifetime).seconds)
        writer.key("jti")
        writer.string(identifier)
        writer.endObject()
        return writer.finish().finish()
    }
}
