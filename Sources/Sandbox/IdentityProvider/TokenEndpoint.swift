import JSON

/// The endpoints at which a client authenticates itself: token (RFC 6749 §3.2), introspection (7662), revocation (7009).
struct TokenEndpoint {
    let name: String
    let issuer: String
    /// Where the client reaches the provider, without a slash at its end.
    let address: String
    let surroundings: Surroundings

    var now: Int64 { surroundings.now }

    /// Answers a form; `state` changes with what is given away and taken back.
    func answer(_ request: Request, _ route: String, _ state: inout ProviderState) -> Answer {
        let form = request.form
        let names = form.map(\.name)
        guard Set(names).count == names.count else { return refused(400, "invalid_request") }
        let field: (String) -> String? = { name in form.first { $0.name == name }?.value }
        let authentication = ClientAuthentication(
            issuer: issuer, endpoint: address + "/" + route, now: now)
        let client: ProviderSettings.Client
        switch authentication.client(request, form, &state) {
        case .client(let found): client = found
        case .ambiguous:
            return refused(400, "invalid_request").accusing("two ways of client authentication at once")
        case .nobody(let owesChallenge):
            var answer = refused(401, "invalid_client")
            if owesChallenge { answer.setHeader("WWW-Authenticate", "Basic realm=\"sandbox\"") }
            return answer
        }
        switch route {
        case "introspect":
            // Whoever asks has to be somebody (RFC 7662 §2.1).
            guard !client.isPublic else { return refused(401, "invalid_client") }
            guard let token = field("token") else { return refused(400, "invalid_request") }
            return introspection(token, state)
        case "revoke":
            guard let token = field("token") else { return refused(400, "invalid_request") }
            guard state.issued[token].map({ $0.clientID == client.id }) ?? true else {
                return refused(400, "unauthorized_client")
            }
            state.revoke(token)
            return noStore(Answer(status: 200, contentType: nil, body: [], date: now))
        case "device_authorization":
            return deviceAuthorization(client.id, scope: field("scope"), &state)
        default: return grant(client, field, &state)
        }
    }

    private func grant(
        _ client: ProviderSettings.Client, _ field: (String) -> String?, _ state: inout ProviderState
    ) -> Answer {
        do throws(ControlFailure) {
            switch field("grant_type") {
            case "client_credentials":
                guard !client.isPublic else { return refused(400, "unauthorized_client") }
                return try issue(
                    client.id, subject: client.id, scope: field("scope"), family: state.newFamily(),
                    refresh: nil, isForUser: false, &state)
            case "refresh_token":
                guard let token = field("refresh_token") else { return refused(400, "invalid_request") }
                guard let old = state.issued[token], old.kind == .refresh, old.clientID == client.id else {
                    return refused(400, "invalid_grant")
                }
                guard !old.isSpent else {
                    // Somebody else has it too: nobody keeps anything (RFC 9700 §4.14.2).
                    state.revoke(family: old.family)
                    return refused(400, "invalid_grant")
                }
                guard state.live(token, now: now) != nil else { return refused(400, "invalid_grant") }
                guard isNarrower(field("scope"), than: old.scope) else {
                    return refused(400, "invalid_scope")
                }
                return try issue(
                    client.id, subject: old.subject, scope: field("scope") ?? old.scope, family: old.family,
                    refresh: token, isForUser: true, &state)
            case nil: return refused(400, "invalid_request")
            case let name?: return try extensionGrant(name, client, field, &state)
            }
        } catch {
            return .problem(500, error.message, date: now)
        }
    }

    /// A token answer (RFC 6749 §5.1).
    func issue(
        _ clientID: String, subject: String, scope: String?, family: Int, refresh: String?, isForUser: Bool,
        _ state: inout ProviderState, more: [Request.Pair] = []
    ) throws(ControlFailure) -> Answer {
        let mint = ProviderMint(
            name: name, issuer: issuer, clientID: clientID, subject: subject, scope: scope,
            surroundings: surroundings)
        let settings = state.settings
        let tokens = try mint.tokens(
            &state, recipe: settings.recipe, family: family, hasIDToken: isForUser && settings.hasIDToken,
            refresh: refresh, hasRefresh: isForUser)
        return noStore(
            Answer(status: 200, date: now) { json in
                json.beginObject()
                json.key("access_token")
                json.string(tokens.accessToken)
                json.key("token_type")
                json.string("Bearer")
                settings.expiresIn.write(settings.accessTokenLifetime, &json)
                for (key, value) in [
                    ("refresh_token", tokens.refreshToken), ("id_token", tokens.idToken), ("scope", scope),
                ] {
                    guard let value else { continue }
                    json.key(named: key)
                    json.string(value)
                }
                for pair in more {
                    json.key(named: pair.name)
                    json.string(pair.value)
                }
                json.endObject()
            })
    }

    private func introspection(_ token: String, _ state: ProviderState) -> Answer {
        let live = state.live(token, now: now)
        return noStore(
            Answer(status: 200, date: now) { json in
                var object = ControlObject([("active", .bool(live != nil && live?.isSpent != true))])
                if let live, !live.isSpent {
                    object.set("client_id", .text(live.clientID))
                    object.set("sub", .text(live.subject))
                    object.set("iss", .text(issuer))
                    object.set("token_type", .text("Bearer"))
                    if let scope = live.scope { object.set("scope", .text(scope)) }
                    if let until = live.until, state.settings.tellsExpiry {
                        object.set("exp", .integer(until / 1000))
                    }
                }
                object.write(&json)
            })
    }

    private func isNarrower(_ asked: String?, than granted: String?) -> Bool {
        guard let asked else { return true }
        let granted = Set((granted ?? "").split(separator: " "))
        return asked.split(separator: " ").allSatisfy { granted.contains($0) }
    }

    func refused(_ status: Int, _ code: String) -> Answer {
        noStore(.problem(status, code, date: now))
    }

    func noStore(_ answer: Answer) -> Answer {
        var answer = answer
        answer.setHeader("Cache-Control", "no-store")
        return answer
    }
}

extension ProviderSettings.ExpiresIn {
    fileprivate func write(_ seconds: Int64, _ json: inout JSONWriter) {
        guard self != .missing else { return }
        json.key("expires_in")
        switch self {
        case .number, .missing: json.integer(seconds)
        case .string: json.string(String(seconds))
        case .float: json.double(Double(seconds) + 0.5)
        case .null: json.null()
        case .zero: json.integer(0)
        case .negative: json.integer(-1)
        case .garbage: json.string("soon")
        }
    }
}
