import CSystemd
import Glibc

/// Sockets that systemd listens on for us (sd_listen_fds(3)).
package enum ActivatedSockets {
    /// A descriptor and the name that its unit gives it (`FileDescriptorName=`).
    package struct Socket: Equatable, Sendable {
        /// As the unit says, or empty.
        package let name: String
        /// Open, listening, close-on-exec.
        package let descriptor: Int32

        /// A socket that was passed.
        package init(name: String, descriptor: Int32) {
            self.name = name
            self.descriptor = descriptor
        }
    }

    /// Why what was passed cannot be used.
    package enum Failure: Error, Equatable, Sendable {
        /// The passed variables are malformed; an errno.
        case environment(code: Int32)
        /// Not a listening Unix stream socket.
        case notListening(descriptor: Int32)
    }

    /// Takes what was passed to this process, once: children do not inherit it, and a second call gets nothing.
    ///
    /// Reads and removes `LISTEN_PID`, `LISTEN_FDS` and `LISTEN_FDNAMES`, so it is called before any thread is started.
    package static func take() throws(Failure) -> [Socket] {
        var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        let count = sd_listen_fds_with_names(1, &names)
        guard count >= 0 else { throw .environment(code: -count) }
        var sockets: [Socket] = []
        for index in 0..<Int(count) {
            let text = names?[index]
            sockets.append(
                Socket(
                    name: text.map { String(cString: $0) } ?? "",
                    descriptor: SD_LISTEN_FDS_START + Int32(index)))
            free(text)
        }
        free(names)
        for socket in sockets { try check(socket.descriptor) }
        return sockets
    }

    /// Makes sure that a descriptor is a Unix stream socket that listens.
    package static func check(_ descriptor: Int32) throws(Failure) {
        guard sd_is_socket(descriptor, AF_UNIX, Int32(SOCK_STREAM.rawValue), 1) > 0 else {
            throw .notListening(descriptor: descriptor)
        }
    }
}
