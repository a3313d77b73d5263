import CredentialCore

/// Whether Kindly believes what came with a request, by the bot's strategy.
///
/// It refuses all that the documents say is refused, and what is left open the strict way: a broker that gets past it gets
/// past the real one.
struct KindlyVerifier {
    /// Who it is, and until when.
    struct Identity: Sendable {
        let subject: String
        let issuer: String?
        /// Unix milliseconds: the earliest expiry over all tokens that were verified; nil: none has one.
        let until: Int64?
    }

    /// Why the answer is 401; the text goes into it.
    struct Refusal: Error, Equatable {
        let text: String
        /// A pair of tokens that no client may send, not merely one that fails.
        var isViolation = false
    }

    let settings: KindlySettings
    /// The stand-in's own keys, for the bot without a public key.
    let ownKeys: [SigningKey]
    let revoked: Set<String>
    let providers: IdentityProvider?
    let now: Int64

    /// The text is the vendor's own.
    static let companionNeedsJWT = "X-Access-Token requires a JWT id_token in Authorization"

    /// Verifies the three header fields for the chat `uuid`.
    func verify(_ request: Request, uuid: String) throws(Refusal) -> Identity {
        guard let bearer = request.bearer else { throw Refusal(text: "Authorization is missing") }
        guard !revoked.contains(bearer) else { throw Refusal(text: "the token is revoked") }
        let companion = request.header("X-Access-Token")
        let issuer = request.header("X-Auth-Issuer")
        switch settings.strategy {
        // The companion is ignored: its expiry does not count either.
        case .kindlyJWT: return try verifyOwn(bearer, uuid)
        case .identityProvider, .introspection:
            if let companion, revoked.contains(companion) {
                throw Refusal(text: "the access token is revoked")
            }
            if companion != nil, companion == bearer {
                throw Refusal(text: "X-Access-Token repeats the token in Authorization", isViolation: true)
            }
            if companion != nil, ReceivedToken(bearer) == nil { throw Refusal(text: Self.companionNeedsJWT) }
            return settings.strategy == .introspection
                ? try introspect(bearer, companion, issuer) : try verifyKeys(bearer, companion, issuer)
        }
    }

    private func verifyOwn(_ bearer: String, _ uuid: String) throws(Refusal) -> Identity {
        guard let token = ReceivedToken(bearer) else { throw Refusal(text: "the token is no JWT") }
        guard let algorithm = SignatureAlgorithm(rawValue: token.algorithm),
            algorithm == .rs256 || algorithm == .es256
        else { throw Refusal(text: "the algorithm is not allowed") }
        let isGenuine =
            settings.publicKey.map { token.isSigned(by: $0, algorithm) }
            ?? ownKeys.contains { $0.algorithm == algorithm && $0.hasSigned(token) }
        guard isGenuine else { throw Refusal(text: "the signature is wrong") }
        guard let issuer = token.text("iss"), settings.expectedIssuer.map({ $0 == issuer }) ?? true else {
            throw Refusal(text: "iss is not the configured one")
        }
        guard token.isTimely(now) else { throw Refusal(text: "the token has expired, or is not valid yet") }
        guard token.claims[path: "chat.id"] == nil || token.text("chat.id") == uuid else {
            throw Refusal(text: "chat.id is another chat")
        }
        guard let subject = token.text("sub") else { throw Refusal(text: "sub is missing") }
        return Identity(subject: subject, issuer: issuer, until: token.instant("exp"))
    }

    private func verifyKeys(
        _ bearer: String, _ companion: String?, _ header: String?
    ) throws(Refusal) -> Identity {
        let token = ReceivedToken(bearer)
        guard let name = header ?? token?.text("iss") else {
            throw Refusal(text: "no issuer: X-Auth-Issuer is missing and the token has no iss")
        }
        guard let trusted = settings.issuers.first(where: { $0.issuer == name }) else {
            throw Refusal(text: "the issuer is not known")
        }
        guard let token else { throw Refusal(text: "the token is no JWT") }
        let keys = trusted.keys?.bytes ?? trusted.provider.flatMap { providers?.publishedKeys(of: $0) } ?? []
        try check(token, keys, issuer: name)
        var until = token.instant("exp")
        if let companion {
            try checkHash(token, companion)
            if let access = ReceivedToken(companion) {
                try check(access, keys, issuer: name)
                until = earlier(until, access.instant("exp"))
            }
        }
        guard let subject = token.text("sub") else { throw Refusal(text: "sub is missing") }
        return Identity(subject: subject, issuer: name, until: until)
    }

    private func check(_ token: ReceivedToken, _ keys: [UInt8], issuer: String) throws(Refusal) {
        guard token.isSigned(byOneOf: keys) else { throw Refusal(text: "the signature is wrong") }
        guard token.text("iss") == issuer else { throw Refusal(text: "iss is not the issuer") }
        guard token.isTimely(now) else { throw Refusal(text: "the token has expired, or is not valid yet") }
    }

    private func checkHash(_ token: ReceivedToken, _ companion: String) throws(Refusal) {
        guard token.claims[path: "at_hash"] != nil else {
            guard !settings.requiresAccessTokenHash else { throw Refusal(text: "at_hash is missing") }
            return
        }
        guard let hash = token.accessTokenHash(companion), token.text("at_hash") == hash else {
            throw Refusal(text: "at_hash is of another access token")
        }
    }

    private func introspect(
        _ bearer: String, _ companion: String?, _ header: String?
    ) throws(Refusal) -> Identity {
        guard let header else { throw Refusal(text: "X-Auth-Issuer is missing") }
        guard let trusted = settings.issuers.first(where: { $0.issuer == header }),
            let provider = trusted.provider, let providers
        else { throw Refusal(text: "the issuer is not known") }
        var until: Int64?
        var subject = ""
        for token in [companion, bearer].compactMap(\.self) {
            guard
                let state = providers.introspect(
                    token, at: provider, clientID: trusted.clientID, secret: trusted.clientSecret, now: now)
            else { throw Refusal(text: "the identity provider refuses the bot") }
            guard state.isActive else { throw Refusal(text: "the token is not active") }
            until = earlier(until, state.until)
            subject = state.subject
        }
        if let companion, let token = ReceivedToken(bearer) { try checkHash(token, companion) }
        return Identity(subject: subject, issuer: header, until: until)
    }

    private func earlier(_ first: Int64?, _ second: Int64?) -> Int64? {
        guard let first, let second else { return first ?? second }
        return min(first, second)
    }
}
