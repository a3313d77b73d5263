import CredentialCore
import OAuth
import Secrets

/// What holds for every answer of an authorization server.
package enum OAuthProperty {
    /// A way in which an answer showed its reader to be wrong.
    package enum Violation: Error, Equatable, Sendable {
        case bearerIsUnusable
        /// A refresh token that could not be kept or sent.
        case successorIsUnusable
        /// An answer with a successor was taken for one that spent nothing.
        case successorWithoutSpending
        /// Something else than a 4xx ended a grant.
        case graveWithoutVerdict
        case codeIsUnprintable
        /// Metadata of another issuer, or an endpoint that is none.
        case issuerNotChecked
    }

    private static let sentAt = WallTime(seconds: 1_800_000_000)
    private static let issuer = "https://issuer.example"

    /// Takes `bytes` for the body of every kind of answer, with several statuses and media types.
    package static func check(_ bytes: Span<UInt8>) throws(Violation) {
        let body = SecretBytes(copying: bytes)
        for (status, type) in [
            (200, "application/json"), (200, "text/html"), (400, "application/json"), (401, nil), (503, nil),
        ] as [(Int, String?)] {
            let response = FetchResponse(
                status: status, retryAfter: nil, date: nil, contentType: type, body: body)
            try checkToken(response)
            _ = try? Introspection.read(response)
            _ = Revocation.read(response)
            // The issuer is a constant of ours: an answer that names another one is never taken.
            if let metadata = try? ServerMetadata.read(response, issuer: issuer),
                metadata.token.text.utf8.contains(where: { $0 < 0x21 || $0 > 0x7E })
            {
                throw .issuerNotChecked
            }
        }
    }

    private static func checkToken(_ response: FetchResponse) throws(Violation) {
        let successor = TokenAnswer.successor(in: response)
        if let successor {
            guard HeldGrant.isUsable(successor) else { throw .successorIsUnusable }
            guard SpendOutcome.certainty(of: response) == nil else { throw .successorWithoutSpending }
        }
        switch Result(catching: { () throws(RefreshFailure) in
            try TokenAnswer.read(response, sentAt: sentAt, issuer: issuer)
        }) {
        case .success(let answer):
            let bearer = answer.fresh.credential.bearer
            guard !bearer.isEmpty, bearer.count <= Credential.tokenLimit else { throw .bearerIsUnusable }
            if let token = answer.refreshToken, !HeldGrant.isUsable(token) { throw .successorIsUnusable }
        case .failure(let failure):
            if failure.kind == .grantDead, !(400..<500).contains(response.status) {
                throw .graveWithoutVerdict
            }
            if let code = failure.providerCode, !code.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) {
                throw .codeIsUnprintable
            }
        }
    }
}
