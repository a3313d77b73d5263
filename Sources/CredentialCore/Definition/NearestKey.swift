/// Finds what somebody meant who mistyped a key.
package enum NearestKey {
    // A key that was written is compared up to this length: no known key is nearly as long, and the work is bounded.
    private static let longest = 40

    /// The key with the least edits to `text` (insertions, deletions, substitutions and swaps of neighbours); nil when a third
    /// of the letters would have to change.
    ///
    /// Of two that are equally near, the first.
    package static func find(_ text: String, among keys: [String]) -> String? {
        let written = Array(text.lowercased().utf8)
        guard !written.isEmpty, written.count <= longest else { return nil }
        var best: (key: String, distance: Int)?
        for key in keys {
            let distance = distance(written, Array(key.utf8))
            guard distance <= max(1, max(written.count, key.utf8.count) / 3) else { continue }
            if let found = best, found.distance <= distance { continue }
            best = (key, distance)
        }
        return best?.key
    }

    // Optimal string alignment, three rows of the table at a time.
    static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var beforePrevious = [Int](repeating: 0, count: right.count + 1)
        var previous = Array(0...right.count)
        for row in 0..<left.count {
            var current = [row + 1]
            current.reserveCapacity(right.count + 1)
            for column in 0..<right.count {
                var least = min(
                    previous[column] + (left[row] == right[column] ? 0 : 1),
                    previous[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    least = min(least, beforePrevious[column - 1] + 1)
                }
                current.append(least)
            }
            beforePrevious = previous
            previous = current
        }
        return previous[right.count]
    }
}
