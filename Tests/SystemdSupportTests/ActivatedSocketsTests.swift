import Glibc
import SystemdSupport
import Testing

private func unixSocket(_ type: __socket_type, isListening: Bool) -> Int32 {
    let descriptor = socket(AF_UNIX, Int32(type.rawValue), 0)
    if isListening {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // Autobind: the kernel picks a name without a file (unix(7)).
        _ = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sa_family_t>.size))
            }
        }
        listen(descriptor, 1)
    }
    return descriptor
}

@Suite struct `Activated sockets` {
    @Test func `only a listening Unix stream socket will do`() throws {
        let good = unixSocket(SOCK_STREAM, isListening: true)
        let idle = unixSocket(SOCK_STREAM, isListening: false)
        let datagram = unixSocket(SOCK_DGRAM, isListening: false)
        let internet = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        listen(internet, 1)
        let file = open("/dev/null", O_RDONLY)
        defer { for descriptor in [good, idle, datagram, internet, file] { close(descriptor) } }
        try ActivatedSockets.check(good)
        for descriptor in [idle, datagram, internet, file, 999_999] {
            #expect(throws: ActivatedSockets.Failure.notListening(descriptor: descriptor)) {
                try ActivatedSockets.check(descriptor)
            }
        }
    }

    @Test func `without the variables there is nothing`() throws {
        #expect(try ActivatedSockets.take() == [])
    }

    @Test func `what systemd passed is taken once, with its names`() async {
        await #expect(processExitsWith: .exitCode(42)) {
            // Whatever the harness has at 3 and 4 is not needed any more: this process answers with its status.
            let one = fcntlDuplicate(unixSocket(SOCK_STREAM, isListening: true))
            let other = fcntlDuplicate(unixSocket(SOCK_STREAM, isListening: true))
            dup2(one, 3)
            dup2(other, 4)
            setenv("LISTEN_PID", String(getpid()), 1)
            setenv("LISTEN_FDS", "2", 1)
            setenv("LISTEN_FDNAMES", "rpc:admin", 1)
            let first = try ActivatedSockets.take()
            let second = try ActivatedSockets.take()
            let expected = [
                ActivatedSockets.Socket(name: "rpc", descriptor: 3),
                ActivatedSockets.Socket(name: "admin", descriptor: 4),
            ]
            _exit(first == expected && second.isEmpty && getenv("LISTEN_FDS") == nil ? 42 : 1)
        }
    }
}

/// The same socket at a number of 100 or more, out of the way of those that are passed.
private func fcntlDuplicate(_ descriptor: Int32) -> Int32 { fcntl(descriptor, F_DUPFD, 100) }
