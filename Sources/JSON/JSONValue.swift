package import Secrets

/// What is left of a value when its view is dropped: of use only with another view of the same text.
@usableFromInline
package struct JSONPlace: Sendable, BitwiseCopyable {
    @usableFromInline let index: Int

    @inlinable
    init(index: Int) {
        self.index = index
    }
}

/// A value of a checked text: a view that cannot outlive the bytes that it looks at.
///
/// Every accessor answers nil when the value is of another kind; none can fail otherwise.
@usableFromInline
package struct JSONValue: ~Escapable, BitwiseCopyable {
    @usableFromInline let bytes: Span<UInt8>
    @usableFromInline let nodes: Span<JSONNode>
    @usableFromInline let index: Int

    @inlinable
    @_lifetime(copy bytes, copy nodes)
    init(bytes: Span<UInt8>, nodes: Span<JSONNode>, index: Int) {
        self.bytes = bytes
        self.nodes = nodes
        self.index = index
    }

    /// Where the value stands among those of its text.
    @inlinable
    package var place: JSONPlace { JSONPlace(index: index) }

    /// The value of the same text whose place was taken before.
    @inlinable
    @_lifetime(copy self)
    package func value(at place: JSONPlace) -> JSONValue {
        JSONValue(bytes: bytes, nodes: nodes, index: place.index)
    }

    /// What the value is.
    @inlinable
    package var kind: JSONKind { nodes[index].kind }

    /// Whether the value is null, which is not the same as not being there.
    @inlinable
    package var isNull: Bool { kind == .null }

    /// The value of true or false.
    @inlinable
    package var bool: Bool? {
        switch kind {
        case .true: true
        case .false: false
        default: nil
        }
    }

    /// The bytes of the value as they stand in the text; for a string those between the quotes.
    @inlinable
    package var raw: Span<UInt8> {
        @_lifetime(copy self)
        get { bytes.extracting(Int(nodes[index].start)..<Int(nodes[index].end)) }
    }

    /// The bytes of the value as they stand in the text, quotes included: what an `id` is echoed with.
    @inlinable
    package var rawToken: Span<UInt8> {
        @_lifetime(copy self)
        get {
            let quote = kind == .string ? 1 : 0
            return bytes.extracting((Int(nodes[index].start) - quote)..<(Int(nodes[index].end) + quote))
        }
    }

    // MARK: Numbers

    /// A number that is written as an integer and fits.
    package var integer: Int64? {
        guard kind == .number else { return nil }
        let digits = raw
        var value: Int64 = 0
        let isNegative = digits[0] == UInt8(ascii: "-")
        for offset in (isNegative ? 1 : 0)..<digits.count {
            let digit = digits[offset] &- 48
            guard digit < 10 else { return nil }
            let (product, tooLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflow) =
                isNegative
                ? product.subtractingReportingOverflow(Int64(digit))
                : product.addingReportingOverflow(Int64(digit))
            guard !tooLarge, !overflow else { return nil }
            value = sum
        }
        return value
    }

    /// Any number, rounded to the nearest double; infinite when it is too large for one.
    package var double: Double? {
        guard kind == .number else { return nil }
        if let integer { return Double(integer) }
        return Double(text(raw))
    }

    // MARK: Strings

    /// The text of a string; for values that are not secrets.
    package var string: String? {
        guard kind == .string else { return nil }
        guard nodes[index].hasEscapes else { return text(raw) }
        var bytes = JSONUnescapedBytes(raw)
        var unescaped: [UInt8] = []
        while let byte = bytes.next() { unescaped.append(byte) }
        return String(decoding: unescaped, as: UTF8.self)
    }

    /// The UTF-8 of a string, straight into memory that is wiped.
    package var secret: SecretBytes? {
        guard kind == .string else { return nil }
        guard nodes[index].hasEscapes else { return SecretBytes(copying: raw) }
        var buffer = SecretBuffer(capacity: raw.count)
        var bytes = JSONUnescapedBytes(raw)
        while let byte = bytes.next() { buffer.append(byte) }
        return buffer.finish()
    }

    /// Whether this is the string `text`.
    @inlinable
    @inline(__always)
    package func isString(_ text: StaticString) -> Bool {
        guard kind == .string else { return false }
        return nodes[index].hasEscapes ? unescapedIs(text) : rawIs(text)
    }

    @inlinable
    @inline(__always)
    func rawIs(_ text: StaticString) -> Bool {
        let node = nodes[index]
        guard Int(node.end - node.start) == text.utf8CodeUnitCount else { return false }
        for offset in 0..<text.utf8CodeUnitCount
        where bytes[Int(node.start) + offset] != text.utf8Start[offset] {
            return false
        }
        return true
    }

    @usableFromInline
    func unescapedIs(_ text: StaticString) -> Bool {
        var bytes = JSONUnescapedBytes(raw)
        for offset in 0..<text.utf8CodeUnitCount where bytes.next() != text.utf8Start[offset] { return false }
        return bytes.next() == nil
    }

    /// Whether the string has escapes; without them `raw` is its text.
    @inlinable
    package var hasEscapes: Bool { nodes[index].hasEscapes }

    private func text(_ bytes: Span<UInt8>) -> String {
        bytes.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: Arrays and objects

    /// The member of an object with that name.
    @inlinable
    @_lifetime(copy self)
    package func member(_ name: StaticString) -> JSONValue? {
        var cursor = members()
        while let member = cursor.next() {
            if member.key.isString(name) { return member.value }
        }
        return nil
    }

    /// The member of an object with a name that is known only at run time.
    @inlinable
    @_lifetime(copy self)
    package func member(named name: String) -> JSONValue? {
        var cursor = members()
        while let member = cursor.next() {
            if member.key.isUTF8(name) { return member.value }
        }
        return nil
    }

    // Byte by byte: `String` takes names for equal that differ in their normalisation.
    @usableFromInline
    func isUTF8(_ text: String) -> Bool {
        var bytes = JSONUnescapedBytes(raw)
        for byte in text.utf8 where bytes.next() != byte { return false }
        return bytes.next() == nil
    }

    /// The members of an object in the order of the text; none for another kind.
    @inlinable
    @inline(__always)
    @_lifetime(copy self)
    package func members() -> JSONMembers {
        JSONMembers(parent: self, isObject: kind == .object)
    }

    /// The elements of an array in the order of the text; none for another kind.
    @inlinable
    @_lifetime(copy self)
    package func elements() -> JSONElements {
        JSONElements(parent: self, isArray: kind == .array)
    }

    /// How many elements an array, or members an object has.
    package var count: Int {
        var count = 0
        switch kind {
        case .array:
            var cursor = elements()
            while cursor.next() != nil { count += 1 }
        case .object:
            var cursor = members()
            while cursor.next() != nil { count += 1 }
        default: break
        }
        return count
    }
}
