package import CredentialCore
import JSON
package import Secrets

/// What a source answered, read into a fresh credential or a classified failure.
package enum SourceAnswer {
    /// A credential, and whether it came with an expiry that is no moment.
    package struct Reading: Sendable {
        /// The credential, not yet compared with the one before.
        package let fresh: FreshCredential
        /// Whether an expiry was there that is no moment and counts as unknown.
        package let hasImplausibleExpiry: Bool

        /// Takes both.
        package init(fresh: FreshCredential, hasImplausibleExpiry: Bool) {
            self.fresh = fresh
            self.hasImplausibleExpiry = hasImplausibleExpiry
        }
    }

    /// Reads the answer of the user's backend.
    ///
    /// Only 401 and 403 are a refusal, and not when they are a web page: a gateway's page is not the backend's word. Everything else
    /// that is not a credential is the backend's trouble and passes.
    package static func read(
        _ response: FetchResponse, answer: HTTPSource.Answer = .json, fields: FieldMap?,
        for wish: SourceContext.Wish = .credentials, sentAt: WallTime
    ) throws(RefreshFailure) -> Reading {
        switch response.status {
        case 200..<300 where answer == .text:
            // A portal's page is text as well, and no token.
            guard !response.isPage else { throw RefreshFailure(.upstreamError, httpStatus: response.status) }
            return try read(token: response.body, originDate: response.date, status: response.status)
        case 200..<300:
            return try read(
                response.body, fields: fields, for: wish, sentAt: sentAt, originDate: response.date,
                status: response.status)
        case 401, 403:
            throw RefreshFailure(
                response.isPage ? .upstreamError : .rejected, httpStatus: response.status,
                providerCode: response.errorCode, retryAfter: response.retryAfter)
        default:
            throw RefreshFailure(
                .upstreamError, httpStatus: response.status, providerCode: response.errorCode,
                retryAfter: response.retryAfter)
        }
    }

    /// Reads a JSON object that holds a credential; without `sentAt` nobody knows from when an `expires_in` counts, and it says nothing.
    package static func read(
        _ body: SecretBytes, fields: FieldMap?, for wish: SourceContext.Wish = .credentials,
        sentAt: WallTime?, originDate: WallTime? = nil, status: Int? = nil
    ) throws(RefreshFailure) -> Reading {
        try body.withSpan { bytes throws(RefreshFailure) in
            var document = JSONDocument(limits: JSONLimits(length: 1 << 20, depth: 32))
            let root: JSONValue
            do throws(JSONFailure) {
                root = try document.parse(bytes)
            } catch {
                throw RefreshFailure(bytes.isEmpty ? .empty : .malformed, httpStatus: status)
            }
            guard root.kind == .object else { throw RefreshFailure(.malformed, httpStatus: status) }
            let reader = AnswerReader(fields: fields, for: wish, status: status)
            return try reader.read(root, sentAt: sentAt, originDate: originDate)
        }
    }

    /// Reads a bare token: one line end after it is not part of it.
    package static func read(
        token text: SecretBytes, originDate: WallTime? = nil, status: Int? = nil
    ) throws(RefreshFailure) -> Reading {
        let token = text.withSpan { bytes in
            var end = bytes.count
            if end > 0, bytes[end - 1] == UInt8(ascii: "\n") { end -= 1 }
            if end > 0, bytes[end - 1] == UInt8(ascii: "\r") { end -= 1 }
            return SecretBytes(copying: bytes.extracting(0..<end))
        }
        return try assemble(
            idToken: token, accessToken: nil, issuer: nil, hint: .absent, originDate: originDate,
            status: status)
    }

    /// Puts a credential together; a bearer that is a JWT adds its own expiry.
    package static func assemble(
        idToken: SecretBytes?, accessToken: SecretBytes?, issuer: String?, hint: ExpiryReading,
        originDate: WallTime?,
        status: Int?
    ) throws(RefreshFailure) -> Reading {
        let credential: Credential
        do throws(Credential.Failure) {
            credential = try Credential(idToken: idToken, accessToken: accessToken, issuer: issuer)
        } catch {
            switch error {
            case .empty: throw RefreshFailure(.empty, httpStatus: status)
            case .tooLarge: throw RefreshFailure(.tooLarge, httpStatus: status)
            case .malformed: throw RefreshFailure(.malformed, httpStatus: status)
            }
        }
        let exp = UnverifiedJWT(credential.bearer)?.exp ?? .absent
        return Reading(
            fresh: FreshCredential(
                credential: credential, expiries: Expiries(hint: hint.moment, exp: exp.moment),
                originDate: originDate),
            hasImplausibleExpiry: hint == .implausible || exp == .implausible)
    }
}
