/// A position in a text, and the tokens of RFC 8259 §2, 6 and 7 read from there.
struct JSONScanner: ~Escapable {
    let bytes: Span<UInt8>
    var position = 0

    @_lifetime(copy bytes)
    init(bytes: Span<UInt8>) {
        self.bytes = bytes
    }

    @inline(__always)
    func current() throws(JSONFailure) -> UInt8 {
        guard position < bytes.count else { throw .unexpectedEnd }
        return bytes[position]
    }

    @inline(__always)
    mutating func skipWhitespace() {
        while position < bytes.count {
            let byte = bytes[position]
            guard byte <= 0x20, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
            position += 1
        }
    }

    mutating func literal(_ text: StaticString) throws(JSONFailure) {
        for index in 0..<text.utf8CodeUnitCount {
            guard position < bytes.count else { throw .unexpectedEnd }
            // `index` is below the constant's own count.
            guard bytes[position] == text.utf8Start[index] else { throw .unexpectedByte(offset: position) }
            position += 1
        }
    }

    /// Reads `-? int frac? exp?` (RFC 8259 §6).
    mutating func number() throws(JSONFailure) {
        let start = position
        if try current() == UInt8(ascii: "-") { position += 1 }
        let first = try current()
        guard isDigit(first) else {
            throw start == position ? .unexpectedByte(offset: position) : .invalidNumber(offset: position)
        }
        position += 1
        if first != UInt8(ascii: "0") {
            skipDigits()
        } else if position < bytes.count, isDigit(bytes[position]) {
            throw .invalidNumber(offset: position)
        }
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            position += 1
            try digits()
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            let sign = try current()
            if sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { position += 1 }
            try digits()
        }
    }

    private mutating func digits() throws(JSONFailure) {
        guard isDigit(try current()) else { throw .invalidNumber(offset: position) }
        skipDigits()
    }

    private mutating func skipDigits() {
        while position < bytes.count, isDigit(bytes[position]) { position += 1 }
    }

    private func isDigit(_ byte: UInt8) -> Bool { byte &- 48 < 10 }

    /// Reads a string from its opening to its closing quote; says whether it has escapes.
    @inline(__always)
    mutating func string() throws(JSONFailure) -> Bool {
        position = ByteSearch.firstNotPlain(in: bytes, from: position + 1)
        if position < bytes.count, bytes[position] == UInt8(ascii: "\"") {
            position += 1
            return false
        }
        return try restOfString()
    }

    @inline(never)
    private mutating func restOfString() throws(JSONFailure) -> Bool {
        var hasEscapes = false
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "\"") {
                position += 1
                return hasEscapes
            } else if byte == UInt8(ascii: "\\") {
                hasEscapes = true
                try escape()
            } else if byte < 0x20 {
                throw .unexpectedByte(offset: position)
            } else if byte < 0x80 {
                position = ByteSearch.firstNotPlain(in: bytes, from: position)
            } else {
                guard let length = UTF8Sequence.length(bytes, at: position) else {
                    throw .invalidUTF8(offset: position)
                }
                position += length
            }
        }
        throw .unexpectedEnd
    }

    private mutating func escape() throws(JSONFailure) {
        let start = position
        guard let (_, length) = JSONEscape.decode(bytes, at: position) else {
            throw .invalidEscape(offset: start)
        }
        position += length
    }
}
