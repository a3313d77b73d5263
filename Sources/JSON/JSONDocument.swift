/// A parser that remembers its room: one pass checks a text completely and lists its values.
///
/// Everything that can be wrong with a text is found before the first value is looked at, so that readers of values meet types and
/// never syntax. The list is reused from text to text: a request of usual size costs no allocation. It holds positions only;
/// the bytes stay with the caller.
package struct JSONDocument: ~Copyable {
    private var nodes = JSONNodeList()
    private let limits: JSONLimits

    /// A parser that refuses what is above `limits`.
    package init(limits: JSONLimits = JSONLimits()) {
        self.limits = limits
    }

    /// Parses `bytes` and lends the root of what it holds.
    ///
    /// - Throws: `JSONFailure`: the first fault, from left to right; a duplicate name counts where its object ends.
    @_lifetime(&self, copy bytes)
    package mutating func parse(_ bytes: Span<UInt8>) throws(JSONFailure) -> JSONValue {
        guard bytes.count <= limits.length else { throw .tooLong }
        nodes.removeAll()
        var scanner = JSONScanner(bytes: bytes)
        try read(&scanner)
        scanner.skipWhitespace()
        guard scanner.position == bytes.count else { throw .trailingBytes(offset: scanner.position) }
        return JSONValue(bytes: bytes, nodes: nodes.span, index: 0)
    }

    // Iterative, so that the depth of a text never is the depth of the stack: a container that is open keeps the way back in `next`.
    private mutating func read(_ scanner: inout JSONScanner) throws(JSONFailure) {
        var parent = 0
        var depth = 0
        while true {
            scanner.skipWhitespace()
            let start = scanner.position
            let first = try scanner.current()
            switch first {
            case UInt8(ascii: "\""):
                try appendString(&scanner)
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard depth < limits.depth else { throw .tooDeep(offset: start) }
                let isObject = first == UInt8(ascii: "{")
                scanner.position += 1
                let container = nodes.count
                append(isObject ? .object : .array, start, start)
                nodes[container].next = UInt32(truncatingIfNeeded: parent)
                parent = container
                depth += 1
                scanner.skipWhitespace()
                guard try scanner.current() == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                    if isObject { try readKey(&scanner) }
                    continue
                }
                scanner.position += 1
                parent = try close(parent, scanner)
                depth -= 1
            case UInt8(ascii: "t"):
                try scanner.literal("true")
                append(.true, start, scanner.position)
            case UInt8(ascii: "f"):
                try scanner.literal("false")
                append(.false, start, scanner.position)
            case UInt8(ascii: "n"):
                try scanner.literal("null")
                append(.null, start, scanner.position)
            default:
                try scanner.number()
                append(.number, start, scanner.position)
            }
            // A value is complete: go on to its next sibling, or close what it completes.
            while depth > 0 {
                scanner.skipWhitespace()
                let byte = try scanner.current()
                let isObject = nodes[parent].kind == .object
                if byte == UInt8(ascii: ",") {
                    scanner.position += 1
                    if isObject { try readKey(&scanner) }
                    break
                }
                guard byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                    throw .unexpectedByte(offset: scanner.position)
                }
                scanner.position += 1
                parent = try close(parent, scanner)
                depth -= 1
            }
            if depth == 0 { return }
        }
    }

    @inline(__always)
    private mutating func readKey(_ scanner: inout JSONScanner) throws(JSONFailure) {
        scanner.skipWhitespace()
        guard try scanner.current() == UInt8(ascii: "\"") else {
            throw .unexpectedByte(offset: scanner.position)
        }
        try appendString(&scanner)
        scanner.skipWhitespace()
        guard try scanner.current() == UInt8(ascii: ":") else {
            throw .unexpectedByte(offset: scanner.position)
        }
        scanner.position += 1
    }

    @inline(__always)
    private mutating func appendString(_ scanner: inout JSONScanner) throws(JSONFailure) {
        let start = scanner.position + 1
        let hasEscapes = try scanner.string()
        append(.string, start, scanner.position - 1, hasEscapes: hasEscapes)
    }

    @inline(__always)
    private mutating func append(_ kind: JSONKind, _ start: Int, _ end: Int, hasEscapes: Bool = false) {
        // `limits.length` is below 2^31, so every position and every count of nodes fits.
        nodes.append(
            JSONNode(
                start: UInt32(truncatingIfNeeded: start), end: UInt32(truncatingIfNeeded: end),
                next: UInt32(truncatingIfNeeded: nodes.count + 1), kind: kind, hasEscapes: hasEscapes))
    }

    /// Completes the container at `index`; answers with the one that it stands in.
    private mutating func close(_ index: Int, _ scanner: JSONScanner) throws(JSONFailure) -> Int {
        var node = nodes[index]
        let parent = Int(node.next)
        node.next = UInt32(truncatingIfNeeded: nodes.count)
        node.end = UInt32(truncatingIfNeeded: scanner.position)
        nodes[index] = node
        if node.kind == .object {
            try DuplicateKeys.check(objectAt: index, nodes: nodes.span, bytes: scanner.bytes)
        }
        return parent
    }
}
