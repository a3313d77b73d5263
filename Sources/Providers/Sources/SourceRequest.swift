package import CredentialCore
import JSON
package import Secrets

/// The request that asks the user's backend for a credential.
package enum SourceRequest {
    /// Puts the request together; `secrets` are the contents of what the source refers to, in that order.
    ///
    /// - Throws: `sourceUnavailable` when a secret has a byte that no header value may have.
    package static func make(
        id: UInt64, source: HTTPSource, context: SourceContext, secrets: [SecretBytes]
    ) throws(RefreshFailure) -> FetchRequest {
        var headers: [(name: String, value: SecretBytes)] = []
        var next = 0
        for header in source.headers {
            switch header.value {
            case .literal(let text): headers.append((header.name, bytes(text)))
            case .secret(_, let prefix):
                guard next < secrets.count, let value = headerValue(secrets[next], prefix: prefix) else {
                    throw RefreshFailure(.sourceUnavailable)
                }
                next += 1
                headers.append((header.name, value))
            }
        }
        let hasBody = source.method == .post
        if hasBody, !source.headers.contains(where: { $0.name.lowercased() == "content-type" }) {
            headers.append(("Content-Type", bytes(source.contentType)))
        }
        if !source.headers.contains(where: { $0.name.lowercased() == "accept" }) {
            headers.append(("Accept", bytes(source.answer == .text ? "text/plain" : "application/json")))
        }
        return FetchRequest(
            id: id, url: source.url, method: source.method.http, headers: headers,
            body: hasBody ? body(source, context) : nil, caFile: source.caFile, proxy: source.proxy,
            timeout: source.timeout, bodyLimit: 1 << 20, partition: context.account.text)
    }

    /// The body: the operator's template, or an object that says for whom and why (R5).
    static func body(_ source: HTTPSource, _ context: SourceContext) -> SecretBytes {
        guard let template = source.bodyTemplate else {
            var writer = JSONWriter()
            writer.beginObject()
            for (name, value) in [("chatId", context.chatID), ("userId", context.userID)] {
                guard let value else { continue }
                writer.key(named: name)
                writer.string(value)
            }
            writer.key("account")
            writer.string(context.account.text)
            writer.key("reason")
            writer.string(context.reason.rawValue)
            writer.endObject()
            return writer.finish().finish()
        }
        let filled = TextTemplate.fill(
            template,
            [
                ("account", bytes(context.account.text)), ("reason", bytes(context.reason.rawValue)),
                ("chat_id", context.chatID.map { bytes($0) }), ("user_id", context.userID.map { bytes($0) }),
            ], TextTemplate.Escaping(contentType: source.contentType))
        return filled ?? bytes(template)
    }

    // One line end after the secret is not part of it; what else no field value may have (RFC 9110 §5.5) makes it unusable.
    private static func headerValue(_ secret: SecretBytes, prefix: String) -> SecretBytes? {
        secret.withSpan { bytes in
            var end = bytes.count
            if end > 0, bytes[end - 1] == UInt8(ascii: "\n") { end -= 1 }
            if end > 0, bytes[end - 1] == UInt8(ascii: "\r") { end -= 1 }
            guard end > 0 else { return nil }
            for index in 0..<end where bytes[index] < 0x20 || bytes[index] > 0x7E { return nil }
            var buffer = SecretBuffer(capacity: prefix.utf8.count + end)
            buffer.append(prefix)
            buffer.append(bytes.extracting(0..<end))
            return buffer.finish()
        }
    }

    private static func bytes(_ text: String) -> SecretBytes {
        var buffer = SecretBuffer(capacity: text.utf8.count)
        buffer.append(text)
        return buffer.finish()
    }
}
