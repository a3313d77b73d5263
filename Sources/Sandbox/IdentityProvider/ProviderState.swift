import CredentialCore
import JOSE
import JSON

/// What one identity provider remembers: its keys, and every token that it gave away.
struct ProviderState: Sendable {
    /// A token that was given away.
    struct Issued: Sendable {
        enum Kind: Sendable {
            case access, refresh, id
        }

        let kind: Kind
        let clientID: String
        let subject: String
        let scope: String?
        /// All that came from one grant share it: a refresh token that is used twice takes them all along.
        let family: Int
        /// Unix milliseconds; nil: it does not expire.
        let until: Int64?
        /// Of a refresh token: another one has taken its place.
        var isSpent = false
        var isRevoked = false
    }

    var settings = ProviderSettings()
    /// Those that sign, and older ones that are still published; the newest last.
    private(set) var keys: [SigningKey] = []
    private var made = 0
    var issued: [String: Issued] = [:]
    private(set) var families = 0
    /// `jti` of client assertions: each is good once.
    private var assertions: Set<String> = []
    var deviceCodes = DeviceCodes()

    // A provider that is asked for ever must not eat the machine: then it forgets what has ended.
    private static let limit = 20_000

    /// Another grant.
    mutating func newFamily() -> Int {
        families += 1
        return families
    }

    /// The key that signs with that algorithm; made when it is first asked for.
    ///
    /// - Throws: `notThere` when there is no library.
    mutating func key(
        _ algorithm: SignatureAlgorithm, _ name: String, _ clientID: String,
        _ random: @Sendable (Int) -> [UInt8]
    ) throws(ControlFailure) -> SigningKey {
        // HS* is signed with what both sides know (OpenID Connect Core 1.0 §10.1).
        if algorithm.isShared {
            let secret = settings.clients.first { $0.id == clientID }?.secret
            return try SigningKey(secret ?? "secret", for: algorithm, id: nil)
        }
        if let key = keys.last(where: { $0.algorithm == algorithm }) { return key }
        return try addKey(algorithm, name, random)
    }

    /// Makes a new key, which signs from now on; the old ones stay in the published set.
    @discardableResult
    mutating func addKey(
        _ algorithm: SignatureAlgorithm, _ name: String, _ random: @Sendable (Int) -> [UInt8]
    ) throws(ControlFailure) -> SigningKey {
        made += 1
        guard
            let key = SigningKey(
                making: algorithm, id: "\(name)-\(algorithm.rawValue)-\(made)", random: random)
        else { throw .notThere("key") }
        keys.append(key)
        return key
    }

    /// Takes the keys out of the published set that sign no longer.
    mutating func dropOldKeys() {
        keys = keys.filter { key in
            keys.last { $0.algorithm == key.algorithm }?.id == key.id
        }
    }

    mutating func remember(_ token: String, _ state: Issued, now: Int64) {
        if issued.count >= Self.limit {
            issued = issued.filter { $0.value.until.map { $0 > now } ?? !$0.value.isSpent }
            // All are alive: then it begins anew.
            if issued.count >= Self.limit { issued = [:] }
        }
        issued[token] = state
    }

    /// Notes that an assertion was seen; false: it was seen before.
    mutating func isFirst(_ assertion: String) -> Bool {
        if assertions.count >= Self.limit { assertions = [] }
        return assertions.insert(assertion).inserted
    }

    /// The token, if it is good at `now`.
    func live(_ token: String, now: Int64) -> Issued? {
        guard let state = issued[token], !state.isRevoked, state.until.map({ now < $0 }) ?? true else {
            return nil
        }
        return state
    }

    /// Ends all tokens of a grant.
    mutating func revoke(family: Int) {
        for (token, state) in issued where state.family == family { issued[token]?.isRevoked = true }
    }

    /// Ends one token; a refresh token takes along what came of it (RFC 7009 §2.1).
    mutating func revoke(_ token: String) {
        guard let state = issued[token] else { return }
        if state.kind == .refresh { revoke(family: state.family) } else { issued[token]?.isRevoked = true }
    }

    /// The published set of keys.
    func writeKeys(_ json: inout JSONWriter) {
        json.beginObject()
        json.key("keys")
        json.beginArray()
        for key in keys { key.writeJWK(&json) }
        json.endArray()
        json.endObject()
    }
}
