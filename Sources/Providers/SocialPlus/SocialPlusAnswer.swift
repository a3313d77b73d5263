package import CredentialCore
import JSON
package import Secrets

/// What a social.plus network answered, read into a result or a classified failure.
///
/// The difficulty is 400100, which says "unauthorised" of a token that has ended and of a user whom the system banned alike: on a
/// call it is worth one renewal, during a renewal it is the end. So what an answer means depends on what was asked.
package enum SocialPlusAnswer {
    /// What was asked for.
    package enum Purpose: Sendable, CaseIterable {
        /// A first session, or the verification of a first access token: nothing can end that has not begun.
        case login
        /// A next session, or the verification of a next access token.
        case renewal
        /// Whether the access token that is held is still good.
        case verification
        /// The end of the access token that is held.
        case revocation
    }

    /// A session as the platform made it.
    package struct Session: Sendable {
        /// The access token.
        package let credential: Credential
        /// For a legacy route that is not used; kept as the vendor's clients keep it (R161).
        package let refreshToken: SecretBytes?
        /// When it was made, by the platform's clock; nil where it does not say.
        package let issuedAt: WallTime?
        /// What the answer and the token itself say of its end.
        package let expiries: Expiries
        /// Whether an expiry was there that is no moment and counts as unknown.
        package let hasImplausibleExpiry: Bool
    }

    /// Reads the answer to `POST sessions`.
    ///
    /// - Throws: `empty` without an access token, `malformed` for what cannot be read, else as `failure` has it.
    package static func session(
        _ response: FetchResponse, _ purpose: Purpose, of network: SocialPlusDefinition
    ) throws(RefreshFailure) -> Session {
        guard (200..<300).contains(response.status) else { throw failure(response, purpose, of: network) }
        let parts: Result<Parts, RefreshFailure>? = PlatformWire.withObject(response.body) { root in
            for name in ["accessToken", "refreshToken"] {
                if let value = root.member(named: name), !value.isNull, value.kind != .string {
                    return .failure(RefreshFailure(.malformed, httpStatus: response.status))
                }
            }
            return .success(
                Parts(
                    accessToken: root.member("accessToken")?.secret,
                    refreshToken: root.member("refreshToken")?.secret,
                    issuedAt: reading("issuedAt", in: root),
                    expiresAt: reading("expiresAt", in: root)))
        }
        guard !response.isPage, let parts else {
            throw RefreshFailure(.malformed, httpStatus: response.status)
        }
        return try assemble(parts.get(), response.status)
    }

    private static func reading(_ name: StaticString, in root: borrowing JSONValue) -> ExpiryReading {
        guard let value = root.member(name) else { return .absent }
        return ExpiryReading.expiresAt(value)
    }

    private struct Parts {
        let accessToken: SecretBytes?
        let refreshToken: SecretBytes?
        let issuedAt: ExpiryReading
        let expiresAt: ExpiryReading
    }

    private static func assemble(_ parts: Parts, _ status: Int) throws(RefreshFailure) -> Session {
        let reading = try SourceAnswer.assemble(
            idToken: nil, accessToken: parts.accessToken, issuer: nil, hint: parts.expiresAt,
            originDate: nil, status: status)
        return Session(
            credential: reading.fresh.credential,
            refreshToken: parts.refreshToken.flatMap {
                (1...SocialPlusRecord.longestRefreshToken).contains($0.count) ? $0 : nil
            },
            issuedAt: parts.issuedAt.moment, expiries: reading.fresh.expiries,
            hasImplausibleExpiry: reading.hasImplausibleExpiry)
    }

    /// Reads the answer to a verification: any object with a 2xx is a yes.
    package static func verified(
        _ response: FetchResponse, _ purpose: Purpose, of network: SocialPlusDefinition
    ) throws(RefreshFailure) {
        guard (200..<300).contains(response.status) else { throw failure(response, purpose, of: network) }
        let isObject: Bool? = PlatformWire.withObject(response.body) { _ in true }
        guard !response.isPage, isObject == true else {
            throw RefreshFailure(.malformed, httpStatus: response.status)
        }
    }

    /// Reads the answer to a revocation: nothing but the platform's own success ends a session (R164).
    package static func revoked(
        _ response: FetchResponse, of network: SocialPlusDefinition
    ) throws(RefreshFailure) {
        guard (200..<300).contains(response.status) else {
            throw failure(response, .revocation, of: network)
        }
        if response.status == 204, response.body.isEmpty { return }
        let isSuccess: Bool? = PlatformWire.withObject(response.body) { root in
            root.member("success")?.bool != false
        }
        guard !response.isPage, isSuccess == true else {
            throw RefreshFailure(.malformed, httpStatus: response.status)
        }
    }

    /// What an error means for what was asked.
    ///
    /// `terminated`, where there was a session: a terminating code, a user that is not found, and 400100 during a renewal.
    /// `rejected`: 401 that is no page, and 403 with a code. Else `upstreamError`, with what `Retry-After` asked for.
    package static func failure(
        _ response: FetchResponse, _ purpose: Purpose, of network: SocialPlusDefinition
    ) -> RefreshFailure {
        let code = response.isPage ? nil : code(response)
        let kind: RefreshFailure.Kind =
            if let code, purpose != .login, response.status >= 400,
                SocialPlusRules(network).ends(code, isRenewal: purpose == .renewal)
            {
                .terminated
            } else if response.status == 401, !response.isPage {
                .rejected
            } else if response.status == 403, code != nil {
                .rejected
            } else {
                .upstreamError
            }
        return RefreshFailure(
            kind, httpStatus: response.status, providerCode: code.map { String($0) },
            retryAfter: response.retryAfter)
    }

    /// `code` of `{"status": "error", "code", "message"}`: a number, or the same as a string.
    private static func code(_ response: FetchResponse) -> Int64? {
        let code: Int64?? = PlatformWire.withObject(response.body) { root in
            guard let code = root.member("code") else { return nil }
            return code.integer ?? code.string.flatMap { $0.utf8.count <= 19 ? Int64($0) : nil }
        }
        return code ?? nil
    }
}
