import CredentialCore
import JSON

/// Stands in for the web servers with which companies issue short-lived tokens for their own bots.
///
/// Each name is a backend of its own, there as soon as it is first spoken to: `/backend/NAME/token`, and `/token` for the one
/// called `default`. Its contract with the daemon is the `http` source: any POST or GET, JSON back, 401 where a demanded
/// header field is missing.
struct CustomerBackend: StandIn {
    fileprivate struct Instance: Sendable {
        var settings = BackendSettings()
        /// What was issued last, for backends that repeat themselves.
        var issued: [BackendSettings.Role: String] = [:]
        var issuedUntil: Int64 = 0
        /// Made when it is first needed; it stays when settings change, unless the algorithm does.
        var key: SigningKey?
    }

    private var instances = Instances(Instance())

    static let noun = "backend"
    static let routes = ["token"]

    func place(of segments: [String]) -> (owner: Owner, route: String)? {
        switch segments.count {
        case 1 where segments[0] == "token": (Owner(noun: Self.noun, name: "default"), "token")
        case 3 where segments[0] == Self.noun && Owner.isName(segments[1]) && segments[2] == "token":
            (Owner(noun: Self.noun, name: segments[1]), "token")
        default: nil
        }
    }

    mutating func answer(
        _ request: Request, _ name: String, _ route: String, _ surroundings: Surroundings
    ) -> Answer {
        var instance = instances[name]
        let now = surroundings.now + instance.settings.dateOffset * 1000
        guard request.method == "POST" || request.method == "GET" else {
            var answer = Answer.problem(405, "use POST or GET", date: now)
            answer.setHeader("Allow", "GET, POST")
            return answer
        }
        for required in instance.settings.requiredHeaders
        where request.header(required.name) != required.value {
            return .problem(401, "header \(required.name) is missing or wrong", date: now)
        }
        let settings: BackendSettings
        do {
            settings = try instance.settings.overridden(by: request.query)
        } catch {
            return .problem(400, error.message, date: now)
        }
        if settings.isFresh || instance.issued.isEmpty {
            instance.issued = [:]
            instance.issuedUntil = now + settings.lifetime * 1000
        }
        if settings.tokenFormat == .signed, settings.recipe.key == nil {
            instance.prepareKey(settings.recipe.algorithm, name, surroundings)
        }
        let maker = BackendTokenMaker(
            settings: settings, name: name, request: request, mint: TokenMint(random: surroundings.random),
            key: settings.recipe.key ?? instance.key, now: now, until: instance.issuedUntil)
        // The access token first: an ID token may tell its hash.
        for role in [BackendSettings.Role.issuer, .accessToken, .idToken]
        where instance.issued[role] == nil && settings.fields.contains(where: { $0.role == role }) {
            guard let value = maker.value(role, accessToken: instance.issued[.accessToken]) else {
                return .problem(500, "the key cannot sign", date: now)
            }
            instance.issued[role] = value
        }
        instances[name] = instance
        return Self.answer(settings, instance.issued, now: now, until: instance.issuedUntil)
    }

    private static func answer(
        _ settings: BackendSettings, _ issued: [BackendSettings.Role: String], now: Int64, until: Int64
    ) -> Answer {
        Answer(status: 200, date: now) { json in
            json.beginObject()
            for field in settings.fields {
                json.key(named: field.name)
                json.string(issued[field.role] ?? "")
            }
            if settings.expiry != .missing {
                json.key(
                    named: settings.expiryField ?? (settings.expiry.isInstant ? "expires_at" : "expires_in"))
                writeExpiry(settings.expiry, left: (until - now) / 1000, until: until, &json)
            }
            json.endObject()
        }
    }

    private static func writeExpiry(
        _ expiry: BackendSettings.Expiry, left: Int64, until: Int64, _ json: inout JSONWriter
    ) {
        switch expiry {
        case .expiresIn: json.integer(left)
        case .expiresInString: json.string(String(left))
        case .expiresInFloat: json.double(Double(left) + 0.5)
        case .atSeconds: json.integer(until / 1000)
        case .atMilliseconds: json.integer(until)
        case .atText: json.string(CalendarText.rfc3339(until))
        case .missing, .null: json.null()
        case .garbage: json.string("soon")
        case .negative: json.integer(-3600)
        case .enormous: json.double(1e300)
        }
    }

    mutating func configure(_ name: String, _ settings: ControlObject) throws(ControlFailure) {
        let read = try BackendSettings(settings)
        instances[name] = Instance(settings: read, key: instances[name].key)
    }

    mutating func reset(_ name: String) {
        instances.reset(name)
    }

    /// `GET …/key`: what verifies the signed tokens of this backend.
    mutating func act(
        _ request: Request, _ name: String, _ action: String, _ surroundings: Surroundings
    ) throws(ControlFailure) -> Answer? {
        guard request.method == "GET", action == "key" else { return nil }
        instances[name].prepareKey(instances[name].settings.recipe.algorithm, name, surroundings)
        guard let key = instances[name].key else { throw .notThere("key") }
        return Answer(status: 200, date: surroundings.now) { key.write(&$0) }
    }

    func writeSettings(_ name: String, _ json: inout JSONWriter) {
        instances[name].settings.write(&json)
    }
}

extension CustomerBackend.Instance {
    /// Makes sure that there is a key for that algorithm.
    fileprivate mutating func prepareKey(
        _ algorithm: SignatureAlgorithm, _ name: String, _ surroundings: Surroundings
    ) {
        guard key?.algorithm != algorithm else { return }
        key = SigningKey(making: algorithm, id: "\(name)-\(algorithm.rawValue)", random: surroundings.random)
    }
}
