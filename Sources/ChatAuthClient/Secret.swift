import Secrets

/// A token or another secret: wiped when its last owner goes, without a printable form.
public struct Secret: Sendable, CustomStringConvertible {
    let bytes: SecretBytes

    init(_ bytes: SecretBytes) { self.bytes = bytes }

    /// Copies UTF-8 text; the copy that the caller has is the caller's to wipe.
    public init(copying text: UnsafeRawBufferPointer) {
        bytes = text.withMemoryRebound(to: UInt8.self) { SecretBytes(copying: $0.span) }
    }

    /// Copies a text; the text itself is not wiped.
    public init(_ text: String) {
        var buffer = SecretBuffer(capacity: text.utf8.count)
        buffer.append(text)
        bytes = buffer.finish()
    }

    /// How many bytes it has.
    public var count: Int { bytes.count }

    /// Lends the bytes for the length of `body`; what `body` copies out of them is its responsibility.
    public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try bytes.withSpan { span in
            try span.withUnsafeBufferPointer { try body(UnsafeRawBufferPointer($0)) }
        }
    }

    /// Says that something is there, never what.
    public var description: String { "Secret" }
}

/// A bearer token that was handed out.
public struct Token: Sendable {
    /// What stands behind `Bearer ` in the header.
    public let bearer: Secret
    /// The access token, where it stands beside a different identity token.
    public let companion: Secret?
    /// Which credential it is of: what `token.reject` takes.
    public let generation: Int64
    /// Seconds since the epoch; nil: not known.
    public let expiresAt: Int64?
}
