import CLinux
import CredentialCore
import EventLoop
import Glibc
import Log
import OriginSupport
import Testing
import WorkerProtocol

/// A worker behind a socket that somebody else listens on.
@Suite struct `Worker listener` {
    /// Answers nothing: these tests are about who comes and goes.
    private final class Silence: HTTPTransport {
        func begin(
            _ request: FetchRequest, _ completion: @escaping (Result<FetchResponse, FetchFailure>) -> Void
        ) {
            completion(.failure(.nameNotResolved))
        }
        func cancel(_ id: UInt64) {}
    }

    private final class Place {
        let path = "/tmp/chatauth-listener-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        let descriptor: Int32

        init() throws {
            descriptor = cl_listen_unix(path, path.utf8.count, 0o600, 16)
            try #require(descriptor >= 0)
        }
        deinit {
            close(descriptor)
            unlink(path)
        }
    }

    @Test func `the broker's requests are answered over the socket, and its end is noticed`() throws {
        let place = try Place()
        let driver = try Driver()
        let listener = try WorkerListener(
            loop: driver.loop, clock: driver, descriptor: place.descriptor, client: geteuid(),
            transport: Silence(), onIdle: {})
        let outcomes = Outcomes()
        let client = try WorkerClient(
            loop: driver.loop, clock: driver, launcher: ConnectingLauncher(path: place.path),
            logger: Logger(sink: NoLog()))
        client.observer = outcomes
        client.fetch(.test(1, try HTTPURL("https://example.org/"), timeout: .seconds(8)))
        #expect(try driver.turn { outcomes.count(1) > 0 })
        #expect(outcomes.failure(1) == .nameNotResolved)
        #expect(client.isConnected && client.workerPID == nil)
        #expect(listener.connectionCount == 1)
        client.shutdown()
        #expect(try driver.turn { listener.connectionCount == 0 })
    }

    @Test func `a worker without a socket to it is tried again later`() throws {
        let driver = try Driver()
        let outcomes = Outcomes()
        let client = try WorkerClient(
            loop: driver.loop, clock: driver, launcher: ConnectingLauncher(path: "/nonexistent/fetch.sock"),
            logger: Logger(sink: NoLog()))
        client.observer = outcomes
        client.fetch(.test(1, try HTTPURL("https://example.org/"), timeout: Milliseconds(100)))
        #expect(try driver.turn { outcomes.count(1) > 0 })
        #expect(outcomes.failure(1) == .workerNotStarted)
        #expect(!client.isConnected && client.launches == 0)
    }

    @Test func `who is neither the broker nor root is not served`() throws {
        guard geteuid() != 0 else {
            print("SKIPPED: root is always served; the test in a booted systemd shows it")
            return
        }
        let place = try Place()
        let driver = try Driver()
        let listener = try WorkerListener(
            loop: driver.loop, clock: driver, descriptor: place.descriptor, client: geteuid() + 1,
            transport: Silence(), onIdle: {})
        let channel = cl_connect_unix(place.path, place.path.utf8.count)
        defer { close(channel) }
        var byte: UInt8 = 0
        #expect(try driver.turn { recv(channel, &byte, 1, Int32(MSG_DONTWAIT)) == 0 })
        #expect(listener.connectionCount == 0)
    }

    @Test func `it says when nobody has come for a while, and not while somebody is there`() throws {
        let place = try Place()
        let driver = try Driver()
        var idle = 0
        let listener = try WorkerListener(
            loop: driver.loop, clock: driver, descriptor: place.descriptor, client: geteuid(),
            transport: Silence(), patience: Milliseconds(100), onIdle: { idle += 1 })
        let channel = cl_connect_unix(place.path, place.path.utf8.count)
        #expect(try driver.turn { listener.connectionCount == 1 })
        try driver.turn(for: Milliseconds(250))
        #expect(idle == 0)
        close(channel)
        #expect(try driver.turn { idle == 1 })
    }

    @Test func `the owner of a socket is that of its path`() throws {
        let place = try Place()
        #expect(SocketOwner.uid(of: place.descriptor) == geteuid())
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        defer { for end in ends { close(end) } }
        #expect(SocketOwner.uid(of: ends[0]) == nil)
        unlink(place.path)
        #expect(SocketOwner.uid(of: place.descriptor) == nil)
    }
}
