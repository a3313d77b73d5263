import JSON

/// A call of one method with one string, and perhaps one whole number, written as nearly every client writes it.
///
/// On the way of a cached answer most of the time went into listing the values of the request. This reads the one form that nearly all
/// requests have (members in the order of the specification's examples, compact or with one space behind each colon and comma) and says
/// nothing about any other: those are parsed. Whatever it accepts, the parser accepts and understands in the same way; a test feeds
/// both the same bytes.
package struct PlainCall: ~Escapable {
    /// The id, an integer of at most 18 digits.
    package let rawID: Span<UInt8>
    /// The string parameter: printable ASCII without escapes.
    package let text: Span<UInt8>
    /// The number parameter, of at most 18 digits; nil when it is not there.
    package let number: Int64?
    /// Whether there are no spaces in it.
    let isCompact: Bool

    /// What such a call consists of, in both spellings; `text` and `number` are the names of the parameters.
    package struct Form: Sendable {
        let compact: Pieces
        let spaced: Pieces

        struct Pieces: Sendable {
            let beforeID: [UInt8]
            let beforeText: [UInt8]
            let beforeNumber: [UInt8]
        }

        /// The form of calls of `method` with parameters of these names, in this order.
        package init(method: String, text: String, number: String) {
            func pieces(_ space: String) -> Pieces {
                Pieces(
                    beforeID: Array("{\"jsonrpc\":\(space)\"2.0\",\(space)\"id\":\(space)".utf8),
                    beforeText: Array(
                        ",\(space)\"method\":\(space)\"\(method)\",\(space)\"params\":\(space){\"\(text)\":\(space)\""
                            .utf8),
                    beforeNumber: Array("\",\(space)\"\(number)\":\(space)".utf8))
            }
            compact = pieces("")
            spaced = pieces(" ")
        }
    }

    /// Nil when `frame` is anything else, right or wrong.
    @_lifetime(copy frame)
    package init?(_ frame: Span<UInt8>, _ form: borrowing Form) {
        guard frame.count > 12 else { return nil }
        if frame[11] == UInt8(ascii: "\"") {
            self.init(frame, form.compact, isCompact: true)
        } else {
            self.init(frame, form.spaced, isCompact: false)
        }
    }

    @_lifetime(copy frame)
    private init?(_ frame: Span<UInt8>, _ pieces: borrowing Form.Pieces, isCompact: Bool) {
        guard ByteSearch.matches(pieces.beforeID.span, frame, at: 0) else { return nil }
        let idStart = pieces.beforeID.count
        guard let idEnd = Self.endOfInteger(frame, from: idStart),
            ByteSearch.matches(pieces.beforeText.span, frame, at: idEnd)
        else { return nil }
        let textStart = idEnd + pieces.beforeText.count
        let textEnd = ByteSearch.firstNotPlain(in: frame, from: textStart)
        guard textEnd < frame.count, frame[textEnd] == UInt8(ascii: "\"") else { return nil }
        var end = textEnd + 1
        var number: Int64?
        if end < frame.count, frame[end] == UInt8(ascii: ",") {
            guard ByteSearch.matches(pieces.beforeNumber.span, frame, at: textEnd) else { return nil }
            let start = textEnd + pieces.beforeNumber.count
            guard let numberEnd = Self.endOfInteger(frame, from: start) else { return nil }
            var value: Int64 = 0
            for index in start..<numberEnd { value = value &* 10 &+ Int64(frame[index] &- 48) }
            number = value
            end = numberEnd
        }
        guard frame.count == end + 2, frame[end] == UInt8(ascii: "}"), frame[end + 1] == UInt8(ascii: "}")
        else {
            return nil
        }
        rawID = frame.extracting(idStart..<idEnd)
        text = frame.extracting(textStart..<textEnd)
        self.number = number
        self.isCompact = isCompact
    }

    /// Digits of the longest id that is known.
    package static let idDigits = 18

    // 1 to 18 digits: no sign, no fraction, no leading zero, and no overflow.
    static func endOfInteger(_ frame: Span<UInt8>, from start: Int) -> Int? {
        var end = start
        while end < frame.count, frame[end] &- 48 < 10 { end += 1 }
        guard (1...idDigits).contains(end - start), frame[start] != 48 || end == start + 1 else { return nil }
        return end
    }
}
