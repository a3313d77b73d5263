package import CredentialCore
import JSON
import Secrets

/// What became of the refresh token that a request carried, judged by what came back.
package enum SpendOutcome {
    /// Nil: the server answered with an object of its own, which says what became of it.
    package static func certainty(of response: FetchResponse) -> SpendCertainty? {
        switch response.status {
        case 200..<300: certainty(ofSuccess: response)
        case 408: .open
        // A redirect is not followed: whoever answered with one did not look at the token.
        case 300..<500, 503: .notSpent
        default: .open
        }
    }

    /// What became of it where no response came.
    package static func certainty(of failure: FetchFailure) -> SpendCertainty {
        failure.mayHaveArrived ? .lost : .notSpent
    }

    private static func certainty(ofSuccess response: FetchResponse) -> SpendCertainty? {
        let isReadable = response.body.withSpan { bytes in
            var document = JSONDocument(limits: JSONLimits(length: OAuthRequest.answerLimit, depth: 32))
            guard let root = try? document.parse(bytes) else { return false }
            return root.kind == .object
        }
        if isReadable { return nil }
        return response.isPage ? .open : .lost
    }
}
