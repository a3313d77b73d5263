import CredentialCore
import Secrets

/// How the sealed values of rows are written.
///
/// bytes: length in 4 bytes, then the bytes. number: 8 bytes. optional: 1 byte, 0 or 1, then the value where it is 1.
/// Numbers are least significant byte first.
enum RecordBytes {
    static func append(_ secret: SecretBytes, _ buffer: inout SecretBuffer) {
        append(length: secret.count, &buffer)
        buffer.append(secret)
    }

    static func append(optional secret: SecretBytes?, _ buffer: inout SecretBuffer) {
        buffer.append(secret == nil ? 0 : 1)
        if let secret { append(secret, &buffer) }
    }

    static func append(_ text: String, _ buffer: inout SecretBuffer) {
        append(length: text.utf8.count, &buffer)
        buffer.append(text)
    }

    static func append(optional text: String?, _ buffer: inout SecretBuffer) {
        buffer.append(text == nil ? 0 : 1)
        if let text { append(text, &buffer) }
    }

    static func append(_ number: Int64, _ buffer: inout SecretBuffer) {
        for shift in stride(from: 0, to: 64, by: 8) {
            buffer.append(UInt8(truncatingIfNeeded: number >> Int64(shift)))
        }
    }

    private static func append(length: Int, _ buffer: inout SecretBuffer) {
        for shift in stride(from: 0, to: 32, by: 8) {
            buffer.append(UInt8(truncatingIfNeeded: length >> shift))
        }
    }
}

/// Reads what `RecordBytes` wrote; it lives within one decoding only, and so does what it points to.
struct RecordReader {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }

    mutating func byte() -> UInt8? {
        guard position < bytes.count else { return nil }
        position += 1
        return bytes[position - 1]
    }

    mutating func take(_ count: Int) -> UnsafeBufferPointer<UInt8>? {
        guard count <= bytes.count - position else { return nil }
        position += count
        return UnsafeBufferPointer(rebasing: bytes[(position - count)..<position])
    }

    mutating func number() -> Int64? {
        guard let bytes = take(8) else { return nil }
        return Int64(bitPattern: (0..<8).reduce(0) { $0 | UInt64(bytes[$1]) << UInt64($1 * 8) })
    }

    mutating func wall() -> WallTime? { number().map(WallTime.init(milliseconds:)) }

    mutating func field() -> UnsafeBufferPointer<UInt8>? {
        guard let bytes = take(4) else { return nil }
        return take(Int((0..<4).reduce(UInt32(0)) { $0 | UInt32(bytes[$1]) << UInt32($1 * 8) }))
    }

    mutating func secret() -> SecretBytes? { field().map { SecretBytes(copying: $0.span) } }

    mutating func text() -> String? { field().flatMap { String(validating: $0, as: UTF8.self) } }

    /// Nil when malformed; a nil within when absent.
    mutating func optional<Value>(_ read: (inout RecordReader) -> Value?) -> Value?? {
        switch byte() {
        case 0: .some(nil)
        case 1: read(&self).map { .some($0) }
        default: nil
        }
    }
}
