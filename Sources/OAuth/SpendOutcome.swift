package import CredentialCore
import JSON
import Secrets

/// Whether the refresh token that a request carried may be spent, judged by what came back.
package enum SpendOutcome: Equatable, Sendable {
    /// It was spent, or kept its worth: the answer says so.
    case answered
    /// It never arrived, or was refused: it is worth what it was.
    case notSpent
    /// Something answered, but not the server's verdict: a gateway, a portal, a 5xx. Most likely it was not spent.
    case open
    /// It may have arrived, and what came of it was lost.
    case lost

    /// Judges one exchange at a token endpoint.
    package init(_ outcome: Result<FetchResponse, FetchFailure>) {
        switch outcome {
        case .failure(let failure): self = failure.mayHaveArrived ? .lost : .notSpent
        case .success(let response):
            switch response.status {
            case 200..<300: self = Self.judge(success: response)
            case 408: self = .open
            // A redirect is not followed: whoever answered with one did not look at the token.
            case 300..<500, 503: self = .notSpent
            default: self = .open
            }
        }
    }

    private static func judge(success response: FetchResponse) -> SpendOutcome {
        let isReadable = response.body.withSpan { bytes in
            var document = JSONDocument(limits: JSONLimits(length: OAuthRequest.answerLimit, depth: 32))
            guard let root = try? document.parse(bytes) else { return false }
            return root.kind == .object
        }
        if isReadable { return .answered }
        return ErrorAnswer.isPage(response) ? .open : .lost
    }
}
