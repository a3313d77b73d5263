import CLinux
import CredentialCore
import Glibc
import LocalSocket
import TestSupport
import Testing

@Suite struct `A pinned peer` {
    /// A listening socket, and a program that connects to it and hands the connection to a child before it ends.
    private static func connected(_ place: Place, program: String) throws -> (server: Int32, peer: Peer) {
        let path = place.path + "/s"
        let listener = try SocketPath.listen(directory: place.path, name: "s", mode: 0o600)
        defer { close(listener) }
        let script = place.path + "/connect.py"
        let file = cl_open(script, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        _ = program.withCString { write(file, $0, strlen($0)) }
        close(file)
        #expect(system("python3 \(script) \(path) >/dev/null 2>&1 &") == 0)
        _ = cl_is_readable(listener)
        var server: Int32 = -1
        let end = cl_boot_milliseconds() + 20_000
        while server < 0, cl_boot_milliseconds() < end {
            server = cl_accept(listener)
            if server < 0 { usleep(1000) }
        }
        var pid: Int32 = 0
        var uid: UInt32 = 0
        var gid: UInt32 = 0
        #expect(cl_peer_credentials(server, &pid, &uid, &gid) == 0)
        return (server, Peer(pid: pid, uid: uid, gid: gid, groups: []))
    }

    // It stays until the server lets go of the connection.
    private static let staying = """
        import socket, sys
        s = socket.socket(socket.AF_UNIX)
        s.connect(sys.argv[1])
        s.recv(1)
        """
    // Its child has the connection, and it has ended.
    private static let leaving = """
        import os, socket, sys
        s = socket.socket(socket.AF_UNIX)
        s.connect(sys.argv[1])
        if os.fork():
            os._exit(0)
        s.recv(1)
        """

    private static func eventually(_ condition: () -> Bool) -> Bool {
        let end = cl_boot_milliseconds() + 20_000
        while cl_boot_milliseconds() < end {
            if condition() { return true }
            usleep(1000)
        }
        return false
    }

    @Test(arguments: [true, false])
    func `lives while its process does, and has the unit that its cgroup says`(usesDescriptor: Bool) throws {
        let place = Place()
        let (server, peer) = try Self.connected(place, program: Self.staying)
        defer { close(server) }
        let pin = try #require(PeerPin(server, peer: peer, usesDescriptor: usesDescriptor))
        #expect(pin.isAlive)
        let expected = Files.bytes(at: "/proc/\(peer.pid)/cgroup").flatMap {
            String(validating: $0, as: UTF8.self)
        }
        .flatMap(SystemUnit.inCgroups)
        #expect(pin.currentUnit() == (expected.map { PeerUnit.known($0) } ?? .unknown))
    }

    @Test(arguments: [true, false])
    func `is gone with the process that connected, whoever has the connection now`(usesDescriptor: Bool)
        throws
    {
        let place = Place()
        let (server, peer) = try Self.connected(place, program: Self.leaving)
        defer { close(server) }
        // It may be gone before it can be pinned, which is as good.
        let pin = PeerPin(server, peer: peer, usesDescriptor: usesDescriptor)
        #expect(Self.eventually { !(pin?.isAlive ?? false) })
        #expect(pin?.currentUnit() ?? .gone == .gone)
        let later = PeerPin(server, peer: peer, usesDescriptor: usesDescriptor)
        #expect(later?.currentUnit() ?? .gone == .gone)
    }
}
