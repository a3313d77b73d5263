import JSON

/// Grants beyond RFC 6749: device codes (8628), assertions (7523 §2.1), exchange (8693).
extension TokenEndpoint {
    private static let prefix = "urn:ietf:params:oauth:"
    static let extensionGrants = ["device_code", "jwt-bearer", "token-exchange"].map {
        prefix + "grant-type:" + $0
    }

    func extensionGrant(
        _ name: String, _ client: ProviderSettings.Client, _ field: (String) -> String?,
        _ state: inout ProviderState
    ) throws(ControlFailure) -> Answer {
        switch Self.extensionGrants.firstIndex(of: name) {
        case 0: return try deviceGrant(client.id, field("device_code"), &state)
        case 1: return try assertionGrant(client.id, field("assertion"), field("scope"), &state)
        case 2: return try exchange(client, field, &state)
        default: return refused(400, "unsupported_grant_type")
        }
    }

    /// Begins to wait for somebody who decides (RFC 8628 §3.2).
    func deviceAuthorization(_ clientID: String, scope: String?, _ state: inout ProviderState) -> Answer {
        let mint = TokenMint(random: surroundings.random)
        let (code, userCode) = (mint.opaque(length: 0), mint.opaque(length: 8))
        let settings = state.settings
        state.deviceCodes.add(
            code, userCode: userCode, clientID: clientID, scope: scope,
            until: now + settings.deviceCodeLifetime * 1000, interval: settings.deviceInterval)
        return noStore(
            Answer(status: 200, date: now) { json in
                ControlObject([
                    ("device_code", .text(code)), ("user_code", .text(userCode)),
                    ("verification_uri", .text(address + "/device")),
                    ("expires_in", .integer(settings.deviceCodeLifetime)),
                    ("interval", .integer(settings.deviceInterval)),
                ]).write(&json)
            })
    }

    private func deviceGrant(
        _ clientID: String, _ code: String?, _ state: inout ProviderState
    ) throws(ControlFailure) -> Answer {
        guard let code else { return refused(400, "invalid_request") }
        switch state.deviceCodes.poll(code, clientID: clientID, now: now) {
        case .refused(let error): return refused(400, error)
        case .granted(let subject, let scope):
            return try issue(
                clientID, subject: subject ?? state.settings.subject, scope: scope, family: state.newFamily(),
                refresh: nil, isForUser: true, &state)
        }
    }

    // Somebody whom the provider trusts says who it is; there is no refresh token (RFC 7521 §4.1).
    private func assertionGrant(
        _ clientID: String, _ assertion: String?, _ scope: String?, _ state: inout ProviderState
    ) throws(ControlFailure) -> Answer {
        guard let assertion else { return refused(400, "invalid_request") }
        let authentication = ClientAuthentication(issuer: issuer, endpoint: address + "/token", now: now)
        guard let token = ReceivedToken(assertion), let issuer = token.text("iss"),
            let trusted = state.settings.assertionIssuers.first(where: { $0.issuer == issuer }),
            token.isSigned(by: trusted.key.text, trusted.key.algorithm), authentication.isMeantForUs(token),
            token.instant("exp") != nil, token.isTimely(now), let subject = token.text("sub")
        else { return refused(400, "invalid_grant") }
        return try issue(
            clientID, subject: subject, scope: scope, family: state.newFamily(), refresh: nil,
            isForUser: false, &state)
    }

    private func exchange(
        _ client: ProviderSettings.Client, _ field: (String) -> String?, _ state: inout ProviderState
    ) throws(ControlFailure) -> Answer {
        let access = Self.prefix + "token-type:access_token"
        guard let token = field("subject_token"), field("subject_token_type") != nil else {
            return refused(400, "invalid_request")
        }
        guard field("requested_token_type") ?? access == access else {
            return refused(400, "invalid_request")
        }
        guard let live = state.live(token, now: now), !live.isSpent else {
            return refused(400, "invalid_request")
        }
        return try issue(
            client.id, subject: live.subject, scope: field("scope") ?? live.scope, family: state.newFamily(),
            refresh: nil, isForUser: false, &state, more: [("issued_token_type", access)])
    }
}
