package import CredentialCore
import JSON
package import Secrets

/// What a handler answered to `credential.fetch`, read into a credential or a classified failure.
///
/// Null and an object without a token say that the handler has nothing. What it says of sessions is read by `SocialPlusOffer`.
package enum HandlerAnswer {
    /// The credential in an answer; the parts of a credential win over `token` where both are there (R26), and what was wished for by
    /// name over all of them.
    package static func credential(
        _ answer: SecretBytes, for wish: SourceContext.Wish = .credentials, sentAt: WallTime
    ) throws(RefreshFailure) -> SourceAnswer.Reading {
        try withObject(answer) { (root) throws(RefreshFailure) in
            guard let root else { throw RefreshFailure(.empty, cause: .handlersAnswer) }
            let parts: [FieldMap] =
                wish.members.map { FieldMap(token: $0) }
                + [FieldMap(idToken: "id_token", accessToken: "access_token"), FieldMap(token: "token")]
            for var fields in parts {
                (fields.issuer, fields.expiresAt, fields.expiresIn) = ("issuer", "expires_at", "expires_in")
                do throws(RefreshFailure) {
                    return try AnswerReader(fields: fields, status: nil).read(
                        root, sentAt: sentAt, originDate: nil)
                } catch {
                    guard error.kind == .empty else { throw error }
                }
            }
            throw RefreshFailure(.empty, cause: .handlersAnswer)
        }
    }

    /// Lends the answer as an object; nil where it is null.
    private static func withObject<Value>(
        _ answer: SecretBytes, _ body: (borrowing JSONValue?) throws(RefreshFailure) -> Value
    ) throws(RefreshFailure) -> Value {
        try answer.withSpan { bytes throws(RefreshFailure) in
            var document = JSONDocument(limits: JSONLimits(length: 1 << 20, depth: 32))
            let root: JSONValue
            do throws(JSONFailure) {
                root = try document.parse(bytes)
            } catch {
                throw RefreshFailure(.malformed)
            }
            if root.isNull { return try body(nil) }
            guard root.kind == .object else { throw RefreshFailure(.malformed) }
            return try body(root)
        }
    }
}
