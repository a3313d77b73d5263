import Glibc

/// A growable byte buffer with one owner, wiped when it shrinks, grows or ends.
///
/// Everything that leaves the process is built in one of these, so that no reply, whatever it carries, stays behind in freed memory.
/// Appending never fails: what may be appended is bounded by whoever appends.
package struct SecretBuffer: ~Copyable {
    private var storage: UnsafeMutableBufferPointer<UInt8>
    /// Bytes of content.
    package private(set) var count = 0
    // Bytes at the start of `storage` that may hold what was rewound and is not wiped yet, or less than `count`.
    private var unwiped = 0

    /// An empty buffer with room for `capacity` bytes.
    package init(capacity: Int = 0) {
        storage = .allocate(capacity: capacity)
    }

    deinit {
        Self.wipe(storage, max(count, unwiped))
        storage.deallocate()
    }

    /// Whether there is no content.
    package var isEmpty: Bool { count == 0 }
    /// Bytes of content that fit without another allocation.
    package var capacity: Int { storage.count }

    private static func wipe(_ storage: UnsafeMutableBufferPointer<UInt8>, _ count: Int) {
        guard count > 0, let base = storage.baseAddress else { return }
        explicit_bzero(base, count)
    }

    /// Makes room for `additional` more bytes.
    @inline(__always)
    package mutating func reserve(_ additional: Int) {
        if storage.count - count < additional { grow(by: additional) }
    }

    @inline(never)
    private mutating func grow(by additional: Int) {
        let larger = UnsafeMutableBufferPointer<UInt8>.allocate(
            capacity: max(count + additional, storage.count * 2, 64))
        if count > 0, let from = storage.baseAddress, let to = larger.baseAddress {
            memcpy(to, from, count)
        }
        Self.wipe(storage, max(count, unwiped))
        storage.deallocate()
        storage = larger
        unwiped = 0
    }

    /// Appends one byte.
    @inline(__always)
    package mutating func append(_ byte: UInt8) {
        reserve(1)
        storage[count] = byte
        count += 1
    }

    /// Appends a copy of the bytes.
    @inline(__always)
    package mutating func append(_ bytes: Span<UInt8>) {
        bytes.withUnsafeBufferPointer { append(pointer: $0) }
    }

    /// Appends the UTF-8 of a constant.
    @inline(__always)
    package mutating func append(_ text: StaticString) {
        append(pointer: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Appends the UTF-8 of a text that is no secret: secrets are never `String`.
    @_disfavoredOverload
    package mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { append(pointer: $0) }
    }

    /// Appends a copy of the secret, which is wiped with the buffer.
    package mutating func append(_ secret: SecretBytes) {
        secret.withSpan { append($0) }
    }

    /// Appends a copy of another buffer's content.
    package mutating func append(copying other: borrowing SecretBuffer) {
        append(pointer: UnsafeBufferPointer(rebasing: UnsafeBufferPointer(other.storage)[..<other.count]))
    }

    // The pointer is valid for the call, and `reserve` made room for all of it.
    @inline(__always)
    private mutating func append(pointer bytes: UnsafeBufferPointer<UInt8>) {
        guard let from = bytes.baseAddress, bytes.count > 0 else { return }
        reserve(bytes.count)
        if let to = storage.baseAddress {
            memcpy(to + count, from, bytes.count)
        }
        count += bytes.count
    }

    /// Appends three constants with bytes and a secret between them: room is made once for all of it.
    package mutating func append(
        _ head: StaticString, _ bytes: Span<UInt8>, _ middle: StaticString, _ secret: SecretBytes,
        _ tail: StaticString
    ) {
        reserve(
            head.utf8CodeUnitCount + bytes.count + middle.utf8CodeUnitCount + secret.count
                + tail.utf8CodeUnitCount)
        append(head)
        append(bytes)
        append(middle)
        secret.withSpan { append($0) }
        append(tail)
    }

    /// Appends the decimal digits of `number`.
    package mutating func append(decimal number: Int64) {
        var digits = InlineArray<20, UInt8>(repeating: 0)
        var start = 20
        var rest = number.magnitude
        repeat {
            start -= 1
            digits[start] = UInt8(truncatingIfNeeded: 48 + rest % 10)
            rest /= 10
        } while rest > 0
        if number < 0 { append(0x2D) }
        append(digits.span.extracting(start..<20))
    }

    /// Drops and wipes the content, and what was there before a `rewind`; keeps the room.
    package mutating func removeAll() {
        Self.wipe(storage, max(count, unwiped))
        count = 0
        unwiped = 0
    }

    /// Drops the content and leaves it to be overwritten: whoever writes the next at once owes a `removeAll` behind the last.
    package mutating func rewind() {
        unwiped = max(count, unwiped)
        count = 0
    }

    /// Drops the first `length` bytes and closes the gap; the bytes that become free are wiped.
    package mutating func removeFirst(_ length: Int) {
        precondition(length <= count)
        guard length > 0, let base = storage.baseAddress else { return }
        memmove(base, base + length, count - length)
        explicit_bzero(base + (count - length), length)
        count -= length
    }

    /// Drops what comes after the first `length` bytes and wipes it.
    package mutating func truncate(to length: Int) {
        guard length < count, let base = storage.baseAddress else { return }
        explicit_bzero(base + length, count - length)
        count = length
    }

    /// Gives back room that a rare large content needed.
    package mutating func shrink(to capacity: Int) {
        guard isEmpty, storage.count > capacity else { return }
        Self.wipe(storage, unwiped)
        unwiped = 0
        storage.deallocate()
        storage = .allocate(capacity: capacity)
    }

    /// Lends the content for the length of `body`; what `body` copies out is its responsibility.
    @inline(__always)
    package func withSpan<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeBufferPointer(rebasing: UnsafeBufferPointer(storage)[..<count]).span)
    }

    /// Lets `fill` write up to `length` bytes behind the content; it returns how many it wrote.
    package mutating func append<Failure: Error>(
        upTo length: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) {
        reserve(length)
        let room = UnsafeMutableRawBufferPointer(
            rebasing: UnsafeMutableRawBufferPointer(storage)[count..<(count + length)])
        let written = try fill(room)
        precondition((0...length).contains(written))
        count += written
    }

    /// Turns the content into an immutable secret of exactly its size.
    package consuming func finish() -> SecretBytes {
        withSpan { SecretBytes(copying: $0) }
    }
}
