import JSON

/// A JSON value that owns what it holds, so that settings can be read from JSON and from a query by the same code.
indirect enum ControlValue: Sendable {
    case integer(Int64)
    /// A number with a fraction, or too large for the other.
    case double(Double)
    case text(String)
    case bool(Bool)
    case object(ControlObject)
    case array([ControlValue])
    case null

    /// Parses a body of the control API.
    static func parse(_ body: [UInt8]) throws(ControlFailure) -> ControlValue {
        var document = JSONDocument()
        do {
            return ControlValue(try document.parse(body.span))
        } catch {
            throw .json(error)
        }
    }

    private init(_ value: borrowing JSONValue) {
        if let integer = value.integer {
            self = .integer(integer)
        } else if let text = value.string {
            self = .text(text)
        } else if let bool = value.bool {
            self = .bool(bool)
        } else if value.kind == .object {
            var members: [(key: String, value: ControlValue)] = []
            var cursor = value.members()
            while let member = cursor.next() {
                members.append((member.key.string ?? "", ControlValue(member.value)))
            }
            self = .object(ControlObject(members))
        } else if value.kind == .array {
            var elements: [ControlValue] = []
            var cursor = value.elements()
            while let element = cursor.next() { elements.append(ControlValue(element)) }
            self = .array(elements)
        } else if let double = value.double {
            self = .double(double)
        } else {
            self = .null
        }
    }

    /// Writes it as it came; numbers in their shortest form.
    func write(_ json: inout JSONWriter) {
        switch self {
        case .integer(let integer): json.integer(integer)
        case .double(let double): json.double(double)
        case .text(let text): json.string(text)
        case .bool(let bool): json.bool(bool)
        case .null: json.null()
        case .object(let object): object.write(&json)
        case .array(let elements):
            json.beginArray()
            for element in elements { element.write(&json) }
            json.endArray()
        }
    }
}

/// The members of an object, read key by key; `finish` refuses what nobody asked for, so that a typing error never becomes a
/// default.
struct ControlObject: Sendable {
    private var members: [(key: String, value: ControlValue)]
    private var known: [String] = []

    init(_ members: [(key: String, value: ControlValue)]) {
        self.members = members
    }

    /// The object that a body holds; an empty body is an empty object.
    init(body: [UInt8]) throws(ControlFailure) {
        guard !body.isEmpty else {
            self.init([])
            return
        }
        guard case .object(let object) = try ControlValue.parse(body) else { throw .notAnObject }
        self = object
    }

    /// The names of all members, in order.
    var keys: [String] { members.map(\.key) }

    /// Writes all members in their order.
    func write(_ json: inout JSONWriter) {
        json.beginObject()
        writeMembers(&json)
        json.endObject()
    }

    /// Writes all members into an object that others share.
    func writeMembers(_ json: inout JSONWriter) {
        for member in members {
            json.key(named: member.key)
            member.value.write(&json)
        }
    }

    /// The member that a path leads to, `chat.id` say; nil when it is absent.
    subscript(path path: String) -> ControlValue? {
        let (first, rest) = Self.step(path)
        // A name with a dot in it comes before a descent.
        if let whole = members.first(where: { $0.key == path }) { return whole.value }
        guard let rest, case .object(let inner)? = members.first(where: { $0.key == first })?.value else {
            return nil
        }
        return inner[path: rest]
    }

    /// Sets the member that a path leads to, with the objects on the way; null takes it away.
    mutating func set(_ path: String, _ value: ControlValue) {
        let (first, rest) = Self.step(path)
        let index = members.firstIndex { $0.key == first }
        var value = value
        if let rest {
            var inner = ControlObject([])
            if let index, case .object(let object) = members[index].value { inner = object }
            inner.set(rest, value)
            value = .object(inner)
        }
        if case .null = value {
            if let index { members.remove(at: index) }
        } else if let index {
            members[index].value = value
        } else {
            members.append((first, value))
        }
    }

    /// Sets each member of `other`; null takes away.
    mutating func merge(_ other: ControlObject) {
        for member in other.members {
            members.removeAll { $0.key == member.key }
            if case .null = member.value { continue }
            members.append(member)
        }
    }

    private static func step(_ path: String) -> (first: String, rest: String?) {
        let parts = path.split(separator: ".", maxSplits: 1)
        return parts.count == 2 ? (String(parts[0]), String(parts[1])) : (path, nil)
    }

