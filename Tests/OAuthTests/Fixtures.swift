import CredentialCore
import OAuth
import Secrets
import TestSupport
import Testing

let sent = WallTime(seconds: 1_767_225_600)

func secret(_ text: String) -> SecretBytes { SecretBytes(copying: Array(text.utf8).span) }

func text(_ secret: SecretBytes?) -> String? {
    secret.map { $0.withSpan { bytes in String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self) } }
}

func response(
    _ status: Int, _ body: String, type: String? = "application/json", retryAfter: Milliseconds? = nil
) -> FetchResponse {
    FetchResponse(
        status: status, retryAfter: retryAfter, date: sent, contentType: type, body: secret(body))
}

func source(
    clientID: String = "client", scope: [String] = [], audience: String? = nil, resource: String? = nil
) throws -> OAuthSource {
    OAuthSource(
        endpoints: .init(issuer: "https://as.example"), flow: .clientCredentials, clientID: clientID,
        authentication: .none, scope: scope, audience: audience, resource: resource, caFile: "/ca.pem",
        proxy: "http://proxy.example:1", timeout: .seconds(3))
}

/// The failure that `body` ends with; nil where it succeeds.
func failure<Value>(_ body: () throws -> Value) -> RefreshFailure? {
    do {
        _ = try body()
        return nil
    } catch let failure as RefreshFailure {
        return failure
    } catch {
        Issue.record("another error: \(error)")
        return nil
    }
}

/// Texts that look like answers: members that matter, with values of every kind, and damage.
struct AnswerGenerator {
    var random: SeededGenerator

    private static let names = [
        "access_token", "id_token", "refresh_token", "token_type", "expires_in", "scope", "error", "active",
        "exp", "issuer", "token_endpoint", "jwks_uri", "x",
    ]
    private static let values = [
        "null", "true", "false", "0", "-1", "3599.5", "1e400", "-1e400", "9223372036854775808", "2147483648",
        #""""#, #""t""#, #""Bearer""#, #""DPoP""#, #""3600""#, #""nan""#, #""\u0000""#, #""\ud800""#,
        #""invalid_grant""#, #""https://as.example""#, #""http://as.example""#, "[]", "{}", #"["t"]"#,
        #"{"access_token":"t"}"#, #""eyJhbGciOiJub25lIn0.eyJleHAiOjFlOTl9.""#, "01", "'t'", "",
    ]

    mutating func next() -> FetchResponse {
        let members = (0..<Int(random.next() % 6)).map { _ in
            "\"\(pick(Self.names))\":\(pick(Self.values))"
        }
        var bytes = Array(("{" + members.joined(separator: ",") + "}").utf8)
        switch random.next() % 8 {
        case 0: bytes.removeLast(Int(random.next() % UInt64(bytes.count)))
        case 1: bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
        case 2: bytes = (0..<Int(random.next() % 64)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        default: break
        }
        let statuses = [200, 201, 204, 302, 400, 401, 403, 408, 429, 500, 502, 503, 0, -1, .max]
        let types: [String?] = [nil, "application/json", "text/html; charset=utf-8", "TEXT/HTML", ""]
        return FetchResponse(
            status: pick(statuses), retryAfter: nil, date: nil, contentType: pick(types),
            body: SecretBytes(copying: bytes.span))
    }

    private mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int(random.next() % UInt64(values.count))]
    }
}
