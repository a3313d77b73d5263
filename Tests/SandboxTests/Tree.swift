import JSON

/// JSON as a test likes to compare it.
///
/// Numbers are kept as they were written.
indirect enum Tree: Equatable {
    case number(String)
    case text(String)
    case bool(Bool)
    case null
    case array([Tree])
    case object([String: Tree])

    init(_ bytes: [UInt8]) throws(JSONFailure) {
        var document = JSONDocument(limits: JSONLimits(length: 64 << 20))
        self = Self(try document.parse(bytes.span))
    }

    private init(_ value: borrowing JSONValue) {
        switch value.kind {
        case .string: self = .text(value.string ?? "")
        case .true: self = .bool(true)
        case .false: self = .bool(false)
        case .null: self = .null
        case .number:
            let raw = value.raw
            var digits: [UInt8] = []
            for index in raw.indices { digits.append(raw[index]) }
            self = .number(String(decoding: digits, as: UTF8.self))
        case .array:
            var elements: [Tree] = []
            var cursor = value.elements()
            while let element = cursor.next() { elements.append(Tree(element)) }
            self = .array(elements)
        case .object:
            var members: [String: Tree] = [:]
            var cursor = value.members()
            while let member = cursor.next() { members[member.key.string ?? ""] = Tree(member.value) }
            self = .object(members)
        }
    }

    subscript(_ name: String) -> Tree? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }

    subscript(_ index: Int) -> Tree? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    var keys: [String] {
        guard case .object(let members) = self else { return [] }
        return members.keys.sorted()
    }

    var elements: [Tree] {
        guard case .array(let elements) = self else { return [] }
        return elements
    }

    var text: String? {
        guard case .text(let text) = self else { return nil }
        return text
    }

    var integer: Int64? {
        guard case .number(let digits) = self else { return nil }
        return Int64(digits)
    }
}
