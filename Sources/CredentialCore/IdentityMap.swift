/// Which numbers of users, or of groups, mean somebody in a process' user namespace, as `/proc/self/uid_map` says (user_namespaces(7)).
///
/// Everybody without a number inside shows as the same one there, so that a rule for that number would admit them all.
package struct IdentityMap: Equatable, Sendable {
    // By their beginnings.
    private let ranges: [ClosedRange<UInt32>]

    /// Every number means somebody: there is no namespace, or none that hides anybody.
    package static let whole = IdentityMap(ranges: [0...UInt32.max - 1])

    private init(ranges: [ClosedRange<UInt32>]) { self.ranges = ranges }

    /// Nil when `text` is no such map; an empty one is a map in which nobody has a number.
    package init?(_ text: String) {
        var ranges: [ClosedRange<UInt32>] = []
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: " ")
            // The second number is outside, which nobody here sees.
            guard fields.count == 3, ranges.count < 340, let first = UInt32(fields[0]),
                UInt32(fields[1]) != nil,
                let count = UInt32(fields[2]), count > 0
            else { return nil }
            let (last, isOver) = first.addingReportingOverflow(count - 1)
            guard !isOver, last < UInt32.max else { return nil }
            ranges.append(first...last)
        }
        self.ranges = ranges.sorted { $0.lowerBound < $1.lowerBound }
    }

    /// Whether every number of `wanted` means somebody.
    package func covers(_ wanted: ClosedRange<UInt32>) -> Bool {
        var next = wanted.lowerBound
        for range in ranges where range.upperBound >= next {
            guard range.lowerBound <= next else { return false }
            if range.upperBound >= wanted.upperBound { return true }
            next = range.upperBound + 1
        }
        return false
    }

    /// Whether nobody is hidden.
    package var isWhole: Bool { covers(0...UInt32.max - 1) }

    /// Whether all of a machine's users have a number, from root to the last one before the kernel's "nobody".
    package var hasMachine: Bool { covers(0...65_533) }
}
