import CredentialCore

/// Why a platform most likely refused a credential: what it says of itself is compared with what the bot is known to want (R63, R67).
extension KindlyDoctor {
    static func refusal(
        _ failure: RefreshFailure, _ facts: AccountFacts, _ platform: String, _ bot: KindlyDefinition?
    ) -> [Finding] {
        if failure.kind == .companionInvalid {
            return [
                Finding(
                    .error, .companionInvalid,
                    "\(platform) takes an access token beside an ID token only where that is a JWT",
                    fix: "give the opaque token alone, with its issuer", requirement: 68, failure: failure)
            ]
        }
        // Without it the platform does not get so far as to look at the credential.
        var causes = facts.isChatTokenMissing ? [chatTokenMissing(facts, .error)] : []
        if let credential = facts.credential { causes += self.causes(credential, facts, bot) }
        if causes.isEmpty, bot != nil, facts.isPair != false, let credential = facts.credential,
            SeenToken(credential.bearer) != nil
        {
            causes = [
                Finding(
                    .error, .keySuspected,
                    "what the token says of itself is as it must be, so that it is most likely its signature",
                    fix: advice(facts, bot), requirement: 67)
            ]
        }
        let isExplained = !causes.isEmpty || facts.isPair == false
        let refused = Finding(
            .error, .bindRejected,
            isExplained
                ? "\(platform) refused the credential; the reason is most likely one that is named here"
                : "\(platform) refused the credential, and nothing in it says why",
            fix: isExplained ? nil : advice(facts, bot), requirement: 63, failure: failure)
        return causes + [refused]
    }

    // What cannot be seen from here.
    private static func advice(_ facts: AccountFacts, _ bot: KindlyDefinition?) -> String {
        guard let bot else {
            return
                "check what the platform wants of the request that the table bind describes, and that the token is one of its own"
        }
        guard let credential = facts.credential, SeenToken(credential.bearer) != nil else {
            return
                "the token is opaque, so that only introspection at the identity provider judges it: check its client there, the issuer that is sent, and that the token is still active"
        }
        var advice =
            bot.strategy == .identityProvider
            ? "see that Kindly's panel (Authenticated chat) has the issuer of the token, and that the issuer's published keys have the one that signs (kid)"
            : "compare the public half of the key that signs with the one in Kindly's panel (Authenticated chat)"
        if bot.expectedIssuer == nil {
            advice += "; iss cannot be compared here: set expected_issuer to what the panel has"
        }
        return advice
    }

    private static func causes(
        _ credential: Credential, _ facts: AccountFacts, _ bot: KindlyDefinition?
    ) -> [Finding] {
        if let finding = Doctor.malformed(credential, .error) { return [finding] }
        guard let seen = SeenToken(credential.bearer) else {
            if bot?.strategy == .introspection, credential.issuer ?? bot?.defaultIssuer == nil {
                return [issuerNotSent(.error)]
            }
            guard bot?.strategy == .kindlyJWT || bot?.strategy == .identityProvider else { return [] }
            return [
                Finding(
                    .error, .opaqueBearer, "the token is no JWT, and the bot verifies JWTs",
                    fix: "have the source give a signed JWT, or set the bot up for introspection",
                    requirement: 63, failure: nil)
            ]
        }
        var causes = times(seen, facts)
        if bot?.strategy != .introspection, bot != nil, !seen.isSignedWithPrivateKey {
            causes.append(
                Finding(
                    .error, .algorithmUnfit,
                    "the token is signed with \(seen.algorithm ?? "no algorithm"), and the bot verifies with a public key",
                    fix: "sign with RS256 or another algorithm for key pairs", requirement: 67))
        }
        if let expected = bot?.expectedIssuer, seen.issuer != expected {
            causes.append(issuerUnexpected(seen.issuer, expected, .error))
        } else if seen.issuer == nil {
            causes.append(
                Finding(
                    .error, .issuerMissing, "the token has no iss, which the bot compares with its own",
                    fix: "have the backend set iss to the issuer that is configured in Kindly's panel",
                    requirement: 67))
        }
        if let given = credential.issuer ?? bot?.defaultIssuer, let own = seen.issuer, given != own,
            bot?.strategy == .identityProvider || bot?.strategy == nil && bot != nil
        {
            causes.append(
                Finding(
                    .error, .issuerUnexpected,
                    "the issuer that is sent beside the token is \"\(given)\", and iss of the token is \"\(own)\"",
                    fix: "give the token's own issuer with it, or none: Kindly then reads it from the token",
                    requirement: 24))
        }
        if let bot,
            KindlyAdvice.on(credential, for: bot, chatID: facts.chatID, hasExpiry: true).contains(
                .chatUnexpected)
        {
            causes.append(chatUnexpected(.error))
        }
        return causes
    }

    // What the token says of when it holds.
    private static func times(_ seen: SeenToken, _ facts: AccountFacts) -> [Finding] {
        var causes: [Finding] = []
        switch seen.exp {
        case .at(let exp) where exp <= facts.now.wall:
            causes.append(
                Finding(
                    .error, .tokenExpired, "the token has expired by its own exp (\(text(exp)))",
                    fix: "have the backend make a new one for each request; compare the clocks",
                    requirement: 63))
        case .implausible:
            causes.append(
                Finding(
                    .error, .expImplausible, "exp of the token is no moment",
                    fix: "have it be a number of seconds since 1970, and no text (RFC 7519)", requirement: 63)
            )
        case .at, .absent: break
        }
        if case .at(let start) = seen.notBefore, start > facts.now.wall {
            causes.append(
                Finding(
                    .error, .tokenNotYetValid, "the token does not hold before its nbf (\(text(start)))",
                    fix: "compare the backend's clock with this one's, or leave nbf out", requirement: 63))
        }
        return causes
    }

    static func issuerNotSent(_ severity: Finding.Severity) -> Finding {
        Finding(
            severity, .issuerMissing,
            "Kindly cannot see whose the token is: it says no issuer, and none is given with it",
            fix: "give the issuer with the credential, or set default_issuer", requirement: 24)
    }

    static func chatUnexpected(_ severity: Finding.Severity) -> Finding {
        Finding(
            severity, .chatUnexpected, "chat.id in the token names another chat than the account's",
            fix: "have the backend use the chat id that it is asked with", requirement: 5)
    }

    static func issuerUnexpected(
        _ issuer: String?, _ expected: String, _ severity: Finding.Severity
    ) -> Finding {
        Finding(
            severity, .issuerUnexpected,
            "iss of the token is \(issuer.map { "\"\($0)\"" } ?? "missing"), and expected_issuer is \"\(expected)\"",
            fix: "the two must be equal to the letter, a slash at the end included", requirement: 67)
    }
}
