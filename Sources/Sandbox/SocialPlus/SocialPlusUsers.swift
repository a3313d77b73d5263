import JSON

/// The users of one network: what they are called, whether they may come in, how often they call, which devices are theirs.
struct SocialPlusUsers: Sendable {
    /// What an administrator has decided about somebody.
    enum Standing: String, CaseIterable, Sendable {
        case active
        /// Globally banned by the customer.
        case banned
        /// Shut out by the operators of the platform.
        case systemBanned = "system_banned"
        case deleted
    }

    private struct User: Sendable {
        var displayName: String
        var standing = Standing.active
        /// When the calls of the last five seconds came, Unix milliseconds.
        var calls: [Int64] = []
    }

    private var users: [String: User] = [:]
    /// Whom each device speaks for.
    private var devices: [String: String] = [:]

    private static let window: Int64 = 5000

    /// Counts a call of a user, who is created where there is none, and refuses it beyond `limit` within the window.
    mutating func count(_ id: String, now: Int64, limit: Int64) throws(SocialPlusFailure) {
        var user = users[id] ?? User(displayName: id)
        // What lies ahead was counted before somebody put the clock back.
        user.calls.removeAll { $0 <= now - Self.window || $0 > now }
        defer { users[id] = user }
        guard user.calls.count < limit else { throw .rateLimited }
        user.calls.append(now)
    }

    /// Refuses a user who may not come in.
    func check(_ id: String) throws(SocialPlusFailure) {
        switch users[id]?.standing {
        case nil, .active: return
        case .banned: throw .banned
        case .systemBanned: throw .unauthorized
        case .deleted: throw .notFound
        }
    }

    mutating func rename(_ id: String, _ name: String) { users[id]?.displayName = name }

    func displayName(_ id: String) -> String { users[id]?.displayName ?? id }

    mutating func set(_ id: String, _ standing: Standing) {
        users[id, default: User(displayName: id)].standing = standing
    }

    /// Whom a device speaks for; nil when nobody has signed in on it.
    func user(of device: String) -> String? { devices[device] }

    mutating func pair(_ device: String, with user: String) { devices[device] = user }

    func write(_ json: inout JSONWriter) {
        json.beginObject()
        json.key("users")
        json.beginArray()
        for (id, user) in users.sorted(by: { $0.key < $1.key }) {
            json.beginObject()
            json.key("userId")
            json.string(id)
            json.key("displayName")
            json.string(user.displayName)
            json.key("state")
            json.string(user.standing.rawValue)
            json.endObject()
        }
        json.endArray()
        json.endObject()
    }
}
