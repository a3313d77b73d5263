import CLinux
import Glibc

/// Reaches the worker behind a socket that systemd holds, and that only the broker may open.
///
/// There is no child: who is not wanted any more is let go by closing, and a worker that hangs is ended by its own watchdog.
package final class ConnectingLauncher: WorkerLauncher {
    private let path: String

    /// Connects to the socket at the absolute `path`.
    package init(path: String) { self.path = path }

    /// Connects without waiting; systemd starts the worker when it sees the connection.
    package func launch() throws(WorkerLaunchFailure) -> WorkerEndpoint {
        var path = path
        let channel = path.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { cl_try_connect_unix($0.baseAddress, $0.count) }
        }
        guard channel >= 0 else { throw .unreachable(code: errno) }
        return WorkerEndpoint(channel: channel, pid: nil)
    }
}
