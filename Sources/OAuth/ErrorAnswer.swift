import CredentialCore
import JSON
import Secrets

/// What a server that gives nothing says about why (RFC 6749 §5.2).
///
/// Only a 4xx with a JSON body that names `invalid_grant` is the end of a grant. A gateway's page, an empty body, a portal, a 5xx that
/// repeats the word: none of them is the server's verdict.
enum ErrorAnswer {
    static func failure(_ response: FetchResponse) -> RefreshFailure {
        let code = errorCode(in: response.body)
        let kind: RefreshFailure.Kind =
            switch (response.status, code) {
            case (408, _), (429, _): .upstreamError
            case (400..<500, "invalid_grant"): .grantDead
            case (400..<500, "invalid_client"): .clientRefused
            case (400..<500, "temporarily_unavailable"), (400..<500, "slow_down"),
                (400..<500, "server_error"):
                .upstreamError
            case (401, nil):
                isObject(response.body) ? .clientRefused : isPage(response) ? .upstreamError : .rejected
            case (400..<500, _): isPage(response) ? .upstreamError : .rejected
            // 200 with an error in it: what some servers do instead of a 400. It is not held for their last word.
            case (200..<300, .some): .rejected
            default: .upstreamError
            }
        return RefreshFailure(
            kind, httpStatus: response.status, providerCode: code, retryAfter: response.retryAfter)
    }

    static func isPage(_ response: FetchResponse) -> Bool {
        guard let type = response.contentType?.lowercased() else { return false }
        return type.hasPrefix("text/html") || type.hasPrefix("application/xhtml")
    }

    // A 401 is about who asks (RFC 9110 §15.5.2); from the server itself, which speaks JSON, it is about the client.
    private static func isObject(_ body: SecretBytes) -> Bool {
        body.withSpan { bytes in
            var document = JSONDocument(limits: JSONLimits(length: 1 << 20, depth: 32))
            guard let root = try? document.parse(bytes) else { return false }
            return root.kind == .object
        }
    }

    /// The `error` member of a JSON object, where it is a word that is safe to print.
    static func errorCode(in body: SecretBytes) -> String? {
        body.withSpan { bytes in
            var document = JSONDocument(limits: JSONLimits(length: 1 << 20, depth: 32))
            guard let root = try? document.parse(bytes), root.kind == .object,
                let code = root.member("error"), code.kind == .string
            else { return nil }
            return word(code.raw) ? code.string : nil
        }
    }

    private static func word(_ raw: Span<UInt8>) -> Bool {
        guard (1...64).contains(raw.count) else { return false }
        for index in 0..<raw.count {
            switch raw[index] {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"),
                UInt8(ascii: "."):
                continue
            default: return false
            }
        }
        return true
    }
}
