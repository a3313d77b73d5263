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
/// `RecordBytes` says what bytes, numbers and optional values look like. The generation stands in the row itself, where it is authenticated.
package enum CredentialRecord {
    private static let version: UInt8 = 1

    /// Appends the record of `held`, whose tokens must be there.
    package static func encode(_ held: HeldCredential, into buffer: inout SecretBuffer) {
        // Written without, it would be what the next start finds.
        guard let credential = held.credential else { preconditionFailure("what is stored has its tokens") }
        buffer.append(version)
        RecordBytes.append(optional: credential.idToken, &buffer)
        RecordBytes.append(optional: credential.accessToken, &buffer)
        RecordBytes.append(optional: credential.issuer, &buffer)
        for expiry in [held.expiries.backend, held.expiries.hint, held.expiries.exp] {
            buffer.append(expiry == nil ? 0 : 1)
            if let expiry { RecordBytes.append(expiry.milliseconds, &buffer) }
        }
        RecordBytes.append(held.receivedAt.wall.milliseconds, &buffer)
        RecordBytes.append(held.receivedAt.boot.milliseconds, &buffer)
        RecordBytes.append(held.bootID.text, &buffer)
        buffer.append(held.origin == .source ? 1 : 2)
        RecordBytes.append(held.destination.text, &buffer)
    }

    /// Nil when the bytes are no record.
    package static func decode(_ bytes: Span<UInt8>, generation: Generation) -> HeldCredential? {
        bytes.withUnsafeBufferPointer { decode(RecordReader($0), generation) }
    }

    private static func decode(_ reader: RecordReader, _ generation: Generation) -> HeldCredential? {
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
}
