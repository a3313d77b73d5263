/// A hash of a set of rows that takes rows in and out in any order: the sum of their keyed hashes, modulo 2^256.
///
/// The sum itself is never written down; the head's authentication code covers it. Somebody who watches the file therefore
/// learns the hash of no row, and cannot look for another set of rows with the same sum. (The exclusive or of hashes would give
/// such sets away by linear algebra as soon as the hashes were known; a sum would not, and costs the same.)
package struct RowSum: Equatable {
    private var low: UInt64 = 0
    private var second: UInt64 = 0
    private var third: UInt64 = 0
    private var high: UInt64 = 0

    /// The sum of no rows.
    package static let zero = RowSum()

    private init() {}

    /// Reads 32 bytes, least significant first.
    package init(hash: [UInt8]) {
        precondition(hash.count == 32)
        func word(_ index: Int) -> UInt64 {
            (0..<8).reduce(0) { $0 | UInt64(hash[index * 8 + $1]) << UInt64($1 * 8) }
        }
        (low, second, third, high) = (word(0), word(1), word(2), word(3))
    }

    /// Adds modulo 2^256.
    package static func += (sum: inout RowSum, other: RowSum) {
        var carry: UInt64 = 0
        func add(_ left: UInt64, _ right: UInt64) -> UInt64 {
            let (partial, first) = left.addingReportingOverflow(right)
            let (result, second) = partial.addingReportingOverflow(carry)
            carry = first || second ? 1 : 0
            return result
        }
        sum.low = add(sum.low, other.low)
        sum.second = add(sum.second, other.second)
        sum.third = add(sum.third, other.third)
        sum.high = add(sum.high, other.high)
    }

    /// Subtracts modulo 2^256.
    package static func -= (sum: inout RowSum, other: RowSum) {
        // Two's complement: −x is ~x + 1.
        var negated = RowSum()
        (negated.low, negated.second) = (~other.low, ~other.second)
        (negated.third, negated.high) = (~other.third, ~other.high)
        var one = RowSum()
        one.low = 1
        negated += one
        sum += negated
    }

    /// 32 bytes, least significant first.
    package var bytes: [UInt8] {
        [low, second, third, high].flatMap { word in
            stride(from: UInt64(0), to: 64, by: 8).map { UInt8(truncatingIfNeeded: word >> $0) }
        }
    }
}
