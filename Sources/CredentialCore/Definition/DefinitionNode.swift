package import JSON

/// A description as it was written, be it TOML or JSON: values, and where they stand.
package struct DefinitionNode: Sendable {
    /// What was written.
    package let value: Value
    /// Nil where the text has no lines, as in a message.
    package let position: TextPosition?

    /// A value of TOML or JSON.
    package indirect enum Value: Sendable {
        case string(String)
        case integer(Int64)
        case real(Double)
        case boolean(Bool)
        case moment(WallTime)
        /// A date or time without an offset: no point in time.
        case localTime
        case null
        case array([DefinitionNode])
        case table([Member])
    }

    /// A key of a table, and what stands behind it.
    package struct Member: Sendable {
        /// As it was written, unescaped.
        package let key: String
        /// Where the key stands.
        package let position: TextPosition?
        /// What the key is set to.
        package let node: DefinitionNode

        /// A member of a table.
        package init(key: String, position: TextPosition?, node: DefinitionNode) {
            self.key = key
            self.position = position
            self.node = node
        }
    }

    /// A value at its place.
    package init(value: Value, position: TextPosition?) {
        self.value = value
        self.position = position
    }

    /// The same tree as `json`, which has no lines.
    package init(_ json: borrowing JSONValue) {
        position = nil
        switch json.kind {
        case .null: value = .null
        case .true: value = .boolean(true)
        case .false: value = .boolean(false)
        case .string: value = .string(json.string ?? "")
        case .number:
            if let integer = json.integer {
                value = .integer(integer)
            } else {
                value = .real(json.double ?? .nan)
            }
        case .array:
            var elements: [DefinitionNode] = []
            var cursor = json.elements()
            while let element = cursor.next() { elements.append(DefinitionNode(element)) }
            value = .array(elements)
        case .object:
            var members: [Member] = []
            var cursor = json.members()
            while let member = cursor.next() {
                members.append(
                    Member(
                        key: member.key.string ?? "", position: nil, node: DefinitionNode(member.value)))
            }
            value = .table(members)
        }
    }

    /// What kind of value it is.
    package var type: DefinitionType {
        switch value {
        case .string: .string
        case .integer: .integer
        case .real: .number
        case .boolean: .boolean
        case .moment: .moment
        case .localTime: .localTime
        case .null: .null
        case .array: .list
        case .table: .table
        }
    }
}

/// A place in a text; lines and columns (in characters) count from 1, and a column of 0 is not known.
package struct TextPosition: Hashable, Sendable {
    /// Counts from 1.
    package let line: Int
    /// Counts characters from 1; 0 where it is not known.
    package let column: Int

    /// A place; `column` is 0 where it is not known.
    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }
}

/// What a value is, as people call it.
package enum DefinitionType: String, Sendable {
    case string = "a text"
    case integer = "an integer"
    case number = "a number"
    case boolean = "true or false"
    case moment = "a date with time and offset"
    case localTime = "a date or time without offset"
    case null
    case list = "a list"
    case table = "a table"
    /// A text, or an integer.
    case nameOrNumber = "a name or a number"
    /// A table that says where a secret is.
    case reference = "a reference to a secret"
}
