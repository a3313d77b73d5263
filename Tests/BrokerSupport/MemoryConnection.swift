package import CredentialCore

/// A client in memory: what it was sent, and whether it reads.
package final class MemoryConnection: Connection {
    package let id: UInt64
    package let peer: Peer
    package let isAdminSocket: Bool
    package var unit = PeerUnit.unknown
    package var state: AnyObject?
    package private(set) var isClosed = false
    package private(set) var sends = 0
    private weak var handler: (any ConnectionHandler)?
    private var sent: [UInt8] = []
    private var closesWhenFlushed = false
    /// A client that does not read leaves everything queued.
    package var isReading = true {
        didSet { if isReading { flush() } }
    }
    package private(set) var unsentBytes = 0

    package init(id: UInt64, peer: Peer, isAdminSocket: Bool, handler: any ConnectionHandler) {
        self.id = id
        self.peer = peer
        self.isAdminSocket = isAdminSocket
        self.handler = handler
    }

    package func send(_ bytes: Span<UInt8>) {
        guard !isClosed, !closesWhenFlushed else { return }
        sends += 1
        // A local copy first: each access to a member of a class is checked in a debug build.
        var copy: [UInt8] = []
        copy.reserveCapacity(bytes.count)
        for index in 0..<bytes.count { copy.append(bytes[index]) }
        sent += copy
        if !isReading { unsentBytes += bytes.count }
    }

    package func close(flush: Bool) {
        guard !isClosed else { return }
        if flush, unsentBytes > 0 {
            closesWhenFlushed = true
            return
        }
        isClosed = true
        handler?.connectionDidClose(self)
    }

    private func flush() {
        unsentBytes = 0
        if closesWhenFlushed {
            closesWhenFlushed = false
            close(flush: false)
        }
    }

    /// Everything that it was sent since this was asked last, as text.
    package func take() -> String {
        let text = String(decoding: sent, as: UTF8.self)
        sent = []
        return text
    }

    /// The same line by line.
    package func takeLines() -> [String] { take().split(separator: "\n").map(String.init) }

    /// Bytes that it was sent and that nobody asked for.
    package var receivedBytes: Int { sent.count }
}
