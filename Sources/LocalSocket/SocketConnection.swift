import EventLoop
package import CredentialCore
import Glibc
import Secrets

/// One client: a descriptor and what is queued for it.
package final class SocketConnection: Connection {
    /// Unlike that of every other connection, past ones included.
    package let id: UInt64
    /// Who connected, as the kernel says.
    package let peer: Peer
    /// Whether it came in on the administration socket.
    package let isAdminSocket: Bool
    /// What the handler keeps for it.
    package var state: AnyObject? {
        get { kept }
        set { kept = newValue }
    }

    // Private, as are `queued` and others beside it: the compiler then sees all accesses and need not check them at run time.
    private var kept: AnyObject?
    let descriptor: Int32
    /// Whether what it sent took long, and not enough has been quick since.
    var isSlow: Bool { share.isSlow }
    /// When it was served last among the slow ones.
    var slowTurn: UInt64 { share.turn }
    private var share = TurnShare()
    private var pin: PeerPin?
    private var isPinned = false
    private unowned let server: SocketServer
    private var output = SecretBuffer()
    private var sent = 0
    // Bytes that were read and are kept before the rest is moved to their place.
    private static let readPiece = 64 * 1024
    // `output.count`, less `sent`.
    private var queued = 0
    private var closesWhenFlushed = false
    private var interest = Readiness.readable
    private var hasEndedInput = false
    private(set) var isClosed = false

    init(id: UInt64, descriptor: Int32, peer: Peer, isAdminSocket: Bool, server: SocketServer) {
        self.id = id
        self.descriptor = descriptor
        self.peer = peer
        self.isAdminSocket = isAdminSocket
        self.server = server
    }

    /// The unit of the process that connected, while that process lives.
    ///
    /// The kernel keeps the process in mind for as long as the socket is there, so it is pinned when somebody asks first.
    package var unit: PeerUnit {
        if !isPinned, !isClosed {
            pin = PeerPin(descriptor, peer: peer)
            isPinned = true
        }
        return pin?.currentUnit() ?? .gone
    }

    /// Pins the peer now: a kernel that cannot pin it later would take whoever has its number then.
    func pinNow() {
        pin = PeerPin(descriptor, peer: peer)
        isPinned = true
    }

    /// Bytes that are queued because the client does not read.
    package var unsentBytes: Int { queued }

    /// Sends at once what the kernel takes and queues the rest; a broken connection is ended.
    package func send(_ bytes: Span<UInt8>) {
        guard !isClosed, !closesWhenFlushed else { return }
        var taken = 0
        if unsentBytes == 0 {
            taken = write(bytes)
            guard taken >= 0 else {
                end()
                return
            }
        }
        guard taken < bytes.count else { return }
        output.append(bytes.extracting(taken..<bytes.count))
        queued += bytes.count - taken
        updateInterest()
    }

    /// Ends it, with `flush` after what is queued has been read or five seconds have passed.
    package func close(flush: Bool) {
        guard !isClosed else { return }
        if flush, unsentBytes > 0 {
            guard !closesWhenFlushed else { return }
            closesWhenFlushed = true
            server.linger(self)
        } else {
            end()
        }
    }

    // MARK: For the server

    func flush() {
        guard !isClosed, unsentBytes > 0 else { return }
        let start = sent
        let taken = output.withSpan { write($0.extracting(start..<$0.count)) }
        guard taken >= 0 else {
            end()
            return
        }
        sent += taken
        queued -= taken
        // One that reads, and never all of it, would otherwise be kept everything that it ever read.
        if sent >= Self.readPiece, sent >= queued {
            output.removeFirst(sent)
            sent = 0
        }
        if unsentBytes == 0 {
            output.removeAll()
            output.shrink(to: 0)
            sent = 0
            if closesWhenFlushed {
                end()
                return
            }
        }
        updateInterest()
    }

    /// Reads once: a client that sends without end gets its turn like everybody.
    ///
    /// - Returns: how many bytes of `room` hold what the client sent; they are secret where it saves something, and the caller wipes them.
    func receive(_ events: UInt32, into room: UnsafeMutableRawBufferPointer, _ handler: any ConnectionHandler)
        -> Int
    {
        guard !hasEndedInput else {
            // Nothing is read any more, so this is the end of the other direction, or an error.
            end()
            return 0
        }
        // Not more than `room` has, which is what a share may be at most.
        let count = recv(descriptor, room.baseAddress, min(share.bytes, room.count), Int32(MSG_DONTWAIT))
        guard count > 0 else {
            if count < 0, errno == EAGAIN || errno == EINTR { return 0 }
            guard count == 0, events & Readiness.hangUp == 0 else {
                end()
                return 0
            }
            // Only half of it was closed, as by `nc -N`: the answers are still wanted.
            hasEndedInput = true
            updateInterest()
            handler.connectionDidEndInput(self)
            return 0
        }
        if !closesWhenFlushed {
            // `count` bytes of `room` were just written by recv.
            let bytes = UnsafeRawBufferPointer(rebasing: room[..<count])
            handler.connection(self, didReceive: bytes.bindMemory(to: UInt8.self).span)
        }
        return count
    }

    /// Takes how long what was read took, in nanoseconds; `turn` is greater than all before.
    func took(nanoseconds: Int64, turn: UInt64) {
        share.take(nanoseconds: nanoseconds)
        share.turn = turn
    }

    /// Returns what the socket took; negative when it is broken.
    private func write(_ bytes: Span<UInt8>) -> Int {
        bytes.withUnsafeBufferPointer { buffer in
            let count = Glibc.send(
                descriptor, buffer.baseAddress, buffer.count,
                Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
            if count < 0, errno == EAGAIN || errno == EINTR { return 0 }
            return count
        }
    }

    private func updateInterest() {
        let wants = unsentBytes > 0
        let interest = (hasEndedInput ? 0 : Readiness.readable) | (wants ? Readiness.writable : 0)
        guard interest != self.interest else { return }
        self.interest = interest
        server.setInterest(self, interest)
    }

    func end() {
        guard !isClosed else { return }
        isClosed = true
        output.removeAll()
        sent = 0
        queued = 0
        server.didClose(self)
    }
}
