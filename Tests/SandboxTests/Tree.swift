import CredentialCore
import JSON
import Secrets
import Testing

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

    /// The claims of a token in compact form, unverified.
    init(claimsOf token: String) throws {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        try #require(parts.count == 3)
        let decoded = Base64URL.decode(Array(parts[1].utf8).span)
        let payload = try #require(decoded)
        try self.init(payload.withSpan { span in span.indices.map { span[$0] } })
    }

    /// It as JSON again.
    var compact: String {
        switch self {
        case .number(let digits): digits
        case .text(let text): Tree.quoted(text)
        case .bool(let bool): bool ? "true" : "false"
        case .null: "null"
        case .array(let elements): "[" + elements.map(\.compact).joined(separator: ",") + "]"
        case .object(let members):
            "{"
                + members.sorted { $0.key < $1.key }.map { Tree.quoted($0.key) + ":" + $0.value.compact }
                .joined(separator: ",") + "}"
        }
    }

    /// A text as JSON has it.
    static func quoted(_ text: String) -> String {
        var json = JSONWriter()
        json.string(text)
        let bytes = json.finish().finish()
        return String(decoding: bytes.withSpan { span in span.indices.map { span[$0] } }, as: UTF8.self)
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