    /// An object; nil when it is absent.
    mutating func object(_ key: String) throws(ControlFailure) -> ControlObject? {
        switch value(key) {
        case nil: return nil
        case .object(let object): return object
        default: throw .wrongType(key: key, expected: "an object")
        }
    }

    /// An array of objects, at most 16.
    mutating func objects(_ key: String) throws(ControlFailure) -> [ControlObject]? {
        guard let value = value(key) else { return nil }
        guard case .array(let elements) = value else {
            throw .wrongType(key: key, expected: "an array of objects")
        }
        guard elements.count <= 16 else { throw .tooMany(key: key, highest: 16) }
        var objects: [ControlObject] = []
        for element in elements {
            guard case .object(let object) = element else {
                throw .wrongType(key: key, expected: "an array of objects")
            }
            objects.append(object)
        }
        return objects
    }

    /// The value of a member; nil when it is absent.
    mutating func value(_ key: String) -> ControlValue? {
        if !known.contains(key) { known.append(key) }
        return members.first { $0.key == key }?.value
    }

    /// A whole number within `range`; from a query it comes as a text.
    mutating func integer(_ key: String, _ range: ClosedRange<Int64>) throws(ControlFailure) -> Int64? {
        let number: Int64
        switch value(key) {
        case nil: return nil
        case .integer(let integer): number = integer
        case .text(let text):
            guard let integer = Int64(text) else { fallthrough }
            number = integer
        default: throw .wrongType(key: key, expected: "a whole number")
        }
        guard range.contains(number) else {
            throw .outOfRange(key: key, lowest: range.lowerBound, highest: range.upperBound)
        }
        return number
    }

    mutating func text(_ key: String) throws(ControlFailure) -> String? {
        switch value(key) {
        case nil: return nil
        case .text(let text): return text
        default: throw .wrongType(key: key, expected: "a string")
        }
    }

    /// A text that goes into a header field: visible ASCII and spaces only (RFC 9110 §5.5).
    mutating func headerText(_ key: String) throws(ControlFailure) -> String? {
        guard let text = try text(key) else { return nil }
        guard HeaderText.isValue(text) else { throw .invalidHeader(key: key) }
        return text
    }

    mutating func bool(_ key: String) throws(ControlFailure) -> Bool? {
        switch value(key) {
        case nil: return nil
        case .bool(let bool): return bool
        case .text("true"): return true
        case .text("false"): return false
        default: throw .wrongType(key: key, expected: "true or false")
        }
    }

    /// One of the words of an enumeration.
    mutating func word<Word: RawRepresentable<String> & CaseIterable>(
        _ key: String, _: Word.Type
    ) throws(ControlFailure) -> Word? {
        guard let text = try text(key) else { return nil }
        guard let word = Word(rawValue: text) else {
            throw .unknownWord(key: key, word: text, known: Word.allCases.map(\.rawValue))
        }
        return word
    }

    /// An object of texts, at most 64.
    mutating func texts(_ key: String) throws(ControlFailure) -> [Request.Pair]? {
        guard let value = value(key) else { return nil }
        guard case .object(let object) = value else {
            throw .wrongType(key: key, expected: "an object of strings")
        }
        guard object.members.count <= 64 else { throw .tooMany(key: key, highest: 64) }
        var pairs: [Request.Pair] = []
        for member in object.members {
            guard case .text(let text) = member.value else {
                throw .wrongType(key: "\(key).\(member.key)", expected: "a string")
            }
            pairs.append((member.key, text))
        }
        return pairs
    }

    /// An object of header fields, at most 64.
    mutating func headerFields(_ key: String) throws(ControlFailure) -> [Request.Pair]? {
        guard let fields = try texts(key) else { return nil }
        guard fields.allSatisfy({ HeaderText.isName($0.name) && HeaderText.isValue($0.value) }) else {
            throw .invalidHeader(key: key)
        }
        return fields
    }

    /// Refuses keys that were not read.
    func finish() throws(ControlFailure) {
        if let stray = members.first(where: { !known.contains($0.key) }) {
            throw .unknownKey(stray.key, known: known)
        }
    }
}

/// What may stand in a header section.
enum HeaderText {
    /// A token of RFC 9110 §5.6.2.
    static func isName(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }

    /// Visible ASCII, spaces between, at most 8 KiB.
    static func isValue(_ text: String) -> Bool {
        text.utf8.count <= 8192 && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }
}
