import CredentialCore
import JSON
import Secrets

/// What a server that gives nothing says about why (RFC 6749 §5.2).
///
/// Only a 4xx with a JSON body that names `invalid_grant` is the end of a grant. A gateway's page, an empty body, a portal, a 5xx that
/// repeats the word: none of them is the server's verdict.
enum ErrorAnswer {
    static func failure(_ response: FetchResponse) -> RefreshFailure {
        let code = response.errorCode
        let kind: RefreshFailure.Kind =
            switch (response.status, code) {
            case (408, _), (429, _): .upstreamError
            case (400..<500, "invalid_grant"): .grantDead
            case (400..<500, "invalid_client"): .clientRefused
            case (400..<500, "temporarily_unavailable"), (400..<500, "slow_down"),
                (400..<500, "server_error"):
                .upstreamError
            case (401, nil):
                isObject(response.body) ? .clientRefused : response.isPage ? .upstreamError : .rejected
            case (400..<500, _): response.isPage ? .upstreamError : .rejected
            // 200 with an error in it: what some servers do instead of a 400. It is not held for their last word.
            case (200..<300, .some): .rejected
            default: .upstreamError
            }
        return RefreshFailure(
            kind, httpStatus: response.status, providerCode: code, retryAfter: response.retryAfter)
    }

    // A 401 is about who asks (RFC 9110 §15.5.2); from the server itself, which speaks JSON, it is about the client.
    private static func isObject(_ body: SecretBytes) -> Bool {
        body.withSpan { bytes in
            var document = JSONDocument(limits: JSONLimits(length: 1 << 20, depth: 32))
            guard let root = try? document.parse(bytes) else { return false }
            return root.kind == .object
        }
    }
}
