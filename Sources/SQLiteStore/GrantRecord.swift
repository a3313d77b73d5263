import CredentialCore
import Secrets

/// What a grant's row holds in its sealed value, field by field in this order; nothing may follow.
///
///     version            1 byte, 1
///     state              1 byte: 1 usable, 2 spending, 3 possibly spent, 4 dead
///     uncertain attempts 1 byte
///     refresh_token      bytes
///     scope              optional bytes
///     received_at        number: wall milliseconds
///     destination        bytes
enum GrantRecord {
    private static let version: UInt8 = 1

    /// Appends the record of `held`.
    static func encode(_ held: HeldGrant, into buffer: inout SecretBuffer) {
        buffer.append(version)
        buffer.append(held.state.rawValue)
        buffer.append(UInt8(clamping: held.uncertainAttempts))
        RecordBytes.append(held.refreshToken, &buffer)
        RecordBytes.append(optional: held.scope, &buffer)
        RecordBytes.append(held.receivedAt.milliseconds, &buffer)
        RecordBytes.append(held.destination.text, &buffer)
    }

    /// Nil when the bytes are no record.
    static func decode(_ bytes: Span<UInt8>, name: GrantName, generation: Generation) -> HeldGrant? {
        bytes.withUnsafeBufferPointer { bytes in
            var reader = RecordReader(bytes)
            guard reader.byte() == version,
                let state = reader.byte().flatMap(HeldGrant.State.init(rawValue:)),
                let uncertain = reader.byte(), let token = reader.secret(),
                (1...HeldGrant.tokenLimit).contains(token.count),
                let scope = reader.optional({ $0.text() }), let receivedAt = reader.wall(),
                let destination = reader.text(), reader.isAtEnd
            else { return nil }
            return HeldGrant(
                name: name, refreshToken: token, generation: generation,
                destination: Destination(destination), scope: scope, receivedAt: receivedAt, state: state,
                uncertainAttempts: Int(uncertain))
        }
    }
}

/// What a secret's row holds in its sealed value, field by field in this order; nothing may follow.
///
///     version   1 byte, 1
///     set_at    number: wall milliseconds
///     value     bytes
enum SecretRecord {
    private static let version: UInt8 = 1

    /// Appends the record of `held`.
    static func encode(_ held: HeldSecret, into buffer: inout SecretBuffer) {
        buffer.append(version)
        RecordBytes.append(held.setAt.milliseconds, &buffer)
        RecordBytes.append(held.value, &buffer)
    }

    /// Nil when the bytes are no record.
    static func decode(_ bytes: Span<UInt8>, name: SecretName, generation: Generation) -> HeldSecret? {
        bytes.withUnsafeBufferPointer { bytes in
            var reader = RecordReader(bytes)
            guard reader.byte() == version, let setAt = reader.wall(), let value = reader.secret(),
                (1...HeldSecret.valueLimit).contains(value.count), reader.isAtEnd
            else { return nil }
            return HeldSecret(name: name, value: value, generation: generation, setAt: setAt)
        }
    }
}
