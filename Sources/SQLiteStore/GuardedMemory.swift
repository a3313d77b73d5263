import CSodium
import Glibc
import Secrets

/// Fills memory with random bytes: the system's generator, or that of a test.
package typealias RandomSource = @Sendable (UnsafeMutableRawBufferPointer) -> Void

/// Memory for keys: pages of its own between guard pages, out of core dumps, not swapped where the limit allows it, not even
/// readable while nobody uses it, wiped at its end.
final class GuardedMemory {
    private let base: UnsafeMutableRawPointer
    private let count: Int
    /// Whether the pages stay out of swap; libsodium itself says nothing when they do not.
    let isLocked: Bool

    private static let isReady = sodium_init() >= 0

    /// Lets `fill` write the content; unreadable from then on, but within `withBytes`.
    init<Failure: Error>(
        count: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        precondition(Self.isReady, "libsodium does not start")
        guard let base = sodium_malloc(count) else { preconditionFailure("no memory for a key") }
        self.base = base
        self.count = count
        isLocked = sodium_mlock(base, count) == 0
        do {
            try fill(UnsafeMutableRawBufferPointer(start: base, count: count))
        } catch {
            sodium_free(base)
            throw error
        }
        sodium_mprotect_noaccess(base)
    }

    deinit { sodium_free(base) }

    /// Makes the bytes readable for the length of `body`; not to be nested.
    func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        sodium_mprotect_readonly(base)
        defer { sodium_mprotect_noaccess(base) }
        return try body(UnsafeRawBufferPointer(start: base, count: count))
    }
}

extension UnsafeRawBufferPointer {
    /// The address of bytes that are there.
    var bytes: UnsafePointer<UInt8> {
        guard let baseAddress else { preconditionFailure("no bytes") }
        return baseAddress.assumingMemoryBound(to: UInt8.self)
    }
}

extension UnsafeMutableRawBufferPointer {
    /// The address of room that is there.
    var bytes: UnsafeMutablePointer<UInt8> {
        guard let baseAddress else { preconditionFailure("no bytes") }
        return baseAddress.assumingMemoryBound(to: UInt8.self)
    }
}
