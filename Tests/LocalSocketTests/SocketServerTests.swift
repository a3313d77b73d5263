import BrokerSupport
import CLinux
import CredentialCore
import EventLoop
import Glibc
import LocalSocket
import Log
import Testing

/// Sends back what it gets, and remembers who was there.
private final class Echo: ConnectionHandler {
    var peers: [Peer] = []
    var opened: [any Connection] = []
    var closed: [UInt64] = []
    var endedInput: [UInt64] = []
    var mayAdmit = true
    var answers = true
    var received = 0
    /// Nanoseconds that a byte of each client takes, by the order in which they came, and what has passed.
    var costs: [Int64] = []
    var passed: Int64 = 0
    /// Who was served, in order.
    var served: [Int] = []

    func shouldAdmit(_ peer: Peer, isAdminSocket: Bool) -> Bool {
        peers.append(peer)
        return mayAdmit
    }
    func connectionDidOpen(_ connection: any Connection) { opened.append(connection) }
    func connection(_ connection: any Connection, didReceive bytes: Span<UInt8>) {
        received += bytes.count
        if let index = opened.firstIndex(where: { $0.id == connection.id }), index < costs.count {
            passed += costs[index] * Int64(bytes.count)
            served.append(index)
        }
        if answers { connection.send(bytes) }
    }
    func connectionDidEndInput(_ connection: any Connection) { endedInput.append(connection.id) }
    func connectionDidClose(_ connection: any Connection) { closed.append(connection.id) }
    func batchDidEnd() {}
}

/// A server on a real socket in a directory of its own.
private final class Running {
    let place = Place()
    let loop: EventLoop
    let echo = Echo()
    let server: SocketServer
    let path: String

    init(isAdmin: Bool = false) throws {
        loop = try EventLoop()
        server = try SocketServer(
            loop: loop, handler: echo, log: Logger(sink: RecordingSink()),
            stopwatch: { [echo] in echo.passed })
        path = place.path + "/s"
        try server.listen(
            on: SocketPath.listen(directory: place.path, name: "s", mode: 0o600), isAdmin: isAdmin)
    }

    func connect() -> Int32 { cl_connect_unix(path, path.utf8.count) }

    func run(until isDone: () -> Bool) throws {
        let end = cl_boot_milliseconds() + 20_000
        while !isDone(), cl_boot_milliseconds() < end { _ = try loop.runOnce(timeoutMilliseconds: 50) }
    }

    /// Lets everything happen that is ready.
    func settle() throws { while try loop.runOnce(timeoutMilliseconds: 0) {} }
}

private func sendAll(_ text: String, to descriptor: Int32) -> Bool {
    var text = text
    return text.withUTF8 { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) == $0.count }
}

/// What can be read without waiting; nil at the end.
private func take(_ descriptor: Int32, _ limit: Int = 1 << 20) -> [UInt8]? {
    let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
        count = max(0, recv(descriptor, buffer.baseAddress, limit, Int32(MSG_DONTWAIT)))
    }
    if !bytes.isEmpty { return bytes }
    var byte: UInt8 = 0
    return recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT | MSG_PEEK)) == 0 ? nil : []
}

