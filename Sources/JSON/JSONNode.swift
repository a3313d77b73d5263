/// What a JSON value is (RFC 8259 §3).
@usableFromInline
package enum JSONKind: UInt8, Sendable, BitwiseCopyable {
    case null, `false`, `true`, number, string, array, object
}

/// One value of a parsed text: where its bytes are, and where the next sibling's node is.
///
/// An object's children are key, value, key, value …; an array's are its elements. For strings the range lies between the quotes.
@usableFromInline
struct JSONNode: BitwiseCopyable {
    @usableFromInline var start: UInt32
    @usableFromInline var end: UInt32
    /// Index of the node that follows this value and all that is in it; while it is open, of what it stands in.
    @usableFromInline var next: UInt32
    @usableFromInline var kind: JSONKind
    @usableFromInline var hasEscapes: Bool
}

/// The nodes of a text, in room that is kept from one text to the next.
///
/// An array would ask at every write whether somebody else looks at it; this one has a single owner.
struct JSONNodeList: ~Copyable {
    private var base: UnsafeMutablePointer<JSONNode>
    private var capacity: Int
    private(set) var count = 0
    // A text of usual size has few nodes; what a rare large one needed is given back at the next one.
    private static let usualCapacity = 64
    private static let keptCapacity = 1024

    init() {
        capacity = Self.usualCapacity
        base = .allocate(capacity: capacity)
    }

    // Nodes are trivial: nothing to deinitialise.
    deinit { base.deallocate() }

    mutating func removeAll() {
        count = 0
        if capacity > Self.keptCapacity { reallocate(Self.usualCapacity) }
    }

    @inline(__always)
    mutating func append(_ node: JSONNode) {
        if count == capacity { reallocate(capacity * 2) }
        // `count` is below `capacity` here.
        base[count] = node
        count += 1
    }

    @inline(never)
    private mutating func reallocate(_ newCapacity: Int) {
        let larger = UnsafeMutablePointer<JSONNode>.allocate(capacity: newCapacity)
        larger.update(from: base, count: count)
        base.deallocate()
        base = larger
        capacity = newCapacity
    }

    @inline(__always)
    subscript(index: Int) -> JSONNode {
        get {
            precondition(index < count)
            return base[index]
        }
        set {
            precondition(index < count)
            base[index] = newValue
        }
    }

    /// The nodes so far; the list cannot change or end while somebody looks at them.
    var span: Span<JSONNode> {
        @_lifetime(borrow self)
        get {
            // `base` holds `count` nodes and is freed or moved by mutating calls and `deinit` only, which a borrow of `self` excludes.
            _overrideLifetime(UnsafeBufferPointer(start: base, count: count).span, borrowing: self)
        }
    }
}
