package import CredentialCore
import JSON
package import Secrets

/// The payload of a token that is minted here (RFC 7519 §4).
package enum JWTClaims {
    /// `iat`, `exp` and the configured claims; `{account}` in a text becomes the account's name.
    package static func write(_ source: JWTSource, account: AccountName, now: WallTime) -> SecretBytes {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("iat")
        writer.integer(now.seconds)
        writer.key("exp")
        writer.integer((now + source.lifetime).seconds)
        for claim in source.claims { write(claim, account, &writer) }
        writer.endObject()
        return writer.finish().finish()
    }

    private static func write(_ claim: JWTSource.Claim, _ account: AccountName, _ writer: inout JSONWriter) {
        writer.key(named: claim.name)
        write(claim.value, account, &writer)
    }

    private static func write(
        _ value: JWTSource.Claim.Value, _ account: AccountName, _ writer: inout JSONWriter
    ) {
        switch value {
        case .text(let text): writer.string(expand(text, account))
        case .integer(let number): writer.integer(number)
        case .boolean(let flag): writer.bool(flag)
        case .list(let values):
            writer.beginArray()
            for value in values { write(value, account, &writer) }
            writer.endArray()
        case .object(let claims):
            writer.beginObject()
            for claim in claims { write(claim, account, &writer) }
            writer.endObject()
        }
    }

    private static func expand(_ template: String, _ account: AccountName) -> String {
        var text = ""
        var rest = template[...]
        while let open = rest.firstIndex(of: "{") {
            text += rest[..<open]
            rest = rest[open...]
            if rest.hasPrefix("{account}") {
                text += account.text
                rest = rest.dropFirst(9)
            } else {
                text += "{"
                rest = rest.dropFirst()
            }
        }
        return text + rest
    }
}
