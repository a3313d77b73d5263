import JSON

/// One configured instance of a stand-in: a customer backend called `support`, say.
struct Owner: Hashable, Sendable {
    /// The kind of stand-in, as paths and the journal call it.
    let noun: String
    let name: String

    /// A name as accounts have it: 1 to 64 of `A-Z a-z 0-9 . _ @ -`, not beginning with `.` or `-`.
    static func isName(_ text: String) -> Bool {
        guard (1...64).contains(text.utf8.count), !text.hasPrefix("."), !text.hasPrefix("-") else {
            return false
        }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "._@-".utf8.contains(byte)
            }
        }
    }
}

/// What a stand-in may use of the world.
struct Surroundings: Sendable {
    /// Unix milliseconds of the sandbox's clock, with its offset.
    let now: Int64
    let random: @Sendable (Int) -> [UInt8]
    /// The other stand-ins as they are at this moment: what one platform knows of another without a request.
    var others: [any StandIn] = []

    /// The stand-in of that kind; nil for the one that is asked itself.
    func other<Kind: StandIn>(_: Kind.Type) -> Kind? {
        for case let found as Kind in others { return found }
        return nil
    }
}

/// A local double of something on the network: it owns some paths and answers for them.
///
/// Called under the sandbox's lock: an answer is computed, never waited for. Waiting, and everything that is wrong with an
/// answer on purpose, is `Delivery`'s.
protocol StandIn: Sendable {
    /// The first path segment of its routes, of its control routes, and its key in the journal.
    static var noun: String { get }
    /// The routes that faults can name.
    static var routes: [String] { get }

    /// Whose path this is, and which of `routes`; nil for a path that it does not know.
    func place(of segments: [String]) -> (owner: Owner, route: String)?
    /// The route once the method is known too, for a stand-in of which one path serves several purposes.
    func route(_ route: String, of request: Request) -> String
    mutating func answer(_ request: Request, _ name: String, _ route: String, _ surroundings: Surroundings)
        -> Answer

    /// Replaces the settings of one instance; what is not given goes back to its default.
    mutating func configure(_ name: String, _ settings: ControlObject) throws(ControlFailure)
    mutating func reset(_ name: String)
    func writeSettings(_ name: String, _ json: inout JSONWriter)

    /// Answers `/_sandbox/NOUN/NAME/ACTION`, for what settings and faults are not enough; nil: there is no such action.
    mutating func act(_ request: Request, _ name: String, _ action: String, _ surroundings: Surroundings)
        throws(ControlFailure) -> Answer?
}

extension StandIn {
    func route(_ route: String, of request: Request) -> String { route }

    mutating func act(
        _ request: Request, _ name: String, _ action: String, _ surroundings: Surroundings
    ) throws(ControlFailure) -> Answer? { nil }
}

/// What a stand-in keeps for each name: there as soon as it is first spoken to.
struct Instances<Value: Sendable>: Sendable {
    private var values: [String: Value] = [:]
    private let initial: Value

    init(_ initial: Value) {
        self.initial = initial
    }

    subscript(name: String) -> Value {
        get { values[name] ?? initial }
        set { values[name] = newValue }
        _modify {
            let initial = initial
            yield &values[name, default: initial]
        }
    }

    /// Puts one back to how it began.
    mutating func reset(_ name: String) {
        values[name] = nil
    }
}
