/// Why an audit log cannot be used.
package enum AuditFailure: Error, Equatable, Sendable {
    /// The directory cannot be made or opened; an errno.
    case directory(code: Int32)
    /// Somebody else owns the directory or may write in it.
    case directoryUnsafe
    /// A segment cannot be made, read or removed; an errno.
    case segment(code: Int32)
    /// The key's file cannot be made or read; an errno.
    case key(code: Int32)
    /// The key's file is open to others, is a link, or belongs to somebody else.
    case keyUnsafe
    /// The key has another length than 32 bytes.
    case keyLength(Int)
    /// The thread cannot be started; an errno.
    case thread(code: Int32)
}
