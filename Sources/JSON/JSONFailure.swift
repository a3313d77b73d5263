/// Why a text is not JSON as this program accepts it (RFC 8259, without duplicate member names).
///
/// `offset` counts bytes from the start of the text; no case carries any of its content.
package enum JSONFailure: Error, Equatable, Sendable {
    case unexpectedEnd
    case unexpectedByte(offset: Int)
    case invalidUTF8(offset: Int)
    case invalidEscape(offset: Int)
    case invalidNumber(offset: Int)
    case duplicateKey(offset: Int)
    case trailingBytes(offset: Int)
    case tooDeep(offset: Int)
    case tooLong
}

/// What a text may cost before it is refused.
package struct JSONLimits: Sendable {
    /// Bytes of the whole text; at most 2^31.
    package let length: Int
    /// Arrays and objects inside one another.
    package let depth: Int

    /// A frame of this program, unless something else is said.
    package init(length: Int = 1 << 20, depth: Int = 32) {
        precondition(length < Int(Int32.max) && depth <= 512)
        self.length = length
        self.depth = depth
    }
}
