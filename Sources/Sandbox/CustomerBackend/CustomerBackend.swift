import JSON

/// Stands in for the web servers with which companies issue short-lived tokens for their own bots.
///
/// Each name is a backend of its own, there as soon as it is first spoken to: `/backend/NAME/token`, and `/token` for the one
/// called `default`. Its contract with the daemon is the `http` source: any POST or GET, JSON back, 401 where a demanded
/// header field is missing.
struct CustomerBackend: StandIn {
    private struct Instance: Sendable {
        var settings = BackendSettings()
        /// What was issued last, for backends that repeat themselves.
        var issued: [BackendSettings.Role: String] = [:]
        var issuedUntil: Int64 = 0
    }

    private var instances: [String: Instance] = [:]

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
        var instance = instances[name] ?? Instance()
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
        let mint = TokenMint(random: surroundings.random)
        for field in settings.fields where instance.issued[field.role] == nil {
            instance.issued[field.role] = Self.value(
                field.role, name, settings, mint, now, instance.issuedUntil)
        }
        instances[name] = instance
        return Self.answer(settings, instance.issued, now: now, until: instance.issuedUntil)
    }

    private static func value(
        _ role: BackendSettings.Role, _ name: String, _ settings: BackendSettings, _ mint: TokenMint,
        _ now: Int64,
        _ until: Int64
    ) -> String {
        guard role != .issuer else { return settings.issuer }
        switch settings.tokenFormat {
        case .opaque: return mint.opaque(length: settings.tokenBytes)
        case .jwt, .jwtWithoutExpiry:
            return mint.jwt(
                length: settings.tokenBytes, subject: name, issuer: settings.issuer, issuedAt: now / 1000,
                expiry: settings.tokenFormat == .jwt ? until / 1000 : nil)
        }
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
        instances[name] = Instance(settings: try BackendSettings(settings))
    }

    mutating func reset(_ name: String) {
        instances[name] = nil
    }

    func writeSettings(_ name: String, _ json: inout JSONWriter) {
        (instances[name]?.settings ?? BackendSettings()).write(&json)
    }
}
