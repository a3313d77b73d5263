package import CredentialCore
package import Secrets

/// What platforms answer in a test, and what they were sent.
package enum PlatformAnswers {
    /// A JSON answer; `date` is what the platform's clock says.
    package static func json(
        _ status: Int, _ body: String, date: WallTime? = nil
    ) -> Result<FetchResponse, FetchFailure> {
        .success(
            FetchResponse(
                status: status, retryAfter: nil, date: date, contentType: "application/json",
                body: SecretBytes(copying: Array(body.utf8).span)))
    }

    /// What a secret holds, for comparing.
    package static func text(_ secret: SecretBytes) -> String {
        secret.withSpan { bytes in String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self) }
    }
}
