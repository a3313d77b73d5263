import Glibc

/// Finds bytes at the speed of memory.
package enum ByteSearch {
    /// The offset of the first `byte` in `bytes` at or behind `start`, which is at most `bytes.count`; nil when there is none.
    package static func first(_ byte: UInt8, in bytes: Span<UInt8>, from start: Int = 0) -> Int? {
        // The pointers are valid for the call, and memchr looks only at the bytes between `start` and the end.
        bytes.extracting(start...).withUnsafeBufferPointer { rest in
            guard let base = rest.baseAddress, let found = memchr(base, Int32(byte), rest.count) else {
                return nil
            }
            return start + (UnsafeRawPointer(found) - UnsafeRawPointer(base))
        }
    }

    /// Whether `bytes` has `pattern` at `offset`.
    package static func matches(_ pattern: Span<UInt8>, _ bytes: Span<UInt8>, at offset: Int) -> Bool {
        guard offset >= 0, pattern.count <= bytes.count - offset else { return false }
        // Both pointers are valid for the call, and `pattern.count` bytes are there behind each.
        return bytes.withUnsafeBufferPointer { bytes in
            pattern.withUnsafeBufferPointer { pattern in
                guard let left = bytes.baseAddress, let right = pattern.baseAddress else {
                    return pattern.isEmpty
                }
                return memcmp(left + offset, right, pattern.count) == 0
            }
        }
    }

    /// The offset of the first byte at or behind `start` that needs care in a JSON string; `bytes.count` when there is none.
    ///
    /// Those are a quote, a backslash, a control character, and all from 0x80 on. Eight bytes are looked at together: the highest bit
    /// of each becomes set where the byte is one of those. Borrows can set it wrongly only above a byte where it is set rightly, and
    /// the lowest one is taken.
    @inline(__always)
    package static func firstNotPlain(in bytes: Span<UInt8>, from start: Int) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs = ones << 7
        let count = bytes.count
        var offset = start
        while count - offset >= 8 {
            // The eight bytes end at or before `count`.
            let word = UInt64(
                littleEndian: bytes.bytes.unsafeLoadUnaligned(
                    fromUncheckedByteOffset: offset, as: UInt64.self))
            let quote = word ^ (ones &* 0x22)
            let backslash = word ^ (ones &* 0x5C)
            let low = (word &- (ones &* 0x20)) & ~word
            let found =
                (word | (quote &- ones) & ~quote | (backslash &- ones) & ~backslash | low) & highs
            if found != 0 { return offset + found.trailingZeroBitCount >> 3 }
            offset += 8
        }
        while offset < count {
            let byte = bytes[offset]
            guard byte >= 0x20, byte < 0x80, byte != 0x22, byte != 0x5C else { return offset }
            offset += 1
        }
        return offset
    }
}
