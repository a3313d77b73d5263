import CLinux
import ChatAuthAPI
import CredentialCore
import CurlTransport
import EventLoop
import Glibc
import SystemdSupport
import WorkerProtocol

/// The fetch worker: HTTPS requests that come in over a private socket.
///
/// Started by the broker, it serves the connection that is descriptor 3 until that ends. Started by systemd, it serves those who connect to
/// the socket that it was given, and ends when there has been none of them for a while.
///
/// Exit codes: 0 the other side is gone, 1 the system refused something, 2 wrong use, 3 the other side spoke what nobody understands.
@main
struct Main {
    private static let channel: Int32 = 3

    static func main() {
        guard cl_forbid_dumps() == 0, cl_is_dumpable() == 0 else {
            fail("this process cannot be kept from being dumped", code: 1)
        }
        var noCore = rlimit(rlim_cur: 0, rlim_max: 0)
        guard setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &noCore) == 0 else {
            fail("core dumps cannot be switched off", code: 1)
        }
        if CommandLine.arguments.count > 1 { answer(CommandLine.arguments.dropFirst()) }
        let sockets = activatedSockets()
        forgetEnvironment()
        signal(SIGPIPE, SIG_IGN)
        do throws(EventLoopFailure) {
            exit(try serve(sockets))
        } catch {
            fail("the event loop failed with error \(error.code)", code: 1)
        }
    }

    private static func activatedSockets() -> [ActivatedSockets.Socket] {
        do throws(ActivatedSockets.Failure) {
            return try ActivatedSockets.take()
        } catch {
            fail("what systemd passed is no listening socket", code: 2)
        }
    }

    /// Proxies, certificate directories, key logs, configuration of OpenSSL and the resolver: nothing of it comes from outside.
    private static func forgetEnvironment() {
        let kept = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"].map { ($0, environment($0)) }
        clearenv()
        for case (let name, let value?) in kept { setenv(name, value, 1) }
    }

    private static func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    private static func serve(_ sockets: [ActivatedSockets.Socket]) throws(EventLoopFailure) -> Int32 {
        let loop = try EventLoop()
        let transport = try CurlTransport(loop: loop, clock: SystemClock(), version: Version.text)
        guard let first = sockets.first else { return try serveChannel(loop, transport) }
        guard sockets.count == 1, let owner = SocketOwner.uid(of: first.descriptor) else {
            fail("one socket is expected, at a path that can be looked up", code: 2)
        }
        let listener = try WorkerListener(
            loop: loop, clock: SystemClock(), descriptor: first.descriptor, client: owner,
            transport: transport,
            onIdle: { loop.stop(code: 0) })
        let end = try loop.watchSignal(SIGTERM) { loop.stop(code: 0) }
        loop.enableWatchdog()
        ServiceManager(notifySocket: environment("NOTIFY_SOCKET")).ready()
        return try withExtendedLifetime((listener, end)) { () throws(EventLoopFailure) in try loop.run() }
    }

    private static func serveChannel(
        _ loop: EventLoop, _ transport: CurlTransport
    ) throws(EventLoopFailure) -> Int32 {
        // A terminal and a service manager tell daemon and worker to end at the same time. The daemon still waits for the answers that
        // cost a grant; when it has them it closes the socket, and that is the end.
        signal(SIGINT, SIG_IGN)
        signal(SIGTERM, SIG_IGN)
        var kind: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(channel, SOL_SOCKET, SO_TYPE, &kind, &size) == 0,
            kind == Int32(SOCK_STREAM.rawValue)
        else { fail("descriptor 3 is no stream socket; chatauthd starts this program", code: 2) }
        guard cl_set_nonblocking(channel) == 0, cl_set_close_on_exec(channel, 1) == 0 else {
            fail("descriptor 3 cannot be used", code: 1)
        }
        let server = try WorkerServer(loop: loop, descriptor: channel, transport: transport) { end in
            switch end {
            case .closedByPeer, .failed: loop.stop(code: 0)
            case .frameTooLong, .refused: loop.stop(code: 3)
            }
        }
        return try withExtendedLifetime(server) { () throws(EventLoopFailure) in try loop.run() }
    }

    private static func answer(_ arguments: ArraySlice<String>) -> Never {
        switch Array(arguments) {
        case ["--version"]:
            write("chatauth-fetch \(Version.text)\n", to: 1)
            exit(0)
        case ["--help"]:
            write(
                "usage: chatauth-fetch\nCarries out HTTPS requests that chatauthd sends over descriptor 3, or over the "
                    + "socket that systemd listens on.\n",
                to: 1)
            exit(0)
        default: fail("no arguments are taken but --help and --version", code: 2)
        }
    }

    private static func fail(_ text: String, code: Int32) -> Never {
        write("chatauth-fetch: \(text)\n", to: 2)
        exit(code)
    }

    private static func write(_ text: String, to descriptor: Int32) {
        var text = text
        text.withUTF8 { _ = Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }
}

/// The machine's clocks.
private final class SystemClock: Clock {
    var now: Instant {
        Instant(
            wall: WallTime(milliseconds: cl_wall_milliseconds()),
            boot: BootTime(milliseconds: cl_boot_milliseconds()))
    }
    // Only what is stored beyond a boot needs to know which one it was.
    var bootID: BootID { BootID("") }
}
