import COpenSSL
import CredentialCore
import Secrets

/// The textual encoding of keys (RFC 7468): one block, read here so that what it holds is in memory that is wiped.
struct PEM {
    /// What the label says that the bytes are, as the library counts it.
    let form: Int32
    /// The decoded content.
    let content: SecretBytes

    /// Bytes of text at most: an RSA key of 16384 bits has 13000.
    private static let limit = 1 << 16
    private static let begin: StaticString = "-----BEGIN "
    private static let end: StaticString = "-----END "
    private static let dashes: StaticString = "-----"

    /// Reads the only key in `text`; text around blocks, and the parameters that some tools put before an EC key, are passed over.
    ///
    /// - Throws: `keyMalformed` where there is no key, more than one, one under a passphrase, or anything else in a block;
    ///   `keyUnsuitable` for the other half of a pair than is asked for.
    init(_ text: Span<UInt8>, isPrivate: Bool) throws(SigningFailure) {
        guard text.count <= Self.limit else { throw .keyMalformed }
        var found: (form: Int32, content: SecretBytes)?
        var position = 0
        while let block = try Self.nextBlock(text, from: &position) {
            let label = text.extracting(block.label)
            if label.isText("EC PARAMETERS") { continue }
            guard found == nil, let (form, isSecret) = Self.form(label),
                let content = Self.decode(text.extracting(block.body))
            else { throw .keyMalformed }
            guard isSecret == isPrivate else { throw .keyUnsuitable }
            found = (form, content)
        }
        guard let found else { throw .keyMalformed }
        form = found.form
        content = found.content
    }

    private static func form(_ label: Span<UInt8>) -> (Int32, isSecret: Bool)? {
        if label.isText("PRIVATE KEY") { return (Int32(CO_PRIVATE_KEY_INFO), true) }
        if label.isText("RSA PRIVATE KEY") { return (Int32(CO_RSA_PRIVATE_KEY), true) }
        if label.isText("EC PRIVATE KEY") { return (Int32(CO_EC_PRIVATE_KEY), true) }
        if label.isText("PUBLIC KEY") { return (Int32(CO_PUBLIC_KEY_INFO), false) }
        if label.isText("RSA PUBLIC KEY") { return (Int32(CO_RSA_PUBLIC_KEY), false) }
        return nil
    }

    private static func nextBlock(
        _ text: Span<UInt8>, from position: inout Int
    ) throws(SigningFailure) -> (label: Range<Int>, body: Range<Int>)? {
        guard let start = text.first(begin, from: position) else { return nil }
        let label = start + begin.utf8CodeUnitCount
        guard let labelEnd = text.first(dashes, from: label) else { throw .keyMalformed }
        let body = labelEnd + dashes.utf8CodeUnitCount
        guard let bodyEnd = text.first(end, from: body) else { throw .keyMalformed }
        // The end names what the beginning named.
        let last = bodyEnd + end.utf8CodeUnitCount
        let length = labelEnd - label
        guard text.count - last >= length + dashes.utf8CodeUnitCount else { throw .keyMalformed }
        for offset in 0..<length where text[last + offset] != text[label + offset] { throw .keyMalformed }
        guard text.extracting((last + length)..<(last + length + dashes.utf8CodeUnitCount)).isText(dashes)
        else {
            throw .keyMalformed
        }
        position = last + length + dashes.utf8CodeUnitCount
        return (label..<labelEnd, body..<bodyEnd)
    }

    /// base64 with its own alphabet and padding (RFC 4648 §4), between white space.
    static func decode(_ text: Span<UInt8>) -> SecretBytes? {
        var digits = SecretBuffer(capacity: text.count)
        var padding = 0
        for index in 0..<text.count {
            switch text[index] {
            case 0x20, 0x09, 0x0D, 0x0A: continue
            case UInt8(ascii: "="): padding += 1
            case UInt8(ascii: "+") where padding == 0: digits.append(UInt8(ascii: "-"))
            case UInt8(ascii: "/") where padding == 0: digits.append(UInt8(ascii: "_"))
            case UInt8(ascii: "-"), UInt8(ascii: "_"): return nil
            default:
                guard padding == 0 else { return nil }
                digits.append(text[index])
            }
        }
        guard padding <= 2, (digits.count + padding) % 4 == 0 else { return nil }
        return digits.withSpan { Base64URL.decode($0) }
    }
}

extension Span where Element == UInt8 {
    /// Whether these are the bytes of `text` and no others.
    func isText(_ text: StaticString) -> Bool { count == text.utf8CodeUnitCount && starts(with: text) }

    /// Whether `text` stands at `offset`.
    func starts(with text: StaticString, at offset: Int = 0) -> Bool {
        guard count - offset >= text.utf8CodeUnitCount else { return false }
        // A constant lives as long as the program.
        let expected = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        for index in 0..<expected.count where self[offset + index] != expected[index] { return false }
        return true
    }

    /// Where `text` stands first, at `start` or behind it.
    func first(_ text: StaticString, from start: Int = 0) -> Int? {
        var index = start
        while count - index >= text.utf8CodeUnitCount {
            if starts(with: text, at: index) { return index }
            index += 1
        }
        return nil
    }
}
