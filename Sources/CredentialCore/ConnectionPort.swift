/// A client's connection, as a server sees it: bytes in, bytes out, and who the kernel says is there.
package protocol Connection: AnyObject {
    /// Never used twice while the process lives.
    var id: UInt64 { get }
    var peer: Peer { get }
    /// Whether it came in on the socket for administration.
    var isAdminSocket: Bool { get }
    /// The unit that the peer runs in, asked of the kernel anew each time, since the process may have ended.
    var unit: PeerUnit { get }
    /// What the handler keeps for this connection.
    var state: AnyObject? { get set }

    /// Sends what the socket takes now and queues the rest.
    func send(_ bytes: Span<UInt8>)
    /// Bytes that are queued.
    var unsentBytes: Int { get }
    /// Ends it; with `flush`, once what is queued has been taken.
    func close(flush: Bool)
}

/// Whoever serves connections.
///
/// All calls come from the loop.
package protocol ConnectionHandler: AnyObject {
    /// Whether one more connection of this peer may be served; a refused one is closed at once.
    func shouldAdmit(_ peer: Peer, isAdminSocket: Bool) -> Bool
    func connectionDidOpen(_ connection: any Connection)
    /// Bytes came; they are valid during the call only.
    func connection(_ connection: any Connection, didReceive bytes: Span<UInt8>)
    /// The client sends nothing more and still reads: it is closed by whoever serves it, when it has its answers.
    func connectionDidEndInput(_ connection: any Connection)
    /// Once for each opened connection, whoever ended it.
    func connectionDidClose(_ connection: any Connection)
    /// What came in at once has been delivered.
    func batchDidEnd()
}
