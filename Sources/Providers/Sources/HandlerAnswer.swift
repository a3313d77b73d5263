package import CredentialCore
import JSON
package import Secrets

/// What a handler answered, read into what was asked for or a classified failure.
///
/// Null and an object without what was asked for say that the handler has nothing.
package enum HandlerAnswer {
    /// What a handler says of a session that is about to end (R185 to R187).
    package enum Renewal: Sendable {
        /// A token that the platform exchanges for a session.
        case authToken(SecretBytes)
        /// It has no token and says so.
        case unable
        /// It has no opinion: the session is renewed without a token.
        case nothing
    }

    /// The answer to `credential.fetch`; the parts of a credential win over `token` where both are there (R26).
    package static func credential(
        _ answer: SecretBytes, sentAt: WallTime
    ) throws(RefreshFailure) -> SourceAnswer.Reading {
        try withObject(answer) { (root) throws(RefreshFailure) in
            guard let root else { throw RefreshFailure(.empty) }
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
                return try AnswerReader(fields: fields, status: nil).read(
                    root, sentAt: sentAt, originDate: nil)
            }
        }
    }

    /// The answer to `session.will_renew`.
    package static func renewal(_ answer: SecretBytes) throws(RefreshFailure) -> Renewal {
        try withObject(answer) { (root) throws(RefreshFailure) in
            guard let root else { return .nothing }
            if let token = try token("auth_token", of: root) { return .authToken(token) }
            guard let unable = root.member("unable"), !unable.isNull else { return .nothing }
            guard let isUnable = unable.bool else { throw RefreshFailure(.malformed) }
            return isUnable ? .unable : .nothing
        }
    }

    /// The answer to `session.on_token_renew`.
    package static func accessToken(_ answer: SecretBytes) throws(RefreshFailure) -> SecretBytes {
        try withObject(answer) { (root) throws(RefreshFailure) in
            guard let root, let token = try token("access_token", of: root) else {
                throw RefreshFailure(.empty)
            }
            return token
        }
    }

    private static func token(
        _ name: StaticString, of root: borrowing JSONValue
    ) throws(RefreshFailure) -> SecretBytes? {
        guard let value = root.member(name), !value.isNull else { return nil }
        guard value.kind == .string, let secret = value.secret else { throw RefreshFailure(.malformed) }
        return secret.isEmpty ? nil : secret
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
