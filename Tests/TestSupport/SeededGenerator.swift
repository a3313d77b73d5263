import Glibc

/// Random numbers that a seed determines (SplitMix64), so that a failing run can be repeated.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// A generator whose numbers `seed` determines.
    package init(seed: UInt64) {
        state = seed
    }

    /// A generator with a seed from CHATAUTH_SEED or, without it, a new one; prints it with the name of the test that uses it.
    package static func announced(for test: String) -> SeededGenerator {
        let given = getenv("CHATAUTH_SEED").flatMap { UInt64(String(cString: $0)) }
        let seed = given ?? UInt64.random(in: .min ... .max)
        print("\(test): CHATAUTH_SEED=\(seed)")
        return SeededGenerator(seed: seed)
    }

    /// The next 64 bits.
    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// `count` bytes out of `choice`.
    package mutating func bytes(_ count: Int, from choice: ClosedRange<UInt8> = .min ... .max) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: choice, using: &self) }
    }
}
