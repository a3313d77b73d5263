package import CredentialCore
import JSON
package import Secrets

/// What a handler answered to `credential.fetch`, read into a credential or a classified failure.
///
/// Null and an object without a token say that the handler has nothing. What it says of sessions is read by `SocialPlusOffer`.
package enum HandlerAnswer {
    /// The credential in an answer; the parts of a credential win over `token` where both are there (R26).
    package static func credential(
        _ answer: SecretBytes, sentAt: WallTime
    ) throws(RefreshFailure) -> SourceAnswer.Reading {
        try withObject(answer) { (root) throws(RefreshFailure) in
            guard let root else { throw RefreshFailure(.empty, cause: .handlersAnswer) }
            let rest = (issuer: "issuer", expiresAt: "expires_at", expiresIn: "expires_in")
            do throws(RefreshFailure) {
                let fields = FieldMap(
                    idToken: "id_token", accessToken: "access_token", issuer: rest.issuer,
                    expiresAt: rest.expiresAt, expiresIn: rest.expiresIn)
                return try AnswerReader(fields: fields, status: nil).read(
                    root, sentAt: sentAt, originDate: nil)
            } catch {
                guard error.kind == .empty else { throw error }
                let fields = FieldMap(
                    token: "token", issuer: rest.issuer, expiresAt: rest.expiresAt, expiresIn: rest.expiresIn)
                do throws(RefreshFailure) {
                    return try AnswerReader(fields: fields, status: nil).read(
                        root, sentAt: sentAt, originDate: nil)
                } catch {
                    throw error.kind == .empty ? RefreshFailure(.empty, cause: .handlersAnswer) : error
                }
            }
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
