import Glibc
import SystemdSupport
import Testing

/// A socket as systemd has one for notifications.
final class Listener {
    let path: String
    private let descriptor: Int32
    private let file: String?

    /// Binds to a path, or with `@` to a name without a file.
    init?(_ path: String) {
        self.path = path
        file = path.hasPrefix("/") ? path : nil
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var name = Array(path.utf8)
        if name.first == UInt8(ascii: "@") { name[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let size = socklen_t(MemoryLayout<sa_family_t>.size + name.count + (file == nil ? 0 : 1))
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
        }
        guard result == 0 else { return nil }
    }

    /// The next message; nil when there is none.
    func receive() -> String? {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
    }

    deinit {
        close(descriptor)
        if let file { unlink(file) }
    }
}

@Suite struct `Service manager` {
    @Test(arguments: ["/tmp/chatauth-notify-\(getpid())", "@chatauth-notify-\(getpid())"])
    func `R211: each state arrives as systemd wants it`(_ path: String) throws {
        let listener = try #require(Listener(path))
        let manager = ServiceManager(notifySocket: path)
        #expect(manager.isPresent)
        #expect(manager.ready(status: "3 accounts fresh"))
        #expect(listener.receive() == "READY=1\nSTATUS=3 accounts fresh")
        #expect(manager.ready())
        #expect(listener.receive() == "READY=1")
        #expect(manager.reloading())
        let reload = try #require(listener.receive())
        #expect(reload.hasPrefix("RELOADING=1\nMONOTONIC_USEC="))
        #expect(Int64(reload.dropFirst("RELOADING=1\nMONOTONIC_USEC=".count)).map { $0 > 0 } == true)
        #expect(manager.stopping(status: "bye"))
        #expect(listener.receive() == "STOPPING=1\nSTATUS=bye")
        #expect(manager.status("a\nREADY=1\r\nb"))
        #expect(listener.receive() == "STATUS=a READY=1 b")
        #expect(manager.extendTimeout(microseconds: 20_000_000))
        #expect(listener.receive() == "EXTEND_TIMEOUT_USEC=20000000")
        #expect(manager.watchdog())
        #expect(listener.receive() == "WATCHDOG=1")
        #expect(listener.receive() == nil)
    }

    @Test(arguments: [nil, "", "relative", "vsock:2:1234"] as [String?])
    func `where nobody listens nothing is sent`(_ value: String?) {
        let manager = ServiceManager(notifySocket: value)
        #expect(!manager.isPresent)
        #expect(!manager.ready())
    }

    @Test func `a listener that is gone is no failure of ours`() {
        #expect(!ServiceManager(notifySocket: "/nonexistent/notify").ready())
        #expect(!ServiceManager(notifySocket: "/" + String(repeating: "x", count: 200)).ready())
    }
}
