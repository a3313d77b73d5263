/// How much the daemon lets others use.
///
/// What protects a token stays fixed: its size, the depth of JSON, the length of a batch.
package struct Limits: Equatable, Sendable {
    /// Bytes of one frame.
    package var frameBytes = 1 << 20
    /// From the first to the last byte of a frame.
    package var frameTime = Milliseconds.seconds(5)
    /// Bytes of unfinished frames, of all connections of one uid together.
    package var uidBufferBytes = 16 << 20
    /// Bytes that a peer may leave unread beside one whole reply before it is closed.
    package var unreadBytes = 1 << 20
    /// Connections of one uid that a rule names.
    package var connectionsPerUID: Int
    /// The same for system users (uid below 1000, root included).
    package var connectionsPerSystemUID: Int
    /// Calls of one uid that are not answered yet.
    package var pendingPerUID: Int
    /// Connections of all uids together that no rule names.
    package var connectionsShared: Int
    /// Connections in all.
    package var connectionsTotal: Int
    /// Descriptors that connections never get: the store, workers and files need them.
    package var spareDescriptors = 64

    /// Many users, each of which may be hostile to the others.
    package static let system = Limits(
        connectionsPerUID: 64, connectionsPerSystemUID: 256, pendingPerUID: 256, connectionsShared: 64,
        connectionsTotal: 4096)

    /// One user, who can only be in their own way.
    package static let user = Limits(
        connectionsPerUID: 1024, connectionsPerSystemUID: 1024, pendingPerUID: 16_384, connectionsShared: 16,
        connectionsTotal: 1088)

    /// Limits whose sizes are the usual ones.
    package init(
        connectionsPerUID: Int, connectionsPerSystemUID: Int, pendingPerUID: Int, connectionsShared: Int,
        connectionsTotal: Int
    ) {
        self.connectionsPerUID = connectionsPerUID
        self.connectionsPerSystemUID = connectionsPerSystemUID
        self.pendingPerUID = pendingPerUID
        self.connectionsShared = connectionsShared
        self.connectionsTotal = connectionsTotal
    }
}
