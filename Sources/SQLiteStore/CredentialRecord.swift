package import CredentialCore
package import Secrets

/// What a credential's row holds in its sealed value, field by field in this order; nothing may follow.
///
///     version      1 byte, 1
///     id_token     optional bytes
///     access_token optional bytes
///     issuer       optional bytes
///     backend, hint, exp   optional number each, wall milliseconds
///     received_at  two numbers: wall and boot milliseconds
///     boot_id      bytes
///     origin       1 byte: 1 source, 2 saved
///     destination  bytes
///
/// bytes: length in 4 bytes, then the bytes. number: 8 bytes. optional: 1 byte, 0 or 1, then the value where it is 1.
/// Numbers are least significant byte first. The generation stands in the row itself, where it is authenticated.
package enum CredentialRecord {
    private static let version: UInt8 = 1

    /// Appends the record of `held`.
    package static func encode(_ held: HeldCredential, into buffer: inout SecretBuffer) {
        buffer.append(version)
        append(held.credential.idToken, &buffer)
        append(held.credential.accessToken, &buffer)
        if let issuer = held.credential.issuer {
            buffer.append(1)
            append(issuer, &buffer)
        } else {
            buffer.append(0)
        }
        for expiry in [held.expiries.backend, held.expiries.hint, held.expiries.exp] {
            buffer.append(expiry == nil ? 0 : 1)
            if let expiry { append(expiry.milliseconds, &buffer) }
        }
        append(held.receivedAt.wall.milliseconds, &buffer)
        append(held.receivedAt.boot.milliseconds, &buffer)
        append(held.bootID.text, &buffer)
        buffer.append(held.origin == .source ? 1 : 2)
        append(held.destination.text, &buffer)
    }

    /// Nil when the bytes are no record.
    package static func decode(_ bytes: Span<UInt8>, generation: Generation) -> HeldCredential? {
        bytes.withUnsafeBufferPointer { decode(Reader($0), generation) }
    }

    private static func decode(_ reader: Reader, _ generation: Generation) -> HeldCredential? {
        var reader = reader
        guard reader.byte() == version, let idToken = reader.optional({ $0.secret() }),
            let accessToken = reader.optional({ $0.secret() }), let issuer = reader.optional({ $0.text() }),
            let backend = reader.optional({ $0.wall() }), let hint = reader.optional({ $0.wall() }),
            let exp = reader.optional({ $0.wall() }), let wall = reader.wall(), let boot = reader.number(),
            let bootID = reader.text(), let origin = reader.byte(), (1...2).contains(origin),
            let destination = reader.text(), reader.isAtEnd,
            let credential = try? Credential(idToken: idToken, accessToken: accessToken, issuer: issuer)
        else { return nil }
        return HeldCredential(
            credential: credential, generation: generation,
            expiries: Expiries(backend: backend, hint: hint, exp: exp),
            receivedAt: Instant(wall: wall, boot: BootTime(milliseconds: boot)), bootID: BootID(bootID),
            origin: origin == 1 ? .source : .saved, destination: Destination(destination))
    }

    // MARK: Writing

    private static func append(_ secret: SecretBytes?, _ buffer: inout SecretBuffer) {
        guard let secret else { return buffer.append(0) }
        buffer.append(1)
        append(length: secret.count, &buffer)
        buffer.append(secret)
    }

    private static func append(_ text: String, _ buffer: inout SecretBuffer) {
        append(length: text.utf8.count, &buffer)
        buffer.append(text)
    }

    private static func append(_ number: Int64, _ buffer: inout SecretBuffer) {
        for shift in stride(from: 0, to: 64, by: 8) {
            buffer.append(UInt8(truncatingIfNeeded: number >> Int64(shift)))
        }
    }

    private static func append(length: Int, _ buffer: inout SecretBuffer) {
        for shift in stride(from: 0, to: 32, by: 8) {
            buffer.append(UInt8(truncatingIfNeeded: length >> shift))
        }
    }

    // MARK: Reading

    // Lives within `decode` only, and so does what it points to.
    private struct Reader {
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
        mutating func optional<Value>(_ read: (inout Reader) -> Value?) -> Value?? {
            switch byte() {
            case 0: .some(nil)
            case 1: read(&self).map { .some($0) }
            default: nil
            }
        }
    }
}
