import CredentialCore
import Secrets

/// A secret as text, for tests only.
func shown(_ secret: SecretBytes?) -> String? {
    secret?.withSpan { bytes in String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self) }
}

/// A secret made of text.
func secret(_ text: String) -> SecretBytes {
    var buffer = SecretBuffer()
    buffer.append(text)
    return buffer.finish()
}

/// Headers as lines.
func lines(_ headers: [(name: String, value: SecretBytes)]) -> [String] {
    headers.map { $0.name + ": " + (shown($0.value) ?? "") }
}

/// An answer of a platform.
func answer(
    _ status: Int, _ body: String = "", type: String? = "application/json", retryAfter: Milliseconds? = nil,
    date: WallTime? = nil
) -> FetchResponse {
    FetchResponse(
        status: status, retryAfter: retryAfter, date: date, contentType: type, body: secret(body))
}

/// A token of a header and a payload, with a signature that nobody made.
func jwt(_ payload: String, header: String = #"{"alg":"HS256","typ":"JWT"}"#) -> SecretBytes {
    var buffer = SecretBuffer()
    for part in [header, payload] {
        secret(part).withSpan { Base64URL.append(encoding: $0, to: &buffer) }
        buffer.append(UInt8(ascii: "."))
    }
    buffer.append("c2ln")
    return buffer.finish()
}
