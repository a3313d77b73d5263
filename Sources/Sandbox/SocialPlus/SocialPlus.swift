import CredentialCore
import JSON

/// Stands in for social.plus: `/socialplus/NAME/api/v4/…`, `/api/v3/…` and `/v1/notification`.
///
/// Each name is a network of its own. A session begins with `POST sessions`, which a renewal repeats, or with a token that a
/// key of the customer has signed, which `GET sessions` checks; `DELETE sessions` ends either. Whoever makes another call, or
/// sends a key where it does not belong, is listed among the violations.
struct SocialPlus: StandIn {
    private var networks = Instances(SocialPlusNetwork())

    static let noun = "socialplus"
    static let routes = [
        "token", "token_v3", "sessions", "verify", "revoke", "notification", "unregister", "unknown",
    ]

    func place(of segments: [String]) -> (owner: Owner, route: String)? {
        guard segments.count >= 2, segments[0] == Self.noun, Owner.isName(segments[1]) else { return nil }
        return (
            Owner(noun: Self.noun, name: segments[1]), SocialPlusCall.route(segments[2...], method: "POST")
        )
    }

    func route(_ route: String, of request: Request) -> String {
        SocialPlusCall.route(request.segments[2...], method: request.method)
    }

    mutating func answer(
        _ request: Request, _ name: String, _ route: String, _ surroundings: Surroundings
    ) -> Answer {
        let call = SocialPlusCall(route: route, request: request)
        var answer: Answer
        do {
            answer = try networks[name].answer(call, surroundings)
        } catch {
            answer = error.answer(date: surroundings.now)
            if error == .userMissing { answer = answer.accusing("the access token has no userId") }
        }
        answer.violations += call.violations
        return answer
    }

    mutating func act(
        _ request: Request, _ name: String, _ action: String, _ surroundings: Surroundings
    ) throws(ControlFailure) -> Answer? {
        let now = surroundings.now
        switch (request.method, action) {
        case ("POST", "mint"):
            return try mint(request.body, name, now)
        case ("POST", "keys"):
            try addKey(request.body, name, surroundings.random)
            return Answer(status: 200, date: now) { networks[name].settings.write(&$0) }
        case ("GET", "users"): return Answer(status: 200, date: now) { networks[name].users.write(&$0) }
        case ("POST", "users"):
            var object = try ControlObject(body: request.body)
            guard let user = try object.text("userId") else { throw .missingKey("userId") }
            guard let standing = try object.word("state", SocialPlusUsers.Standing.self) else {
                throw .missingKey("state")
            }
            try object.finish()
            networks[name].users.set(user, standing)
            return Answer(status: 200, date: now) { networks[name].users.write(&$0) }
        case ("GET", "push"): return Answer(status: 200, date: now) { networks[name].push.write(&$0) }
        default: return nil
        }
    }

    /// Makes an access token with the first key of the customer, or with the first for the algorithm that is asked for.
    private func mint(_ body: [UInt8], _ name: String, _ now: Int64) throws(ControlFailure) -> Answer {
        let keys = networks[name].settings.customerKeys
        let order = try MintOrder(
            body, identity: ["userId", "deviceId"], algorithm: keys.first?.algorithm ?? .hs256, now: now)
        let key = keys.first { $0.algorithm == order.algorithm }
        return try order.answer(with: try key?.signing(), date: now)
    }

    /// Makes a key of the customer, so that nobody has to bring one.
    private mutating func addKey(
        _ body: [UInt8], _ name: String, _ random: @Sendable (Int) -> [UInt8]
    ) throws(ControlFailure) {
        var object = try ControlObject(body: body)
        guard let word = try object.text("alg") else { throw .missingKey("alg") }
        let id = try object.text("kid")
        try object.finish()
        let known = CustomerKey.algorithms
        guard let algorithm = known.first(where: { $0.rawValue == word }) else {
            throw .unknownWord(key: "alg", word: word, known: known.map(\.rawValue))
        }
        guard let key = CustomerKey(making: algorithm, id: id, random: random) else {
            throw .unusableKey(key: "alg")
        }
        try networks[name].settings.add(key)
    }

    mutating func configure(_ name: String, _ settings: ControlObject) throws(ControlFailure) {
        // Users and sessions stay: what is set while a client runs must not sign it out.
        networks[name].settings = try SocialPlusSettings(settings)
    }

    mutating func reset(_ name: String) {
        networks.reset(name)
    }

    func writeSettings(_ name: String, _ json: inout JSONWriter) {
        networks[name].settings.write(&json)
    }
}
