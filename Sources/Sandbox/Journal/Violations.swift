import JSON

/// What clients did that no client may do: a header field where it does not belong, a call that must never be made.
///
/// A stand-in refuses what the real server would refuse; what the real server would silently bear, and is still wrong, stands here.
struct Violations: Sendable {
    private struct Violation: Sendable {
        let owner: Owner
        let route: String
        let method: String
        let path: String
        let text: String
    }

    private var violations: [Violation] = []
    private var dropped: Int64 = 0

    // The first ones tell what is wrong; a client in a loop must not eat the machine.
    private static let limit = 1000

    mutating func record(_ texts: [String], _ request: Request, owner: Owner, route: String) {
        for text in texts {
            guard violations.count < Self.limit else {
                dropped += 1
                continue
            }
            violations.append(
                Violation(
                    owner: owner, route: route, method: request.method, path: request.path, text: text))
        }
    }

    /// Forgets those of one owner, or of everybody.
    mutating func clear(_ owner: Owner?) {
        guard let owner else {
            self = Violations()
            return
        }
        violations.removeAll { $0.owner == owner }
    }

    func write(_ owner: Owner?, _ json: inout JSONWriter) {
        json.beginObject()
        json.key("dropped")
        json.integer(dropped)
        json.key("violations")
        json.beginArray()
        for violation in violations where owner == nil || violation.owner == owner {
            json.beginObject()
            json.key(named: violation.owner.noun)
            json.string(violation.owner.name)
            json.key("route")
            json.string(violation.route)
            json.key("method")
            json.string(violation.method)
            json.key("path")
            json.string(violation.path)
            json.key("violation")
            json.string(violation.text)
            json.endObject()
        }
        json.endArray()
        json.endObject()
    }
}
