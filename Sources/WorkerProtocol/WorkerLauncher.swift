import CLinux
import Glibc

/// A worker that was reached.
package struct WorkerEndpoint: Sendable {
    /// A connected, non-blocking stream socket, now the receiver's.
    package let channel: Int32
    /// The process, where it is a child of this one.
    package let pid: Int32?

    /// Hands `channel` over.
    package init(channel: Int32, pid: Int32?) {
        self.channel = channel
        self.pid = pid
    }
}

/// Why no worker was reached; each carries an errno.
package enum WorkerLaunchFailure: Error, Equatable, Sendable {
    case socket(code: Int32)
    case process(code: Int32)
    case unreachable(code: Int32)
}

/// How a worker is reached: started by us, or found behind a socket that systemd holds.
package protocol WorkerLauncher: AnyObject {
    /// Called for each new worker, never while the last one is still in use.
    func launch() throws(WorkerLaunchFailure) -> WorkerEndpoint
}

/// Starts the worker as a child with a socket pair, its end being descriptor 3.
///
/// The child inherits nothing: no descriptor, no environment but the one given. What it prints goes nowhere.
package final class SpawningLauncher: WorkerLauncher {
    /// No `PATH`, no proxy, no locale; the crash reporter off, since it prints memory.
    package static let minimalEnvironment = ["LANG=C", "SWIFT_BACKTRACE=enable=no"]

    private let path: String
    private let arguments: [String]
    private let environment: [String]

    /// Starts the program at the absolute `path`; `arguments` follow its name.
    package init(
        path: String, arguments: [String] = [], environment: [String] = SpawningLauncher.minimalEnvironment
    ) {
        self.path = path
        self.arguments = arguments
        self.environment = environment
    }

    /// Makes the socket pair and starts the program; whether that can speak shows later.
    package func launch() throws(WorkerLaunchFailure) -> WorkerEndpoint {
        var ends: [Int32] = [-1, -1]
        guard
            socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0
        else { throw .socket(code: errno) }
        defer { close(ends[1]) }
        guard cl_set_nonblocking(ends[0]) == 0 else {
            let code = errno
            close(ends[0])
            throw .socket(code: code)
        }
        let pid = Self.withCStrings([path] + arguments) { arguments in
            Self.withCStrings(environment) { environment in
                cl_spawn_with_channel(path, arguments, environment, ends[1])
            }
        }
        guard pid > 0 else {
            let code = errno
            close(ends[0])
            throw .process(code: code)
        }
        return WorkerEndpoint(channel: ends[0], pid: pid)
    }

    private static func withCStrings<Result>(
        _ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let pointers = texts.map { strdup($0) }
        defer { for pointer in pointers { free(pointer) } }
        return body(pointers + [nil])
    }
}
