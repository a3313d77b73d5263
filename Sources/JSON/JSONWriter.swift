package import Secrets

/// Writes JSON text into a wiped buffer: members in the order of the calls, no white space, one way to write each value.
///
/// The caller opens and closes; the writer places the commas. It is deterministic: equal calls give equal bytes.
package struct JSONWriter: ~Copyable {
    private var buffer: SecretBuffer
    // Whether the next value or name needs a comma before it.
    private var needsComma = false

    /// An empty text with room for `capacity` bytes; it grows as it needs.
    package init(capacity: Int = 256) {
        buffer = SecretBuffer(capacity: capacity)
    }

    /// Goes on behind what `buffer` holds already.
    package init(appendingTo buffer: consuming SecretBuffer) {
        self.buffer = buffer
    }

    /// The text written so far, handed over.
    package consuming func finish() -> SecretBuffer { buffer }

    // MARK: Structure

    /// Opens an object: `key` and a value by turns, then `endObject()`.
    package mutating func beginObject() { open(UInt8(ascii: "{")) }
    /// Closes the innermost object.
    package mutating func endObject() { close(UInt8(ascii: "}")) }
    /// Opens an array: values, then `endArray()`.
    package mutating func beginArray() { open(UInt8(ascii: "[")) }
    /// Closes the innermost array.
    package mutating func endArray() { close(UInt8(ascii: "]")) }

    private mutating func open(_ bracket: UInt8) {
        separate()
        buffer.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        buffer.append(bracket)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { buffer.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    /// Writes a member's name, a constant that needs no escaping; its value comes next.
    package mutating func key(_ name: StaticString) {
        separate()
        buffer.append(UInt8(ascii: "\""))
        buffer.append(name)
        buffer.append("\":")
        needsComma = false
    }

    /// Writes a member's name that comes from data.
    package mutating func key(named name: String) {
        string(name)
        buffer.append(UInt8(ascii: ":"))
        needsComma = false
    }

    // MARK: Values

    /// Writes null.
    package mutating func null() {
        separate()
        buffer.append("null")
    }

    /// Writes true or false.
    package mutating func bool(_ value: Bool) {
        separate()
        buffer.append(value ? "true" : "false" as StaticString)
    }

    /// Writes an integer in decimal digits.
    package mutating func integer(_ value: Int64) {
        separate()
        buffer.append(decimal: value)
    }

    /// Writes the shortest text that reads back as `value`; null when it is not finite, since JSON has no word for that.
    package mutating func double(_ value: Double) {
        guard value.isFinite else { return null() }
        separate()
        buffer.append(value.description)
    }

    /// Writes a string that is a constant.
    package mutating func string(_ text: StaticString) {
        separate()
        // A constant lives as long as the program.
        escape(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount).span)
    }

    /// Writes a string that is not a secret.
    package mutating func string(_ text: String) {
        separate()
        var text = text
        text.withUTF8 { escape($0.span) }
    }

    /// Writes a string from its UTF-8; bytes that are none become U+FFFD.
    package mutating func string(utf8 bytes: Span<UInt8>) {
        separate()
        escape(bytes)
    }

    /// Writes a string from the UTF-8 of a secret, which leaves no copy elsewhere.
    package mutating func string(_ secret: SecretBytes) {
        separate()
        secret.withSpan { escape($0) }
    }

    /// Writes bytes that are JSON text already: an `id` echoed, a result rendered before.
    package mutating func raw(_ json: Span<UInt8>) {
        separate()
        buffer.append(json)
    }

    /// Writes constant text that ends where a value belongs, such as `"name":` or `{"name":`; the value comes next.
    package mutating func verbatim(_ text: StaticString) {
        separate()
        buffer.append(text)
        needsComma = false
    }

    /// Ends a line: JSON texts on a stream stand one in a line.
    package mutating func endLine() {
        buffer.append(UInt8(ascii: "\n"))
        needsComma = false
    }

    // Escapes what RFC 8259 §7 demands, and DEL and U+2028/2029 not: they are legal and unambiguous.
    private mutating func escape(_ bytes: Span<UInt8>) {
        buffer.append(UInt8(ascii: "\""))
        var run = 0
        var offset = 0
        while offset < bytes.count {
            offset = ByteSearch.firstNotPlain(in: bytes, from: offset)
            guard offset < bytes.count else { break }
            let byte = bytes[offset]
            if byte >= 0x80, let length = UTF8Sequence.length(bytes, at: offset) {
                offset += length
                continue
            }
            buffer.append(bytes.extracting(run..<offset))
            switch byte {
            case UInt8(ascii: "\""): buffer.append("\\\"")
            case UInt8(ascii: "\\"): buffer.append("\\\\")
            case 0x08: buffer.append("\\b")
            case 0x09: buffer.append("\\t")
            case 0x0A: buffer.append("\\n")
            case 0x0C: buffer.append("\\f")
            case 0x0D: buffer.append("\\r")
            case 0x80...: buffer.append("\u{FFFD}")
            default:
                buffer.append("\\u00")
                buffer.append(Self.digit(byte >> 4))
                buffer.append(Self.digit(byte & 15))
            }
            offset += 1
            run = offset
        }
        buffer.append(bytes.extracting(run..<offset))
        buffer.append(UInt8(ascii: "\""))
    }

    private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 48 + value : 87 + value }
}
