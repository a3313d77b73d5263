/// A part of a credential's life, from 0.1 to 1, in thousandths: whole numbers compare and read back exactly.
package struct EarlyFraction: Hashable, Sendable {
    /// 100 to 1000.
    package let thousandths: Int64

    /// Nil, when it is not from 0.1 to 1; what is finer than a thousandth is rounded.
    package init?(_ fraction: Double) {
        // NaN is in no range.
        guard fraction >= 0.1, fraction <= 1, let thousandths = Int64(exactly: (fraction * 1000).rounded())
        else { return nil }
        self.thousandths = thousandths
    }

    /// As it is written.
    package var value: Double { Double(thousandths) / 1000 }

    /// What is left of a life at that point; `lifetime` is not negative.
    func rest(of lifetime: Milliseconds) -> Milliseconds {
        let rest = 1000 - thousandths
        return Milliseconds(lifetime.count / 1000 * rest + lifetime.count % 1000 * rest / 1000)
    }
}
