import CredentialCore

/// Counts how many accounts are due in the same second, so that only a crowd is spread.
struct DueCrowd {
    static let widestSpread = Milliseconds.seconds(30)
    // As many as go to one origin at a time: fewer need no spreading.
    private static let comfortable = OriginGate.inFlightLimit

    private var counts: [Int64: Int] = [:]

    /// Counts one more in `second`; true when they are too many to be asked for together.
    mutating func enter(_ second: Int64) -> Bool {
        counts[second, default: 0] += 1
        return counts[second, default: 0] > Self.comfortable
    }

    mutating func leave(_ second: Int64) {
        guard let count = counts[second] else { return }
        counts[second] = count > 1 ? count - 1 : nil
    }
}
