/// A member of an object: its name, which is a string, and its value.
@usableFromInline
package struct JSONMember: ~Escapable, BitwiseCopyable {
    /// The name, a string.
    @usableFromInline package let key: JSONValue
    /// The value, of any kind.
    @usableFromInline package let value: JSONValue

    @inlinable
    @_lifetime(copy key, copy value)
    init(key: JSONValue, value: JSONValue) {
        self.key = key
        self.value = value
    }
}

/// Walks the members of an object.
@usableFromInline
package struct JSONMembers: ~Escapable, BitwiseCopyable {
    @usableFromInline let parent: JSONValue
    @usableFromInline var cursor: Int
    @usableFromInline let end: Int

    @inlinable
    @_lifetime(copy parent)
    init(parent: JSONValue, isObject: Bool) {
        self.parent = parent
        cursor = parent.index + 1
        end = isObject ? Int(parent.nodes[parent.index].next) : parent.index + 1
    }

    /// The next member; nil behind the last.
    @inlinable
    @_lifetime(copy self)
    package mutating func next() -> JSONMember? {
        guard cursor < end else { return nil }
        let key = JSONValue(bytes: parent.bytes, nodes: parent.nodes, index: cursor)
        let value = JSONValue(bytes: parent.bytes, nodes: parent.nodes, index: cursor + 1)
        cursor = Int(parent.nodes[cursor + 1].next)
        return JSONMember(key: key, value: value)
    }
}

/// Walks the elements of an array.
@usableFromInline
package struct JSONElements: ~Escapable, BitwiseCopyable {
    @usableFromInline let parent: JSONValue
    @usableFromInline var cursor: Int
    @usableFromInline let end: Int

    @inlinable
    @_lifetime(copy parent)
    init(parent: JSONValue, isArray: Bool) {
        self.parent = parent
        cursor = parent.index + 1
        end = isArray ? Int(parent.nodes[parent.index].next) : parent.index + 1
    }

    /// The next element; nil behind the last.
    @inlinable
    @_lifetime(copy self)
    package mutating func next() -> JSONValue? {
        guard cursor < end else { return nil }
        let value = JSONValue(bytes: parent.bytes, nodes: parent.nodes, index: cursor)
        cursor = Int(parent.nodes[cursor].next)
        return value
    }
}
