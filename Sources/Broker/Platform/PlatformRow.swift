import CredentialCore
import JSON
import Providers
import Secrets

/// The row of an account: the state of its platform, a device of its own, and its chats at other destinations.
///
///     {"destination": "provider=…", "state": {…}, "bound": generation, "forgotten": generation, "device": "UUID",
///      "earlier": [{"destination": "provider=…", "state": {…}, "bound": generation}, …]}
///
/// A state counts only at the destination that it is of: another bot knows nothing of this one's chat. A device outlives that, and
/// a chat waits for its destination to be configured again, as a parked credential does.
struct PlatformRow {
    /// What is true at one destination.
    struct Stay {
        let destination: Destination
        var state: SecretBytes?
        var bound: Generation?
        /// Whose deletion was no sign-out.
        var forgotten: Generation?

        // Sessions and identities belong to the credential, of which an account has one.
        fileprivate var isChat: Bool { state.flatMap { KindlyChat(json: $0) } != nil }
    }

    private(set) var stay: Stay
    let device: String?
    /// The destination that was left last comes first.
    private(set) var earlier: [Stay]

    // With the one that is configured an account has a chat at four destinations.
    private static let earlierLimit = 3

    init(stay: Stay, device: String?, earlier: [Stay]) {
        self.stay = stay
        self.device = device
        self.earlier = earlier
    }

    /// Goes to another destination: what is there counts now, and a chat stays behind.
    mutating func move(to destination: Destination) {
        guard stay.destination != destination else { return }
        if stay.isChat { earlier.insert(stay, at: 0) }
        let known = earlier.first { $0.destination == destination }
        earlier.removeAll { $0.destination == destination }
        earlier = Array(earlier.prefix(Self.earlierLimit))
        stay = known ?? Stay(destination: destination)
    }

    // MARK: The stored form

    /// Reads a row; nil for what is none.
    ///
    /// What is none among the earlier ones is passed over.
    init?(_ content: SecretBytes) {
        let row = content.withSpan { bytes -> PlatformRow? in
            var document = JSONDocument(limits: JSONLimits(length: 1 << 20, depth: 16))
            guard let root = try? document.parse(bytes), root.kind == .object, let stay = Stay(root) else {
                return nil
            }
            var earlier: [Stay] = []
            if let list = root.member("earlier"), list.kind == .array {
                var elements = list.elements()
                while let element = elements.next(), earlier.count < Self.earlierLimit {
                    if let stay = Stay(element) { earlier.append(stay) }
                }
            }
            return PlatformRow(stay: stay, device: root.member("device")?.string, earlier: earlier)
        }
        guard let row else { return nil }
        self = row
    }

    func json() -> SecretBytes {
        var writer = JSONWriter(capacity: 512)
        writer.beginObject()
        stay.write(to: &writer)
        if let device {
            writer.key("device")
            writer.string(device)
        }
        if !earlier.isEmpty {
            writer.key("earlier")
            writer.beginArray()
            for stay in earlier {
                writer.beginObject()
                stay.write(to: &writer)
                writer.endObject()
            }
            writer.endArray()
        }
        writer.endObject()
        return writer.finish().finish()
    }
}

extension PlatformRow.Stay {
    fileprivate init?(_ object: borrowing JSONValue) {
        guard object.kind == .object, let destination = object.member("destination")?.string else {
            return nil
        }
        self.init(destination: Destination(destination))
        if let state = object.member("state"), state.kind == .object {
            self.state = SecretBytes(copying: state.raw)
        }
        bound = object.member("bound")?.integer.map { Generation($0) }
        forgotten = object.member("forgotten")?.integer.map { Generation($0) }
    }

    fileprivate func write(to writer: inout JSONWriter) {
        writer.key("destination")
        writer.string(destination.text)
        if let state {
            writer.key("state")
            state.withSpan { writer.raw($0) }
        }
        for (name, generation) in [("bound", bound), ("forgotten", forgotten)] {
            guard let generation else { continue }
            writer.key(named: name)
            writer.integer(generation.number)
        }
    }
}
