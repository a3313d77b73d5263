/// What may go over the private socket between the broker and its fetch worker, on both sides of it.
///
/// One JSON-RPC 2.0 message a line, many requests in flight, each answered once:
///
///     {"jsonrpc":"2.0","id":7,"method":"fetch","params":{"url":…,"method":"POST","headers":[{"name":…,"value":…}],
///      "body":…,"ca_file":…,"proxy":…,"timeout_ms":8000,"body_limit":1048576,"partition":…}}
///     {"jsonrpc":"2.0","id":7,"result":{"status":200,"retry_after_ms":…,"date":…,"content_type":…,"body":…}}
///     {"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"fetch failed","data":{"kind":"timeout"}}}
///     {"jsonrpc":"2.0","method":"cancel","params":{"id":7}}       answered under 7, with kind `cancelled`
///     {"jsonrpc":"2.0","id":8,"method":"ping"}                    answered with {}
///
/// Members without a value are left out. `body` and a header's `value` are strings where the bytes are UTF-8 without control
/// characters other than tab and line ends; else `body_base64url` and `value_base64url` stand in their place. So a byte takes at most two on the wire,
/// and a frame of 4 MiB holds any message that these limits allow.
package enum WireLimits {
    /// Bytes of one line.
    package static let frame = 4 << 20
    /// Arrays and objects inside one another.
    package static let depth = 8
    /// Bytes of a body, in either direction.
    package static let body = 1 << 20
    /// Fields of one request.
    package static let headerCount = 64
    /// Bytes of all names and values together.
    package static let headerBytes = 64 << 10
    /// Requests that one worker has at a time.
    package static let requestsInFlight = 64
    /// Milliseconds.
    package static let timeout: ClosedRange<Int64> = 1...120_000
    /// Bytes of a path, or of a proxy's address.
    package static let path = 4096
    /// Bytes of a partition's name.
    package static let partition = 512
    /// Bytes of a media type that is handed on; a longer one is as good as none.
    package static let contentType = 256
    /// Milliseconds: a day.
    package static let retryAfter: ClosedRange<Int64> = 0...86_400_000
    /// Seconds since the epoch; the year 9999 ends with the last.
    package static let date: ClosedRange<Int64> = 0...253_402_300_799
    /// A final status (RFC 9110 §15).
    package static let status: ClosedRange<Int64> = 200...599
}

/// Why a message of the other side is not taken.
package enum WireFailure: Error, Equatable, Sendable {
    /// A member that must be there is not.
    case missing
    /// A member is of another kind, or text that does not decode.
    case wrongType
    /// A number or a length is outside of `WireLimits`.
    case outOfRange
    /// A URL, header, method or proxy that is never asked for.
    case notAllowed
}
