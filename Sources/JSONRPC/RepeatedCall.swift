import JSON

/// A call as a client wrote it, to be known again by its bytes when the same client writes it again with another id.
///
/// Made of a line that `PlainCall` has read. A line that is the same before and behind its id, an integer of at most 18 digits, is the same
/// call: one comparison stands for reading it.
package struct RepeatedCall: Sendable {
    private let beforeID: [UInt8]
    // The line end included.
    private let afterID: [UInt8]

    /// Remembers the line that `call` was read from.
    package init(_ frame: Span<UInt8>, _ call: borrowing PlainCall, _ form: borrowing PlainCall.Form) {
        beforeID = call.isCompact ? form.compact.beforeID : form.spaced.beforeID
        var rest: [UInt8] = []
        let start = beforeID.count + call.rawID.count
        rest.reserveCapacity(frame.count - start + 1)
        for index in start..<frame.count { rest.append(frame[index]) }
        rest.append(UInt8(ascii: "\n"))
        afterID = rest
    }

    /// Where the id is in the line that begins at `start`, and where the next line begins; nil when it is any other line, or not whole.
    package func match(_ bytes: Span<UInt8>, at start: Int) -> (id: Range<Int>, end: Int)? {
        guard ByteSearch.matches(beforeID.span, bytes, at: start) else { return nil }
        let idStart = start + beforeID.count
        guard let idEnd = PlainCall.endOfInteger(bytes, from: idStart),
            ByteSearch.matches(afterID.span, bytes, at: idEnd)
        else { return nil }
        return (idStart..<idEnd, idEnd + afterID.count)
    }
}
