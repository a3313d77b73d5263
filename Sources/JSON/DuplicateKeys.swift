/// Finds a name that an object has twice, compared after unescaping.
///
/// Readers that disagree on which of two members counts are how one program checks what another one uses. Few names are
/// compared pairwise; many go through a table, so that no object costs more than its length.
enum DuplicateKeys {
    private static let pairwise = 8

    @inline(__always)
    static func check(objectAt index: Int, nodes: Span<JSONNode>, bytes: Span<UInt8>) throws(JSONFailure) {
        let end = Int(nodes[index].next)
        var count = 0
        var key = index + 1
        while key < end {
            count += 1
            if count > pairwise { return try checkMany(objectAt: index, nodes: nodes, bytes: bytes) }
            let name = nodes[key]
            var earlier = index + 1
            while earlier < key {
                if isSame(nodes[earlier], name, bytes) {
                    throw .duplicateKey(offset: Int(name.start) - 1)
                }
                earlier = Int(nodes[earlier + 1].next)
            }
            key = Int(nodes[key + 1].next)
        }
    }

    @inline(never)
    private static func checkMany(
        objectAt index: Int, nodes: Span<JSONNode>, bytes: Span<UInt8>
    ) throws(JSONFailure) {
        let end = Int(nodes[index].next)
        var count = 0
        var key = index + 1
        while key < end {
            count += 1
            key = Int(nodes[key + 1].next)
        }
        // Open addressing, at most half full; 0 is an empty place, since no name is the first node of a text.
        var size = 32
        while size < 2 * count { size *= 2 }
        var table = [UInt32](repeating: 0, count: size)
        var places = table.mutableSpan
        key = index + 1
        while key < end {
            let name = nodes[key]
            var place = hash(name, bytes) & (size - 1)
            while places[place] != 0 {
                if isSame(nodes[Int(places[place])], name, bytes) {
                    throw .duplicateKey(offset: Int(name.start) - 1)
                }
                place = (place + 1) & (size - 1)
            }
            places[place] = UInt32(truncatingIfNeeded: key)
            key = Int(nodes[key + 1].next)
        }
    }

    // The hasher is seeded for each process: nobody outside can choose names that collide.
    private static func hash(_ name: JSONNode, _ bytes: Span<UInt8>) -> Int {
        var hasher = Hasher()
        let raw = raw(name, bytes)
        if name.hasEscapes {
            var text = JSONUnescapedBytes(raw)
            var unescaped: [UInt8] = []
            while let byte = text.next() { unescaped.append(byte) }
            unescaped.withUnsafeBytes { hasher.combine(bytes: $0) }
        } else {
            raw.withUnsafeBytes { hasher.combine(bytes: $0) }
        }
        return hasher.finalize()
    }

    @inline(__always)
    @_lifetime(copy bytes)
    private static func raw(_ node: JSONNode, _ bytes: Span<UInt8>) -> Span<UInt8> {
        bytes.extracting(Int(node.start)..<Int(node.end))
    }

    @inline(__always)
    private static func isSame(_ left: JSONNode, _ right: JSONNode, _ bytes: Span<UInt8>) -> Bool {
        guard !left.hasEscapes, !right.hasEscapes else { return isSameUnescaped(left, right, bytes) }
        guard left.end - left.start == right.end - right.start else { return false }
        for offset in 0..<Int(left.end - left.start)
        where bytes[Int(left.start) + offset] != bytes[Int(right.start) + offset] {
            return false
        }
        return true
    }

    @inline(never)
    private static func isSameUnescaped(_ left: JSONNode, _ right: JSONNode, _ bytes: Span<UInt8>) -> Bool {
        var first = JSONUnescapedBytes(raw(left, bytes))
        var second = JSONUnescapedBytes(raw(right, bytes))
        while true {
            let byte = first.next()
            guard byte == second.next() else { return false }
            if byte == nil { return true }
        }
    }
}
