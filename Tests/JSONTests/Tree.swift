import JSON

/// A text's values, copied out of the views, so that an expectation can hold them.
indirect enum Tree: Equatable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([Tree])
    case object([Member])

    struct Member: Equatable {
        let name: String
        let value: Tree
    }

    init(_ value: JSONValue) {
        switch value.kind {
        case .null: self = .null
        case .true, .false: self = .bool(value.kind == .true)
        case .number:
            self = .number(value.raw.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) })
        case .string: self = .string(value.string ?? "")
        case .array:
            var trees: [Tree] = []
            var elements = value.elements()
            while let element = elements.next() { trees.append(Tree(element)) }
            self = .array(trees)
        case .object:
            var trees: [Member] = []
            var members = value.members()
            while let member = members.next() {
                trees.append(Member(name: member.key.string ?? "", value: Tree(member.value)))
            }
            self = .object(trees)
        }
    }
}

/// What the reader says to `bytes`.
func read(_ bytes: [UInt8], limits: JSONLimits = JSONLimits()) -> Result<Tree, JSONFailure> {
    var document = JSONDocument(limits: limits)
    do throws(JSONFailure) {
        return .success(Tree(try document.parse(bytes.span)))
    } catch {
        return .failure(error)
    }
}

func read(_ text: String, limits: JSONLimits = JSONLimits()) -> Result<Tree, JSONFailure> {
    read(Array(text.utf8), limits: limits)
}

/// What `ask` says of the root of `text`; nil too when `text` is no JSON.
func ask<Answer>(_ text: String, _ ask: (JSONValue) -> Answer?) -> Answer? {
    let bytes = Array(text.utf8)
    var document = JSONDocument()
    guard let root = try? document.parse(bytes.span) else { return nil }
    return ask(root)
}
