/// Reads the members of one table: each key is asked for by name, and what nobody asked for is a fault.
package struct DefinitionTable {
    /// The keys from the root, with dots between them; empty for the root.
    package let path: String
    /// Where it stands; nil where the text has no lines.
    package let position: TextPosition?
    /// All that was written in it, in its order.
    package let members: [DefinitionNode.Member]
    /// Where faults go.
    package let faults: DefinitionFaults
    private var known: [String] = []

    /// A member that was asked for, with its path.
    package struct Entry {
        /// What the key is set to.
        package let node: DefinitionNode
        /// The keys from the root, with dots between them; empty for the root.
        package let path: String
        /// Where it stands; nil where the text has no lines.
        package let position: TextPosition?
    }

    /// Nil, and a fault, when `node` is no table.
    package init?(_ node: DefinitionNode, path: String, faults: DefinitionFaults) {
        guard case .table(let members) = node.value else {
            faults.add(path, node.position, .wrongType(expected: .table, found: node.type))
            return nil
        }
        self.path = path
        position = node.position
        self.members = members
        self.faults = faults
    }

    /// The path of a member: bare keys as they are, others escaped, none longer than 64 characters.
    package func path(of key: String) -> String {
        let isBare =
            !key.isEmpty && key.utf8.count <= 64
            && key.utf8.allSatisfy {
                $0 &- 48 < 10 || ($0 | 0x20) &- 97 < 26 || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
            }
        return (path.isEmpty ? "" : path + ".") + (isBare ? key : Self.quoted(key))
    }

    private static func quoted(_ key: String) -> String {
        var text = "\""
        for (count, scalar) in key.unicodeScalars.enumerated() {
            if count == 64 {
                text += "..."
                break
            }
            if scalar.value >= 0x20, scalar.value < 0x7F, scalar != "\"", scalar != "\\" {
                text.unicodeScalars.append(scalar)
            } else {
                text += "\\u{" + String(scalar.value, radix: 16) + "}"
            }
        }
        return text + "\""
    }

    /// The member `key`, if it is there.
    package mutating func entry(_ key: String) -> Entry? {
        known.append(key)
        guard let member = members.first(where: { $0.key == key }) else { return nil }
        return Entry(node: member.node, path: path(of: key), position: member.position)
    }

    /// The member `key`; a fault when it is not there.
    package mutating func required(_ key: String) -> Entry? {
        if let entry = entry(key) { return entry }
        faults.add(path(of: key), position, .missing)
        return nil
    }

    /// Refuses `key`, which a later version may understand.
    package mutating func refuse(_ key: String, _ problem: DefinitionProblem) {
        if let entry = entry(key) { faults.add(entry.path, entry.position, problem) }
    }

    /// A member that is a table.
    package mutating func table(_ key: String) -> DefinitionTable? {
        guard let entry = entry(key) else { return nil }
        return DefinitionTable(entry.node, path: entry.path, faults: faults)
    }

    /// A member that is a text.
    package mutating func string(_ key: String) -> String? {
        entry(key).flatMap(string)
    }

    /// A member that is true or false.
    package mutating func boolean(_ key: String) -> Bool? {
        guard let entry = entry(key) else { return nil }
        if case .boolean(let value) = entry.node.value { return value }
        fault(entry, expected: .boolean)
        return nil
    }

    /// An integer in `range`.
    package mutating func integer(_ key: String, in range: ClosedRange<Int64>) -> Int64? {
        guard let entry = entry(key) else { return nil }
        guard case .integer(let value) = entry.node.value else {
            fault(entry, expected: .integer)
            return nil
        }
        guard range.contains(value) else {
            fault(entry, .outOfRange(from: range.lowerBound, to: range.upperBound))
            return nil
        }
        return value
    }

    /// A length of time in seconds, fractions down to a millisecond allowed, in `range` seconds.
    package mutating func seconds(_ key: String, in range: ClosedRange<Int64>) -> Milliseconds? {
        guard let entry = entry(key) else { return nil }
        let seconds: Double
        switch entry.node.value {
        case .integer(let value): seconds = Double(value)
        case .real(let value): seconds = value
        default:
            fault(entry, expected: .number)
            return nil
        }
        // NaN is in no range.
        guard seconds >= Double(range.lowerBound), seconds <= Double(range.upperBound),
            let count = Int64(exactly: (seconds * 1000).rounded())
        else {
            fault(entry, .outOfRange(from: range.lowerBound, to: range.upperBound))
            return nil
        }
        return Milliseconds(count)
    }

    /// A part of a life, from 0.1 to 1.
    package mutating func fraction(_ key: String) -> EarlyFraction? {
        guard let entry = entry(key) else { return nil }
        let number: Double
        switch entry.node.value {
        case .integer(let value): number = Double(value)
        case .real(let value): number = value
        default:
            fault(entry, expected: .number)
            return nil
        }
        if let fraction = EarlyFraction(number) { return fraction }
        fault(entry, .fraction)
        return nil
    }

    /// One of the raw values of `Value`.
    package mutating func choice<Value: RawRepresentable & CaseIterable>(
        _ key: String, _ type: Value.Type
    ) -> Value? where Value.RawValue == String {
        guard let entry = entry(key), let text = string(entry) else { return nil }
        if let value = Value(rawValue: text) { return value }
        fault(entry, .notOneOf(Value.allCases.map(\.rawValue)))
        return nil
    }

    /// A list of at most `limit` whole numbers; nil when it is not there or no list.
    package mutating func integers(_ key: String, in range: ClosedRange<Int64>, limit: Int) -> [Int64]? {
        guard let entry = entry(key) else { return nil }
        guard case .array(let elements) = entry.node.value else {
            fault(entry, expected: .list)
            return nil
        }
        guard elements.count <= limit else {
            fault(entry, .tooMany(limit: limit))
            return nil
        }
        var numbers: [Int64] = []
        for (index, element) in elements.enumerated() {
            let path = "\(entry.path)[\(index)]"
            if case .integer(let number) = element.value {
                if !range.contains(number) {
                    faults.add(
                        path, element.position, .outOfRange(from: range.lowerBound, to: range.upperBound))
                }
                numbers.append(number)
            } else {
                faults.add(path, element.position, .wrongType(expected: .integer, found: element.type))
            }
        }
        return numbers
    }

    /// The text of an entry; a fault when it is no text.
    package func string(_ entry: Entry) -> String? {
        if case .string(let text) = entry.node.value { return text }
        fault(entry, expected: .string)
        return nil
    }

    /// Reports that an entry is of another type.
    package func fault(_ entry: Entry, expected: DefinitionType) {
        faults.add(entry.path, entry.node.position, .wrongType(expected: expected, found: entry.node.type))
    }

    /// Reports what is wrong with an entry's value.
    package func fault(_ entry: Entry, _ problem: DefinitionProblem) {
        faults.add(entry.path, entry.node.position, problem)
    }

    /// Reports the members that nobody asked for.
    package func finish() {
        for member in members where !known.contains(member.key) {
            faults.add(
                path(of: member.key), member.position,
                .unknownKey(nearest: NearestKey.find(member.key, among: known)))
        }
    }
}
