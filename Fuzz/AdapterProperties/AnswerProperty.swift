import CredentialCore
import Providers
import Secrets

/// What holds for every answer of a backend, and for every token.
package enum AnswerProperty {
    /// A way in which an answer showed its reader to be wrong.
    package enum Violation: Error, Equatable, Sendable {
        case bearerIsUnusable
        case expiryOutside
    }

    private static let sentAt = WallTime(seconds: 1_800_000_000)
    // Every name stands for itself and for a place inside an object.
    private static let fields = FieldMap(
        token: "token", idToken: "a.id_token", accessToken: "a.b.c", issuer: "a.issuer",
        expiresAt: "expires_at", expiresIn: "a.expires_in")

    /// Takes `bytes` for the body of an answer with either names, for a refusal, and for a bare token.
    package static func check(_ bytes: Span<UInt8>) throws(Violation) {
        let body = SecretBytes(copying: bytes)
        let statuses = [200, 401, 503]
        for status in statuses {
            for fields in [nil, fields] {
                let response = FetchResponse(
                    status: status, retryAfter: nil, date: nil, contentType: nil, body: body)
                try check { () throws(RefreshFailure) in
                    try SourceAnswer.read(response, fields: fields, sentAt: sentAt)
                }
            }
        }
        try check { () throws(RefreshFailure) in try SourceAnswer.read(token: body) }
        if let exp = UnverifiedJWT(body)?.exp.moment { try check(exp) }
    }

    private static func check(_ read: () throws(RefreshFailure) -> SourceAnswer.Reading) throws(Violation) {
        guard let reading = try? read() else { return }
        let bearer = reading.fresh.credential.bearer
        guard !bearer.isEmpty, bearer.count <= Credential.tokenLimit else { throw .bearerIsUnusable }
        // A token goes into a header field as it is.
        let isPrintable = bearer.withSpan { token in
            for index in 0..<token.count where !(0x20...0x7E).contains(token[index]) { return false }
            return true
        }
        guard isPrintable else { throw .bearerIsUnusable }
        let expiries = reading.fresh.expiries
        for expiry in [expiries.backend, expiries.hint, expiries.exp] {
            if let expiry { try check(expiry) }
        }
    }

    private static func check(_ expiry: WallTime) throws(Violation) {
        // Nothing is later than the year 9999: such a number is no date.
        guard expiry.seconds <= 253_402_300_799 else { throw .expiryOutside }
    }
}
