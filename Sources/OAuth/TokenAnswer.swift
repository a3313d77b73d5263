package import CredentialCore
import JSON
package import Secrets

/// What a token endpoint answered (RFC 6749 §5.1).
package struct TokenAnswer: Sendable {
    /// The credential, not yet compared with the one before.
    package let fresh: FreshCredential
    /// What replaces the refresh token that was spent; nil: that one is still good.
    package let refreshToken: SecretBytes?
    /// The scope that was granted; nil: as it was asked for.
    package let scope: String?
    /// Whether an expiry was there that is no moment and counts as unknown.
    package let hasImplausibleExpiry: Bool

    /// Reads the answer; `sentAt` is when the request was sent, from which `expires_in` counts.
    ///
    /// `issuer` is what callers are told of a credential's origin. A refresh token is found even in an answer whose credential cannot be
    /// used: see `successor(in:)`.
    package static func read(
        _ response: FetchResponse, sentAt: WallTime, issuer: String?
    ) throws(RefreshFailure) -> TokenAnswer {
        let status = response.status
        guard (200..<300).contains(status) else { throw ErrorAnswer.failure(response) }
        return try response.body.withSpan { bytes throws(RefreshFailure) in
            var document = JSONDocument(limits: JSONLimits(length: OAuthRequest.answerLimit, depth: 32))
            let root: JSONValue
            do throws(JSONFailure) {
                root = try document.parse(bytes)
            } catch {
                throw RefreshFailure(
                    bytes.isEmpty ? .empty : response.isPage ? .upstreamError : .malformed,
                    httpStatus: status)
            }
            guard root.kind == .object else { throw RefreshFailure(.malformed, httpStatus: status) }
            if let error = root.member("error"), !error.isNull { throw ErrorAnswer.failure(response) }
            if let type = root.member("token_type"), !type.isNull, !isBearer(type) {
                throw RefreshFailure(.notBearer, httpStatus: status)
            }
            var hint = ExpiryReading.absent
            if let expiresIn = root.member("expires_in") {
                hint = ExpiryReading.expiresIn(expiresIn, sentAt: sentAt)
            }
            return try assemble(
                idToken: secret("id_token", root, status), accessToken: secret("access_token", root, status),
                refreshToken: secret("refresh_token", root, status), scope: scope(root), issuer: issuer,
                hint: hint, response)
        }
    }

    /// Whether the server refused the client's proof, and not what it asked for (RFC 6749 §5.2).
    package static func refusesClient(_ response: FetchResponse) -> Bool {
        !(200..<300).contains(response.status) && ErrorAnswer.failure(response).kind == .clientRefused
    }

    /// The refresh token in an answer that could be read, whatever else is wrong with it: it must not be lost with the rest.
    package static func successor(in response: FetchResponse) -> SecretBytes? {
        guard (200..<300).contains(response.status) else { return nil }
        return response.body.withSpan { bytes in
            var document = JSONDocument(limits: JSONLimits(length: OAuthRequest.answerLimit, depth: 32))
            guard let root = try? document.parse(bytes), root.kind == .object,
                let value = root.member("refresh_token"), value.kind == .string, let token = value.secret,
                HeldGrant.isUsable(token)
            else { return nil }
            return token
        }
    }

    /// Whether a refresh token came that can be neither kept nor sent: the one that was spent is worth nothing any more all the same.
    package static func hasUnusableSuccessor(_ response: FetchResponse) -> Bool {
        guard (200..<300).contains(response.status) else { return false }
        return response.body.withSpan { bytes in
            var document = JSONDocument(limits: JSONLimits(length: OAuthRequest.answerLimit, depth: 32))
            guard let root = try? document.parse(bytes), root.kind == .object,
                let value = root.member("refresh_token"), !value.isNull
            else { return false }
            guard value.kind == .string, let token = value.secret else { return true }
            return !token.isEmpty && !HeldGrant.isUsable(token)
        }
    }

    private static func assemble(
        idToken: SecretBytes?, accessToken: SecretBytes?, refreshToken: SecretBytes?, scope: String?,
        issuer: String?, hint: ExpiryReading, _ response: FetchResponse
    ) throws(RefreshFailure) -> TokenAnswer {
        let credential: Credential
        do throws(Credential.Failure) {
            credential = try Credential(idToken: idToken, accessToken: accessToken, issuer: issuer)
        } catch {
            switch error {
            case .empty: throw RefreshFailure(.empty, httpStatus: response.status)
            case .tooLarge: throw RefreshFailure(.tooLarge, httpStatus: response.status)
            case .malformed: throw RefreshFailure(.malformed, httpStatus: response.status)
            }
        }
        let exp = UnverifiedJWT(credential.bearer)?.exp ?? .absent
        return TokenAnswer(
            fresh: FreshCredential(
                credential: credential, expiries: Expiries(hint: hint.moment, exp: exp.moment),
                originDate: response.date),
            refreshToken: refreshToken.flatMap { HeldGrant.isUsable($0) ? $0 : nil }, scope: scope,
            hasImplausibleExpiry: hint == .implausible || exp == .implausible)
    }

    // Absent, or the word in any case: servers write "bearer", "Bearer" and "BEARER" (RFC 6749 §5.1).
    private static func isBearer(_ value: borrowing JSONValue) -> Bool {
        value.kind == .string && value.string?.lowercased() == "bearer"
    }

    private static func secret(
        _ name: StaticString, _ root: borrowing JSONValue, _ status: Int
    ) throws(RefreshFailure) -> SecretBytes? {
        guard let value = root.member(name), !value.isNull else { return nil }
        guard value.kind == .string, let secret = value.secret else {
            throw RefreshFailure(.malformed, httpStatus: status)
        }
        return secret.isEmpty ? nil : secret
    }

    // Space-separated words of printable ASCII (RFC 6749 §3.3); anything else is as if it were not there.
    private static func scope(_ root: borrowing JSONValue) -> String? {
        guard let value = root.member("scope"), let text = value.string, (1...4096).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x20...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C })
        else { return nil }
        return text
    }
}
