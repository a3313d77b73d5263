import CLinux
import Glibc

/// Tells systemd how the service is (sd_notify(3)); says nothing where nobody listens.
///
/// The environment is left as it is, so that the watchdog of a loop finds its socket too.
package struct ServiceManager: Sendable {
    private let socket: String?

    /// Takes the value of `NOTIFY_SOCKET`: a path, or a name with `@` before it; nil and everything else mean nobody.
    package init(notifySocket: String?) {
        if let notifySocket, notifySocket.hasPrefix("/") || notifySocket.hasPrefix("@") {
            socket = notifySocket
        } else {
            socket = nil
        }
    }

    /// Whether somebody listens.
    package var isPresent: Bool { socket != nil }

    /// Start-up is over, or a reload is.
    @discardableResult
    package func ready(status: String? = nil) -> Bool { send(["READY=1"], status) }

    /// A reload begins; `ready` ends it.
    @discardableResult
    package func reloading() -> Bool {
        // systemd 253 and later match it with the time at which it was asked for (Type=notify-reload).
        send(["RELOADING=1", "MONOTONIC_USEC=\(cl_monotonic_nanoseconds() / 1000)"], nil)
    }

    /// The service is about to end.
    @discardableResult
    package func stopping(status: String? = nil) -> Bool { send(["STOPPING=1"], status) }

    /// One line for `systemctl status`.
    @discardableResult
    package func status(_ text: String) -> Bool { send([], text) }

    /// Starting, or stopping, takes at least that much longer.
    @discardableResult
    package func extendTimeout(microseconds: Int64) -> Bool {
        send(["EXTEND_TIMEOUT_USEC=\(max(0, microseconds))"], nil)
    }

    /// Still alive.
    @discardableResult
    package func watchdog() -> Bool { send(["WATCHDOG=1"], nil) }

    // False when nobody listens or the message could not be sent: nothing depends on it.
    private func send(_ assignments: [String], _ status: String?) -> Bool {
        guard let socket else { return false }
        var lines = assignments
        // A line end in the text would begin another assignment.
        if let status { lines.append("STATUS=" + String(status.map { $0.isNewline ? " " : $0 })) }
        var message = lines.joined(separator: "\n")
        var path = socket
        return message.withUTF8 { message in
            path.withUTF8 { path in
                message.withMemoryRebound(to: CChar.self) { message in
                    path.withMemoryRebound(to: CChar.self) { path in
                        guard let text = message.baseAddress, let name = path.baseAddress else {
                            return false
                        }
                        return cl_send_datagram(name, path.count, text, message.count) == 0
                    }
                }
            }
        }
    }
}
