package import CredentialCore
import JSON
package import Secrets

/// What suppliers give, read for the kind of session that it was asked for.
extension SocialPlusOffer {
    /// Reads a handler's result (R186 to R188, R192): `{"auth_token"}`, `{"access_token"}`, `{"unable": true}`, or `{}` for a renewal
    /// without a token.
    ///
    /// A token of the other kind is not passed over: without it the rest would say something that the handler did not.
    package static func read(_ result: SecretBytes, for kind: SocialPlusKind) -> SocialPlusOffer {
        let wanted: [String]
        let other: [String]
        switch kind {
        case .default: (wanted, other) = (["auth_token", "authToken"], ["access_token", "accessToken"])
        case .accessToken: (wanted, other) = (["access_token", "accessToken"], ["auth_token", "authToken"])
        }
        let offer: SocialPlusOffer? = PlatformWire.withObject(result) { root in
            if let unable = root.member("unable"), !unable.isNull {
                guard let unable = unable.bool else {
                    return .failed(RefreshFailure(.malformed, cause: .handlersAnswer))
                }
                if unable { return .unable }
            }
            for name in wanted {
                guard let value = root.member(named: name), !value.isNull else { continue }
                guard let token = value.secret else {
                    return .failed(RefreshFailure(.malformed, cause: .handlersAnswer))
                }
                return SocialPlusOffer(token, for: kind)
            }
            for name in other {
                guard root.member(named: name) == nil else {
                    return .failed(RefreshFailure(.malformed, cause: .token(.missing)))
                }
            }
            return kind == .default ? .bare : .failed(RefreshFailure(.empty, cause: .token(.missing)))
        }
        return offer ?? .failed(RefreshFailure(.malformed, cause: .handlersAnswer))
    }

    /// What a source brought is the token that was asked for, wherever it stood in the answer.
    package init(_ credential: Credential, for kind: SocialPlusKind) {
        self.init(credential.bearer, for: kind)
    }

    /// A handler that answers with an error, or goes away, has no token now (R187); where nobody is registered nobody was asked.
    package init(_ failure: HandlerFailure) {
        switch failure {
        case .rejected: self = .unable
        case .absent: self = .failed(RefreshFailure(.sourceUnavailable))
        case .notJSON, .notResponse, .idAsText, .unmatched: self = .failed(RefreshFailure(ofHandler: failure))
        }
    }

    private init(_ token: SecretBytes, for kind: SocialPlusKind) {
        switch kind {
        case .default: self = token.isEmpty ? .failed(RefreshFailure(.empty)) : .authToken(token)
        case .accessToken:
            do throws(Credential.Failure) {
                self = .accessToken(try Credential(idToken: nil, accessToken: token))
            } catch {
                switch error {
                case .empty: self = .failed(RefreshFailure(.empty))
                case .tooLarge: self = .failed(RefreshFailure(.tooLarge))
                case .malformed: self = .failed(RefreshFailure(.malformed))
                }
            }
        }
    }
}
