import Broker
import ChatAuthAPI
import CredentialCore
import JSON
import Providers
import Secrets

/// The results that carry secrets.
enum TokenReply {
    /// The result of `token.get`.
    static func render(_ account: Account, remarks: TokenRemarks, now: Instant) -> SecretBytes? {
        guard let held = account.session.held, let credential = held.credential else { return nil }
        var writer = JSONWriter(capacity: credential.bearer.count + 512)
        writer.beginObject()
        writer.key("account")
        writer.string(account.name.text)
        writer.key("generation")
        writer.integer(held.generation.number)
        writer.key("bearer_token")
        writer.string(credential.bearer)
        writer.key("token_type")
        writer.string("Bearer")
        if let companion = credential.companion {
            writer.key("companion_access_token")
            writer.string(companion)
        }
        if let issuer = credential.issuer {
            writer.key("issuer")
            writer.string(issuer)
        }
        let schedule = account.session.schedule
        writer.moment("expires_at", schedule?.expiresAt)
        writer.key("expiry_source")
        if let source = schedule?.source { writer.string(source.rawValue) } else { writer.null() }
        writer.expiries(held.expiries)
        writer.moment("refresh_at", schedule?.refreshAt)
        writer.key("state")
        writer.string(account.session.state(at: now).rawValue)
        if remarks.isShortLived {
            writer.key("short_lived")
            writer.bool(true)
        }
        if let failure = remarks.refreshError {
            writer.key("stale")
            writer.bool(true)
            writer.key("refresh_error")
            writer.refreshFailure(failure)
        }
        writer.endObject()
        return writer.finish().finish()
    }

    /// The result of `headers.get`: every header that a request to the platform takes (R20 to R22), or those that are described.
    static func renderHeaders(_ account: Account, remarks: TokenRemarks) -> SecretBytes? {
        guard let held = account.session.held, let credential = held.credential else { return nil }
        var writer = JSONWriter(capacity: credential.bearer.count + 512)
        writer.beginObject()
        writer.key("headers")
        writer.beginArray()
        if account.definition.requestHeaders.isEmpty {
            writeUsualHeaders(credential, &writer)
        } else {
            for (name, value) in DescribedBind.clientHeaders(
                of: account.definition, credential: credential)
            {
                writer.header(name) { $0.append(value) }
            }
        }
        writer.endArray()
        writer.key("generation")
        writer.integer(held.generation.number)
        writer.moment("expires_at", account.session.schedule?.expiresAt)
        if remarks.refreshError != nil {
            writer.key("stale")
            writer.bool(true)
        }
        writer.endObject()
        return writer.finish().finish()
    }

    private static func writeUsualHeaders(_ credential: Credential, _ writer: inout JSONWriter) {
        writer.header("Authorization") { buffer in
            buffer.append("Bearer ")
            buffer.append(credential.bearer)
        }
        if let companion = credential.companion {
            writer.header("X-Access-Token") { $0.append(companion) }
        }
        if let issuer = credential.issuer {
            writer.header("X-Auth-Issuer") { $0.append(issuer) }
        }
    }
}

extension JSONWriter {
    /// Writes a moment in whole seconds; null when it is unknown.
    mutating func moment(_ name: StaticString, _ moment: WallTime?) {
        key(name)
        if let moment { integer(moment.seconds) } else { null() }
    }

    /// Writes a moment as a text for people (RFC 3339); null when it is unknown.
    mutating func momentText(_ name: StaticString, _ moment: WallTime?) {
        key(name)
        if let text = moment.flatMap(RFC3339.text) { string(text) } else { null() }
    }

    mutating func expiries(_ expiries: Expiries) {
        key("expiries")
        beginObject()
        moment("backend", expiries.backend)
        moment("hint", expiries.hint)
        moment("exp", expiries.exp)
        endObject()
    }

    /// Writes why a refresh gave nothing; with `definition`, platform, files and secrets are named.
    mutating func refreshFailure(_ failure: RefreshFailure, naming definition: AccountDefinition? = nil) {
        self.failure(CallFailure(failure, retryAfter: nil, naming: definition))
    }

    /// Writes what a failure is called and says, and what the platform answered; `cause` is where it came from.
    mutating func failure(_ failure: CallFailure, cause: String? = nil) {
        beginObject()
        key("kind")
        string(failure.kindText)
        key("message")
        string(failure.message)
        if let cause {
            key("cause")
            string(cause)
        }
        if let status = failure.httpStatus {
            key("http_status")
            integer(Int64(status))
        }
        if let code = failure.providerCode {
            key("provider_code")
            string(code)
        }
        endObject()
    }

    fileprivate mutating func header(_ name: String, _ value: (inout SecretBuffer) -> Void) {
        var buffer = SecretBuffer()
        value(&buffer)
        beginArray()
        string(name)
        buffer.withSpan { string(utf8: $0) }
        endArray()
    }
}
