import Glibc

/// Bytes that must not be seen: immutable, wiped when the last reference goes, compared in constant time.
///
/// A reference, so that handing a secret on never makes a second copy of it in memory. It has no description, no `Equatable`
/// and no `Codable`: text that contains one says `SecretBytes` and nothing of what it holds.
package final class SecretBytes: Sendable {
    // Written only in `init`, before anybody else can see the object, and freed only in `deinit`, when nobody can.
    private nonisolated(unsafe) let storage: UnsafeMutableBufferPointer<UInt8>

    /// Takes over `storage`; the buffer that held it must not be used any more.
    init(adopting storage: UnsafeMutableBufferPointer<UInt8>) {
        self.storage = storage
    }

    /// Copies `bytes`.
    package init(copying bytes: Span<UInt8>) {
        storage = .allocate(capacity: bytes.count)
        bytes.withUnsafeBufferPointer { source in
            _ = storage.initialize(from: source)
        }
    }

    /// Copies the UTF-8 of a text that is not a secret itself: a constant, or a value of a test.
    package convenience init(_ text: StaticString) {
        self.init(copying: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount).span)
    }

    deinit {
        if let base = storage.baseAddress {
            explicit_bzero(base, storage.count)
        }
        storage.deallocate()
    }

    /// Bytes of the secret; its length is not kept secret.
    package var count: Int { storage.count }
    /// Whether there are none.
    package var isEmpty: Bool { storage.isEmpty }

    /// Lends the bytes for the length of `body`; what `body` copies out of them is its responsibility.
    @inline(__always)
    package func withSpan<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeBufferPointer(storage).span)
    }

    /// Compares without a branch on the content; only the lengths show in the time it takes.
    package func isEqual(to other: SecretBytes) -> Bool {
        guard count == other.count else { return false }
        var difference: UInt8 = 0
        for index in 0..<count {
            difference |= storage[index] ^ other.storage[index]
        }
        return difference == 0
    }
}

extension SecretBytes: CustomStringConvertible, CustomReflectable {
    /// Says that something is there, never what.
    package var description: String { "SecretBytes" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
