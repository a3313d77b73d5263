package import CredentialCore
import JSON
import Secrets

/// What an introspection endpoint says of a token (RFC 7662 §2.2).
package enum Introspection: Equatable, Sendable {
    /// The token is good, until then as far as is said.
    case active(ExpiryReading)
    /// The token is not, or no longer, good.
    case inactive

    /// Reads an answer.
    package static func read(_ response: FetchResponse) throws(RefreshFailure) -> Introspection {
        guard (200..<300).contains(response.status) else { throw ErrorAnswer.failure(response) }
        return try response.body.withSpan { bytes throws(RefreshFailure) in
            var document = JSONDocument(limits: JSONLimits(length: OAuthRequest.answerLimit, depth: 32))
            guard let root = try? document.parse(bytes), root.kind == .object,
                let isActive = root.member("active")?.bool
            else { throw RefreshFailure(.malformed, httpStatus: response.status) }
            guard isActive else { return .inactive }
            if let exp = root.member("exp") { return .active(ExpiryReading.numericDate(exp)) }
            return .active(.absent)
        }
    }
}

/// What a revocation endpoint says (RFC 7009 §2.2).
package enum Revocation {
    /// Nil: the token is worth nothing any more, or never was; else why it must be taken for good.
    package static func read(_ response: FetchResponse) -> RefreshFailure? {
        (200..<300).contains(response.status) ? nil : ErrorAnswer.failure(response)
    }
}
