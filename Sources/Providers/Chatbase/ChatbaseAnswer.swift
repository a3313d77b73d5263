package import CredentialCore
import JSON

/// What Chatbase answered to a `verify`, read into an acceptance or a classified failure.
///
/// Only the server's own word ends an identity: a gateway's page or a 403 of somebody else says nothing of the token.
package enum ChatbaseAnswer {
    /// The token was accepted.
    package struct Acceptance: Equatable, Sendable {
        /// `data.userId`, where there is one; at most 256 bytes.
        ///
        /// The vendor's document does not take it for the current user (contradiction 7).
        package let userID: String?
    }

    /// The code for a body that says none, as the vendor's clients have it.
    package static let unknownCode = "UNKNOWN"
    /// The code of a token that is invalid, expired, of another secret, or comes to an agent without identity verification (R85).
    package static let invalidTokenCode = "AUTH_INVALID_JWT"

    /// Reads the answer.
    ///
    /// - Throws: `rejected` for 401, and for 403 where the code begins with `AUTH_OWNERSHIP` (the rest of that name is not known);
    ///   `malformed` for a 2xx that is no JSON object; else `upstreamError`: 400, 402 (credits), 404 `AGENT_NOT_FOUND`, 429 with what
    ///   `Retry-After` asked for, 5xx, pages and redirects. Each failure has the status, and the code of the envelope or `UNKNOWN`.
    package static func read(_ response: FetchResponse) throws(RefreshFailure) -> Acceptance {
        guard (200..<300).contains(response.status) else { throw failure(response) }
        let verdict: Acceptance?? = PlatformWire.withObject(response.body) { root in
            guard let data = root.member("data") else { return Acceptance(userID: nil) }
            // Whatever the status says, this is a no.
            if data.member("ok")?.bool == false { return nil }
            return Acceptance(
                userID: PlatformWire.plain(
                    TokenClaims.subject("userId", in: data), limit: ChatbaseIdentity.longestID))
        }
        if !response.isPage, let verdict, verdict == nil {
            throw RefreshFailure(.rejected, httpStatus: response.status, providerCode: code(response))
        }
        guard !response.isPage, let acceptance = verdict ?? nil else {
            throw RefreshFailure(
                .malformed, httpStatus: response.status, providerCode: unknownCode,
                retryAfter: response.retryAfter)
        }
        return acceptance
    }

    private static func failure(_ response: FetchResponse) -> RefreshFailure {
        let code = code(response)
        let isRefusal =
            switch response.status {
            case 401: !response.isPage
            case 403: code.hasPrefix("AUTH_OWNERSHIP")
            default: false
            }
        return RefreshFailure(
            isRefusal ? .rejected : .upstreamError, httpStatus: response.status, providerCode: code,
            retryAfter: response.retryAfter)
    }

    /// `error.code` of `{"error": {"code", "message", "details"}}`; the message is foreign text and stays where it is.
    private static func code(_ response: FetchResponse) -> String {
        let code: String?? = PlatformWire.withObject(response.body) { root in
            PlatformWire.code(root.member("error")?.member("code")?.string)
        }
        return (code ?? nil) ?? unknownCode
    }
}