@Suite struct `Server on a socket` {
    @Test func `nobody waits for more than one of those that take long, and each of these has its turn`()
        throws
    {
        let running = try Running()
        let clients = (0..<4).map { _ in running.connect() }
        defer { for client in clients { close(client) } }
        running.echo.answers = false
        try running.run { running.echo.opened.count == 4 }
        running.echo.costs = [100_000, 100_000, 100_000, 1]
        for client in clients.dropLast() { #expect(sendAll(String(repeating: "x", count: 2000), to: client)) }
        _ = try running.loop.runOnce(timeoutMilliseconds: 0)
        // Nothing is known of anybody at first, so little is taken of all.
        #expect(running.echo.received == 3 * 512)
        running.echo.served = []
        for _ in 0..<6 {
            #expect(sendAll("y", to: clients[3]))
            _ = try running.loop.runOnce(timeoutMilliseconds: 0)
        }
        #expect(running.echo.served == [3, 0, 3, 1, 3, 2, 3, 0, 3, 1, 3, 2])
        #expect(running.echo.received == 3 * 512 + 6 * 128 + 6)
        // Nor do newcomers push in before those that wait: the first of all is served again in time.
        running.echo.costs += Array(repeating: 100_000, count: 6)
        var newcomers: [Int32] = []
        defer { for client in newcomers { close(client) } }
        running.echo.served = []
        for _ in 0..<6 {
            newcomers.append(running.connect())
            #expect(sendAll(String(repeating: "z", count: 2000), to: newcomers[newcomers.count - 1]))
            for _ in 0..<2 { _ = try running.loop.runOnce(timeoutMilliseconds: 0) }
        }
        #expect([0, 1, 2].allSatisfy { running.echo.served.filter { $0 < 3 }.contains($0) })
        // Whoever is quick again is served with the others.
        running.echo.costs = Array(repeating: 0, count: 10)
        try running.settle()
        #expect(running.echo.received == 9 * 2000 + 6)
    }

    @Test func `clients are served, and the kernel says who they are`() throws {
        let running = try Running(isAdmin: true)
        let client = running.connect()
        defer { close(client) }
        #expect(sendAll("hello", to: client))
        try running.run { running.echo.received == 5 }
        #expect(take(client) == Array("hello".utf8))
        #expect(running.echo.peers.map(\.uid) == [geteuid()])
        #expect(running.echo.peers.map(\.pid) == [getpid()])
        #expect(running.echo.opened.map(\.isAdminSocket) == [true])
        close(dup(client))
        shutdown(client, Int32(SHUT_RDWR))
        try running.run { running.echo.closed.count == 1 }
        #expect(running.server.connectionCount == 0)
    }

    @Test func `five hundred at once are served, and their numbers are never used twice`() throws {
        let running = try Running()
        var ids: Set<UInt64> = []
        for _ in 0..<2 {
            let clients = (0..<500).map { _ in running.connect() }
            for client in clients { #expect(sendAll("x", to: client)) }
            try running.run {
                running.echo.opened.count == 500 && running.echo.received % 500 == 0
                    && running.echo.received > 0
            }
            #expect(clients.allSatisfy { take($0) == [0x78] })
            #expect(running.server.connectionCount == 500)
            for connection in running.echo.opened { #expect(ids.insert(connection.id).inserted) }
            running.echo.opened = []
            for client in clients { close(client) }
            try running.run { running.server.connectionCount == 0 }
        }
        #expect(ids.count == 1000)
    }

    @Test func `who is not admitted is closed at once`() throws {
        let running = try Running()
        running.echo.mayAdmit = false
        let client = running.connect()
        defer { close(client) }
        try running.run { running.echo.peers.count == 1 }
        #expect(take(client) == nil)
        #expect(running.echo.opened.isEmpty && running.server.connectionCount == 0)
        running.echo.mayAdmit = true
        let second = running.connect()
        defer { close(second) }
        try running.run { running.echo.opened.count == 1 }
        #expect(running.server.connectionCount == 1)
    }

    @Test func `what a client does not read waits and arrives whole when it reads`() throws {
        let running = try Running()
        running.echo.answers = false
        let client = running.connect()
        defer { close(client) }
        try running.run { !running.echo.opened.isEmpty }
        let connection = try #require(running.echo.opened.first)
        let piece = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
        for _ in 0..<30 { connection.send(piece.span) }
        #expect(connection.unsentBytes > 1 << 20)
        var received: [UInt8] = []
        try running.run {
            received += take(client) ?? []
            return received.count == 3_000_000
        }
        #expect(connection.unsentBytes == 0)
        #expect(received == (0..<30).flatMap { _ in piece })
    }

    @Test func `a client that reads, and never all of it, gets everything in order`() throws {
        let running = try Running()
        let client = running.connect()
        defer { close(client) }
        try running.run { running.echo.opened.count == 1 }
        let connection = running.echo.opened[0]
        var number: UInt8 = 0
        var expected: UInt8 = 0
        func send() {
            let piece = (0..<50_000).map { _ -> UInt8 in
                number = (number + 1) % 251
                return number
            }
            connection.send(piece.span)
        }
        func mustRead(_ limit: Int) throws -> Int {
            let bytes = try #require(take(client, limit))
            for byte in bytes {
                expected = (expected + 1) % 251
                if byte != expected { Issue.record("\(byte) is not \(expected)") }
            }
            return bytes.count
        }
        for _ in 0..<20 { send() }
        var left = 20 * 50_000
        for _ in 0..<100 {
            send()
            left += 50_000 - (try mustRead(50_000))
            try running.settle()
            #expect(connection.unsentBytes > 0)
        }
        while left > 0 {
            left -= try mustRead(1 << 20)
            try running.settle()
        }
        #expect(connection.unsentBytes == 0)
    }

    @Test func `closing with something queued waits until it is read, and takes nothing more`() throws {
        let running = try Running()
        running.echo.answers = false
        let client = running.connect()
        defer { close(client) }
        try running.run { !running.echo.opened.isEmpty }
        let connection = try #require(running.echo.opened.first)
        connection.send([UInt8](repeating: 1, count: 1_000_000).span)
        connection.close(flush: true)
        connection.send([UInt8](repeating: 2, count: 10).span)
        #expect(sendAll("more", to: client))
        try running.settle()
        #expect(running.echo.received == 0 && running.echo.closed.isEmpty)
        var received: [UInt8] = []
        try running.run {
            received += take(client) ?? []
            return running.echo.closed.count == 1
        }
        received += take(client) ?? []
        #expect(received == [UInt8](repeating: 1, count: 1_000_000))
    }

    @Test func `half a close leaves the other half open`() throws {
        let running = try Running()
        let client = running.connect()
        defer { close(client) }
        #expect(sendAll("last", to: client))
        shutdown(client, Int32(SHUT_WR))
        try running.run { running.echo.endedInput.count == 1 }
        try running.settle()
        #expect(running.echo.closed.isEmpty)
        let connection = try #require(running.echo.opened.first)
        connection.send(Array("answer".utf8).span)
        #expect(take(client) == Array("lastanswer".utf8))
        shutdown(client, Int32(SHUT_RDWR))
        try running.run { running.echo.closed.count == 1 }
        #expect(running.echo.endedInput.count == 1)
        #expect(running.server.connectionCount == 0)
    }

    @Test func `a client that goes in the middle of an answer ends only itself`() throws {
        let running = try Running()
        let first = running.connect()
        let second = running.connect()
        defer { close(second) }
        try running.run { running.echo.opened.count == 2 }
        close(first)
        running.echo.opened[0].send([UInt8](repeating: 1, count: 1000).span)
        running.echo.opened[0].send([UInt8](repeating: 1, count: 1000).span)
        #expect(sendAll("x", to: second))
        try running.run { running.echo.received == 1 }
        #expect(take(second) == [0x78])
        #expect(running.echo.closed == [running.echo.opened[0].id])
    }

    @Test func `after the end of listening nobody comes in and those who are there stay`() throws {
        let running = try Running()
        let client = running.connect()
        defer { close(client) }
        try running.run { running.echo.opened.count == 1 }
        running.server.stopListening()
        #expect(running.connect() < 0)
        #expect(sendAll("x", to: client))
        try running.run { running.echo.received == 1 }
        running.server.closeAll()
        #expect(running.echo.closed.count == 1)
    }
}
